#include "app/tui/inspector.h"

namespace maskctl::app::tui {
namespace {

void serve(State& state, Terminal& terminal) {
  if (state.request == Request::kRedraw) terminal.redraw();
  if (state.request != Request::kSuspend) return;
  terminal.suspend();
  const Screen screen = terminal.screen();
  state.screen.rows = screen.rows;
  state.screen.columns = screen.columns;
  settle(state);
}

}  // namespace

void inspect(Workbench& bench, const TerminalOptions& options, const std::stop_token& stop) {
  Terminal terminal(options, stop);
  Painter painter;
  State state = first_state(bench, terminal.screen());
  while (state.request != Request::kQuit) {
    terminal.show(painter.draw(state));
    // All keys that are waiting come before the next screen: a key that is held down never lags.
    auto input = terminal.next(true);
    if (!input) return;
    for (; input && state.request != Request::kQuit; input = terminal.next(false)) {
      state = update(std::move(state), *input, bench);
      serve(state, terminal);
    }
  }
}

Canvas play(Workbench& bench, const Screen& screen, std::string_view script) {
  Painter painter;
  State state = first_state(bench, screen);
  Canvas canvas = painter.draw(state);
  for (const Input& input : parse_script(script)) {
    state = update(std::move(state), input, bench);
    if (state.request == Request::kQuit) break;
    canvas = painter.draw(state);
  }
  return canvas;
}

}  // namespace maskctl::app::tui
