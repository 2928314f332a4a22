// Places the borders of documents with any numbers of queries and keys in spite of a few odd cells;
// private to inspect.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// Limits on key - query inside a document, relative to its last query and key, or for kTopLeft to
/// its first ones; nullopt means no limit.
struct OwnBand {
  Align align = Align::kBottomRight;
  std::optional<Index> low, high;

  /// The diagonal (key - query) through the corner of the document from which the limits count.
  Index corner(const Hull& document) const {
    return align == Align::kTopLeft ? document.k.begin - document.q.begin
                                    : document.k.end - document.q.end;
  }
  friend bool operator==(const OwnBand&, const OwnBand&) = default;
};

/// Sums of the cells of a plane, in which an open cell counts 1 and a closed one -1.
class RaggedSums {
 public:
  static constexpr Index kMostCells = Index{1} << 22;
  explicit RaggedSums(const Plane& plane);
  /// The sum over the cells of a document that are inside the band.
  Index operator()(const Hull& document, const OwnBand& band) const;
  /// No band of a document has a greater sum: its cells, or the open cells of its rows.
  Index most(const Hull& document) const {
    return std::min(document.q.size() * document.k.size(),
                    open_before(document.q.end) - open_before(document.q.begin));
  }

 private:
  Index open_before(Index q) const { return (rectangle(q, stride_ - 2) + q * (stride_ - 2)) / 2; }
  Index below(const Hull& document, Index diagonal) const;
  std::int32_t rectangle(Index q, Index k) const {
    return rectangles_[static_cast<std::size_t>(q * stride_ + k)];
  }
  std::int32_t staircase(Index q, Index k) const {
    return staircases_[static_cast<std::size_t>(q * stride_ + k)];
  }
  Index stride_;
  std::vector<std::int32_t> rectangles_;  // sums of rows [0, q), keys [0, k)
  std::vector<std::int32_t> staircases_;  // sums of rows [0, q): row i with keys [0, k - q + i)
};

/// Finds the documents with the shortest description.
class BorderPlacer {
 public:
  explicit BorderPlacer(const Plane& plane);
  /// False if the rows do not form several documents, or if there are more borders than can be
  /// tried.
  bool places() const { return sums_.has_value(); }
  /// Documents from the first token on, each with this band; tokens past the last one are in none.
  std::vector<Hull> placed(const OwnBand& band) const;

 private:
  struct Border {
    Index q, k;
    friend auto operator<=>(const Border&, const Border&) = default;
  };
  std::vector<Border> borders_;  // possible ends of documents, and {0, 0}
  std::optional<RaggedSums> sums_;
  Index number_ = 0, cell_ = 0;
};

}  // namespace maskctl::recognition
