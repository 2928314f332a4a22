// Dynamic programming over the positions at which rows stop sharing keys. A document gains the open
// cells that its band covers, loses the closed ones, and costs two numbers.
#include "maskctl/inspect/recognise/ragged_borders.h"

#include <algorithm>

#include "maskctl/inspect/recognise/description.h"

namespace maskctl::recognition {
namespace {

constexpr std::size_t kMostBorders = 1000;

/// Calls f(row, its runs) for each row in order.
template <typename F>
void each_row(const Plane& plane, F&& f) {
  std::vector<Run> scratch;
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    const std::span<const Run> runs = as_runs(keys, scratch);
    for (Index q = rows.begin; q < rows.end; ++q) f(q, runs);
  });
}

/// The keys of a row that matter for where documents may begin and end: its longest run, and the
/// range from its first to past its last key.
struct RowKeys {
  Range longest, hull;
  bool empty() const { return longest.empty(); }
};

std::vector<RowKeys> row_keys(const Plane& plane) {
  std::vector<RowKeys> out(static_cast<std::size_t>(plane.queries()));
  each_row(plane, [&](Index q, std::span<const Run> runs) {
    RowKeys& row = out[static_cast<std::size_t>(q)];
    for (const Run& run : runs) {
      const Range keys{run.begin, run.end};
      if (keys.size() > row.longest.size()) row.longest = keys;
      row.hull = hull(row.hull, keys);
    }
  });
  return out;
}

/// True if a document may begin at this row: both ends of its longest run of keys must equal those
/// of the row above, or be one key further, to continue the same document.
bool begins_anew(const RowKeys& above, const RowKeys& row) {
  if (above.empty() || row.empty()) return above.empty() != row.empty();
  const auto goes_on = [](Index by) { return by == 0 || by == 1; };
  return above.longest.end <= row.longest.begin ||
         !goes_on(row.longest.begin - above.longest.begin) ||
         !goes_on(row.longest.end - above.longest.end);
}

/// The keys at which a document may end before row `q`: where the two rows before `q` end, and
/// where row `q` and the one after it begin. Neighbouring keys are included in case a cell is odd,
/// that is, fits no document.
std::vector<Index> border_keys(const std::vector<RowKeys>& rows, Index q) {
  std::vector<Index> out;
  const auto add = [&](Index row, bool end) {
    if (row < 0 || row >= std::ssize(rows)) return;
    const RowKeys& keys = rows[static_cast<std::size_t>(row)];
    if (keys.empty()) return;
    const Index at = end ? keys.longest.end : keys.longest.begin;
    for (const Index by : {-1, 0, 1}) out.push_back(at + by);
    out.push_back(end ? keys.hull.end : keys.hull.begin);
  };
  for (const Index row : {q - 1, q - 2}) add(row, true);
  for (const Index row : {q, q + 1}) add(row, false);
  return out;
}

}  // namespace

RaggedSums::RaggedSums(const Plane& plane) : stride_(plane.keys() + 2) {
  rectangles_.resize(static_cast<std::size_t>((plane.queries() + 1) * stride_));
  staircases_.resize(rectangles_.size());
  std::vector<std::int8_t> cells(static_cast<std::size_t>(plane.keys()));
  each_row(plane, [&](Index q, std::span<const Run> runs) {
    std::ranges::fill(cells, std::int8_t{-1});
    for (const Run& run : runs) {
      std::fill(cells.begin() + run.begin, cells.begin() + run.end, std::int8_t{1});
    }
    std::int32_t row = 0;
    for (Index k = 0; k <= plane.keys(); ++k) {
      const auto next = static_cast<std::size_t>((q + 1) * stride_ + k);
      rectangles_[next] = rectangle(q, k) + row;
      staircases_[next + 1] = staircase(q, k) + row;
      if (k < plane.keys()) row += cells[static_cast<std::size_t>(k)];
    }
  });
}

/// The sum over the rows of a document of all cells before its first key, and of its own cells for
/// which key - query is below `diagonal`. The former cancel out in the difference of two such sums.
Index RaggedSums::below(const Hull& document, Index diagonal) const {
  const auto& [q, k] = document;
  const Index first = std::clamp(k.begin - diagonal, q.begin, q.end);
  const Index last = std::clamp(k.end - diagonal, first, q.end);
  Index out = rectangle(first, k.begin) - rectangle(q.begin, k.begin);
  if (first < last) out += staircase(last, last + diagonal) - staircase(first, first + diagonal);
  return out + rectangle(q.end, k.end) - rectangle(last, k.end);
}

Index RaggedSums::operator()(const Hull& document, const OwnBand& band) const {
  const Index corner = band.corner(document), reach = stride_ + std::ssize(rectangles_);
  return below(document, corner + band.high.value_or(reach) + 1) -
         below(document, corner + band.low.value_or(-reach));
}

BorderPlacer::BorderPlacer(const Plane& plane) {
  if (plane.queries() * plane.keys() > RaggedSums::kMostCells) return;
  const std::vector<RowKeys> rows = row_keys(plane);
  borders_.push_back({0, 0});
  const auto add = [&](Index q) {
    for (const Index k : border_keys(rows, q)) {
      if (k >= 0 && k <= plane.keys()) borders_.push_back({q, k});
    }
  };
  std::size_t stretches = 0;
  for (Index q = 0; q < plane.queries() && borders_.size() <= 2 * kMostBorders; ++q) {
    const auto at = static_cast<std::size_t>(q);
    const bool border = q == 0 ? !rows[at].empty() : begins_anew(rows[at - 1], rows[at]);
    if (border) add(q), ++stretches;
  }
  add(plane.queries());
  std::ranges::sort(borders_);
  borders_.erase(std::unique(borders_.begin(), borders_.end()), borders_.end());
  if (stretches < 2 || borders_.size() > kMostBorders) return;
  sums_.emplace(plane);
  const Description description({plane.queries(), plane.keys()});
  number_ = description.number();
  cell_ = description.cell();
}

std::vector<Hull> BorderPlacer::placed(const OwnBand& band) const {
  std::vector<Index> gains(borders_.size()), from(borders_.size());
  for (std::size_t i = 1; i < borders_.size(); ++i) {
    const Border& end = borders_[i];
    gains[i] = -kUnbounded;
    for (std::size_t j = 0; j < i; ++j) {
      const Border& begin = borders_[j];
      if (begin.k > end.k) continue;
      const Hull document{{begin.q, end.q}, {begin.k, end.k}};
      const Index before = gains[j] - 2 * number_;
      if (before + cell_ * sums_->most(document) <= gains[i]) continue;
      const Index gain = before + cell_ * (*sums_)(document, band);
      if (gain <= gains[i]) continue;
      gains[i] = gain;
      from[i] = static_cast<Index>(j);
    }
  }
  std::vector<Hull> out;
  auto at = static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
  while (at > 0) {
    const auto before = static_cast<std::size_t>(from[at]);
    const Border &begin = borders_[before], &end = borders_[at];
    out.insert(out.begin(), Hull{{begin.q, end.q}, {begin.k, end.k}});
    at = before;
  }
  return out;
}

}  // namespace maskctl::recognition
