// Uninitialised storage for large bit matrices.
#pragma once

#include <cstdint>
#include <span>

#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/index.h"

namespace maskctl {

/// An array of words that are uninitialised until written.
class WordBuffer {
 public:
  explicit WordBuffer(Index words)
      : size_(as_size(words)), memory_(size_ * sizeof(std::uint64_t)) {}
  std::span<std::uint64_t> words() { return {memory_.as<std::uint64_t>(), size_}; }
  std::span<const std::uint64_t> words() const { return {memory_.as<std::uint64_t>(), size_}; }

 private:
  std::size_t size_;
  PooledBuffer memory_;
};

}  // namespace maskctl
