// What makes each finding true: a predicate over plain cells, ids and numbers, which shares no code
// with what it judges. A finding without its case does not compile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "maskctl/inspect/check/check.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/documents.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::test {

/// The cells of a mask, one by one.
class Cells {
 public:
  explicit Cells(const Mask& mask) : mask_(mask) {}
  Index batch() const { return mask_.batch(); }
  Index heads() const { return mask_.heads(); }
  Index queries() const { return mask_.queries(); }
  Index keys() const { return mask_.keys(); }
  bool open(Index b, Index h, Index q, Index k) const {
    return is_open(mask_, {mask_.batch() == 1 ? 0 : b, mask_.heads() == 1 ? 0 : h, q, k});
  }
  Index seen(Index b, Index h, Index q) const {
    Index out = 0;
    for (Index k = 0; k < keys(); ++k) out += open(b, h, q, k);
    return out;
  }
  /// Calls f(b, h, q, k) for each open cell.
  void each(const std::function<void(Index, Index, Index, Index)>& f) const {
    for (Index b = 0; b < batch(); ++b)
      for (Index h = 0; h < heads(); ++h)
        for (Index q = 0; q < queries(); ++q)
          for (Index k = 0; k < keys(); ++k)
            if (open(b, h, q, k)) f(b, h, q, k);
  }
  /// How many of the planes, batch by head, does the predicate hold of?
  Index planes(const std::function<bool(Index, Index)>& holds) const {
    Index out = 0;
    for (Index b = 0; b < batch(); ++b)
      for (Index h = 0; h < heads(); ++h) out += holds(b, h);
    return out;
  }

 private:
  const Mask& mask_;
};

/// A finding with the question to which it is an answer.
struct Claimed {
  const CheckedMask& given;
  const CheckResult& result;
  const Finding& finding;

  Cells cells() const { return Cells(*result.mask); }
  Index at(const std::optional<Index>& part) const { return part.value_or(0); }
  Index b() const { return at(finding.where.batch); }
  Index h() const { return at(finding.where.head); }
  Index q() const { return at(finding.where.query); }
  Index k() const { return at(finding.where.key); }

  /// The rows of an array of numbers, and the entry at which the finding points.
  static std::vector<std::int64_t> row(const Tensor& array, Index b) {
    const std::vector<std::int64_t> all = as_int64(array, "ids");
    const Index length = array.extent(array.rank() - 1);
    const auto from = all.begin() + (array.rank() == 1 ? 0 : b * length);
    return {from, from + length};
  }
  /// The arrays of one form among those of the question.
  std::vector<const DocumentSource*> arrays(DocumentForm form) const {
    std::vector<const DocumentSource*> out;
    for (const auto* source : {&given.documents, &given.own_documents}) {
      if (*source && (*source)->form == form) out.push_back(&**source);
    }
    return out;
  }
  /// True of some array of the form: `holds` of the row and the entry of the finding.
  bool any_row(DocumentForm form,
               const std::function<bool(const std::vector<std::int64_t>& row, Index entry,
                                        std::int32_t pad)>& holds) const {
    for (const DocumentSource* source : arrays(form)) {
      for (const Tensor* ids : {&source->q, source->kv ? &*source->kv : &source->q}) {
        if (b() >= (ids->rank() == 1 ? 1 : ids->extent(0))) continue;
        const auto values = row(*ids, b());
        const Index entry = at(finding.where.entry);
        if (entry < std::ssize(values) && holds(values, entry, source->pad_id)) return true;
      }
    }
    return false;
  }

  /// The id of a token: of the declared documents, else of those of the mask itself.
  std::optional<Documents> documents() const {
    const auto& source = given.documents ? given.documents : given.own_documents;
    if (!source) return std::nullopt;
    return documents_of(*source, result.mask->queries(), result.mask->keys());
  }
  /// How many open cells have this predicate of the ids of their query and key, padding as nothing.
  Index cells_with(const std::function<bool(std::optional<std::int32_t>,
                                            std::optional<std::int32_t>)>& holds) const {
    const Documents documents = *this->documents();
    const auto id = [&](const Tensor& ids, Index b, Index i) -> std::optional<std::int32_t> {
      const std::int32_t value = ids_of_batch(ids, b)[static_cast<std::size_t>(i)];
      return value == documents.pad_id ? std::nullopt : std::optional(value);
    };
    Index out = 0;
    const Index batches =
        std::max({cells().batch(), documents.q.extent(0), documents.kv.extent(0)});
    for (Index b = 0; b < batches; ++b)
      for (Index h = 0; h < cells().heads(); ++h)
        for (Index q = 0; q < cells().queries(); ++q)
          for (Index k = 0; k < cells().keys(); ++k)
            out += cells().open(b, h, q, k) && holds(id(documents.q, b, q), id(documents.kv, b, k));
    return out;
  }
};

/// Whether a finding is true; nothing for those whose predicate is still to be written.
inline std::optional<bool> holds(const Claimed& claim) {
  const Finding& finding = claim.finding;
  using Row = std::vector<std::int64_t>;
  const auto at = [](const Row& row, Index i) { return row[static_cast<std::size_t>(i)]; };
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
    case FindingId::kPositionsStart:
      return claim.any_row(DocumentForm::kPositions, [&](const Row& row, Index i, std::int32_t) {
        return at(row, i) > 0 && (i == 0 || at(row, i - 1) < 0 || at(row, i) < at(row, i - 1));
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
      const Cells mask = claim.cells(), bias(*claim.given.bias);
      Index lost = 0;
      for (Index b = 0; b < std::max(mask.batch(), bias.batch()); ++b)
        for (Index h = 0; h < std::max(mask.heads(), bias.heads()); ++h)
          for (Index q = 0; q < mask.queries(); ++q)
            for (Index k = 0; k < mask.keys(); ++k)
              lost += bias.open(b, h, q, k) && !mask.open(b, h, q, k);
      return lost == finding.count;
    }
    case FindingId::kMaskEmpty:
      return claim.result.mask->count() == 0;
    case FindingId::kMaskFull: {
      Index open = 0;
      claim.cells().each([&](Index, Index, Index, Index) { ++open; });
      return open == finding.count && open == claim.result.mask->cells();
    }
    case FindingId::kRowsOpened:
    case FindingId::kPaddingRowsOpened:
      return claim.cells().seen(claim.b(), claim.h(), claim.q()) == claim.cells().keys();
    case FindingId::kDecodeFirstKey:
      return claim.cells().queries() == 1 && claim.cells().planes([&](Index b, Index h) {
        return claim.cells().open(b, h, 0, 0) && claim.cells().seen(b, h, 0) == 1;
      }) == claim.cells().batch() * claim.cells().heads();
    case FindingId::kDecodeOwnKey:
    case FindingId::kOwnKeyClosed: {
      const Index shift = claim.cells().keys() - claim.cells().queries();
      for (Index q = 0; q < claim.cells().queries(); ++q) {
        if (claim.cells().open(claim.b(), claim.h(), q, q + shift)) return false;
      }
      return claim.cells().open(claim.b(), claim.h(), claim.q(), claim.q() + shift - 1);
    }
    case FindingId::kTopLeft: {
      bool beyond = false;
      for (Index q = 0; q < claim.cells().queries(); ++q)
        for (Index k = q + 1; k < claim.cells().keys(); ++k)
          beyond = beyond || claim.cells().open(claim.b(), claim.h(), q, k);
      return !beyond && claim.cells().queries() < claim.cells().keys();
    }
    case FindingId::kPlaneFull:
      return claim.cells().planes([&](Index b, Index h) {
        Index open = 0;
        for (Index q = 0; q < claim.cells().queries(); ++q) open += claim.cells().seen(b, h, q);
        return open == claim.cells().queries() * claim.cells().keys();
      }) == finding.count;
    case FindingId::kPlaneEmpty:
      return claim.cells().planes([&](Index b, Index h) {
        Index open = 0;
        for (Index q = 0; q < claim.cells().queries(); ++q) open += claim.cells().seen(b, h, q);
        return open == 0;
      }) == finding.count;
    case FindingId::kFuturePart:
    case FindingId::kGroupsJoined:
      return claim.cells().open(claim.b(), claim.h(), claim.q(), claim.k()) &&
             claim.k() > claim.q() + claim.cells().keys() - claim.cells().queries();
    case FindingId::kFutureDiagonal:
      return claim.cells().queries() == claim.cells().keys() && claim.k() > claim.q() &&
             finding.count == claim.k() - claim.q();
    case FindingId::kEmptyRows:
    case FindingId::kPaddingRowsEmpty:
    case FindingId::kLeftPaddingNan:
      return claim.cells().seen(claim.b(), claim.h(), claim.q()) == 0;
    case FindingId::kDocumentLeak:
      return claim.cells_with([](auto q, auto k) { return q && k && *q != *k; }) == finding.count;
    case FindingId::kPaddingAttended:
      return claim.cells_with([](auto q, auto k) { return q && !k; }) == finding.count;
    case FindingId::kPaddingRowsOpen:
      return claim.cells_with([](auto q, auto) { return !q; }) == finding.count;
    case FindingId::kStepNoOp: {
      const auto step = static_cast<std::size_t>(claim.at(finding.where.step)) - 1;
      const Chain before(claim.given.chain.begin(),
                         claim.given.chain.begin() + static_cast<std::ptrdiff_t>(step));
      const Mask then = maskctl::apply(*claim.given.start, before);
      const Mask next = maskctl::apply(then, claim.given.chain[step]);
      Index open = 0, same = 0;
      Cells(next).each([&](Index b, Index h, Index q, Index k) {
        ++open;
        same += Cells(then).open(b, h, q, k);
      });
      return open == same && Cells(then).queries() == Cells(next).queries() &&
             next.count() * then.batch() * then.heads() ==
                 then.count() * next.batch() * next.heads();
    }
    case FindingId::kPolarity:
    case FindingId::kAntiCausal:
    case FindingId::kNearly:
    case FindingId::kAxesExchanged:
    case FindingId::kPlaneFuture:
    case FindingId::kHeadsDocuments:
    case FindingId::kPlaneDiffers:
    case FindingId::kHeadDiffers:
    case FindingId::kFirstBlock:
    case FindingId::kRowsOnlyPadding:
    case FindingId::kStepReopens:
    case FindingId::kStepReopensOrder:
    case FindingId::kWindowZero:
      return std::nullopt;
  }
  return false;
}

}  // namespace maskctl::test
