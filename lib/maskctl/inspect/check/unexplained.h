// The cells that the few steps of a pattern do not explain, and whether they look like mistakes;
// private to inspect.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/inspect/check/pattern.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/residue.h"

namespace maskctl {

/// How many cells, or rectangles of cells, a message lists.
inline constexpr std::size_t kListedCells = 4;

/// The cells that the steps of a pattern do not explain.
class Unexplained {
 public:
  explicit Unexplained(const Pattern& pattern);

  /// True when the cells follow a rule: their rows are windows of equal length, or none of them is
  /// an exception in its own plane (is_exception()).
  bool follow_a_rule() const;

  /// Whether some rows were taken for opened padding, and some of the cells are in other rows that
  /// see every key: these rows may be opened padding, too.
  bool are_in_full_rows() const;

  /// True when the cells look like mistakes: at least a third are exceptions with no other cell
  /// near them or mirrored across the diagonal, or all form one rectangle that lies alone. Cells
  /// with neighbours are lines or blocks: a stride, selected keys.
  bool are_strays() const;

  /// Whether the steps cut tokens into documents or chunks, and all cells are open between these,
  /// are exceptions, and are few beside the others of their planes.
  bool cross_borders() const;

  /// Whether the cells that are open in some plane, but not by the steps, are one rectangle that
  /// joins documents, or a few rectangles of which one begins or ends inside a document. False for
  /// a rectangle that covers the rows of whole documents and begins at key 0 or ends at the last
  /// query: documents may share such a part.
  bool joins_documents() const;

  /// The cells as text, if few rectangles cover them exactly: "head 1, queries 25-30, keys 2-9;
  /// head 1, queries 40-47, keys 4-15".
  std::optional<std::string> rectangles() const;

 private:
  /// Whether a query is in the document of the one before it.
  bool continues(const Plane& steps, Index query) const;

  const Plane& plane_of(const Mask& mask) const;

  std::optional<recognition::Hull> rectangle_of_cells() const;

  /// Whether many cells share few rows, columns or diagonals: they follow a rule of their own.
  bool are_crowded() const;

  /// Whether many cells are on few diagonals, as what is seen of each frame of a video.
  bool are_diagonals() const;

  std::function<bool(const Cell&)> is_odd() const;

  /// True if the steps open this cell, and neither the next one away from the diagonal in its row
  /// nor that in its column: it is the corner where the window of a document ends, which sinks may
  /// leave open in another document.
  bool is_end_of_window(const Cell& cell) const;

  /// True when the cell with query and key exchanged is unexplained too.
  bool has_mirror(const Cell& cell) const;

  /// Whether no other unexplained cell is within `reach` of this one in both axes. Cells on the
  /// anti-diagonal through this one do not count, because no rule runs along that. False for a cell
  /// at the end of a window or with a mirrored cell.
  bool is_alone(const Cell& cell) const;

  /// Whether the cells are one rectangle, not at an edge of the mask, that stands out: it is open
  /// and the cells around it are closed, or it is closed and all cells around it that the steps
  /// open are open, some of them above and below. The steps must keep diagonals or make documents.
  bool is_island() const;

  /// Whether holds(batch, head) is true for some plane with cells that the steps do not explain;
  /// equal planes are asked once.
  template <typename Holds>
  bool any_plane(const Holds& holds) const {
    std::set<std::uint32_t> seen;
    for (Index b = 0; b < cells_.batch(); ++b) {
      for (Index h = 0; h < cells_.heads(); ++h) {
        if (!seen.insert(cells_.index_of(b, h)).second || cells_.plane(b, h)->count() == 0)
          continue;
        if (holds(b, h)) return true;
      }
    }
    return false;
  }

  const Pattern& pattern_;
  const Mask& mask_;
  const Residue& residue_;
  Mask steps_, cells_;
  std::vector<Cell> judged_;  // the first cells, of which heads and batch entries share none
  std::optional<recognition::Hull> rectangle_;
};

/// For example "query 17, key 3; query 17, key 4 and 12 more"; batch and head are named if they are
/// not 0.
std::string residue_text(const Residue& residue);

}  // namespace maskctl
