// The sizes of the parts of a drawing: style, block and rulers that fit into the limits.
#pragma once

#include <vector>

#include "maskctl/render/text/draw.h"

namespace maskctl {

/// Columns between two panels.
inline constexpr Index kPanelGap = 3;

/// Which counts about documents the captions need words for.
struct DocumentWords {
  bool leaks = false, padding = false;
  friend bool operator==(const DocumentWords&, const DocumentWords&) = default;
};

/// The layout of all panels of a figure, which have equal extents.
struct Layout {
  DrawOptions options;  // with kAuto resolved; max_columns are those of one panel
  DocumentWords words;
  BlockSize block = kOneElement;  // finest units per pixel
  Index index_width = 0;          // characters of the query numbers on the left
  Index segment_width = 0;        // characters of the query ids, 0 = not shown
  Index label_width = 0;          // columns of the labels of queries, 0 = not shown
  Index label_lines = 0;          // of the labels of keys, 0 = not shown
  Index top_lines = 0;            // rulers and border above the cells
  Index left_columns = 0;         // rulers and border left of the cells

  bool labels() const { return label_width > 0 || label_lines > 0; }
};

/// For a figure with cells, and with room for these words. Throws as draw() does.
Layout lay_out(const Figure& figure, const DrawOptions& options, DocumentWords words);

/// Makes room for the labels of a figure, which has a pixel for each element. Those of keys are
/// written downwards, on `most_lines` at most, where they are wider than a pixel.
void add_labels(const Figure& figure, Index most_lines, Layout& layout);

/// Which signs a drawing uses in addition to those of its style.
struct UsedSigns {
  bool leak = false, mixed = false, padding = false, too_long = false;
  bool labels_left_out = false;
};
/// The words of the legend; a line may break between any two of them.
std::vector<std::string> legend_words(const InkGrid& grid, const DrawOptions& options,
                                      const UsedSigns& used);

}  // namespace maskctl
