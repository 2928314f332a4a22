// A finding, the question that check was asked, and helpers with which predicates read both.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "inspect/claims/cells.h"
#include "maskctl/inspect/check/check.h"
#include "maskctl/mask/documents.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/tensor/convert.h"
#include "support/twin_steps.h"

namespace maskctl::test {

struct Claimed {
  const CheckedMask& given;
  const CheckResult& result;
  const Finding& finding;
  const PlainCells& cells;  // of the mask after its steps

  Index at(const std::optional<Index>& part) const { return part.value_or(0); }
  Index b() const { return at(finding.where.batch); }
  Index h() const { return at(finding.where.head); }
  Index q() const { return at(finding.where.query); }
  Index k() const { return at(finding.where.key); }
  Index count() const { return finding.count; }

  /// One row of an array of ids or positions.
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
  /// True if `holds` is true for the row and entry of the finding in some array of this form.
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

  /// The documents that were declared, else those of the mask itself.
  std::optional<Documents> documents() const {
    const auto& source = given.documents ? given.documents : given.own_documents;
    if (!source) return std::nullopt;
    return documents_of(*source, result.mask->queries(), result.mask->keys());
  }
  static std::optional<std::int32_t> id(const Documents& documents, const Tensor& ids, Index b,
                                        Index i) {
    const std::int32_t value = ids_of_batch(ids, b)[static_cast<std::size_t>(i)];
    return value == documents.pad_id ? std::nullopt : std::optional(value);
  }
  static Index batches(const PlainCells& cells, const Documents& documents) {
    return std::max({cells.batch(), documents.q.extent(0), documents.kv.extent(0)});
  }
  /// The number of open cells for which `holds` is true of the ids of their query and key; padding
  /// has no id.
  Index cells_with(const std::function<bool(std::optional<std::int32_t>,
                                            std::optional<std::int32_t>)>& holds) const {
    const Documents documents = *this->documents();
    Index out = 0;
    for (Index b = 0; b < batches(cells, documents); ++b)
      for (Index h = 0; h < cells.heads(); ++h)
        out += cells.open_cells(b, h, [&](Index q, Index k) {
          return holds(id(documents, documents.q, b, q), id(documents, documents.kv, b, k));
        });
    return out;
  }

  /// The mask before step `number`, counted from 1, as the twin computes it.
  twin::Dense before(Index number) const {
    const PlainCells start(*given.start);
    const twin::Dense dense =
        twin::make(start.batch(), start.heads(), start.queries(), start.keys(),
                   [&](Index b, Index h, Index q, Index k) { return start.open(b, h, q, k); });
    return twin::run_chain(dense, {given.chain.begin(), given.chain.begin() + number - 1});
  }
  twin::Dense after(Index number) const { return before(number + 1); }
  Index step() const { return at(finding.where.step); }

  /// The number that follows these words in the message.
  Index number_after(const std::string& words) const {
    return std::stoll(finding.message.substr(finding.message.find(words) + words.size()));
  }
  /// The cells that the steps in `text` leave open in a mask of this shape.
  twin::Dense made_by(const std::string& text) const {
    const Chain chain = text == "full" ? Chain{} : load_chain(std::array{text}, {});
    return twin::run_chain(
        twin::Dense(cells.batch(), cells.heads(), cells.queries(), cells.keys(), true), chain);
  }
  /// The numbers of cells that differ from `other`: all of them, and those outside of opened
  /// padding rows.
  std::array<Index, 2> differing(const twin::Dense& other) const {
    std::array<Index, 2> out{};
    for (Index b = 0; b < cells.batch(); ++b)
      for (Index h = 0; h < cells.heads(); ++h)
        for (Index q = 0; q < cells.queries(); ++q) {
          Index in_row = 0;
          for (Index k = 0; k < cells.keys(); ++k)
            in_row += cells.open(b, h, q, k) != other.get(b, h, q, k);
          out[0] += in_row;
          if (!cells.is_opened_padding(b, h, q)) out[1] += in_row;
        }
    return out;
  }
};

}  // namespace maskctl::test
