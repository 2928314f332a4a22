// maskctl explain: lists what check can find, or explains one finding.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/reports/remedies.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/finding.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

struct ExplainOptions {
  std::string id;
  bool json = false;
};

void declare(OptionList& list, ExplainOptions& explain) {
  list.operand("ID", explain.id, false);
  list.json("maskctl.explain/1", explain.json);
}

std::vector<const LintRule*> chosen(const std::string& id) {
  std::vector<const LintRule*> out;
  std::vector<std::string_view> ids;
  for (const LintRule& rule : lint_rules()) {
    ids.push_back(rule.id);
    if (id.empty() || rule.id == id) out.push_back(&rule);
  }
  if (!out.empty()) return out;
  const auto near = nearest(id, ids);
  throw Error(Errc::kInvalidArgument,
              fmt::format("explain: unknown finding '{}'; {}", printable(id),
                          near ? fmt::format("did you mean '{}'?", *near)
                               : "`maskctl explain` lists all findings"));
}

std::string listing(const std::vector<const LintRule*>& rules) {
  std::size_t width = 0;
  for (const LintRule* rule : rules) width = std::max(width, rule->id.size());
  std::string out = "What `maskctl check` can find. `maskctl explain ID` explains one.\n\n";
  for (const LintRule* rule : rules) {
    out +=
        fmt::format("  {:<{}}  {:<7}  {}\n", rule->id, width, name(rule->severity), rule->summary);
  }
  return out;
}

std::string page_of(const LintRule& rule) {
  std::string out = fmt::format("{}: {}: {}\n", name(rule.severity), rule.id, rule.summary);
  const auto add = [&out](std::string_view title, std::string_view text) {
    out += fmt::format("{:<10}{}\n", title, text);
  };
  add("true", rule.claim);
  add("why", rule.why);
  add("fix", fix_of(rule));
  std::string_view title = "example";
  for (const std::string_view line : split(rule.example, '\n')) {
    add(title, line);
    title = "";
  }
  return out;
}

Json json_of(const LintRule& rule) {
  return {{"id", rule.id},
          {"severity", name(rule.severity)},
          {"summary", rule.summary},
          {"claim", rule.claim},
          {"why", rule.why},
          {"fix", fix_of(rule)},
          {"example", split(rule.example, '\n')}};
}

Answer run(const ExplainOptions& options, Session&) {
  const std::vector<const LintRule*> rules = chosen(options.id);
  return answer_in(
      options.json, [&] { return options.id.empty() ? listing(rules) : page_of(*rules.front()); },
      [=] {
        Json out{{"schema", "maskctl.explain/1"}, {"findings", Json::array()}};
        for (const LintRule* rule : rules) out["findings"].push_back(json_of(*rule));
        return out;
      });
}

}  // namespace

extern const Command kExplain = command<ExplainOptions, declare, run>({
    .name = "explain",
    .group = kAsk,
    .operands = "[ID]",
    .summary = "list what check can find, or explain one finding",
    .examples = "  maskctl explain\n"
                "  maskctl explain document-leak\n",
});

}  // namespace maskctl::app
