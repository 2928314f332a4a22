#include "app/cli/drawn.h"

#include <utility>

#include "app/cli/terminal.h"

namespace maskctl::app {

std::string drawn(const Mask& mask, std::string name, const SegmentTensors& ids,
                  const Session& session) {
  if (mask.batch() == 0 || mask.heads() == 0) return "(empty)\n";
  Figure figure;
  figure.name = std::move(name);
  figure.panels = panels_of(mask, {0, 1}, {0, 1}, ids);
  return draw_text(figure, stdout_drawing(Style::kAuto, session.settings().color));
}

}  // namespace maskctl::app
