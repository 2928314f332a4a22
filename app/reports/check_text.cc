// The text form of check.
#include <fmt/format.h>

#include <algorithm>

#include "app/reports/check_report.h"
#include "app/reports/remedies.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

constexpr std::size_t kPairLines = 16;

/// A line for each pair of documents with leaks, most leaks first; at most kPairLines of them.
std::string pairs_text(const Leaks& leaks) {
  std::string out;
  const std::size_t lines = std::min(leaks.pairs.size(), kPairLines);
  for (std::size_t i = 0; i < lines; ++i) {
    const DocumentPair& pair = leaks.pairs[i];
    out += fmt::format("      batch {}: document {} sees document {}: {}, the first at {}\n",
                       pair.batch, pair.q, pair.kv, counted(pair.count, "cell"),
                       to_text(where_of(pair.first)));
  }
  const Index rest = leaks.pair_count - static_cast<Index>(lines);
  if (rest > 0)
    out +=
        fmt::format("      {}; --json lists {}\n", counted(rest, "more pair"), leaks.pairs.size());
  if (!leaks.pairs_complete) out += "      too many pairs: only the first were counted\n";
  return out;
}

std::string expected_text(const ExpectationResult& expected) {
  if (expected.holds) {
    const bool tells = !expected.detail.empty();
    return fmt::format("ok    {}{}{}\n", printable(expected.text, kUncut), tells ? ": " : "",
                       printable(expected.detail, kUncut));
  }
  std::string out = fmt::format("FAIL  {}: {}\n", printable(expected.text, kUncut),
                                printable(counter_example(expected), kUncut));
  if (expected.leaks) out += pairs_text(*expected.leaks);
  return out;
}

std::string finding_text(const Finding& finding, const std::optional<Leaks>& leaks) {
  const LintRule& rule = *finding.rule;
  const std::string where = to_text(finding.where);
  std::string out =
      fmt::format("{}: {}: {}\n", name(rule.severity), rule.id, printable(finding.message, kUncut));
  if (!where.empty()) out += fmt::format("      at {}\n", where);
  if (rule.key == FindingId::kDocumentLeak && leaks) out += pairs_text(*leaks);
  out += fmt::format("      why: {}\n      fix: {}\n", rule.why, fix_of(rule));
  return out;
}

/// "not looked at: documents (--segments), ...".
std::string not_looked_at_text(std::span<const NotLookedAt> parts) {
  std::string out;
  for (const NotLookedAt part : parts) {
    const auto [what, option] = unseen(part);
    out += fmt::format("{}{} ({})", out.empty() ? "not looked at: " : ", ", what, option);
  }
  return out.empty() ? out : out + "\n";
}

std::string findings_text(const CheckReport& report) {
  if (report.found.findings.empty())
    return "no findings\n" + not_looked_at_text(report.found.not_looked_at);
  std::string out;
  std::array<Index, 3> counts{};
  for (const Finding& finding : report.found.findings) {
    out += finding_text(finding, report.found.leaks);
    ++counts[static_cast<std::size_t>(finding.rule->severity)];
  }
  return out +
         fmt::format("{}, {}, {}\n", counted(counts[0], "error"), counted(counts[1], "warning"),
                     counted(counts[2], "note")) +
         not_looked_at_text(report.found.not_looked_at);
}

std::string changed_text(const FixDone& done) {
  if (!done.closed) return "the axes";
  std::string out;
  const auto add = [&out](const std::optional<Index>& cells, std::string_view verb) {
    if (cells.value_or(0) == 0) return;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counted(*cells, "cell"), verb);
  };
  add(done.closed, "closed");
  add(done.opened, "opened");
  return out.empty() ? "numbers, and no cell" : out;
}

std::string fixed_text(const FixedReport& report) {
  std::string out;
  for (const FixDone& done : report.done) {
    out += fmt::format("changed: {}, for {}\n", changed_text(done), done.rule->id);
  }
  for (const LintRule* gone : report.gone) {
    out += fmt::format("gone: {}, without a fix of its own\n", gone->id);
  }
  for (const FixLeft& left : report.left) {
    out += fmt::format("left: {}: {}\n", left.finding.rule->id, printable(left.why, kUncut));
  }
  const std::string file = printable(report.file, kUncut);
  if (!report.kind) {
    return out +
           fmt::format("{} is not written: {}\n", file,
                       report.left.empty() ? "there is nothing to fix" : "no fix can be applied");
  }
  out += fmt::format(
      "{} is written{}; checked again, it has {}\n", file,
      report.other_kind ? fmt::format(" as {0}, to be read with --as {0}", name(*report.kind)) : "",
      report.left.empty()
          ? "no error and no warning"
          : counted(std::ssize(report.left), "error or warning", "errors or warnings"));
  return out + not_looked_at_text(report.not_looked_at);
}

}  // namespace

bool CheckReport::ok() const {
  return std::ranges::all_of(expected, &ExpectationResult::holds) && found.ok();
}

Unseen unseen(NotLookedAt part) {
  switch (part) {
    case NotLookedAt::kMask:
      return {"the mask", "SOURCE"};
    case NotLookedAt::kCells:
      return {"single cells", "-t slice:..."};
    case NotLookedAt::kAnyCells:
      return {"single cells, as no rule without arrays or rectangles that was tried makes the mask",
              "--expect"};
    case NotLookedAt::kLeftCells:
      return {"the cells that few steps leave, which may follow a rule; recognise counts them",
              "--expect"};
    case NotLookedAt::kDocuments:
      return {"documents", "--segments"};
    case NotLookedAt::kBias:
      return {"bias", "--bias"};
    case NotLookedAt::kIntent:
      return {"intent", "--expect"};
  }
  return {};
}

Location where_of(const Cell& cell) {
  Location where{cell.batch, cell.head, cell.query, {}, {}, {}};
  if (cell.key >= 0) where.key = cell.key;
  return where;
}

std::string counter_example(const ExpectationResult& expected) {
  std::string out;
  if (expected.first) {
    out = fmt::format("{}, the first at {}", count_text(expected),
                      to_text(where_of(*expected.first)));
  }
  if (!expected.detail.empty()) out += (out.empty() ? "" : "; ") + expected.detail;
  return out;
}

bool CheckReport::ok_now() const { return fixed ? fixed->left.empty() : ok(); }

std::string check_text(const CheckReport& report) {
  if (report.linted) {
    return findings_text(report) + (report.fixed ? fixed_text(*report.fixed) : "");
  }
  std::string out;
  for (const ExpectationResult& expected : report.expected) out += expected_text(expected);
  return out;
}

}  // namespace maskctl::app
