#include "maskctl/inspect/check/fix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/inspect/check/fixes.h"

namespace maskctl {
namespace {

bool counts(const Finding& finding) { return finding.rule->severity != Severity::kNote; }

/// The error or warning with this id; null if there is none.
const Finding* find(const CheckResult& result, FindingId id) {
  const auto at = std::ranges::find_if(
      result.findings, [id](const Finding& f) { return counts(f) && f.rule->key == id; });
  return at == result.findings.end() ? nullptr : &*at;
}

/// The cells that differ; nothing if the masks are of two shapes.
std::optional<Mask> changed_cells(const CheckResult& before, const CheckResult& after) {
  if (!before.mask || !after.mask || !same_shape(*before.mask, *after.mask)) return std::nullopt;
  return zip(Op::kXor, *before.mask, *after.mask);
}

/// Whether the row to which a finding leads has none of the cells.
bool is_elsewhere(const Finding& finding, const std::optional<Mask>& changed) {
  const Location& at = finding.where;
  if (!changed || !at.query) return false;
  const Range row{*at.query, *at.query + 1};
  return changed->plane(at.batch.value_or(0), at.head.value_or(0))
             ->count(row, {0, changed->keys()}) == 0;
}

class Fixing {
 public:
  Fixing(const CheckedMask& given, const CheckResult& found) : found_(found), now_(found) {
    out_.fixed = given;
  }

  FixResult run() {
    while (fix_one()) {  // each finding at most once
    }
    out_.not_looked_at = now_.not_looked_at;
    for (const Finding& finding : now_.findings) {
      if (counts(finding)) out_.left.push_back({finding, why_[finding.rule->key]});
    }
    for (const Finding& finding : found_.findings) {
      const auto is_its = [&](const FixDone& one) { return one.rule == finding.rule; };
      if (!counts(finding) || find(now_, finding.rule->key)) continue;
      if (std::ranges::none_of(out_.done, is_its)) out_.gone.push_back(finding.rule);
    }
    return std::move(out_);
  }

 private:
  /// A mask that a fix made, and its check.
  struct Attempt {
    CheckedMask made;
    CheckResult seen;
    FixDone done;

    /// Fewer errors and warnings are better; of these, a fix that changes more, since a part of a
    /// fault that is mended may hide the rest.
    std::pair<Index, Index> rank() const {
      return {std::ranges::count_if(seen.findings, counts),
              -(done.closed.value_or(0) + done.opened.value_or(0))};
    }
  };

  /// Applies, of the fixes that hold, the best one. False if there is none.
  bool fix_one() {
    std::optional<Attempt> best;
    for (const Finding& finding : now_.findings) {
      if (!counts(finding)) continue;
      auto made = attempt(finding);
      if (made && (!best || made->rank() < best->rank())) best = std::move(made);
    }
    if (!best) return false;
    out_.done.push_back(best->done);
    out_.fixed = std::move(best->made);
    now_ = std::move(best->seen);
    return true;
  }

  std::optional<Attempt> attempt(const Finding& finding) {
    const LintRule& rule = *finding.rule;
    // A fix that a report has not announced is none.
    if (!find(found_, rule.key)) return refuse(rule, "it was not reported before");
    try {
      auto made = rule.fixed ? rule.fixed({out_.fixed, now_, finding}) : std::nullopt;
      if (!made) {
        return refuse(rule, rule.unfixed.empty() ? "its fix is not in the mask" : rule.unfixed);
      }
      CheckResult seen = check(*made);
      if (find(seen, rule.key)) return refuse(rule, "its fix alone leaves it");
      const auto changed = changed_cells(now_, seen);
      for (const Finding& other : seen.findings) {
        if (!counts(other)) continue;
        const Finding* had = find(now_, other.rule->key);
        if (had ? other.count > had->count : !is_elsewhere(other, changed)) {
          return refuse(rule, fmt::format("its fix would lead to {}", other.rule->id));
        }
      }
      FixDone done{&rule, {}, {}};
      if (changed) {
        done.closed = zip(Op::kAnd, *now_.mask, *changed).count();
        done.opened = changed->count() - *done.closed;
      }
      return Attempt{*std::move(made), std::move(seen), done};
    } catch (const Error& error) {
      if (error.code() == Errc::kCancelled) throw;
      return refuse(rule, error.what());
    }
  }

  std::nullopt_t refuse(const LintRule& rule, std::string_view why) {
    why_[rule.key] = why;
    return std::nullopt;
  }

  const CheckResult& found_;
  CheckResult now_;
  FixResult out_;
  std::map<FindingId, std::string> why_;
};

}  // namespace

FixResult fix(const CheckedMask& given, const CheckResult& found) {
  return Fixing(given, found).run();
}

}  // namespace maskctl
