#include "maskctl/inspect/recognise/edges.h"

#include <algorithm>
#include <unordered_map>

#include "maskctl/inspect/recognise/cells.h"

namespace maskctl::recognition {
namespace {

class Counter {
 public:
  void add(Index edge, Index rows) { rows_[edge] += rows; }

  std::vector<Index> heaviest(std::size_t most) const {
    std::vector<std::pair<Index, Index>> found;
    for (const auto& [edge, rows] : rows_) found.emplace_back(-rows, edge);
    most = std::min(most, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(most),
                      found.end());
    std::vector<Index> out;
    for (std::size_t i = 0; i < most; ++i) out.push_back(found[i].second);
    return out;
  }

 private:
  std::unordered_map<Index, Index> rows_;
};

constexpr Index kRowsRead = 2048;

}  // namespace

Edges edges_of(const Plane& plane, std::size_t most) {
  Counter diagonals, keys;
  const auto add = [&](Range rows, const Band& band) {
    for (const auto& [edge, slope] :
         {std::pair(band.begin, band.begin_slope), std::pair(band.end, band.end_slope)}) {
      if (slope || rows.size() == 1) diagonals.add(slope ? edge : edge - rows.begin, rows.size());
      if (!slope || rows.size() == 1) {
        keys.add(slope ? edge + rows.begin : edge, rows.size());
      }
    }
  };
  if (slabs_of(plane) || plane.queries() <= kRowsRead) {
    each_band(plane, add);
  } else {
    const Index step = plane.queries() / kRowsRead;
    for (Index q = 0; q < plane.queries(); q += step) each_run(plane, {q, q + 1}, add);
  }
  return {diagonals.heaviest(most), keys.heaviest(most)};
}

}  // namespace maskctl::recognition
