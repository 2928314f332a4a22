#include "maskctl/verify/solve/flex_audit.h"

#include <array>
#include <utility>

#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

bool is_open(const Mask& mask, const Cell& cell) {
  const Range query{cell.query, cell.query + 1}, key{cell.key, cell.key + 1};
  return mask.plane(cell.batch, cell.head)->count(query, key) != 0;
}

bool is_decided(const FullVerdict& found) {
  return found.report.judgement.verdict != Verdict::kUnclear;
}

bool obeys(const FullVerdict& found) { return found.report.judgement.verdict == Verdict::kObeys; }

/// Sets the first cell in which an output, which obeys another mask, differs from a mask.
void find_first(const Mask& mask, const FullVerdict& found, const FlexJudge& judge,
                FlexAudit& out) {
  if (found.solved) {
    out.first = found.solved->diff.first;
  } else if (found.report.judgement.verdict == Verdict::kAnother) {
    try {
      const FullVerdict solved = judge(mask, true);
      if (solved.solved) out.first = solved.solved->diff.first;
    } catch (const Error& error) {
      if (error.code() == Errc::kCancelled) throw;
      out.no_first = error.what();
    }
  }
}

FlexVerdict verdict_of(const FlexAudit& found) {
  const bool agree = found.lists.diff.equal();
  if (!found.decided) return agree ? FlexVerdict::kUnclear : FlexVerdict::kLists;
  if (agree) return found.obeys_mask_mod ? FlexVerdict::kAgree : FlexVerdict::kOutput;
  if (found.obeys_mask_mod) return FlexVerdict::kLists;
  return found.obeys_lists ? FlexVerdict::kMaskMod : FlexVerdict::kAll;
}

}  // namespace

std::string_view name(Listed listed) {
  constexpr std::array<std::string_view, 3> kNames{"not listed", "partial", "full"};
  return kNames[static_cast<std::size_t>(listed)];
}

std::string_view name(FlexVerdict verdict) {
  constexpr std::array<std::string_view, 6> kNames{"agree",  "lists", "mask_mod",
                                                   "output", "all",   "unclear"};
  return kNames[static_cast<std::size_t>(verdict)];
}

FlexLists compare_lists(const Mask& meant, const Mask& own, const ListedBlocks& blocks) {
  FlexLists out;
  out.told = zip(Op::kOr, zip(Op::kAnd, own, blocks.partial), blocks.full);
  out.diff = diff(meant, out.told, blocks.size);
  if (!out.diff.first) return out;
  const Cell& first = *out.diff.first;
  out.row = first.query / blocks.size.q;
  out.column = first.key / blocks.size.k;
  if (is_open(blocks.full, first)) {
    out.listed = Listed::kFull;
  } else if (is_open(blocks.partial, first)) {
    out.listed = Listed::kPartial;
  }
  return out;
}

FlexAudit audit_flex(const Mask& meant, FlexLists lists, const FlexJudge& judge) {
  FlexAudit out;
  out.lists = std::move(lists);
  FullVerdict found = judge(meant, false);
  const Mask* of = &meant;
  out.obeys_mask_mod = obeys(found);
  out.decided = is_decided(found);
  if (!out.lists.diff.equal()) {
    FullVerdict other = judge(out.lists.told, false);
    out.obeys_lists = obeys(other);
    const bool says_more = is_decided(other) || !out.decided;
    out.decided = out.decided || is_decided(other);
    if (!out.obeys_mask_mod && says_more) {
      found = std::move(other);
      of = &out.lists.told;
    }
  }
  if (out.decided && !out.obeys_mask_mod && !out.obeys_lists) find_first(*of, found, judge, out);
  out.report = std::move(found.report);
  out.verdict = verdict_of(out);
  return out;
}

}  // namespace maskctl::attention
