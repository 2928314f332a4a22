// Large uninitialised storage that outlives its users.
#pragma once

#include <cstddef>
#include <memory>

namespace maskctl {

/// Bytes, aligned to a cache line, whose contents are undefined until written. From 1 MiB on they
/// are aligned for huge pages, and up to 64 MiB that were given back are kept for the next of the
/// same size: the kernel clearing fresh pages costs as much as combining two masks. Throws
/// std::bad_alloc.
class KeptMemory {
 public:
  explicit KeptMemory(std::size_t bytes);

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_.get());
  }

 private:
  struct GiveBack {
    std::size_t bytes = 0;
    void operator()(void* data) const;
  };
  std::unique_ptr<void, GiveBack> data_;
};

}  // namespace maskctl
