// The terminal, asked.
#include "app/cli/terminal.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace maskctl::app {
namespace {

winsize stdout_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

}  // namespace

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_terminal(int fd) { return isatty(fd) == 1; }

Index terminal_columns() {
  const std::string_view text = environment("COLUMNS");
  int columns = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() && columns > 0) {
    return columns;
  }
  const winsize size = stdout_size();
  return size.ws_col > 0 ? size.ws_col : 80;
}

Index terminal_rows() {
  if (!is_terminal(STDOUT_FILENO)) return 0;
  const winsize size = stdout_size();
  return size.ws_row > 0 ? size.ws_row : 24;
}

bool use_color(When when) {
  if (when != When::kAuto) return when == When::kAlways;
  if (*environment("NO_COLOR")) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  if (std::strcmp(environment("TERM"), "dumb") == 0) return false;
  return is_terminal(STDOUT_FILENO);
}

bool utf8_locale() {
  if (std::setlocale(LC_CTYPE, "")) return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  // A locale that is asked for but not installed: its name still tells what the terminal shows.
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

}  // namespace maskctl::app
