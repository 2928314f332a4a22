// Writes bound steps as text.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl {
namespace {

[[noreturn]] void refuse_unnamed(const StepInfo& info) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("step {}: an array without a name cannot be written as text", info.name));
}

bool is_default(const Field& field, const FieldValue& value, const std::string& text) {
  return !field.required && text == field.fallback && !std::holds_alternative<NamedArray>(value);
}

Arg argument(const Field& field, std::string value) {
  Arg out;
  out.key = field.positional ? "" : std::string(field.name);
  out.value = std::move(value);
  return out;
}

StepText text_of(Step step) {
  const StepInfo& info = info_of(step);
  StepText out{.name = std::string(info.name)};
  int group = 0;
  for (const Field& field : info.args) {
    const FieldValue value = field.get(step);
    const auto text = value_text(field, value);
    const bool absent = std::holds_alternative<std::monostate>(value);
    if (!text && (!absent || (field.required && field.group == 0))) refuse_unnamed(info);
    if (absent || is_default(field, value, *text)) continue;
    group = std::max(group, field.group);
    out.args.push_back(argument(field, *text));
  }
  // A window without any limit still needs one argument: its first side is written as "none".
  const bool unbounded =
      group == 0 && !info.args.empty() && info.args.front().type == FieldType::kSideOrSource;
  const bool grouped = std::ranges::any_of(
      info.args, [](const Field& field) { return field.group != 0 && field.required; });
  if (group == 0 && grouped && !unbounded) refuse_unnamed(info);
  if (unbounded) out.args.insert(out.args.begin(), argument(info.args.front(), "none"));
  out.has_nested = info.chain != nullptr;
  if (info.chain) out.nested = unbind(*info.chain(step)).steps;
  return out;
}

}  // namespace

Pipeline unbind(const Chain& chain) {
  Pipeline out;
  for (const Step& step : chain) {
    // A slice of no axis changes nothing and has no text.
    const auto* slice = step.get_if<step::Slice>();
    if (slice && !slice->b && !slice->h && !slice->q && !slice->k) continue;
    out.steps.push_back(text_of(step));
  }
  out.text = print(out.steps);
  return out;
}

std::string to_text(const Chain& chain) { return unbind(chain).text; }

}  // namespace maskctl
