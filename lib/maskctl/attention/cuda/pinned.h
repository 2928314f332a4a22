// Host memory that the GPU itself reads, for arrays that a call sends there.
#pragma once

#include <cstddef>
#include <memory>

#include "maskctl/attention/cuda/device.h"

namespace maskctl::attention::cuda {

/// Pinned memory, which the GPU reads directly. (The driver copies other host memory to pinned
/// memory first, which takes longer than filling a PinnedBuffer.) Memory of earlier objects is used
/// again once it has been copied to the GPU, so calls seldom allocate, and never wait.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  std::byte* data() const;
  std::size_t bytes() const { return bytes_; }
  /// Copies the memory to the GPU, in stream order. The caller must not write to data() any more.
  void send(void* to, Stream stream);

 private:
  struct Block;
  struct Blocks;
  std::size_t bytes_;
  std::unique_ptr<Block> block_;
};

}  // namespace maskctl::attention::cuda
