// Computes the layout of a drawing: the style, block size and rulers that fit into the limits.
#pragma once

#include <vector>

#include "maskctl/render/text/draw.h"

namespace maskctl {

/// Columns between two panels.
inline constexpr Index kPanelGap = 3;

/// Whether captions have words for the number of leaks, and for the number of open cells of
/// padding.
struct DocumentWords {
  bool leaks = false, padding = false;
  friend bool operator==(const DocumentWords&, const DocumentWords&) = default;
};

/// The layout of all panels of a figure, which have equal extents.
struct Layout {
  DrawOptions options;  // kAuto is resolved, and max_columns is the limit of one panel
  DocumentWords words;
  BlockSize block = kOneElement;  // smallest units (cells or tiles) per pixel
  Index index_width = 0;          // characters of the query numbers on the left
  Index segment_width = 0;        // characters of the segment ids of queries; 0: not shown
  Index label_width = 0;          // columns of the labels of queries; 0: not shown
  Index label_lines = 0;          // lines of the labels of keys; 0: not shown
  Index top_lines = 0;            // lines of rulers and border above the cells
  Index left_columns = 0;         // columns of rulers and border left of the cells

  bool labels() const { return label_width > 0 || label_lines > 0; }
};

/// Returns the layout of a figure that has cells. `words`: the counts for which its captions need
/// room. Throws what draw() throws.
Layout lay_out(const Figure& figure, const DrawOptions& options, DocumentWords words);

/// Makes room for the labels of a figure that has a pixel for each element. If the labels of keys
/// are wider than a pixel, they are written downwards, on at most `most_lines` lines.
void add_labels(const Figure& figure, Index most_lines, Layout& layout);

/// Which signs a drawing uses besides those of its style.
struct UsedSigns {
  bool leak = false, mixed = false, padding = false, too_long = false;
  bool labels_left_out = false;
};
/// The parts of the legend; a line may be broken between any two of them.
std::vector<std::string> legend_words(const InkGrid& grid, const DrawOptions& options,
                                      const UsedSigns& used);

}  // namespace maskctl
