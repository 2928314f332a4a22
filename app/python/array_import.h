// Reads objects of Python as arrays, through the buffer protocol or DLPack. What an object says of
// its memory is checked before anything is read.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::app {

struct BufferRelease {
  void operator()(Py_buffer* buffer) const noexcept {
    PyBuffer_Release(buffer);
    delete buffer;
  }
};

/// Holds the memory of an object while it is read. A capsule of DLPack is not used up: it belongs
/// to the object, which may show it again. Every member needs the interpreter's lock.
class ImportedArray {
 public:
  /// Throws Error(kInvalidArgument) for an object that is no array. An exception of the object that
  /// ends the program, such as KeyboardInterrupt, is passed on.
  ImportedArray(const std::string& name, nanobind::handle object);

  const TensorView& view() const { return view_; }

 private:
  std::unique_ptr<Py_buffer, BufferRelease> buffer_;
  nanobind::object capsule_;
  TensorView view_;
};

}  // namespace maskctl::app
