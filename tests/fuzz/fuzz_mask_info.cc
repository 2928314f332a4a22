// Fuzz target: files in which a MaskInfo of ejkernel is stored.
#include "fuzz/memory_file.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/mask_info/mask_info_io.h"

using namespace maskctl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::MemoryFile file(data, size);
  try {
    read_mask_info(file.name(), fuzz::read_options());
    return 0;
  } catch (const Error&) {
    return -1;
  }
}
