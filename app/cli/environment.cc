#include "app/cli/environment.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "app/cli/parser/values.h"
#include "app/session/ejkernel.h"

namespace maskctl::app {

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void read_environment(Settings& settings) {
  if (const std::string_view text = environment("MASKCTL_MAX_BYTES"); !text.empty()) {
    settings.max_bytes = parse_size(text, "MASKCTL_MAX_BYTES");
  }
  if (const std::string_view text = environment("MASKCTL_THREADS"); !text.empty()) {
    settings.threads = static_cast<int>(parse_integer(text, "MASKCTL_THREADS", 0, kMostThreads));
  }
  if (const std::string_view text = environment("MASKCTL_COLOR"); !text.empty()) {
    settings.color = static_cast<When>(parse_choice(text, "MASKCTL_COLOR", kWhens));
  }
}

void start_trace(const Settings& settings) {
  if (!settings.trace && environment("EJKERNEL_MASK_DEBUG") != std::string_view("1")) return;
  ejkernel::start_trace(settings.trace);
}

}  // namespace maskctl::app
