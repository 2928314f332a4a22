// Fuzz target: the input is the answer of the helper program that reads HDF5 files for the library.
#include "fuzz/memory_file.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/formats/hdf5/hdf5_helper.h"

using namespace maskctl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool ready = (set_hdf5_helper(FUZZ_HDF5_HELPER, 5), true);
  if (!ready) return 0;
  const fuzz::MemoryFile file(data, size);
  try {
    if (size % 2 == 0) {
      list_hdf5(ByteSource(file.name()), fuzz::read_options());
    } else {
      const auto reader = open_hdf5(ByteSource(file.name()), "/mask", fuzz::read_options());
      read_npy(*reader, fuzz::read_options());
    }
    return 0;
  } catch (const Error&) {
    return -1;
  }
}
