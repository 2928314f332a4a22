#include "maskctl/pipeline/steps/sources.h"

#include <algorithm>

#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl {
namespace {

bool names_source(const StepInfo& info, const Arg& arg) {
  const auto spec = std::ranges::find_if(info.args, [&](const Field& one) {
    return arg.key.empty() ? one.positional : one.name == arg.key;
  });
  if (spec == info.args.end()) return false;
  switch (spec->type) {
    case FieldType::kSource:
    case FieldType::kMaskSource:
      return true;
    case FieldType::kSideOrSource:
      if (arg.value == "none") return false;
      [[fallthrough]];
    case FieldType::kIntegerOrSource:
      return !is_integer_text(arg.value) && !is_list_text(arg.value);
    default:
      return false;
  }
}

void rename_in(std::vector<StepText>& steps,
               const std::function<std::string(const std::string&)>& rename) {
  for (StepText& step : steps) {
    rename_in(step.nested, rename);
    const StepInfo* info = find_step(step.name);
    if (!info) continue;  // unknown: bind() will report it
    for (Arg& arg : step.args) {
      if (names_source(*info, arg)) arg.value = rename(arg.value);
    }
  }
}

}  // namespace

Pipeline with_sources(Pipeline pipeline,
                      const std::function<std::string(const std::string& source)>& rename) {
  rename_in(pipeline.steps, rename);
  return pipeline;
}

}  // namespace maskctl
