// Damaged HDF5 files, read by the helper program itself.
#include "fuzz/pipe.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/hdf5.h"

using namespace maskctl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool ready = (set_hdf5_helper(MASKCTL_HDF5_HELPER, 2), true);
  if (!ready) return 0;
  const auto bytes = fuzz::bytes_of(data, size);
  try {
    list_hdf5(fuzz::piped("x.h5", bytes), fuzz::read_options());
    const auto reader = open_hdf5(fuzz::piped("x.h5", bytes), "/mask", fuzz::read_options());
    read_npy(*reader, fuzz::read_options());
    return 0;
  } catch (const Error&) {
    return -1;
  }
}
