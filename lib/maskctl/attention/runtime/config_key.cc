#include "maskctl/attention/runtime/config_key.h"

#include <fmt/format.h>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {

std::string device_fingerprint() { return fmt::format("cpu|{}|{}", cpu_target(), threads()); }

std::string short_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
}

}  // namespace maskctl::attention
