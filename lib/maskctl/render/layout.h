// How large the parts of a drawing are: style, block and rulers that fit into the limits.
#pragma once

#include "maskctl/render/draw.h"

namespace maskctl {

struct Layout {
  DrawOptions options;  // with the style that kAuto stands for
  Range q, k;           // the part that is drawn
  BlockSize block = kOneElement;
  Index index_width = 0;    // characters of the query numbers on the left
  Index segment_width = 0;  // of the query ids, 0 = not shown
  Index top_lines = 0;      // rulers and border above the cells
  Index left_columns = 0;   // rulers and border left of the cells
};

/// Throws as draw() does.
Layout lay_out(const Plane& plane, const DrawOptions& options);

/// Throws Error(kInvalidArgument) unless there are no ids or one for each of `extent` (`what`:
/// queries, keys).
void check_segments(const char* what, std::size_t ids, Index extent);

/// The least number of the form 2^n or 3 * 2^n that is at least n.
Index round_step(Index n);

}  // namespace maskctl
