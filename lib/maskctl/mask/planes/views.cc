// Planes that are views of another plane with other indices: the defaults of transposed() and
// sliced().
#include <algorithm>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/plane.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kStoredRuns = Index{1} << 24;

/// A plane with the rows and columns of another plane, its base, exchanged. Reading rows, however
/// few, goes once through all rows of the base.
class Transposed final : public Plane {
 public:
  explicit Transposed(PlanePtr base)
      : Plane(base->keys(), base->queries()), base_(std::move(base)) {}

  void rows(Range q, const RowSink& sink) const override {
    const auto columns = column_runs(q);
    const StopPoll poll;
    for (Index i = 0; i < q.size(); ++i) {
      poll();
      sink({q.begin + i, q.begin + i + 1}, {columns[static_cast<std::size_t>(i)], {}});
    }
  }
  Index count(Range q, Range k) const override { return base_->count(k, q); }
  Fill classify(Range q, Range k) const override { return base_->classify(k, q); }
  PlanePtr transposed() const override { return base_; }
  bool computed() const override { return true; }
  Index bytes() const override { return base_->bytes(); }

 private:
  /// For each column in q of the plane that was transposed, the runs of rows in which it is open. A
  /// run begins or ends where a row differs from the one before.
  std::vector<std::vector<Run>> column_runs(Range q) const {
    std::vector<std::vector<Run>> columns(static_cast<std::size_t>(q.size()));
    std::vector<std::int32_t> opened(columns.size(), -1);
    std::vector<Run> last, now, changed, all;
    const auto toggle = [&](Index row) {
      changed.clear();
      combine_runs(Op::kXor, last, now, changed);
      for (const Run& run : changed) {
        for (std::int32_t k = run.begin; k < run.end; ++k) {
          const auto i = static_cast<std::size_t>(k);
          const bool opens = opened[i] < 0;
          if (!opens) columns[i].push_back({opened[i], static_cast<std::int32_t>(row)});
          opened[i] = opens ? static_cast<std::int32_t>(row) : -1;
        }
      }
      std::swap(last, now);
    };
    base_->rows({0, base_->queries()}, [&](Range r, const Keys& keys) {
      now.clear();
      clip_runs(as_runs(keys, all), q, q.begin, now);
      toggle(r.begin);
    });
    now.clear();
    toggle(base_->queries());
    return columns;
  }
  PlanePtr base_;
};

/// A rectangle of another plane.
class Sliced final : public Plane {
 public:
  Sliced(PlanePtr base, Range q, Range k)
      : Plane(q.size(), k.size()), base_(std::move(base)), q_(q), k_(k) {}

  void rows(Range q, const RowSink& sink) const override {
    std::vector<Run> all, runs;
    base_->rows(shifted(q, q_), [&](Range r, const Keys& keys) {
      runs.clear();
      clip_runs(as_runs(keys, all), k_, k_.begin, runs);
      sink({r.begin - q_.begin, r.end - q_.begin}, {runs, {}});
    });
  }
  Index count(Range q, Range k) const override {
    return base_->count(shifted(q, q_), shifted(k, k_));
  }
  Fill classify(Range q, Range k) const override {
    return base_->classify(shifted(q, q_), shifted(k, k_));
  }
  PlanePtr sliced(Range q, Range k) const override {
    return base_->sliced(shifted(q, q_), shifted(k, k_));
  }
  bool computed() const override { return base_->computed(); }
  Index bytes() const override { return base_->bytes(); }

 private:
  static Range shifted(Range inner, Range outer) {
    return {inner.begin + outer.begin, inner.end + outer.begin};
  }
  PlanePtr base_;
  Range q_, k_;
};

}  // namespace

PlanePtr Plane::transposed() const {
  const auto view = std::make_shared<Transposed>(shared_from_this());
  if (PlanePtr kept = stored(*view, kStoredRuns)) return kept;
  return view;
}

PlanePtr Plane::sliced(Range q, Range k) const {
  if (q.empty() || k.empty()) return empty_plane(q.size(), k.size());
  if (q == Range{0, queries_} && k == Range{0, keys_}) return shared_from_this();
  return std::make_shared<Sliced>(shared_from_this(), q, k);
}

}  // namespace maskctl
