// What makes each finding true: a predicate over plain cells, ids and numbers, which shares no code
// with what it judges. A finding without its case does not compile.
#pragma once

#include <cstdint>
#include <vector>

#include "inspect/claims/claimed.h"
#include "inspect/claims/claims_of_planes.h"

namespace maskctl::test {

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
/// Whether a finding is true.
inline bool holds(const Claimed& claim) {
  const Finding& finding = claim.finding;
  using Row = std::vector<std::int64_t>;
  const auto at = [](const Row& row, Index i) { return row[static_cast<std::size_t>(i)]; };
  const PlainCells& cells = claim.cells;
  switch (finding.rule->key) {
    case FindingId::kCuShape:
      for (const DocumentSource* cu : claim.arrays(DocumentForm::kCuSeqlens)) {
        if (cu->q.rank() != 1 || cu->q.elements() < 2 || !is_integer(cu->q.dtype())) return true;
      }
      return false;
    case FindingId::kCuStart:
      return claim.any_row(DocumentForm::kCuSeqlens,
                           [&](const Row& row, Index, std::int32_t) { return row[0] != 0; });
    case FindingId::kCuFalls:
      return claim.any_row(DocumentForm::kCuSeqlens, [&](const Row& row, Index i, std::int32_t) {
        return i > 0 && at(row, i) < at(row, i - 1);
      });
    case FindingId::kCuTotal:
      return claim.any_row(DocumentForm::kCuSeqlens, [&](const Row& row, Index, std::int32_t) {
        return !claim.result.mask || row.back() != claim.result.mask->queries() ||
               (claim.given.own_tokens && row.back() != *claim.given.own_tokens);
      });
    case FindingId::kCuDtype:
      for (const DocumentSource* cu : claim.arrays(DocumentForm::kCuSeqlens)) {
        if (cu->q.dtype() != DType::kInt32) return true;
      }
      return false;
    case FindingId::kCuEmptyDocument:
      return claim.any_row(DocumentForm::kCuSeqlens, [&](const Row& row, Index i, std::int32_t) {
        return i > 0 && at(row, i) == at(row, i - 1);
      });
    case FindingId::kSegmentsReturn:
      return claim.any_row(DocumentForm::kSegments, [&](const Row& row, Index i, std::int32_t pad) {
        bool before = false, between = false;
        for (Index j = 0; j < i; ++j) {
          if (at(row, j) == at(row, i))
            before = true;
          else if (before)
            between = true;
        }
        return at(row, i) != pad && before && between && at(row, i - 1) != at(row, i);
      });
    case FindingId::kSegmentsZeroTail:
      return claim.any_row(DocumentForm::kSegments, [&](const Row& row, Index i, std::int32_t pad) {
        for (Index j = 0; j < std::ssize(row); ++j) {
          if (j < i ? at(row, j) <= 0 : at(row, j) != 0) return false;
        }
        return pad != 0 && i > 0;
      });
    case FindingId::kPositionsOffset:
      return claim.any_row(DocumentForm::kPositions, [&](const Row& row, Index i, std::int32_t) {
        for (Index j = 0; j < i; ++j) {  // before it are negative positions, or equal ones
          if (at(row, j) >= 0 && at(row, j) != at(row, 0)) return false;
        }
        return at(row, i) > 0;
      });
    case FindingId::kPositionsStart:
      return claim.any_row(DocumentForm::kPositions, [&](const Row& row, Index i, std::int32_t) {
        return i > 0 && at(row, i) > 0 && (at(row, i - 1) < 0 || at(row, i) < at(row, i - 1));
      });
    case FindingId::kPositionsJump:
      return claim.any_row(DocumentForm::kPositions, [&](const Row& row, Index i, std::int32_t) {
        return i > 0 && at(row, i) > 0 && at(row, i) >= at(row, i - 1) &&
               at(row, i) != at(row, i - 1) + 1;
      });
    case FindingId::kPositionsSegments: {
      const Tensor& positions = claim.arrays(DocumentForm::kPositions).at(0)->q;
      const Tensor& ids = claim.arrays(DocumentForm::kSegments).at(0)->q;
      if (finding.count == 0) return positions.shape() != ids.shape();
      const Index i = claim.at(finding.where.entry);
      const Row p = Claimed::row(positions, claim.b()), s = Claimed::row(ids, claim.b());
      return i > 0 && (at(s, i) != at(s, i - 1)) != (at(p, i) != at(p, i - 1) + 1);
    }
    case FindingId::kNoncanonicalBool:
      return finding.count > 0 && finding.count == claim.given.reading.odd_bools;
    case FindingId::kBiasMixed:
      return claim.given.reading.inf_closed && claim.given.reading.min_closed;
    case FindingId::kBiasAndMask: {
      const PlainCells bias(*claim.given.bias);
      Index lost = 0;
      for (Index b = 0; b < std::max(cells.batch(), bias.batch()); ++b)
        for (Index h = 0; h < std::max(cells.heads(), bias.heads()); ++h)
          for (Index q = 0; q < cells.queries(); ++q)
            for (Index k = 0; k < cells.keys(); ++k)
              lost += bias.open(b, h, q, k) && !cells.open(b, h, q, k);
      return lost == finding.count;
    }
    case FindingId::kMaskEmpty:
      return claim.result.mask->count() == 0;
    case FindingId::kMaskFull:
      return cells.planes([&](Index b, Index h) {
        return cells.open_cells(b, h) == cells.queries() * cells.keys();
      }) * cells.queries() *
                 cells.keys() ==
             finding.count;
    case FindingId::kPolarity:
      if (finding.message.starts_with("the mask is the inverse")) return is_inverse(claim);
      return finding.count <= cells.planes([&](Index b, Index h) {
        return hides_selves(cells, b, h);
      }) && hides_selves(cells, claim.b(), claim.h());
    case FindingId::kAntiCausal:
      return finding.count <= cells.planes([&](Index b, Index h) {
        return is_transposed(cells, b, h);
      }) && is_transposed(cells, claim.b(), claim.h());
    case FindingId::kFuturePart:
    case FindingId::kGroupsJoined: {
      Index later = 0;
      cells.planes([&](Index b, Index h) {
        later += cells.open_cells(b, h, [&](Index q, Index k) { return k > q + cells.shift(); });
        return false;
      });
      return finding.count <= later && cells.open(claim.b(), claim.h(), claim.q(), claim.k()) &&
             claim.k() > claim.q() + cells.shift() &&
             is_causal_otherwise(cells, claim.b(), claim.h());
    }
    case FindingId::kNearly: {
      const twin::Dense steps = claim.made_by(steps_of(claim));
      const auto [all, real] = claim.differing(steps);
      return (finding.count == all || finding.count == real) &&
             cells.open(claim.b(), claim.h(), claim.q(), claim.k()) !=
                 steps.get(claim.b(), claim.h(), claim.q(), claim.k());
    }
    case FindingId::kRowsOpened:
      return cells.is_full(claim.b(), claim.h(), claim.q()) &&
             finding.count <=
                 cells.rows([&](Index b, Index h, Index q) { return cells.is_full(b, h, q); });
    case FindingId::kPaddingRowsOpened:
      return cells.is_opened_padding(claim.b(), claim.h(), claim.q()) &&
             finding.count <= cells.rows([&](Index b, Index h, Index q) {
               return cells.is_opened_padding(b, h, q);
             });
    case FindingId::kTopLeft:
      return cells.queries() < cells.keys() &&
             cells.open_cells(claim.b(), claim.h(), [](Index q, Index k) { return k > q; }) == 0;
    case FindingId::kDecodeFirstKey:
      return cells.queries() == 1 && cells.planes([&](Index b, Index h) {
        return cells.open(b, h, 0, 0) && cells.seen(b, h, 0) == 1;
      }) == cells.batch() * cells.heads();
    case FindingId::kDecodeOwnKey:
    case FindingId::kOwnKeyClosed:
      return cells.planes([&](Index b, Index h) {
        if (cells.open_cells(b, h) == 0) return true;
        const auto later = [&](Index q, Index k) { return k >= q + cells.shift(); };
        const auto before = [&](Index q, Index k) { return k == q + cells.shift() - 1; };
        return cells.open_cells(b, h, later) == 0 &&
               cells.open_cells(b, h, before) == cells.queries();
      }) == cells.batch() * cells.heads();
    case FindingId::kAxesExchanged: {
      bool other = false;
      for (Index k = 0; k < cells.keys(); ++k)
        other = other || cells.open(claim.b(), claim.h(), 0, k) != cells.open(claim.b(), 0, 0, k);
      return other && cells.queries() == 1 && cells.heads() == cells.keys();
    }
    case FindingId::kPlaneFull:
      return cells.planes([&](Index b, Index h) {
        return cells.open_cells(b, h) == cells.queries() * cells.keys();
      }) == finding.count;
    case FindingId::kPlaneFuture:
      return sees_future(cells, claim.b(), claim.h(), true) &&
             finding.count <=
                 cells.planes([&](Index b, Index h) { return sees_future(cells, b, h, true); }) &&
             finding.count >=
                 cells.planes([&](Index b, Index h) { return sees_future(cells, b, h, false); });
    case FindingId::kFutureDiagonal: {
      const auto before = [&](Index q, Index k) { return q - k > finding.count; };
      return cells.open(claim.b(), claim.h(), claim.q(), claim.k()) &&
             claim.k() - claim.q() == finding.count &&
             cells.open_cells(claim.b(), claim.h(), before) > 0;
    }
    case FindingId::kHeadsDocuments: {
      Index crossing = 0;
      for (Index h = 0; h < cells.heads(); ++h)
        crossing += cells_across(cells, claim.b(), h, lengths_of(claim)) > 0;
      return crossing > 0 && cells_across(cells, claim.b(), claim.h(), lengths_of(claim)) == 0;
    }
    case FindingId::kPlaneDiffers:
    case FindingId::kHeadDiffers:
      return differs_from_equals(claim);
    case FindingId::kPlaneEmpty:
      return cells.planes([&](Index b, Index h) { return cells.open_cells(b, h) == 0; }) ==
             finding.count;
    case FindingId::kEmptyRows:
      return empty_rows_are_true(claim);
    case FindingId::kPaddingRowsEmpty:
      return cells.seen(claim.b(), claim.h(), claim.q()) == 0 &&
             finding.count <=
                 cells.rows([&](Index b, Index h, Index q) { return cells.seen(b, h, q) == 0; });
    case FindingId::kLeftPaddingNan:
      return is_left_padding(cells, claim.b(), claim.h(), claim.q()) &&
             finding.count <= cells.rows([&](Index b, Index h, Index q) {
               return is_left_padding(cells, b, h, q);
             });
    case FindingId::kFirstBlock:
      return finding.count == cells.rows([&](Index b, Index h, Index q) {
        return comes_late(cells, b, h, q);
      }) && comes_late(cells, claim.b(), claim.h(), claim.q());
    case FindingId::kDocumentLeak:
      return claim.cells_with([](auto q, auto k) { return q && k && *q != *k; }) == finding.count;
    case FindingId::kPaddingAttended:
      return claim.cells_with([](auto q, auto k) { return q && !k; }) == finding.count;
    case FindingId::kPaddingRowsOpen:
      return claim.cells_with([](auto q, auto) { return !q; }) == finding.count;
    case FindingId::kRowsOnlyPadding:
      return rows_of_padding_keys(claim) == finding.count;
    case FindingId::kStepNoOp: {
      const twin::Dense before = claim.before(claim.step()), after = claim.after(claim.step());
      return twin::zip(Op::kXor, before, after) ==
             twin::Dense(after.b, after.h, after.q, after.k, false);
    }
    case FindingId::kStepReopens:
    case FindingId::kStepReopensOrder:
      return reopened(claim) == finding.count;
    case FindingId::kWindowZero: {
      const twin::Dense shape = claim.before(claim.step());
      const twin::Dense seen =
          twin::run_step(twin::Dense(shape.b, shape.h, shape.q, shape.k, true),
                         claim.given.chain[static_cast<std::size_t>(claim.step() - 1)]);
      for (Index b = 0; b < seen.b; ++b)
        for (Index h = 0; h < seen.h; ++h)
          for (Index q = 0; q < seen.q; ++q) {
            Index keys = 0;
            for (Index k = 0; k < seen.k; ++k) keys += seen.get(b, h, q, k);
            if (keys > 1) return false;
          }
      return true;
    }
  }
  return false;
}
#pragma GCC diagnostic pop

}  // namespace maskctl::test
