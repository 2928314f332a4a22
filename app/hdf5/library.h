// Wraps the HDF5 library: ids that close themselves, errors as exceptions, and access to a single
// file.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "maskctl/io/formats/hdf5/hdf5_protocol.h"

namespace maskctl::hdf5 {

/// An error that ends this program with status 1.
struct Failure {
  const char* code;  // one of the codes in hdf5_protocol.h
  std::string text;
};

/// Owns an HDF5 id and closes the object behind it.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }

 private:
  hid_t id_ = -1;
};

/// The innermost message of the last call that failed.
std::string last_error();

/// Throws Failure(format) with the text "cannot `what`: " and last_error().
[[noreturn]] void fail(const std::string& what);
Handle checked(hid_t id, const std::string& what);
void check(herr_t status, const std::string& what);

/// Silences error output, forbids plugins and links to other files, and registers the lzf filter.
void prepare_library();

enum class Access { kRead, kCreate, kAppend };

/// Opens the file. After that, this process cannot open any other file.
Handle open_file(const std::string& path, Access access);

}  // namespace maskctl::hdf5
