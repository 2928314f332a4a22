// Damaged HDF5 files, read by the helper program itself.
#include "fuzz/memory_file.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/hdf5.h"

using namespace maskctl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool ready = (set_hdf5_helper(MASKCTL_HDF5_HELPER, 2), true);
  if (!ready) return 0;
  const fuzz::MemoryFile file(data, size);
  try {
    list_hdf5(ByteSource(file.name()), fuzz::read_options());
    const auto reader = open_hdf5(ByteSource(file.name()), "", fuzz::read_options());
    read_npy(*reader, fuzz::read_options());
  } catch (const Error&) {
  }
  return 0;
}
