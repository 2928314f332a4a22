// Checks that the arguments of a step go together, before any of them is read.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/pipeline/parse/arguments.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

std::string argument_name(const Field& spec) {
  return std::string(spec.name) + (spec.positional ? "" : "=");
}

/// What a step needs, for messages. If `grouped`, its groups of arguments, of which one must be
/// given: "SRC, lens= or q= with kv="; else its required arguments.
std::string needs(const StepInfo& info, bool grouped) {
  std::vector<std::string> ways;
  int last_group = 0;
  for (const Field& spec : info.args) {
    if (grouped ? spec.group == 0 : spec.group != 0 || !spec.required) continue;
    if (grouped && spec.required && spec.group == last_group) {
      ways.back() += " with " + argument_name(spec);
    } else {
      ways.push_back(argument_name(spec));
    }
    last_group = spec.group;
  }
  std::string out;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    out += i == 0 ? "" : i + 1 < ways.size() ? ", " : grouped ? " or " : " and ";
    out += ways[i];
  }
  return out;
}

std::string known_keys(const StepInfo& info) {
  std::string out;
  for (const Field& spec : info.args) {
    if (!spec.positional) out += fmt::format("{}{}", out.empty() ? "" : ", ", spec.name);
  }
  return out;
}

/// The value as the user wrote it: "3,5", if commas were read as a list.
std::string_view as_written(const Pipeline& pipeline, const Arg& arg) {
  const std::string_view text = pipeline.text;
  return text.substr(as_size(arg.value_begin), as_size(arg.position.end - arg.value_begin));
}

[[noreturn]] void refuse_bare(const Pipeline& pipeline, const StepInfo& info, const Arg& arg) {
  const Index at = arg.position.begin;
  const std::string value = printable(arg.value);
  if (info.name == "window") {
    fail_at(pipeline, at,
            is_integer_text(arg.value)
                ? fmt::format("window:{0} is ambiguous: keys={0} (HF, cuDNN) or left={0} "
                              "(FlashAttention)",
                              value)
                : fmt::format("window takes no bare value, got '{}'; write keys=N, left=N, "
                              "right=N or both=N",
                              value));
  }
  if (info.args.empty()) {
    fail_at(pipeline, at, fmt::format("{} takes no arguments, got '{}'", info.name, value));
  }
  const auto required = std::find_if(info.args.begin(), info.args.end(),
                                     [](const Field& spec) { return spec.required; });
  const Field& likely = required != info.args.end() ? *required : info.args.front();
  const bool takes_list = likely.type == FieldType::kLengths || likely.type == FieldType::kRanges;
  const bool is_list = value.find('+') != std::string::npos;
  fail_at(pipeline, at,
          fmt::format("{} takes no bare value, got '{}'; write a key, as in {}", info.name,
                      is_list ? printable(as_written(pipeline, arg)) : value,
                      is_list && !takes_list ? std::string(info.example)
                                             : fmt::format("{}={}", likely.name, value)));
}

[[noreturn]] void refuse_key(const Pipeline& pipeline, const StepInfo& info, const Arg& arg,
                             const BindContext& context) {
  std::vector<std::string_view> keys;
  for (const Field& spec : info.args) {
    if (!spec.positional) keys.push_back(spec.name);
  }
  std::string message = fmt::format("unknown key '{}' of {}", printable(arg.key), info.name);
  if (context.other_rules) {
    if (const auto owner = context.other_rules(info.name, arg.key)) {
      fail_at(pipeline, arg.position.begin,
              fmt::format("{}= of {} is an argument of {}", arg.key, info.name, owner->name),
              {owner->remedy});
    }
  }
  if (const auto near = nearest(arg.key, keys))
    message += fmt::format("; did you mean '{}'?", *near);
  message += keys.empty()
                 ? "; it takes none"
                 : fmt::format("{} known: {}", message.back() == '?' ? "" : ";", known_keys(info));
  fail_at(pipeline, arg.position.begin, message);
}

/// Throws for a value such as "3+5" where a file is expected, if the step also has lens=: probably
/// a list was meant.
void check_not_a_list(const Pipeline& pipeline, const StepInfo& info, const Arg& arg) {
  const bool has_lens = std::any_of(info.args.begin(), info.args.end(),
                                    [](const Field& spec) { return spec.name == "lens"; });
  if (!has_lens || !is_list_text(arg.value)) return;
  fail_at(pipeline, arg.position.begin,
          fmt::format("{0}:{1} is ambiguous: lens={1}, or ./{1} for a file of that name", info.name,
                      printable(arg.value)));
}

}  // namespace

StepArguments::StepArguments(const Pipeline& pipeline, const StepText& step, const StepInfo& info,
                             const BindContext& context)
    : pipeline_(pipeline), step_(step), info_(info), context_(context) {
  for (const Arg& arg : step_.args) {
    if (spec_of(arg).positional) check_not_a_list(pipeline_, info_, arg);
  }
  check_repeated();
  check_groups();
  check_nested();
}

const Field& StepArguments::spec_of(const Arg& arg) const {
  for (const Field& spec : info_.args) {
    if (spec.positional ? arg.key.empty() : arg.key == spec.name) return spec;
  }
  if (arg.key.empty()) refuse_bare(pipeline_, info_, arg);
  refuse_key(pipeline_, info_, arg, context_);
}

void StepArguments::check_repeated() const {
  std::vector<const Field*> seen;  // at most one per argument in the table
  for (const Arg& arg : step_.args) {
    const Field& spec = spec_of(arg);
    if (std::find(seen.begin(), seen.end(), &spec) != seen.end()) {
      fail_at(pipeline_, arg.position.begin, fmt::format("{} is given twice", label(spec)));
    }
    seen.push_back(&spec);
  }
}

void StepArguments::check_groups() const {
  const Field* chosen = nullptr;
  for (const Arg& arg : step_.args) {
    const Field& spec = spec_of(arg);
    if (spec.group == 0) continue;
    if (chosen && chosen->group != spec.group) {
      fail_at(pipeline_, arg.position.begin,
              fmt::format("{} takes {} or {}, not both", info_.name, argument_name(*chosen),
                          argument_name(spec)));
    }
    chosen = &spec;
  }
  const bool grouped = std::any_of(info_.args.begin(), info_.args.end(),
                                   [](const Field& spec) { return spec.group != 0; });
  if (grouped && !chosen) {
    fail_at(pipeline_, step_.position.begin,
            fmt::format("{} needs {}, as in {}", info_.name, needs(info_, true), info_.example));
  }
  for (const Field& spec : info_.args) {
    if (spec.type == FieldType::kPadId && has(spec.name) && chosen->type != FieldType::kSource) {
      refuse(spec.name,
             fmt::format("{} goes with ids, not with {}", label(spec), argument_name(*chosen)));
    }
    const bool due = spec.required && (spec.group == 0 || (chosen && spec.group == chosen->group));
    if (!due || has(spec.name)) continue;
    fail_at(pipeline_, step_.position.begin,
            spec.group == 0 ? fmt::format("{} needs {}, as in {}", info_.name, needs(info_, false),
                                          info_.example)
                            : fmt::format("{} with {} needs {} too", info_.name,
                                          argument_name(*chosen), argument_name(spec)));
  }
}

void StepArguments::check_nested() const {
  if ((info_.chain != nullptr) == step_.has_nested) return;
  fail_at(pipeline_, step_.position.begin,
          info_.chain
              ? fmt::format("{0} needs a chain in braces, as in {1}", info_.name, info_.example)
              : fmt::format("{} takes no chain in braces", info_.name));
}

}  // namespace maskctl
