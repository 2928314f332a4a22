#include "app/tui/inspector.h"

#include <fmt/format.h>

#include <chrono>

#include "app/tui/beside/background_task.h"
#include "app/tui/screens/choice.h"
#include "app/tui/state/follow.h"
#include "maskctl/base/error.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {
namespace {

using Clock = std::chrono::steady_clock;

/// How long to wait for a SOURCE before the terminal is opened. Most SOURCEs are read, or have
/// failed, by then.
constexpr auto kBeforeScreens = std::chrono::milliseconds(10);
/// How often the screen is redrawn while background work goes on.
constexpr int kTickMilliseconds = 50;
/// A pipeline that is being typed is applied when no key was pressed for this long.
constexpr int kPauseMilliseconds = 100;

void serve(State& state, Terminal& terminal) {
  if (state.request == Request::kRedraw) terminal.redraw();
  if (state.request == Request::kCopy && !terminal.copy(state.copied)) {
    state.message = "this terminal has no clipboard for programs";
  }
  if (state.request != Request::kSuspend) return;
  terminal.suspend();
  const Screen screen = terminal.screen();
  state.screen.rows = screen.rows;
  state.screen.columns = screen.columns;
  settle(state);
}

/// The background work of one inspector.
struct Work {
  explicit Work(const std::function<void()>& done)
      : painter(done), reports(done), counting(done), searching(done), saving(done) {}

  /// Draws a screen with everything that is known by `end`; if that is Time::max(), waits for
  /// everything. Otherwise, it does not wait for reports; they appear in a later screen.
  Canvas screen(State& state, Time end) {
    do {
      follow(state, saving, end);
      if (!state.scene->loading) follow(state, counting, end);
      follow(state, searching, end);
      follow(state, reports, end == Time::max() ? end : Time());
    } while (go_on(state));
    return painter.draw(state, end);
  }
  bool busy() const {
    return painter.busy() || reports.busy() || counting.busy() || searching.busy() || saving.busy();
  }

  Painter painter;
  ReportMaker reports;
  Counting counting;
  Searching searching;
  Saving saving;
};

Canvas opening(const Workbench& bench, const std::string& status, const Screen& screen,
               Work& work) {
  const ScenePtr scene = bench.loading();
  if (!scene) return opening_screen(screen, bench.name(), status);
  State state = first_state(scene, screen);
  state.message = status;
  return work.screen(state, in_a_moment());
}

bool quits(const Input& input) { return input.key == "q" || input.key == "<C-c>"; }

/// Shows the rows read so far until the SOURCE is read, and stores the keys typed meanwhile. False
/// if the user quits.
bool open(Workbench& bench, Terminal& terminal, Work& work, std::vector<Input>& typed) {
  while (!bench.is_read_by(Clock::now())) {
    const std::string status = fmt::format("reading {:.0f}%  q quit", 100 * bench.fraction());
    terminal.show(opening(bench, status, terminal.screen(), work));
    const auto input = terminal.next(kTickMilliseconds);
    if (!input || input->key == kDone || input->key == "<Resize>") continue;
    if (quits(*input)) return false;
    typed.push_back(*input);
  }
  return true;
}

/// After an error while reading, shows the rows read so far until the user quits.
void show_broken(const Workbench& bench, const Error& error, Terminal& terminal, Work& work) {
  for (std::optional<Input> input = Input{}; input && !quits(*input); input = terminal.next(-1)) {
    terminal.show(opening(bench, error.what(), terminal.screen(), work));
  }
}

/// The choice that solves an error about the SOURCE. Must be called in a catch block; rethrows the
/// error if no choice solves it.
Choice choice_after(const Error& error, const Workbench& bench, const Subject& subject,
                    const Settings& settings) {
  if (bench.has_source() || !Choice::is_asked_for(error)) throw;
  return Choice::of(subject, settings, error);
}

/// How the user stopped looking at a mask: by quitting, or to return to the list of arrays.
enum class Left : std::uint8_t { kQuit, kForList };

/// Shows the mask that `bench` reads until the user leaves it. `of_several`: it is one of several
/// arrays of a file.
Left look(Workbench& bench, Terminal& terminal, const std::stop_token& stop, bool of_several) {
  Work work(Terminal::wake_up);
  std::vector<Input> typed;
  if (!open(bench, terminal, work, typed)) return Left::kQuit;
  try {
    bench.first();
  } catch (const Error& error) {
    if (bench.has_source() || !Choice::is_asked_for(error))
      show_broken(bench, error, terminal, work);
    throw;
  }
  State state = first_state(bench.first(), terminal.screen());
  state.of_several = of_several;
  const auto take = [&](const Input& input) {
    state = update(std::move(state), input, bench);
    follow(state, work.saving, in_a_moment());  // small files are written before the next key
    serve(state, terminal);
  };
  for (const Input& input : typed) {
    if (!state.leaves()) take(input);
  }
  while (!state.leaves() && !stop.stop_requested()) {
    terminal.show(work.screen(state, in_a_moment()));
    // Handles all waiting keys before drawing, so that the screen does not lag behind a key that is
    // held down.
    const bool busy = work.busy() || state.change;
    const int wait = state.preview_due ? kPauseMilliseconds : busy ? kTickMilliseconds : -1;
    auto input = terminal.next(wait);
    if (!input) state = after_pause(std::move(state), bench, Clock::now());
    for (; input && !state.leaves(); input = terminal.next(0)) take(*input);
  }
  return state.request == Request::kLeave ? Left::kForList : Left::kQuit;
}

}  // namespace

void inspect(const Subject& subject, const Settings& settings, const TerminalOptions& options,
             const std::stop_token& stop) {
  std::optional<Choice> choice;
  std::optional<Workbench> bench(std::in_place, subject, settings, Terminal::wake_up);
  try {
    if (bench->is_read_by(Clock::now() + kBeforeScreens)) bench->first();
  } catch (const Error& error) {
    choice = choice_after(error, *bench, subject, settings);
    bench.reset();
  }
  Terminal terminal(options, stop);
  while (!stop.stop_requested()) {
    if (!bench) {
      terminal.show(choice->draw(terminal.screen()));
      const auto input = terminal.next(-1);
      const auto answer = input ? choice->take(*input) : Choice::Answer::kNone;
      if (answer == Choice::Answer::kQuit) return;
      if (answer == Choice::Answer::kNone) continue;
      bench.emplace(choice->chosen(subject), settings, Terminal::wake_up);
    }
    try {
      if (look(*bench, terminal, stop, choice.has_value()) == Left::kQuit) return;
    } catch (const Error& error) {
      choice = choice_after(error, *bench, subject, settings);
    }
    bench.reset();
  }
}

Played play(const Subject& subject, const Settings& settings, const Screen& screen,
            std::string_view script) {
  const std::vector<Input> inputs = parse_script(script);
  std::optional<Choice> choice;
  Played out;
  std::optional<Workbench> bench;
  std::optional<State> state;
  Work work([] {});
  const auto begin = [&](const Subject& chosen) {
    bench.emplace(chosen, settings);
    state = first_state(bench->first(), screen);
    state->of_several = choice.has_value();
    out.screen = work.screen(*state, Time::max());
  };
  try {
    begin(subject);
  } catch (const Error& error) {
    choice = choice_after(error, *bench, subject, settings);
    out.screen = choice->draw(screen);
  }
  for (const Input& input : inputs) {
    const Stopwatch watch;
    if (!state) {
      const auto answer = choice->take(input);
      if (answer == Choice::Answer::kQuit) break;
      out.screen = choice->draw(screen);
      if (answer == Choice::Answer::kChosen) begin(choice->chosen(subject));
    } else {
      state = update(std::move(*state), input, *bench);
      if (state->request == Request::kQuit) break;
      if (state->request == Request::kLeave) {
        state.reset();
        out.screen = choice->draw(screen);
      } else {
        state = after_pause(std::move(*state), *bench, Time::max());
        out.screen = work.screen(*state, Time::max());
      }
    }
    out.milliseconds.push_back(1000 * watch.seconds());
  }
  return out;
}

}  // namespace maskctl::app::tui
