// Queries the terminal and the environment.
#include "app/cli/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstring>
#include <string_view>

#include "app/cli/environment.h"
#include "maskctl/base/text.h"
#include "maskctl/render/text/term.h"

namespace maskctl::app {
namespace {

constexpr Index kRowsWithoutTerminal = 48;

winsize stdout_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

Index columns_of_stdout() {
  const std::string_view text = environment("COLUMNS");
  if (const auto columns = number_from<int>(text); columns && *columns > 0) return *columns;
  const winsize size = stdout_size();
  return size.ws_col > 0 ? size.ws_col : 80;
}

Index rows_of_stdout() {
  if (!is_terminal(STDOUT_FILENO)) return kRowsWithoutTerminal;
  const winsize size = stdout_size();
  return size.ws_row > 0 ? size.ws_row : 24;
}

bool utf8_locale() {
  if (std::setlocale(LC_CTYPE, "")) return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  // The locale may be set, but not installed. Its name still tells whether the terminal shows
  // UTF-8.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (locale.empty()) continue;
    for (const char* suffix : {".UTF-8", ".utf8", ".utf-8", ".UTF8"}) {
      if (locale.find(suffix) != locale.npos) return true;
    }
    return false;
  }
  return false;
}

}  // namespace

bool is_terminal(int fd) { return isatty(fd) == 1; }

bool use_color(When when) {
  if (when != When::kAuto) return when == When::kAlways;
  if (*environment("NO_COLOR")) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  if (std::strcmp(environment("TERM"), "dumb") == 0) return false;
  return is_terminal(STDOUT_FILENO);
}

DrawOptions stdout_drawing(Style style, When color) {
  const TerminalTraits traits{utf8_locale(), use_color(color), columns_of_stdout(),
                              rows_of_stdout()};
  DrawOptions out = options_for(traits);
  out.style = choose_style(style, traits);
  return out;
}

}  // namespace maskctl::app
