// Tests that audit_flex() names the odd one of mask_mod, lists and output, on drawn lists of blocks
// and outputs, against plain cells.
#include "maskctl/verify/solve/flex_audit.h"

#include <optional>
#include <random>
#include <set>
#include <vector>

#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/rounds.h"
#include "support/twin.h"

namespace flex_audit_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using twin::Dense;

constexpr Index kBatch = 2, kHeads = 3, kQueries = 6, kKeys = 7;
constexpr BlockSize kBlock{2, 3};

/// A call: cells of each mask, the lists as a state of each block, and what a kernel applied.
struct DrawnCall {
  Dense meant, own, partial, full, told;
  std::optional<Dense> applied;  // absent: the output tells nothing
  bool refuses = false;          // to solve
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  Index below(Index n) { return std::uniform_int_distribution<Index>(0, n - 1)(random_); }

  Dense cells(Index heads) {
    return twin::make(kBatch, heads, kQueries, kKeys,
                      [&](Index, Index, Index, Index) { return below(2) == 0; });
  }

  DrawnCall call() {
    DrawnCall out;
    const Index heads = below(2) == 0 ? 1 : kHeads;  // of the lists
    out.own = cells(kHeads);
    out.partial = out.full = Dense(1, heads, kQueries, kKeys);
    for (Index h = 0; h < heads; ++h) {
      for (Index row = 0; row < 3; ++row) {
        for (Index column = 0; column < 3; ++column) list(out, h, row, column, below(6));
      }
    }
    out.told = twin::zip(Op::kOr, twin::zip(Op::kAnd, out.own, out.partial), out.full);
    const Index meant = below(3);
    out.meant = meant == 0 ? out.told : meant == 1 ? out.own : cells(kHeads);
    const Index applied = below(4);
    if (applied == 0) out.applied = out.meant;
    if (applied == 1) out.applied = out.told;
    if (applied == 2) out.applied = cells(kHeads);
    out.refuses = below(2) == 0;
    return out;
  }

 private:
  static void list(DrawnCall& out, Index head, Index row, Index column, Index state) {
    if (state > 2) state = 1;  // most are partial
    for (Index q = row * kBlock.q; q < (row + 1) * kBlock.q; ++q) {
      for (Index k = column * kBlock.k; k < std::min((column + 1) * kBlock.k, kKeys); ++k) {
        (state == 1 ? out.partial : out.full).set(0, head, q, k, state != 0);
      }
    }
  }

  std::mt19937 random_;
};

FlexJudge judge_of(const DrawnCall& call) {
  return [&call](const Mask& declared, bool solve) {
    FullVerdict out;
    Judgement& judgement = out.report.judgement;
    if (!call.applied) {
      judgement.verdict = Verdict::kUnclear;
      return out;
    }
    const Mask applied = twin::mask_of(*call.applied);
    const MaskDiff found = diff(declared, applied);
    judgement.verdict = found.equal() ? Verdict::kObeys : Verdict::kAnother;
    if (solve && call.refuses) throw Error(Errc::kInvalidArgument, "too few channels");
    if (solve) {
      out.solved.emplace();
      out.solved->diff = found;
    }
    return out;
  };
}

std::optional<Cell> first_difference(const Dense& a, const Dense& b) {
  for (Index ib = 0; ib < kBatch; ++ib) {
    for (Index h = 0; h < kHeads; ++h) {
      for (Index q = 0; q < kQueries; ++q) {
        for (Index k = 0; k < kKeys; ++k) {
          if (a.get(ib, h, q, k) != b.get(ib, h, q, k)) return Cell{ib, h, q, k};
        }
      }
    }
  }
  return std::nullopt;
}

FlexVerdict expected(const DrawnCall& call) {
  const bool agree = call.meant == call.told;
  if (!call.applied) return agree ? FlexVerdict::kUnclear : FlexVerdict::kLists;
  if (*call.applied == call.meant) return agree ? FlexVerdict::kAgree : FlexVerdict::kLists;
  if (agree) return FlexVerdict::kOutput;
  return *call.applied == call.told ? FlexVerdict::kMaskMod : FlexVerdict::kAll;
}

Listed listed_at(const DrawnCall& call, const Cell& cell) {
  if (call.full.get(0, cell.head, cell.query, cell.key)) return Listed::kFull;
  return call.partial.get(0, cell.head, cell.query, cell.key) ? Listed::kPartial : Listed::kNot;
}

}  // namespace

TEST_CASE("audit_flex: names which of mask_mod, lists and output differs, and the first cell") {
  std::set<FlexVerdict> seen;
  std::set<Listed> states;
  for (int round = 0; round < test::rounds(400); ++round) {
    const DrawnCall call = Draw(static_cast<unsigned>(round)).call();
    INFO("round " << round);
    const Mask meant = twin::mask_of(call.meant);
    const FlexAudit found =
        audit_flex(meant,
                   compare_lists(meant, twin::mask_of(call.own),
                                 {twin::mask_of(call.partial), twin::mask_of(call.full), kBlock}),
                   judge_of(call));
    REQUIRE(found.verdict == expected(call));
    seen.insert(found.verdict);
    CHECK(differing_cells(found.lists.told, twin::mask_of(call.told)) == 0);
    const auto first = first_difference(call.meant, call.told);
    REQUIRE(found.lists.diff.first == first);
    if (first) {
      CHECK(found.lists.row == first->query / kBlock.q);
      CHECK(found.lists.column == first->key / kBlock.k);
      CHECK(found.lists.listed == listed_at(call, *first));
      states.insert(found.lists.listed);
    }
    const bool is_off = found.verdict == FlexVerdict::kOutput || found.verdict == FlexVerdict::kAll;
    CHECK(found.first ==
          (is_off && !call.refuses ? first_difference(call.told, *call.applied) : std::nullopt));
    CHECK(found.no_first == (is_off && call.refuses ? "too few channels" : ""));
  }
  CHECK(seen.size() == 6);
  CHECK(states.size() == 3);
}

TEST_CASE("audit_flex: an exception in the judge, or a stop request, ends the audit") {
  const Mask full = full_mask(1, 1, 4, 4);
  const FlexLists lists = compare_lists(full, full, {full, full, {2, 2}});
  for (const Errc code : {Errc::kLimit, Errc::kCancelled}) {
    const FlexJudge fails = [code](const Mask&, bool) -> FullVerdict { throw Error(code, "no"); };
    CHECK_THROWS_AS(audit_flex(full, lists, fails), Error);
  }
  const FlexJudge cancelled = [](const Mask&, bool solve) {
    if (solve) throw Error(Errc::kCancelled, "cancelled");
    FullVerdict out;
    out.report.judgement.verdict = Verdict::kAnother;
    return out;
  };
  CHECK_THROWS_AS(audit_flex(full, lists, cancelled), Error);
}

}  // namespace flex_audit_cases
