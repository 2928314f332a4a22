// Wraps the HDF5 library: owned ids, errors as exceptions, one file and no other.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

#include "maskctl/io/formats/hdf5/hdf5_protocol.h"

namespace maskctl::hdf5 {

/// An error that ends the program with status 1.
struct Failure {
  const char* code;  // see hdf5_protocol.h
  std::string text;
};

/// Owns an id and closes what it refers to.
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

/// The innermost message of the last failed call.
std::string last_error();

/// Throws Failure(format): "cannot `what`: the last error".
[[noreturn]] void fail(const std::string& what);
Handle checked(hid_t id, const std::string& what);
void check(herr_t status, const std::string& what);

/// Silences the library, prevents it from loading plugins and from following links to other files,
/// and adds the lzf filter.
void prepare_library();

enum class Access { kRead, kCreate, kAppend };

/// Opens the file; from then on this process cannot open any other.
Handle open_file(const std::string& path, Access access);

}  // namespace maskctl::hdf5
