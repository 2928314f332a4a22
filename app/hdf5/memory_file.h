// Files in memory, for standard input and output: HDF5 is neither read nor written in order.
#pragma once

#include <hdf5.h>

namespace maskctl::hdf5 {

inline constexpr const char* kStandardInput = "/dev/stdin";
inline constexpr const char* kStandardOutput = "/dev/stdout";

/// The library refuses to take a file from memory that exists on disk; this one cannot.
inline constexpr const char* kMemoryName = "/dev/null/memory";

/// Files opened with this access list are the bytes of standard input, which must be a file or a
/// memory file; they are mapped, not copied.
void use_standard_input(hid_t access_plist);
/// Files made with this access list stay in memory.
void use_memory(hid_t access_plist);
/// Writes such a file to standard output.
void write_memory_file(hid_t file);

}  // namespace maskctl::hdf5
