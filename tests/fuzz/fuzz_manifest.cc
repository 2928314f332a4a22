// Manifests of golden masks: read, and their digests replaced.
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/golden/manifest.h"

using namespace maskctl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const Manifest manifest =
        parse_manifest("m.toml", std::string(reinterpret_cast<const char*>(data), size));
    std::map<std::string, std::string> digests;
    for (const GoldenEntry& entry : manifest.entries) digests[entry.name] = std::string(64, 'a');
    with_digests(manifest, digests);
    return 0;
  } catch (const Error&) {
    return -1;
  }
}
