#include "maskctl/inspect/check/finding.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "maskctl/inspect/check/lint.h"

namespace maskctl {

template <FindingId id>
LintRule keyed_row() {
  LintRule lint_row(RuleKey<id>);  // in the file that finds it
  LintRule out = lint_row({});
  out.key = id;
  return out;
}

namespace {

constexpr auto kFindings = static_cast<std::size_t>(FindingId::kCount);

template <std::size_t... ids>
std::array<LintRule, kFindings> joined_rows(std::index_sequence<ids...>) {
  return {keyed_row<static_cast<FindingId>(ids)>()...};
}

}  // namespace

std::string_view name(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"error", "warning", "note"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::span<const LintRule> lint_rules() {
  static const auto kRules = joined_rows(std::make_index_sequence<kFindings>());
  return kRules;
}

const LintRule& lint_rule(FindingId id) { return lint_rules()[static_cast<std::size_t>(id)]; }

std::string to_text(const Location& where) {
  std::string out;
  const auto add = [&out](std::string_view label, const std::optional<Index>& value) {
    if (value) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", label, *value);
  };
  add("step", where.step);
  add("batch", where.batch);
  add("head", where.head);
  add("query", where.query);
  add("key", where.key);
  add("entry", where.entry);
  return out;
}

}  // namespace maskctl
