#include "app/completion/pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/completion/values.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/expectations.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl::app {
namespace {

/// The length of the text up to and including the last of the characters `marks` outside quotes; 0
/// if there is none.
std::size_t last_of(std::string_view text, std::string_view marks) {
  std::size_t end = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != '\0') {
      if (text[i] == quote) quote = '\0';
    } else if (text[i] == '\'' || text[i] == '"') {
      quote = text[i];
    } else if (marks.find(text[i]) != marks.npos) {
      end = i + 1;
    }
  }
  return end;
}

Part without_blanks(const Part& part) {
  return part.after(std::min(part.text.find_first_not_of(" \n\t"), part.text.size()));
}

bool is_source(FieldType type) {
  return type == FieldType::kSource || type == FieldType::kMaskSource ||
         type == FieldType::kIntegerOrSource || type == FieldType::kSideOrSource;
}

void complete_argument(const Field& argument, const Part& part, Completions& out) {
  if (!argument.choices.empty()) complete_choice(argument.choices, part, out);
  if (!is_source(argument.type)) return;
  const bool quoted = part.text.starts_with('\'') || part.text.starts_with('"');
  complete_source(quoted ? part.after(1) : part, out);
}

/// The keys in a text such as "keys=4,align=".
std::set<std::string_view> keys_of(std::string_view arguments) {
  std::set<std::string_view> out;
  for (const std::string_view each : split(arguments, ','))
    out.insert(each.substr(0, each.find('=')));
  return out;
}

/// False if the argument has been given already, or excludes one that has been given.
bool goes_with(const Field& argument, std::span<const Field> all,
               const std::set<std::string_view>& given) {
  return std::ranges::none_of(all, [&](const Field& other) {
    const bool alternatives =
        argument.group != 0 && other.group != 0 && argument.group != other.group;
    return given.contains(other.name) && (other.name == argument.name || alternatives);
  });
}

/// Completes the last argument in "KEY=VALUE,KEY=VALUE".
void complete_arguments(std::span<const Field> infos, const Part& part, Completions& out) {
  const std::size_t begin = last_of(part.text, ",");
  const Part last = without_blanks(part.after(begin));
  const std::size_t equals = last.text.find('=');
  if (equals != last.text.npos) {
    const auto named = std::ranges::find(infos, last.text.substr(0, equals), &Field::name);
    if (named != infos.end()) complete_argument(*named, last.after(equals + 1), out);
    return;
  }
  const auto given = keys_of(std::string_view(part.text).substr(0, begin));
  for (const Field& info : infos) {
    if (!goes_with(info, infos, given)) continue;
    if (info.positional) {
      complete_argument(info, last, out);
    } else {
      out.add(last, fmt::format("{}=", info.name), info.help);
    }
  }
}

bool needs_arguments(const StepInfo& info) {
  return std::ranges::any_of(
      info.args, [](const Field& argument) { return argument.required || argument.group != 0; });
}

/// Adds the name of a step, followed by ":" if arguments are required or the name is already
/// complete.
void add_step(const StepInfo& info, const Part& part, Completions& out) {
  const bool needs = needs_arguments(info);
  if (!needs) out.add(part, info.name, info.meaning);
  if (needs || (part.text == info.name && !info.args.empty())) {
    out.add(part, fmt::format("{}:", info.name), info.meaning);
  }
}

std::size_t colon(const Part& part) { return part.text.find(':'); }

/// Completes a step. Its arguments are those of `infos` and those in `more`.
void complete_step(std::span<const StepInfo> infos, std::span<const Field> more, const Part& part,
                   Completions& out) {
  if (colon(part) == part.text.npos) {
    for (const StepInfo& info : infos) add_step(info, part, out);
    return;
  }
  const auto info = std::ranges::find(infos, part.text.substr(0, colon(part)), &StepInfo::name);
  if (info == infos.end()) return;
  std::vector<Field> arguments(info->args.begin(), info->args.end());
  for (const Field& argument : more) {
    if (!std::ranges::count(arguments, argument.name, &Field::name)) arguments.push_back(argument);
  }
  complete_arguments(arguments, part.after(colon(part) + 1), out);
}

/// The name in the usage of an expectation: "no-leak" in "no-leak[:SRC]".
std::string_view name_of(const ExpectationInfo& info) {
  return info.usage.substr(0, info.usage.find_first_of(":["));
}

/// The argument in the usage: "SRC" in "no-leak[:SRC]"; empty if there is none.
std::string_view argument_of(const ExpectationInfo& info) {
  const std::string_view rest = info.usage.substr(name_of(info).size());
  return rest.empty() ? rest : rest.substr(rest.find(':') + 1, rest.find(']') - rest.find(':') - 1);
}

}  // namespace

void complete_pipeline(const Part& part, Completions& out) {
  if (part.text.starts_with('@')) return out.add_paths(part.after(1));
  const Part step = without_blanks(part.after(last_of(part.text, "|{}")));
  complete_step(step_infos(), {}, step, out);
}

void complete_generator(const Part& part, Completions& out) {
  // The arguments for the size of a mask, which are those of gen:full.
  static const std::span<const Field> kSize = generators().front().args;
  complete_step(generators(), {}, part, out);
  complete_step(step_infos(), kSize, part, out);
}

void complete_expectation(const Part& part, Completions& out) {
  const std::string name = part.text.substr(0, colon(part));
  if (find_step(name) && colon(part) != part.text.npos)
    return complete_step(step_infos(), {}, part, out);
  for (const ExpectationInfo& info : expectation_infos()) {
    if (find_step(name_of(info))) continue;
    if (name_of(info) == name && colon(part) != part.text.npos) {
      return complete_value(argument_of(info), part.after(name.size() + 1), {}, out);
    }
    const bool needs = !argument_of(info).empty() && info.usage[name_of(info).size()] == ':';
    out.add(part, fmt::format("{}{}", name_of(info), needs ? ":" : ""), info.meaning);
  }
  for (const StepInfo& info : step_infos()) {
    if (info.kind == StepKind::kAnd) add_step(info, part, out);
  }
}

}  // namespace maskctl::app
