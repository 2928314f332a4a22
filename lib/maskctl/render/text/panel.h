// One panel in characters: its cells, its rulers and its segment ids.
#pragma once

#include "maskctl/render/text/layout.h"

namespace maskctl {

/// Without caption and legend. Adds the signs that it needs to `used`.
Canvas draw_panel(const Figure& figure, const Panel& panel, const Layout& layout,
                  const InkGrid& grid, UsedSigns& used);

}  // namespace maskctl
