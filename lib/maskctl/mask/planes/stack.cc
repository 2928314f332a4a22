// Planes stacked vertically, so that each range of rows is stored in the form (bands, runs or bits)
// that suits it.
#include <algorithm>

#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

Index total_rows(std::span<const PlanePtr> parts) {
  Index rows = 0;
  for (const PlanePtr& part : parts) rows += part->queries();
  return rows;
}

}  // namespace

Stack::Stack(Index part_rows, std::vector<PlanePtr> parts)
    : Plane(total_rows(parts), parts.front()->keys()),
      part_rows_(part_rows),
      parts_(std::move(parts)) {}

Range Stack::rows_of(std::size_t part) const {
  const Index begin = static_cast<Index>(part) * part_rows_;
  return {begin, begin + parts_[part]->queries()};
}

/// Calls f(part, rows, first) for each plane of the stack that overlaps the rows q: `rows` is the
/// overlap, numbered within this plane, and `first` is the row of the stack where this plane
/// begins.
template <typename F>
void Stack::each_part(Range q, F&& f) const {
  for (Index row = q.begin; row < q.end;) {
    const Index part = row / part_rows_;
    const Index start = part * part_rows_;
    const Index end = std::min(q.end, start + part_rows_);
    f(*parts_[static_cast<std::size_t>(part)], Range{row - start, end - start}, start);
    row = end;
  }
}

void Stack::rows(Range q, const RowSink& sink) const {
  each_part(q, [&](const Plane& part, Range inner, Index start) {
    part.rows(inner, [&](Range r, const Keys& keys) {
      sink({r.begin + start, r.end + start}, keys);
    });
  });
}

Index Stack::count(Range q, Range k) const {
  if (q.empty()) return 0;
  const Index first = q.begin / part_rows_;
  const Index parts = (q.end - 1) / part_rows_ + 1 - first;
  std::vector<Index> sums(static_cast<std::size_t>(parts));
  parallel_for(parts, [&](Index i) {
    const Index start = (first + i) * part_rows_;
    const Range rows = intersect(q, {start, start + part_rows_});
    sums[static_cast<std::size_t>(i)] = parts_[static_cast<std::size_t>(first + i)]->count(
        {rows.begin - start, rows.end - start}, k);
  });
  Index total = 0;
  for (const Index sum : sums) total += sum;
  return total;
}

void Stack::tiles(Range q, Index key_tile, std::vector<TileRun>& out) const {
  if (q.empty()) return;
  const Index part = q.begin / part_rows_;
  if ((q.end - 1) / part_rows_ != part) return Plane::tiles(q, key_tile, out);
  const Index start = part * part_rows_;
  parts_[static_cast<std::size_t>(part)]->tiles({q.begin - start, q.end - start}, key_tile, out);
}

void Stack::counts(Range q, std::span<const Index> edges, std::span<Index> out) const {
  each_part(q, [&](const Plane& part, Range inner, Index) { part.counts(inner, edges, out); });
}

PlanePtr Stack::sliced(Range q, Range k) const {
  const Index part = q.begin / part_rows_;
  if (q.empty() || (q.end - 1) / part_rows_ != part) return Plane::sliced(q, k);
  const Index start = part * part_rows_;
  return parts_[static_cast<std::size_t>(part)]->sliced({q.begin - start, q.end - start}, k);
}

PlanePtr Stack::transposed() const {
  const bool any_bits = std::any_of(parts_.begin(), parts_.end(), [](const PlanePtr& part) {
    return dynamic_cast<const BitRows*>(part.get()) != nullptr;
  });
  if (!any_bits) return Plane::transposed();
  const Index stride = words_for(keys());
  WordBuffer words(queries() * stride);
  parallel_for(static_cast<Index>(parts_.size()), [&](Index part) {
    rows(rows_of(static_cast<std::size_t>(part)), [&](Range r, const Keys& row) {
      for (Index q = r.begin; q < r.end; ++q) {
        const auto out = words.words().subspan(static_cast<std::size_t>(q * stride),
                                               static_cast<std::size_t>(stride));
        if (row.is_words()) {
          std::copy(row.words.begin(), row.words.end(), out.begin());
        } else {
          runs_to_words(row.runs, out);
        }
      }
    });
  });
  return BitRows(queries(), keys(), std::move(words)).transposed();
}

bool Stack::computed() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const PlanePtr& p) { return p->computed(); });
}

Index Stack::bytes() const {
  Index total = 0;
  for (const PlanePtr& part : parts_) total += part->bytes();
  return total;
}

PlanePtr stacked(Index part_rows, std::vector<PlanePtr> parts) {
  if (parts.size() == 1) return parts.front();
  return std::make_shared<Stack>(part_rows, std::move(parts));
}

}  // namespace maskctl
