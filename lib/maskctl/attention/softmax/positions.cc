// Rows of a mask on positions, found by bisection where positions ascend.
#include "maskctl/attention/softmax/positions.h"

#include <algorithm>
#include <vector>

namespace maskctl::attention {
namespace {

class PositionPlane final : public Plane {
 public:
  PositionPlane(std::span<const Index> q, std::span<const Index> kv, std::optional<Index> left,
                std::optional<Index> right)
      : Plane(static_cast<Index>(q.size()), static_cast<Index>(kv.size())),
        q_(q.begin(), q.end()),
        kv_(kv.begin(), kv.end()),
        left_(left),
        right_(right) {
    for (Place first = kv_.cbegin(); first != kv_.cend(); first = ascents_.back()) {
      ascents_.push_back(std::is_sorted_until(first, kv_.cend()));
    }
  }

  void rows(Range rows, const RowSink& sink) const override {
    std::vector<Run> runs;
    for (Index i = rows.begin; i < rows.end; ++i) {
      runs.clear();
      auto first = kv_.begin();
      for (const auto last : ascents_) {
        add(q_[as_size(i)], first, last, runs);
        first = last;
      }
      sink({i, i + 1}, {runs, {}});
    }
  }
  bool computed() const override { return true; }
  Index bytes() const override {
    return static_cast<Index>(sizeof(*this) +
                              (q_.size() + kv_.size() + ascents_.size()) * sizeof(Index));
  }

 private:
  using Place = std::vector<Index>::const_iterator;

  /// The keys of one ascent that a query at `position` sees; joined to a run that they touch.
  void add(Index position, Place first, Place last, std::vector<Run>& runs) const {
    const auto too_low = [&](Index key) { return left_ && key - position < -*left_; };
    const auto in_reach = [&](Index key) { return !right_ || key - position <= *right_; };
    const Place begin = std::partition_point(first, last, too_low);
    const Place end = std::partition_point(begin, last, in_reach);
    if (begin == end) return;
    const Run run{static_cast<std::int32_t>(begin - kv_.begin()),
                  static_cast<std::int32_t>(end - kv_.begin())};
    if (!runs.empty() && runs.back().end == run.begin) {
      runs.back().end = run.end;
    } else {
      runs.push_back(run);
    }
  }

  std::vector<Index> q_, kv_;
  std::vector<Place> ascents_;  // where each ends
  std::optional<Index> left_, right_;
};

}  // namespace

PlanePtr position_plane(std::span<const Index> q, std::span<const Index> kv,
                        std::optional<Index> left, std::optional<Index> right) {
  return std::make_shared<PositionPlane>(q, kv, left, right);
}

}  // namespace maskctl::attention
