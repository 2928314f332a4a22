// Uninitialised storage for large bit matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "maskctl/base/index.h"

namespace maskctl {

/// Words whose contents are undefined until written. From 1 MiB on the storage is aligned for huge
/// pages, and up to 64 MiB that were given back are kept for the next buffers: the kernel clearing
/// fresh pages costs as much as combining two masks.
class WordBuffer {
 public:
  explicit WordBuffer(Index words);
  std::span<std::uint64_t> words() { return {data_.get(), size_}; }
  std::span<const std::uint64_t> words() const { return {data_.get(), size_}; }

 private:
  struct GiveBack {
    std::size_t bytes = 0;
    void operator()(std::uint64_t* p) const;
  };
  std::size_t size_;
  std::unique_ptr<std::uint64_t[], GiveBack> data_;
};

}  // namespace maskctl
