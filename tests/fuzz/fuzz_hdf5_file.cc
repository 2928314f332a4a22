// Fuzz target: damaged HDF5 files for the real helper program. If the size of the file is even its
// contents are listed, otherwise one array is read.
#include <sys/resource.h>

#include <stdexcept>

#include "fuzz/pipe.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/formats/hdf5/hdf5_helper.h"

using namespace maskctl;

namespace {

/// Returns the peak memory of any helper process so far.
Index helper_peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return Index{usage.ru_maxrss} * 1024;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool ready = (set_hdf5_helper(MASKCTL_HDF5_HELPER, 1), true);
  if (!ready) return 0;
  const auto bytes = fuzz::bytes_of(data, size);
  int status = 0;
  try {
    if (size % 2 == 0) {
      list_hdf5(fuzz::piped("x.h5", bytes), fuzz::read_options());
    } else {
      const auto reader = open_hdf5(fuzz::piped("x.h5", bytes), "/mask", fuzz::read_options());
      read_npy(*reader, fuzz::read_options());
    }
  } catch (const Error&) {
    status = -1;
  }
  if (helper_peak_bytes() > fuzz::kMaxBytes + fuzz::kSpareBytes) {
    throw std::runtime_error("the helper took more memory than its limit");
  }
  return status;
}
