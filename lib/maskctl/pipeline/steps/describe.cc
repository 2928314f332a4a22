// Makes usage lines and help pages of steps from the table of steps.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/pipeline/steps/step_infos.h"

namespace maskctl {
namespace {

std::string argument_usage(const Field& arg) {
  const std::string_view value =
      arg.type == FieldType::kChoice ? arg.choices : placeholder(arg.type);
  return arg.positional ? std::string(arg.name) : fmt::format("{}={}", arg.name, value);
}

/// The usage of a step with the arguments of one group, which is one of the ways to write the step;
/// arguments in brackets are optional.
std::string usage_line(const StepInfo& info, int group) {
  std::string required, rest;
  const auto member = [group](const Field& arg) { return arg.group == group && group != 0; };
  // If a group has no required argument, one of its arguments must be given.
  const bool any = std::none_of(info.args.begin(), info.args.end(), [&](const Field& arg) {
    return (member(arg) || arg.group == 0) && arg.required;
  });
  const bool reads_ids = std::ranges::any_of(
      info.args, [&](const Field& arg) { return member(arg) && arg.type == FieldType::kSource; });
  for (const Field& arg : info.args) {
    if (!member(arg) && arg.group != 0) continue;
    if (arg.type == FieldType::kPadId && !reads_ids) continue;
    if (arg.required || (any && member(arg))) {
      required.append(required.empty() ? ":" : ",").append(argument_usage(arg));
    } else {
      rest +=
          fmt::format("[{}{}]", required.empty() && rest.empty() ? ":" : ",", argument_usage(arg));
    }
  }
  return std::string(info.name) + required + rest + (info.chain ? "{PIPELINE}" : "");
}

std::string arguments_text(const StepInfo& info) {
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Field& arg : info.args) {
    names.push_back(argument_usage(arg));
    width = std::max(width, names.back().size());
  }
  std::string out;
  for (std::size_t i = 0; i < info.args.size(); ++i) {
    const Field& arg = info.args[i];
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

std::string_view placeholder(FieldType type) {
  switch (type) {
    case FieldType::kInteger:
    case FieldType::kSeed:
    case FieldType::kPadId:
      return "N";
    case FieldType::kSide:
      return "N|none";
    case FieldType::kReal:
      return "X";
    case FieldType::kChoice:
      return "NAME";
    case FieldType::kLengths:
      return "N+N";
    case FieldType::kRanges:
      return "N-N+N";
    case FieldType::kRange:
      return "N-N";
    case FieldType::kBlockSize:
      return "NxN";
    case FieldType::kSource:
    case FieldType::kMaskSource:
      return "SRC";
    case FieldType::kIntegerOrSource:
      return "N|SRC";
    case FieldType::kSideOrSource:
      return "N|SRC|none";
  }
  return "";
}

std::string usage(const StepInfo& info) {
  std::vector<int> groups;
  for (const Field& arg : info.args) {
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

const StepInfo* step_called(std::string_view word) {
  for (const StepInfo& info : step_infos()) {
    for (const std::string_view synonym : split(info.synonyms, ' ')) {
      if (synonym == word) return &info;
    }
  }
  return nullptr;
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
  return out + fmt::format("Synonyms: {}\n", joined(split(info.synonyms, ' '), ", "));
}

}  // namespace maskctl
