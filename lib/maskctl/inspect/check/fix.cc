#include "maskctl/inspect/check/fix.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
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

/// An error or a warning of `after` that is not in `before`, or has fewer cells there; null if
/// there is none.
const Finding* come(const CheckResult& before, const CheckResult& after) {
  for (const Finding& finding : after.findings) {
    const Finding* had = find(before, finding.rule->key);
    if (counts(finding) && (!had || finding.count > had->count)) return &finding;
  }
  return nullptr;
}

class Fixing {
 public:
  Fixing(const CheckedMask& given, const CheckResult& found) : now_(found) { out_.fixed = given; }

  FixResult run() {
    // Each round leaves one error or warning less.
    while (fix_one()) {
    }
    for (const Finding& finding : now_.findings) {
      if (counts(finding)) out_.left.push_back({finding, why_[finding.rule->key]});
    }
    return std::move(out_);
  }

 private:
  /// Fixes the first finding whose fix holds. False if there is none.
  bool fix_one() {
    why_.clear();
    for (const Finding& finding : now_.findings) {
      if (!counts(finding)) continue;
      if (attempt(finding)) return true;
    }
    return false;
  }

  /// Fixes one finding, and the findings that it had hidden: once a leak is fixed, a hole may show.
  bool attempt(const Finding& finding) {
    constexpr int kMostHidden = 3;
    const FindingId id = finding.rule->key;
    CheckedMask made = out_.fixed;
    CheckResult seen = now_;
    std::vector<FixDone> done;
    const Finding* next = &finding;
    try {
      for (int i = 0; next; ++i) {
        const LintRule& rule = *next->rule;
        auto fixed = rule.fixed ? rule.fixed({made, seen, *next}) : std::nullopt;
        if (!fixed || i > kMostHidden) return refuse(id, i == 0 ? reason_of(rule) : leads_to(rule));
        CheckResult after = check(*fixed);
        if (find(after, rule.key)) return refuse(id, i == 0 ? kLeavesIt : leads_to(rule));
        done.push_back(changed(rule, seen, after));
        made = *std::move(fixed);
        seen = std::move(after);
        next = come(now_, seen);
      }
    } catch (const Error& error) {
      if (error.code() == Errc::kCancelled) throw;
      return refuse(id, error.what());
    }
    if (find(seen, id)) return refuse(id, kLeavesIt);
    std::ranges::move(done, std::back_inserter(out_.done));
    out_.fixed = std::move(made);
    now_ = std::move(seen);
    return true;
  }

  static constexpr const char* kLeavesIt = "its fix alone leaves it";
  static std::string reason_of(const LintRule& rule) {
    return std::string(rule.unfixed.empty() ? "its fix is not in the mask" : rule.unfixed);
  }
  static std::string leads_to(const LintRule& rule) {
    return fmt::format("its fix would lead to {}", rule.id);
  }
  bool refuse(FindingId id, std::string why) {
    why_[id] = std::move(why);
    return false;
  }

  static FixDone changed(const LintRule& rule, const CheckResult& before,
                         const CheckResult& after) {
    FixDone out{&rule, {}, {}};
    if (!before.mask || !after.mask || !same_shape(*before.mask, *after.mask)) return out;
    out.closed = zip(Op::kSub, *before.mask, *after.mask).count();
    out.opened = zip(Op::kSub, *after.mask, *before.mask).count();
    return out;
  }

  CheckResult now_;
  FixResult out_;
  std::map<FindingId, std::string> why_;
};

}  // namespace

FixResult fix(const CheckedMask& given, const CheckResult& found) {
  return Fixing(given, found).run();
}

}  // namespace maskctl
