// Where the helper program is that opens HDF5 files.
#pragma once

#include <string>

#include "maskctl/base/index.h"

namespace maskctl {

/// Sets the path of the helper program, and after how many seconds (of waiting, or of CPU time
/// between two pieces of data) it is stopped. An empty path (the default) means to search the
/// folder of the running program, ../libexec/maskctl and ../app from there, and then the folder of
/// the installation. 0 seconds mean 60. Applies to the whole process from now on.
void set_hdf5_helper(std::string path, Index seconds = 0);

}  // namespace maskctl
