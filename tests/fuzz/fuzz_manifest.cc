// Fuzz target: manifests of golden masks, including the mask rows that they record. A manifest into
// which values are written must parse again.
#include <optional>

#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/golden/manifest.h"

using namespace maskctl;

namespace {

std::optional<Manifest> parsed(std::string text) {
  try {
    return parse_manifest("m.toml", std::move(text));
  } catch (const Error&) {
    return std::nullopt;
  }
}

void read_rows(const GoldenRecord& record) {
  if (record.pipeline) return;  // fuzz_pipeline.cc tests pipelines
  try {
    recorded_mask(record);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto manifest = parsed(std::string(reinterpret_cast<const char*>(data), size));
  if (!manifest) return -1;
  std::map<std::string, GoldenValue> values;
  for (const GoldenEntry& entry : manifest->entries) {
    if (entry.was) read_rows(*entry.was);
    values[entry.name].digest = std::string(64, 'a');
  }
  if (!parsed(with_values(*manifest, values))) __builtin_trap();
  return 0;
}
