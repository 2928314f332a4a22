// Generates usage lines and help pages of steps from the table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl {
namespace {

std::string argument_usage(const ArgumentInfo& arg) {
  const std::string_view value = arg.type == ArgType::kChoice ? arg.choices : placeholder(arg.type);
  return arg.positional ? std::string(arg.name) : fmt::format("{}={}", arg.name, value);
}

/// The step with the arguments of one group, optional ones in brackets.
std::string usage_line(const StepInfo& info, int group) {
  std::string required, rest;
  const auto member = [group](const ArgumentInfo& arg) { return arg.group == group && group != 0; };
  // A group without a required argument needs at least one of its arguments.
  const bool any = std::none_of(info.args.begin(), info.args.end(), [&](const ArgumentInfo& arg) {
    return (member(arg) || arg.group == 0) && arg.required;
  });
  for (const ArgumentInfo& arg : info.args) {
    if (!member(arg) && arg.group != 0) continue;
    if (arg.required || (any && member(arg))) {
      required.append(required.empty() ? ":" : ",").append(argument_usage(arg));
    } else {
      rest +=
          fmt::format("[{}{}]", required.empty() && rest.empty() ? ":" : ",", argument_usage(arg));
    }
  }
  return std::string(info.name) + required + rest + (info.nested ? "{PIPELINE}" : "");
}

std::string arguments_text(const StepInfo& info) {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const ArgumentInfo& arg : info.args) {
    names.push_back(argument_usage(arg));
    width = std::max(width, names.back().size());
  }
  std::string out;
  for (std::size_t i = 0; i < info.args.size(); ++i) {
    const ArgumentInfo& arg = info.args[i];
    out += fmt::format("  {:<{}}  {}", names[i], width, arg.help);
    if (!arg.fallback.empty()) out += fmt::format(" (default {})", arg.fallback);
    out += "\n";
  }
  return out;
}

}  // namespace

std::string_view name(StepKind kind) {
  switch (kind) {
    case StepKind::kAnd:
      return "and";
    case StepKind::kOr:
      return "or";
    case StepKind::kOwn:
      return "own";
  }
  return "";
}

std::string_view placeholder(ArgType type) {
  switch (type) {
    case ArgType::kInteger:
    case ArgType::kSeed:
      return "N";
    case ArgType::kSide:
      return "N|none";
    case ArgType::kReal:
      return "X";
    case ArgType::kChoice:
      return "NAME";
    case ArgType::kLengths:
      return "N+N";
    case ArgType::kRanges:
      return "N-N+N";
    case ArgType::kSlice:
      return "N:N";
    case ArgType::kBlockSize:
      return "NxN";
    case ArgType::kSource:
    case ArgType::kMaskSource:
      return "SRC";
    case ArgType::kIntegerOrSource:
      return "N|SRC";
  }
  return "";
}

std::string usage(const StepInfo& info) {
  std::vector<int> groups;
  for (const ArgumentInfo& arg : info.args) {
    if (arg.group != 0 && (groups.empty() || groups.back() != arg.group)) {
      groups.push_back(arg.group);
    }
  }
  if (groups.empty()) return usage_line(info, 0);
  std::string out;
  for (const int group : groups)
    out.append(out.empty() ? "" : "\n").append(usage_line(info, group));
  return out;
}

std::string describe(const StepInfo& info) {
  std::string lines = usage(info);
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3) {
    lines.replace(at, 1, "\n  ");
  }
  const std::string_view effect = info.kind == StepKind::kAnd  ? "only closes cells"
                                  : info.kind == StepKind::kOr ? "only opens cells"
                                                               : "a rule of its own";
  std::string out =
      fmt::format("{}: {} ({})\n\nUsage:\n  {}\n", info.name, info.meaning, effect, lines);
  if (!info.args.empty()) out += "\nArguments:\n" + arguments_text(info);
  out += fmt::format("\nCells:    {}\nExample:  {}\n", info.formula, info.example);
  if (info.synonyms.empty()) return out;
  return out + fmt::format("Synonyms: {}\n", fmt::join(split(info.synonyms, ' '), ", "));
}

}  // namespace maskctl
