#include "maskctl/mask/steps/chain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/slice.h"

namespace maskctl {
namespace {

[[noreturn]] void refuse_unnamed(const StepInfo& info) {
  throw Error(Errc::kInvalidArgument,
              fmt::format("step {}: an array without a name cannot be written as text", info.name));
}

bool is_default(const Field& field, const FieldValue& value, const std::string& text) {
  return !field.required && text == field.fallback && !std::holds_alternative<NamedArray>(value);
}

bool is_quote(char c) { return c == '\'' || c == '"'; }

bool needs_quotes(std::string_view value) {
  if (value.empty() || is_quote(value.front()) || value.front() == '#') return true;
  return std::ranges::any_of(value, [](char c) {
    return ends_bare_value(c) || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
}

/// Quotes a value. One that contains both kinds of quotes is written as adjacent quoted parts:
/// "it's"'"'.
std::string quoted(std::string_view value) {
  std::string out;
  do {
    const char sign =
        value.substr(0, value.find('"')).find('\'') == std::string_view::npos ? '\'' : '"';
    const std::string_view part = value.substr(0, value.find(sign));
    out += sign;
    out += part;
    out += sign;
    value.remove_prefix(part.size());
  } while (!value.empty());
  return out;
}

/// "keys=3", or only the value of a positional argument.
std::string argument_text(const Field& field, std::string_view value) {
  const std::string written = written_value(value);
  return field.positional ? written : fmt::format("{}={}", field.name, written);
}

std::string step_text(Step step) {
  const StepInfo& info = info_of(step);
  std::vector<std::string> arguments;
  int group = 0;
  for (const Field& field : info.args) {
    const FieldValue value = field.get(step);
    const auto text = value_text(field, value);
    const bool absent = std::holds_alternative<std::monostate>(value);
    if (!text && (!absent || (field.required && field.group == 0))) refuse_unnamed(info);
    if (absent || is_default(field, value, *text)) continue;
    group = std::max(group, field.group);
    arguments.push_back(argument_text(field, *text));
  }
  // A window without any limit still needs one argument: its first side is written as "none".
  const bool unbounded =
      group == 0 && !info.args.empty() && info.args.front().type == FieldType::kSideOrSource;
  const bool grouped = std::ranges::any_of(
      info.args, [](const Field& field) { return field.group != 0 && field.required; });
  if (group == 0 && grouped && !unbounded) refuse_unnamed(info);
  if (unbounded) arguments.insert(arguments.begin(), argument_text(info.args.front(), "none"));
  std::string out(info.name);
  for (const std::string& argument : arguments) {
    out += &argument == &arguments.front() ? ":" : ",";
    out += argument;
  }
  return info.chain ? fmt::format("{}{{{}}}", out, to_text(*info.chain(step))) : out;
}

// Arrays of up to this many numbers are written in a chain's text, without a name.
constexpr Index kMostListed = 64;

/// Whether the text of a chain needs a name for the array.
bool needs_name(const Field& field, const NamedArray& array, ArrayNames::Sources sources) {
  if (!is_list(array)) return sources == ArrayNames::Sources::kRename;
  if (array.empty()) return false;
  return field.type == FieldType::kSource || array.array.elements() > kMostListed;
}

}  // namespace

bool ends_bare_value(char c) {
  static constexpr std::string_view kEnds = " \t\n\r,|{}=";
  return kEnds.find(c) != std::string_view::npos;
}

std::string written_value(std::string_view value) {
  return needs_quotes(value) ? quoted(value) : std::string(value);
}

std::string to_text(const Chain& chain) {
  std::string out;
  for (const Step& step : chain) {
    // A slice of no axis changes nothing and has no text.
    const auto* slice = step.get_if<step::Slice>();
    if (slice && !slice->b && !slice->h && !slice->q && !slice->k) continue;
    if (!out.empty()) out += " | ";
    out += step_text(step);
  }
  return out;
}

std::string to_text(Chain chain, std::string_view file) {
  ArrayNames([file](const std::string& name) {
    return fmt::format("{}:{}", file, name);
  }).name(chain);
  return to_text(chain);
}

ArrayNames::ArrayNames(std::function<std::string(const std::string& name)> source_of,
                       Sources sources)
    : source_of_(std::move(source_of)), sources_(sources) {}

void ArrayNames::name(Chain& chain) {
  for (Step& step : chain) {
    const StepInfo& info = info_of(step);
    if (info.chain) name(*info.chain(step));
    for (const Field& field : info.args) {
      const FieldValue value = field.get(step);
      const auto* mask = std::get_if<NamedMask>(&value);
      if (mask && sources_ == Sources::kRename) {
        field.set(step, NamedMask{mask->mask, source_of_(added(mask->mask).name)});
      }
      const auto* array = std::get_if<NamedArray>(&value);
      if (!array || !needs_name(field, *array, sources_)) continue;
      const std::string_view stem = field.stem.empty() ? field.name : field.stem;
      field.set(step, NamedArray{array->array, source_of_(added(array->array, stem).name)});
    }
  }
}

const ArrayNames::Named& ArrayNames::added(const Tensor& array, std::string_view stem) {
  const auto at = std::ranges::find_if(
      arrays_, [&](const Named& seen) { return same_elements(seen.array, array); });
  if (at != arrays_.end()) return *at;
  arrays_.push_back({fmt::format("{}{}", stem, arrays_.size() + 1), array});
  return arrays_.back();
}

const ArrayNames::NamedOther& ArrayNames::added(const Mask& mask) {
  const auto at = std::ranges::find_if(masks_, [&](const NamedOther& seen) {
    return same_shape(seen.mask, mask) && differing_cells(seen.mask, mask) == 0;
  });
  if (at != masks_.end()) return *at;
  masks_.push_back({fmt::format("mask{}", masks_.size() + 1), mask});
  return masks_.back();
}

}  // namespace maskctl
