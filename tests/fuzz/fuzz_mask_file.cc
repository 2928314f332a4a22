// Fuzz target: files of masks, whose steps are applied where the mask is small.
#include "fuzz/memory_file.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/mask_file.h"

using namespace maskctl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr Index kMostCells = Index{1} << 14;
  const fuzz::MemoryFile file(data, size);
  try {
    const MaskFile read = read_mask_steps(file.name(), fuzz::read_options());
    to_text(read.steps.chain);
    if (read.steps.start.cells() <= kMostCells) read_mask_file(file.name(), fuzz::read_options());
    return 0;
  } catch (const Error&) {
    return -1;
  }
}
