// Looks up each step of a pipeline in the table of steps and converts it to a Step.
#include "maskctl/pipeline/steps/bind.h"

#include <fmt/format.h>

#include "maskctl/base/printable.h"
#include "maskctl/pipeline/parse/arguments.h"

namespace maskctl {
namespace {

[[noreturn]] void refuse_name(const Pipeline& pipeline, const StepText& step) {
  if (const StepInfo* info = step_called(step.name)) {
    fail_at(pipeline, step.position.begin,
            fmt::format("unknown step '{}'; did you mean '{}'?", printable(step.name), info->name));
  }
  std::vector<std::string_view> names;
  for (const StepInfo& info : step_infos()) names.push_back(info.name);
  fail_at(pipeline, step.position.begin,
          fmt::format("unknown step '{}'; {}", printable(step.name), hint(step.name, names)));
}

Chain bind_steps(const Pipeline& pipeline, const std::vector<StepText>& steps,
                 const BindContext& context) {
  Chain chain;
  chain.reserve(steps.size());
  for (const StepText& step : steps) {
    const StepInfo* info = find_step(step.name);
    if (info == nullptr) refuse_name(pipeline, step);
    chain.push_back(StepArguments(pipeline, step, *info, context).bound());
  }
  return chain;
}

}  // namespace

Chain StepArguments::nested() const { return bind_steps(pipeline_, step_.nested, context_); }

Chain bind(const Pipeline& pipeline, const BindContext& context) {
  return bind_steps(pipeline, pipeline.steps, context);
}

}  // namespace maskctl
