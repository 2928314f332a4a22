// The results of the command mutants as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "app/reports/mutants_report.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

using attention::KindScore;
using attention::MutantGroup;
using attention::RuleScore;

constexpr std::size_t kLabel = 22;
constexpr std::size_t kWidestRule = 24;
constexpr std::size_t kWidth = 100;  // of lines of words

/// A table with a column for each rule.
class Table {
 public:
  explicit Table(std::span<const RuleScore> rules) : rules_(rules) {
    for (const RuleScore& rule : rules) {
      names_.push_back(printable(rule.rule));
      if (names_.back().size() > kWidestRule) {
        names_.back() = names_.back().substr(0, kWidestRule - 3) + "...";
      }
    }
  }

  void head(std::string_view title) {
    line(title, "made", [](const std::string& name) { return name; });
  }
  void row(std::string_view label, Index made,
           const std::function<std::string(const RuleScore&)>& cell) {
    std::size_t i = 0;
    line(label, made < 0 ? "" : std::to_string(made),
         [&](const std::string&) { return cell(rules_[i++]); });
  }
  const std::string& text() const { return text_; }

 private:
  template <typename Cell>
  void line(std::string_view label, std::string_view made, const Cell& cell) {
    std::string out = fmt::format("{:<{}}{:>6}", label, kLabel, made);
    for (const std::string& name : names_) {
      out += fmt::format("  {:>{}}", cell(name), std::max<std::size_t>(name.size(), 9));
    }
    text_ += out + "\n";
  }

  std::span<const RuleScore> rules_;
  std::vector<std::string> names_;
  std::string text_;
};

/// The score of a rule for one kind of mutants. All rules have a score for every kind.
const KindScore& score_of(const RuleScore& rule, std::string_view kind) {
  return *std::ranges::find(rule.kinds, kind, &KindScore::kind);
}

/// A count such as "12", with the answers that the rule did not give: "0 (3?)" for undecided ones.
std::string count_text(Index count, const KindScore& score) {
  if (score.unread == score.made) return "unseen";
  if (score.errors > 0) return fmt::format("{} ({} errors)", count, score.errors);
  return score.undecided > 0 ? fmt::format("{} ({}?)", count, score.undecided)
                             : std::to_string(count);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2g}", *share) : "-";
}

/// Adds a row for each kind of the chosen groups, with the count that `member` selects, and a row
/// with their sum.
void add_kinds(const MutantsReport& report, bool (*of)(MutantGroup), Index KindScore::*member,
               std::string_view all, Table& table) {
  for (const KindScore& kind : report.rules.front().kinds) {
    if (!of(kind.group)) continue;
    table.row(kind.kind, kind.made, [&](const RuleScore& rule) {
      const KindScore& score = score_of(rule, kind.kind);
      return count_text(score.*member, score);
    });
  }
  table.row(all, report.rules.front().sum(&KindScore::made, of),
            [&](const RuleScore& rule) { return std::to_string(rule.sum(member, of)); });
}

template <typename Better>
std::optional<double> extreme(const RuleScore& rule, std::optional<double> KindScore::*member,
                              const Better& better) {
  std::optional<double> out;
  for (const KindScore& kind : rule.kinds) {
    const std::optional<double>& share = kind.*member;
    if (share && (!out || better(*share, *out))) out = share;
  }
  return out;
}

std::string rules_text(const MutantsReport& report) {
  Table table(report.rules);
  if (report.wrong > 0) {
    table.head("wrong, accepted");
    add_kinds(report, attention::of_wrong, &KindScore::accepted, "all wrong kernels", table);
    table.row("  above its own bound", -1, [](const RuleScore& rule) {
      return std::to_string(rule.sum(&KindScore::above_bound, attention::of_wrong));
    });
    table.row("  undecided", -1, [](const RuleScore& rule) {
      return std::to_string(rule.sum(&KindScore::undecided, attention::of_wrong));
    });
    table.row("  least weight passed", -1, [](const RuleScore& rule) {
      return share_text(extreme(rule, &KindScore::least_passed, std::less()));
    });
    table.row("  most weight passed", -1, [](const RuleScore& rule) {
      return share_text(extreme(rule, &KindScore::most_passed, std::greater()));
    });
  }
  if (report.right + report.coarse > 0) {
    table.head("right, refused");
    add_kinds(report, attention::is_right, &KindScore::refused, "all right kernels", table);
  }
  table.row("seconds", static_cast<Index>(std::lround(report.seconds)),
            [](const RuleScore& rule) { return fmt::format("{:.1f}", rule.seconds); });
  return table.text();
}

/// What the calls have in common.
std::string calls_text(std::span<const MutatedMask> masks) {
  const attention::MutantCall& first = masks.front().call;
  const bool alike = std::ranges::all_of(masks, [&first](const MutatedMask& mask) {
    const attention::MutantCall& call = mask.call;
    return call.batch == first.batch && call.heads == first.heads &&
           call.kv_heads == first.kv_heads && call.soft_cap == first.soft_cap &&
           call.sinks == first.sinks && call.bias == first.bias;
  });
  std::string out = fmt::format("calls     D {}, {}", first.dim, name(first.dtype));
  if (!alike) return out + "; each mask with heads and arguments of its own\n";
  out += fmt::format(", {}, {}, {}", counted(first.batch, "batch entry", "batch entries"),
                     counted(first.heads, "head"), counted(first.kv_heads, "key head"));
  if (first.scale) out += fmt::format(", scale {:.6g}", *first.scale);
  if (first.soft_cap) out += fmt::format(", cap {:.6g}", *first.soft_cap);
  if (first.sinks > 0) out += fmt::format(", {} a head", counted(first.sinks, "sink"));
  return out + (first.bias ? ", a bias\n" : "\n");
}

/// The kinds that none of the masks can have.
std::string left_out_text(const MutantsReport& report) {
  std::vector<std::string_view> kinds;
  for (const attention::KindLeftOut& kind : report.masks.front().left_out) {
    const bool everywhere = std::ranges::all_of(report.masks, [&](const MutatedMask& mask) {
      const auto& others = mask.left_out;
      return std::ranges::count(others, kind.kind, &attention::KindLeftOut::kind) > 0;
    });
    if (everywhere) kinds.push_back(kind.kind);
  }
  if (kinds.empty()) return "";
  std::string out, line = fmt::format("left out  {}, which the call",
                                      counted(static_cast<Index>(kinds.size()), "kind"));
  line += " cannot have (--list says what each needs):";
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string word = fmt::format(" {}{}", kinds[i], i + 1 < kinds.size() ? "," : "");
    if (line.size() + word.size() > kWidth) {
      out += line + "\n";
      line = "         ";
    }
    line += word;
  }
  return out + line + "\n";
}

/// For the first lines of a rule: the wrong kernel of most weight that it accepted, and the right
/// one that it refused.
std::string answers_text(const RuleScore& rule) {
  std::string out;
  const auto add = [&](std::string_view what, const attention::WrongAnswer& answer) {
    out += fmt::format("{:<10}{} {}: {}, {}, weight {:.2g}, number {} of {}\n", what,
                       printable(rule.rule), is_right(answer.truth.group) ? "refuses" : "accepts",
                       answer.truth.kind, printable(answer.truth.text), answer.truth.weight,
                       answer.number, printable(answer.mask));
  };
  if (!rule.accepted.empty()) add("worst", rule.accepted.front());
  if (!rule.refused.empty()) add("worst", rule.refused.front());
  if (!rule.first_error.empty()) {
    out +=
        fmt::format("{:<10}{}: {}\n", "error", printable(rule.rule), printable(rule.first_error));
  }
  return out;
}

}  // namespace

std::string mutants_text(const MutantsReport& report) {
  std::string out =
      fmt::format("mutants   {} of {}: {} wrong, {} right, {} right with a cache of 8 bits\n",
                  report.made, counted(static_cast<Index>(report.masks.size()), "mask"),
                  report.wrong, report.right, report.coarse);
  out += calls_text(report.masks);
  out += left_out_text(report);
  if (!report.rules.empty()) out += "\n" + rules_text(report) + "\n";
  for (const RuleScore& rule : report.rules) out += answers_text(rule);
  if (!report.folder.empty()) {
    out += fmt::format("written   {} and {}\n", printable(report.folder + "/mutants.json"),
                       counted(report.made, "file"));
  }
  return out;
}

std::string mutant_kinds_text() {
  std::string out;
  for (const attention::MutantKindInfo& kind : attention::mutant_kinds()) {
    out += fmt::format("{:<23}{:<8}{}{}\n", kind.name, name(kind.group), kind.meaning,
                       kind.needs.empty() ? "" : fmt::format("; needs {}", kind.needs));
  }
  return out;
}

}  // namespace maskctl::app
