#include "app/tui/inspector.h"

#include <chrono>

namespace maskctl::app::tui {
namespace {

using Clock = std::chrono::steady_clock;

/// A pipeline is shown when nobody has typed for so long.
constexpr std::chrono::milliseconds kPause{100};

void serve(State& state, Terminal& terminal) {
  if (state.request == Request::kRedraw) terminal.redraw();
  if (state.request == Request::kCopy) terminal.copy(state.copied);
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
  ReportMaker reports([&terminal] { terminal.wake_up(); });
  while (state.request != Request::kQuit) {
    terminal.show(painter.draw(state));
    // All keys that are waiting come before the next screen: a key that is held down never lags.
    auto input = terminal.next(state.preview_due ? kPause : Terminal::kForever);
    if (!input && state.preview_due) {
      state = after_pause(std::move(state), bench);
      reports.follow(state);
      continue;
    }
    if (!input) return;
    for (; input && state.request != Request::kQuit; input = terminal.next(Terminal::kNow)) {
      state = update(std::move(state), *input, bench);
      reports.follow(state);
      serve(state, terminal);
    }
  }
}

Played play(Workbench& bench, const Screen& screen, std::string_view script) {
  Painter painter;
  Played out;
  State state = first_state(bench, screen);
  ReportMaker reports([] {});
  out.screen = painter.draw(state);
  for (const Input& input : parse_script(script)) {
    const auto begin = Clock::now();
    state = update(std::move(state), input, bench);
    if (state.request == Request::kQuit) break;
    state = after_pause(std::move(state), bench);
    reports.finish(state);
    out.screen = painter.draw(state);
    out.milliseconds.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return out;
}

}  // namespace maskctl::app::tui
