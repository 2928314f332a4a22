// Files in memory, for standard input and output: HDF5 reads and writes at random offsets, which
// pipes do not allow.
#pragma once

#include <hdf5.h>

namespace maskctl::hdf5 {

inline constexpr const char* kStandardInput = "/dev/stdin";
inline constexpr const char* kStandardOutput = "/dev/stdout";

/// The name of files in memory. It must not exist on disk, or the library refuses it; nothing can
/// exist below /dev/null.
inline constexpr const char* kMemoryName = "/dev/null/memory";

/// Makes files opened with this access list read standard input, which must be a file or a memory
/// file. Its bytes are mapped, not copied.
void use_standard_input(hid_t access_plist);
/// Keeps files that are created with this access list in memory.
void use_memory(hid_t access_plist);
/// Writes the content of a file in memory to standard output.
void write_memory_file(hid_t file);

}  // namespace maskctl::hdf5
