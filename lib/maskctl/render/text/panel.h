// One panel drawn in characters: its cells, its rulers and its segment ids.
#pragma once

#include "maskctl/render/text/layout.h"

namespace maskctl {

/// Draws a panel without caption and legend. Adds the signs that it uses to `used`.
Canvas draw_panel(const Figure& figure, const Panel& panel, const Layout& layout,
                  const InkGrid& grid, UsedSigns& used);

}  // namespace maskctl
