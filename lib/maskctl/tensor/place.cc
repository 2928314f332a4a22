#include "maskctl/tensor/place.h"

#include <algorithm>

namespace maskctl {
namespace {

bool is_whole(const std::vector<Range>& ranges, Index extent) {
  return ranges.size() == 1 && ranges[0] == Range{0, extent};
}

/// Iterates over the positions of a part along the leading axes. (Along the axes after them, the
/// elements of the part are contiguous ranges.)
class Walk {
 public:
  Walk(std::span<const Index> shape, std::span<const std::vector<Range>> ranges)
      : shape_(shape), ranges_(ranges), at_(ranges.size()) {
    for (std::size_t axis = 0; axis < at_.size(); ++axis) at_[axis].at = ranges[axis][0].begin;
  }
  Index offset() const {
    Index offset = 0;
    for (std::size_t axis = 0; axis < at_.size(); ++axis) {
      offset = offset * shape_[axis] + at_[axis].at;
    }
    return offset;
  }
  /// Moves to the next position in C order. Returns false after the last one.
  bool next() {
    for (std::size_t axis = at_.size(); axis-- > 0;) {
      Position& here = at_[axis];
      if (++here.at < ranges_[axis][here.range].end) return true;
      const bool more = ++here.range < ranges_[axis].size();
      if (!more) here.range = 0;
      here.at = ranges_[axis][here.range].begin;
      if (more) return true;
    }
    return false;
  }

 private:
  struct Position {
    std::size_t range = 0;
    Index at = 0;
  };
  std::span<const Index> shape_;
  std::span<const std::vector<Range>> ranges_;
  std::vector<Position> at_;
};

}  // namespace

std::vector<Index> shape_of(const ArrayPlace& place) {
  std::vector<Index> shape;
  for (const std::vector<Range>& ranges : place) {
    Index extent = 0;
    for (const Range& range : ranges) extent += range.size();
    shape.push_back(extent);
  }
  return shape;
}

void for_each_stretch(std::span<const Index> shape, const ArrayPlace& place,
                      const std::function<void(Index, Index, Index)>& f) {
  const std::vector<Index> part = shape_of(place);
  if (std::ranges::find(part, 0) != part.end()) return;
  std::size_t last = shape.size();  // in the end, the last axis that is not whole in the part
  Index row = 1;                    // elements for each position on axis `last`
  while (last > 0 && is_whole(place[last - 1], shape[last - 1])) row *= shape[--last];
  if (last == 0) return f(0, 0, row);
  --last;
  Index done = 0;
  Walk walk(shape, std::span(place).first(last));
  do {
    for (const Range& range : place[last]) {
      const Index elements = range.size() * row;
      f((walk.offset() * shape[last] + range.begin) * row, done, elements);
      done += elements;
    }
  } while (walk.next());
}

}  // namespace maskctl
