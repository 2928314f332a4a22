#include "app/tui/terminal.h"

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <fcntl.h>
#include <fmt/format.h>
#include <ncurses.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/render/picture/markup.h"

namespace maskctl::app::tui {
namespace {

/// How long curses waits after Esc for the rest of an escape sequence.
constexpr int kEscapeMilliseconds = 25;
constexpr int kManyColors = 256;

/// Signals, stop requests and finished background work wake Terminal::next() through this pipe. The
/// process has one, created when it is first needed; -1 if it could not be created.
const std::array<int, 2>& wake_pipe() {
  static const std::array<int, 2> ends = [] {
    std::array<int, 2> out = {-1, -1};
    [[maybe_unused]] const int failed = pipe2(out.data(), O_CLOEXEC | O_NONBLOCK);
    return out;
  }();
  return ends;
}

enum class Wake : char { kResize, kStop, kDone };

void wake(Wake why) {
  const char byte = static_cast<char>(why);
  [[maybe_unused]] const ssize_t written = ::write(wake_pipe()[1], &byte, 1);
}

int crash_terminal = -1;
termios before_curses;

/// Signal handler that restores the terminal before the program crashes.
void restore_and_crash(int number) {
  static constexpr char kRestore[] = "\x1b[?1000l\x1b[?1002l\x1b[?1006l\x1b[?25h\x1b[?1049l";
  [[maybe_unused]] const ssize_t written = ::write(crash_terminal, kRestore, sizeof kRestore - 1);
  tcsetattr(crash_terminal, TCSANOW, &before_curses);
  std::raise(number);
}

void on_signal(int number, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

constexpr std::pair<wint_t, const char*> kKeys[] = {
    {KEY_LEFT, "<Left>"},    {KEY_RIGHT, "<Right>"},    {KEY_UP, "<Up>"},
    {KEY_DOWN, "<Down>"},    {KEY_HOME, "<Home>"},      {KEY_END, "<End>"},
    {KEY_PPAGE, "<PageUp>"}, {KEY_NPAGE, "<PageDown>"}, {KEY_ENTER, "<Enter>"},
    {KEY_BACKSPACE, "<BS>"}, {KEY_DC, "<Del>"},         {KEY_F(1), "<F1>"},
    {KEY_F(10), "<F10>"}};

std::optional<Input> mouse_input() {
  MEVENT event{};
  if (getmouse(&event) != OK) return std::nullopt;
  if (event.bstate & BUTTON1_RELEASED) return std::nullopt;
  const char* key = event.bstate & BUTTON4_PRESSED         ? "<WheelUp>"
                    : event.bstate & BUTTON5_PRESSED       ? "<WheelDown>"
                    : event.bstate & REPORT_MOUSE_POSITION ? "<Drag>"
                                                           : "<Mouse>";
  return Input{key, event.y, event.x};
}

std::optional<Input> function_key(wint_t code) {
  if (code == KEY_MOUSE) return mouse_input();
  for (const auto& [key, name] : kKeys) {
    if (key == code) return Input{name};
  }
  return std::nullopt;
}

std::optional<Input> character_key(wint_t code) {
  if (code == 27) return Input{"<Esc>"};
  if (code == '\r' || code == '\n') return Input{"<Enter>"};
  if (code == '\t') return Input{"<Tab>"};
  if (code == 127 || code == 8) return Input{"<BS>"};
  if (code >= 1 && code <= 26)
    return Input{fmt::format("<C-{}>", static_cast<char>('a' + code - 1))};
  if (code < 32) return std::nullopt;
  Input out;
  append_utf8(static_cast<char32_t>(code), out.key);
  return out;
}

Colors colors_of_terminal() {
  if (!has_colors() || start_color() != OK || use_default_colors() != OK) return Colors::kNone;
  return COLORS >= kManyColors ? Colors::kMany : Colors::kEight;
}

/// Escape sequences that switch on, and off, reports of mouse movements while a button is held
/// down. Terminals without support ignore them.
constexpr std::string_view kReportDrags = "\x1b[?1002h", kNoDrags = "\x1b[?1002l";

[[noreturn]] void no_terminal(const std::string& why) {
  throw Error(Errc::kUnsupported, why + "; maskctl show draws without one");
}

}  // namespace

struct Terminal::Curses {
  std::FILE* tty = nullptr;
  SCREEN* screen = nullptr;
  Screen traits;
  bool mouse = false;  // the terminal reports the mouse
  std::optional<std::stop_callback<void (*)()>> on_stop;
  std::stop_token stop;

  attr_t attributes(const Glyph& glyph) const {
    attr_t out = A_NORMAL;
    if (glyph.bold) out |= A_BOLD;
    if (glyph.reverse) out |= A_REVERSE;
    return out;
  }
  int pair(const Glyph& glyph) const {
    const bool plain = !traits.colored() || (glyph.fg == kNoColor && glyph.bg == kNoColor);
    return plain ? 0 : alloc_pair(glyph.fg, glyph.bg);
  }
  void write(std::string_view text) const {
    std::fwrite(text.data(), 1, text.size(), tty);
    std::fflush(tty);
  }
  void report_drags(bool on) const {
    if (mouse) write(on ? kReportDrags : kNoDrags);
  }
  void measure() {
    winsize size{};
    if (ioctl(fileno(tty), TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
      resizeterm(size.ws_row, size.ws_col);
    }
    traits.rows = getmaxy(stdscr);
    traits.columns = getmaxx(stdscr);
  }
};

Terminal::Terminal(const TerminalOptions& options, std::stop_token stop)
    : curses_(std::make_unique<Curses>()), record_(options.record) {
  std::setlocale(LC_CTYPE, "");
  if (wake_pipe()[0] < 0) no_terminal("no pipe for signals");
  curses_->tty = std::fopen("/dev/tty", "r+e");
  if (!curses_->tty) no_terminal("no terminal to draw on");
  tcgetattr(fileno(curses_->tty), &before_curses);
  const char* type = std::getenv("TERM");
  curses_->screen = newterm(nullptr, curses_->tty, curses_->tty);
  if (!curses_->screen) {
    std::fclose(curses_->tty);
    no_terminal(fmt::format("TERM={} is not a terminal that curses knows, try TERM=xterm-256color",
                            type ? type : ""));
  }
  const char* const places_cursor = tigetstr("cup");
  if (!places_cursor || places_cursor == reinterpret_cast<char*>(-1)) {
    endwin();
    delscreen(curses_->screen);
    std::fclose(curses_->tty);
    no_terminal(fmt::format("TERM={} cannot place a cursor, try TERM=xterm-256color", type));
  }
  crash_terminal = fileno(curses_->tty);
  raw();
  noecho();
  nonl();
  keypad(stdscr, true);
  nodelay(stdscr, true);
  set_escdelay(kEscapeMilliseconds);
  curs_set(0);
  curses_->traits.colors = std::min(options.colors, colors_of_terminal());
  curses_->traits.utf8 = options.utf8;
  if (options.mouse) {
    curses_->mouse = mousemask(BUTTON1_PRESSED | BUTTON1_RELEASED | BUTTON4_PRESSED |
                                   BUTTON5_PRESSED | REPORT_MOUSE_POSITION,
                               nullptr) != 0;
    mouseinterval(0);
    curses_->report_drags(true);
  }
  on_signal(
      SIGWINCH, [](int) { wake(Wake::kResize); }, SA_RESTART);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) {
    on_signal(number, restore_and_crash, static_cast<int>(SA_RESETHAND));
  }
  curses_->stop = stop;
  curses_->on_stop.emplace(std::move(stop), [] { wake(Wake::kStop); });
  curses_->measure();
  if (record_ != nullptr) {
    record_->push_back({"<Resize>", curses_->traits.rows, curses_->traits.columns});
  }
}

Terminal::~Terminal() {
  curses_->on_stop.reset();
  on_signal(SIGWINCH, SIG_DFL, 0);
  curses_->report_drags(false);
  endwin();
  delscreen(curses_->screen);
  std::fclose(curses_->tty);
}

Screen Terminal::screen() const { return curses_->traits; }

void Terminal::show(const Canvas& canvas) {
  for (Index row = 0; row < canvas.rows(); ++row) {
    for (Index column = 0; column < canvas.columns(); ++column) {
      const Glyph glyph = canvas.shown(row, column);
      if (glyph.code == kTail) continue;
      const std::array<wchar_t, 2> text{static_cast<wchar_t>(glyph.code), 0};
      int pair = curses_->pair(glyph);
      cchar_t cell;
      setcchar(&cell, text.data(), curses_->attributes(glyph), 0, &pair);
      mvadd_wch(static_cast<int>(row), static_cast<int>(column), &cell);
    }
  }
  wrefresh(stdscr);
}

std::optional<Input> Terminal::next(int milliseconds) {
  auto input = wait_for_input(milliseconds);
  if (record_ != nullptr && input && input->key != kDone) record_->push_back(*input);
  return input;
}

std::optional<Input> Terminal::wait_for_input(int milliseconds) {
  for (;;) {
    if (curses_->stop.stop_requested()) return std::nullopt;
    wint_t code = 0;
    const int kind = get_wch(&code);
    if (kind != ERR && !(kind == KEY_CODE_YES && code == KEY_RESIZE)) {
      const auto input = kind == KEY_CODE_YES ? function_key(code) : character_key(code);
      if (input) return input;
      continue;
    }
    std::array<pollfd, 2> sources = {
        {{fileno(curses_->tty), POLLIN, 0}, {wake_pipe()[0], POLLIN, 0}}};
    if (::poll(sources.data(), sources.size(), milliseconds) == 0) return std::nullopt;
    if (sources[0].revents & (POLLHUP | POLLERR)) return Input{"<C-c>"};
    char byte = 0;
    if (::read(wake_pipe()[0], &byte, 1) != 1) continue;
    if (byte == static_cast<char>(Wake::kDone)) return Input{std::string(kDone)};
    if (byte == static_cast<char>(Wake::kResize)) {
      curses_->measure();
      return Input{"<Resize>", curses_->traits.rows, curses_->traits.columns};
    }
  }
}

void Terminal::wake_up() { wake(Wake::kDone); }

void Terminal::redraw() { clearok(curscr, true); }

bool Terminal::copy(std::string_view text) {
  const char* const set_clipboard = tigetstr("Ms");
  if (!set_clipboard || set_clipboard == reinterpret_cast<char*>(-1)) return false;
  const std::string encoded = base64(std::as_bytes(std::span(text)));
  curses_->write(tiparm(set_clipboard, "c", encoded.c_str()));
  return true;
}

void Terminal::suspend() {
  def_prog_mode();
  curses_->report_drags(false);
  endwin();
  std::raise(SIGTSTP);
  reset_prog_mode();
  curses_->report_drags(true);
  redraw();
  curses_->measure();
}

}  // namespace maskctl::app::tui
