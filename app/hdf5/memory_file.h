// Files in memory, for standard input and output, because HDF5 is neither read nor written in
// order.
#pragma once

#include <hdf5.h>

namespace maskctl::hdf5 {

inline constexpr const char* kStandardInput = "/dev/stdin";
inline constexpr const char* kStandardOutput = "/dev/stdout";

/// The library refuses a file from memory if its name exists on disk, which this one cannot.
inline constexpr const char* kMemoryName = "/dev/null/memory";

/// Makes files opened with this access list read the bytes of standard input, which must be a file
/// or a memory file; they are mapped, not copied.
void use_standard_input(hid_t access_plist);
/// Makes files created with this access list stay in memory.
void use_memory(hid_t access_plist);
/// Writes a file in memory to standard output.
void write_memory_file(hid_t file);

}  // namespace maskctl::hdf5
