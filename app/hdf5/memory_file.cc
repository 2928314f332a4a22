#include "app/hdf5/memory_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "app/hdf5/library.h"
#include "app/hdf5/streams.h"

namespace maskctl::hdf5 {
namespace {

constexpr std::size_t kGrowth = std::size_t{1} << 20U;

// Callbacks with which the library would copy a file image. All return the same memory, so that
// nothing is copied.
void* give_map(size_t, H5FD_file_image_op_t, void* map) { return map; }
void* copy_nothing(void* to, const void*, size_t, H5FD_file_image_op_t, void*) { return to; }
void* never_grow(void*, size_t, H5FD_file_image_op_t, void*) { return nullptr; }
herr_t free_nothing(void*, H5FD_file_image_op_t, void*) { return 0; }
void* same_data(void* map) { return map; }
herr_t keep_data(void*) { return 0; }

}  // namespace

void use_standard_input(hid_t access_plist) {
  struct stat info {};
  if (::fstat(STDIN_FILENO, &info) != 0 || info.st_size <= 0) {
    throw Failure{hdf5_protocol::kIo, "standard input is not a file"};
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, STDIN_FILENO, 0);
  if (map == MAP_FAILED) throw Failure{hdf5_protocol::kIo, "standard input cannot be mapped"};
  check(H5Pset_fapl_core(access_plist, kGrowth, false), "read from memory");
  H5FD_file_image_callbacks_t callbacks{give_map,  copy_nothing, never_grow, free_nothing,
                                        same_data, keep_data,    map};
  check(H5Pset_file_image_callbacks(access_plist, &callbacks), "read from memory");
  check(H5Pset_file_image(access_plist, map, size), "read from memory");
}

void use_memory(hid_t access_plist) {
  check(H5Pset_fapl_core(access_plist, kGrowth, false), "write to memory");
}

void write_memory_file(hid_t file) {
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  if (size < 0) fail("write the file");
  std::vector<char> bytes(static_cast<std::size_t>(size));
  if (H5Fget_file_image(file, bytes.data(), bytes.size()) != size) fail("write the file");
  write_output(bytes);
}

}  // namespace maskctl::hdf5
