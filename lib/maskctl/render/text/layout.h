// The sizes of the parts of a drawing: style, block and rulers that fit into the limits.
#pragma once

#include "maskctl/render/text/draw.h"

namespace maskctl {

struct Layout {
  DrawOptions options;  // with kAuto resolved
  Range q, k;           // the part to draw
  BlockSize block = kOneElement;
  Index index_width = 0;    // characters of the query numbers on the left
  Index segment_width = 0;  // characters of the query ids, 0 = not shown
  Index top_lines = 0;      // rulers and border above the cells
  Index left_columns = 0;   // rulers and border left of the cells
};

/// Throws as draw() does.
Layout lay_out(const Plane& plane, const DrawOptions& options);

/// Throws Error(kInvalidArgument) unless there are no ids or exactly `extent` (`what`: queries,
/// keys).
void check_segments(const char* what, std::size_t ids, Index extent);

/// The smallest number of the form 2^n or 3 * 2^n that is at least n.
Index round_step(Index n);

}  // namespace maskctl
