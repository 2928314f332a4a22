// Reads the arguments of a step by type; each error has a position in the text.
#include "maskctl/pipeline/parse/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

constexpr Index kMostListed = Index{1} << 24;

/// A number of a list, and how often it stands there: "5", or "1*196".
struct Listed {
  std::string_view number;
  std::optional<Index> times = 1;  // absent: the text after '*' is no count
};
Listed listed(std::string_view part) {
  const auto at = part.find('*');
  if (at == std::string_view::npos) return {part};
  const auto times = integer_from(part.substr(at + 1));
  return {part.substr(0, at), times && *times > 0 ? times : std::nullopt};
}

/// True for two or more numbers joined by '+', or one with a count: "0+3", "-1+2", "4*8".
bool is_number_list(std::string_view text) {
  const auto parts = split(text, '+');
  const auto is_number = [](std::string_view part) {
    const Listed one = listed(part);
    return one.times && is_integer_text(one.number);
  };
  return (parts.size() > 1 || text.find('*') != std::string_view::npos) &&
         std::ranges::all_of(parts, is_number);
}

std::string joined_or(const std::vector<std::string_view>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    out += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace

void fail_at(const Pipeline& pipeline, Index position, const std::string& message,
             std::vector<Remedy> remedies) {
  throw PipelineError(fmt::format("{}: {}", pipeline.subject, message), pipeline.text, position,
                      std::move(remedies));
}

const Arg* StepArguments::find(std::string_view name) const {
  const Field& spec = declared(name);
  for (const Arg& arg : step_.args) {
    if (spec.positional ? arg.key.empty() : arg.key == name) return &arg;
  }
  return nullptr;
}

const Field& StepArguments::declared(std::string_view name) const {
  for (const Field& spec : info_.args) {
    if (spec.name == name) return spec;
  }
  throw std::logic_error(fmt::format("{} has no argument {}", info_.name, name));
}

std::string StepArguments::label(const Field& spec) const {
  return spec.positional ? fmt::format("{} of {}", spec.name, info_.name)
                         : fmt::format("{}= of {}", spec.name, info_.name);
}

void StepArguments::refuse(std::string_view name, const std::string& message) const {
  const Arg* arg = find(name);
  fail_at(pipeline_, arg ? arg->position.begin : step_.position.begin, message);
}

void StepArguments::refuse_value(const Arg& arg, const std::string& message,
                                 std::string_view part) const {
  // In a quoted value, an offset in the value is not an offset in the text: point to its start
  // instead.
  const auto begin = static_cast<std::size_t>(arg.value_begin);
  const bool quoted = begin < pipeline_.text.size() &&
                      (pipeline_.text[begin] == '\'' || pipeline_.text[begin] == '"');
  const Index offset = quoted || !part.data() ? 0 : part.data() - arg.value.data();
  fail_at(pipeline_, arg.value_begin + offset, message);
}

Index StepArguments::checked_integer(const Arg& arg, const Field& spec,
                                     std::string_view expected) const {
  if (!is_integer_text(arg.value)) {
    refuse_value(
        arg, fmt::format("{} expects {}, got '{}'", label(spec), expected, printable(arg.value)));
  }
  const auto value = integer_from(arg.value);
  if (!value || *value < spec.min) {
    refuse_value(arg, fmt::format("{} must be {} to {}, got {}", label(spec), spec.min,
                                  kMaxArgument, printable(arg.value)));
  }
  return *value;
}

Index StepArguments::integer(std::string_view name) const {
  const Field& spec = declared(name);
  const Arg* arg = find(name);
  return arg ? checked_integer(*arg, spec, "a whole number")
             : integer_from(spec.fallback).value_or(0);
}

std::optional<Index> StepArguments::side(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg || arg->value == "none") return std::nullopt;
  return checked_integer(*arg, declared(name), "a whole number or none");
}

double StepArguments::real(std::string_view name) const {
  const Field& spec = declared(name);
  const Arg* arg = find(name);
  if (!arg) return real_from(spec.fallback).value_or(0.0);
  const auto value = real_from(arg->value);
  if (!value ||
      !(*value >= static_cast<double>(spec.min) && *value <= static_cast<double>(spec.max))) {
    refuse_value(*arg, fmt::format("{} expects a number from {} to {}, got '{}'", label(spec),
                                   spec.min, spec.max, printable(arg->value)));
  }
  return *value;
}

std::uint64_t StepArguments::seed(std::string_view name) const {
  const Field& spec = declared(name);
  const Arg* arg = find(name);
  if (!arg) return number_from<std::uint64_t>(spec.fallback).value_or(0);
  const auto value = number_from<std::uint64_t>(arg->value);
  if (value) return *value;
  // JAX takes the low 32 bits of a negative seed: the message says which seed that is.
  const auto negative = integer_from(arg->value);
  const std::string as_in_jax = negative
                                    ? fmt::format("; jax.random.PRNGKey({}) has seed={}",
                                                  arg->value, static_cast<std::uint32_t>(*negative))
                                    : "";
  refuse_value(*arg, fmt::format("{} expects a whole number from 0 to {}, got '{}'{}", label(spec),
                                 UINT64_MAX, printable(arg->value), as_in_jax));
}

std::optional<int> StepArguments::choice(std::string_view name) const {
  const Field& spec = declared(name);
  const Arg* arg = find(name);
  const std::string_view value = arg ? std::string_view(arg->value) : spec.fallback;
  if (value.empty() && !arg) return std::nullopt;
  const auto choices = split(spec.choices, '|');
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == value) return static_cast<int>(i);
  }
  const auto near = nearest(value, choices);
  refuse_value(
      *arg, fmt::format("{} expects {}, got '{}'{}", label(spec), joined_or(choices),
                        printable(value), near ? fmt::format("; did you mean '{}'?", *near) : ""));
}

std::vector<Index> StepArguments::lengths(std::string_view name) const {
  const Field& spec = declared(name);
  const Arg* arg = find(name);
  if (!arg) return {};
  return numbers(*arg, 0, [&](std::string_view part) {
    return fmt::format("{} expects lengths of 0 to {} joined by '+' or ',', got '{}'", label(spec),
                       kMaxArgument, printable(part));
  });
}

std::vector<Index> StepArguments::numbers(
    const Arg& arg, Index least, const std::function<std::string(std::string_view)>& wrong) const {
  std::vector<Index> values;
  for (const std::string_view part : split(arg.value, '+')) {
    const Listed one = listed(part);
    const auto value = integer_from(one.number);
    if (!value || *value < least || !one.times) refuse_value(arg, wrong(part), part);
    if (*one.times > kMostListed - std::ssize(values)) {
      refuse_value(arg, fmt::format("more than {} numbers", kMostListed), part);
    }
    values.insert(values.end(), as_size(*one.times), *value);
  }
  return values;
}

std::vector<Range> StepArguments::ranges(std::string_view name) const {
  const Field& spec = declared(name);
  std::vector<Range> values;
  const Arg* arg = find(name);
  if (!arg) return values;
  for (const std::string_view part : split(arg->value, '+')) {
    const auto value = range_from(part);
    if (!value || value->empty()) {
      refuse_value(*arg,
                   fmt::format("{} expects numbers and ranges as in 0-3+7 or 0:4+7, got '{}'",
                               label(spec), printable(part)),
                   part);
    }
    values.push_back(*value);
  }
  return values;
}

std::optional<Range> StepArguments::slice(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return std::nullopt;
  const auto value = range_from(arg->value);
  if (!value) {
    refuse_value(*arg,
                 fmt::format("{} expects a range as in 0-127 or 0:128, or one number, got '{}'",
                             label(declared(name)), printable(arg->value)));
  }
  return value;
}

BlockSize StepArguments::block_size(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return {0, 0};
  const auto value = block_size_from(arg->value);
  if (!value) {
    refuse_value(*arg, fmt::format("{} expects QxK as in 64x128, or one number, got '{}'",
                                   label(declared(name)), printable(arg->value)));
  }
  return *value;
}

NamedArray StepArguments::array(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return {};
  if (arg->value.empty())
    refuse_value(*arg, label(declared(name)) + " expects a file, got nothing");
  if (!context_.read_array) refuse_value(*arg, "arrays cannot be read here");
  return {context_.read_array(arg->value), arg->value};
}

NamedArray StepArguments::integer_or_array(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return {};
  if (is_number_list(arg->value)) {
    const Field& spec = declared(name);
    return fields::numbers(numbers(*arg, spec.min, [&](std::string_view part) {
      return fmt::format("{} must be {} to {}, got {}", label(spec), spec.min, kMaxArgument,
                         printable(part));
    }));
  }
  if (is_integer_text(arg->value)) {
    return fields::numbers({checked_integer(*arg, declared(name), "a whole number or a file")});
  }
  const bool names_file =
      arg->value.empty() ||
      (arg->value.find_first_of("./:") != std::string::npos && !real_from(arg->value));
  if (names_file) return array(name);
  try {
    return array(name);
  } catch (const Error& error) {
    if (error.code() != Errc::kIo) throw;
  }
  const bool may_be_none = declared(name).type == FieldType::kSideOrSource;
  refuse_value(*arg, fmt::format("{} expects a whole number{}, one per batch as in 3+7, or a file, "
                                 "got '{}'",
                                 label(declared(name)), may_be_none ? " or none" : "",
                                 printable(arg->value)));
}

NamedArray StepArguments::list(std::string_view name) const {
  return has(name) ? fields::numbers(lengths(name)) : NamedArray();
}

Mask StepArguments::mask(std::string_view name) const {
  const Arg* arg = find(name);
  if (!arg) return {};
  if (arg->value.empty())
    refuse_value(*arg, label(declared(name)) + " expects a file, got nothing");
  if (!context_.read_mask) refuse_value(*arg, "masks cannot be read here");
  return context_.read_mask(arg->value);
}

const std::string& StepArguments::text(std::string_view name) const {
  static const std::string kNothing;
  const Arg* arg = find(name);
  return arg ? arg->value : kNothing;
}

FieldValue StepArguments::value(const Field& field) const {
  const auto maybe = [](auto found) { return found ? FieldValue(*found) : FieldValue(); };
  switch (field.type) {
    case FieldType::kInteger:
    case FieldType::kPadId:
      return integer(field.name);
    case FieldType::kSide:
      return maybe(side(field.name));
    case FieldType::kReal:
      return real(field.name);
    case FieldType::kSeed:
      return seed(field.name);
    case FieldType::kChoice:
      return Index{*choice(field.name)};
    case FieldType::kLengths:
      return lengths(field.name);
    case FieldType::kRanges:
      return ranges(field.name);
    case FieldType::kRange:
      return maybe(slice(field.name));
    case FieldType::kBlockSize:
      return block_size(field.name);
    case FieldType::kSource:
      return array(field.name);
    case FieldType::kSideOrSource:
      if (text(field.name) == "none") return {};
      [[fallthrough]];
    case FieldType::kIntegerOrSource:
      if (is_integer_text(text(field.name))) return integer(field.name);
      return integer_or_array(field.name);
    case FieldType::kMaskSource:
      return NamedMask{mask(field.name), text(field.name)};
  }
  return {};
}

Step StepArguments::bound() const {
  Step step = info_.make();
  std::vector<std::string_view> given;
  bool reads_ids = false;
  for (const Field& field : info_.args) {
    if (!has(field.name)) {
      // A step that reads ids and has no pad-id= gets the pad id of the context.
      if (reads_ids && field.type == FieldType::kPadId) field.set(step, Index{context_.pad_id});
      continue;
    }
    given.push_back(field.name);
    reads_ids = reads_ids || field.type == FieldType::kSource;
    field.set(step, value(field));
  }
  if (info_.chain) *info_.chain(step) = nested();
  const RuleInfo& rule = step.row();
  if (rule.limit) rule.limit(step, context_.max_bytes);
  if (!rule.misfit) return step;
  if (const auto misfit = rule.misfit(step, given)) refuse(misfit->field, misfit->message);
  return step;
}

}  // namespace maskctl
