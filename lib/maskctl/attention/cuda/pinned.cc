#include "maskctl/attention/cuda/pinned.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "maskctl/attention/cuda/gpus.h"

namespace maskctl::attention::cuda {

/// Pinned memory, with an event at the end of its last copy. Neither is ever freed: they are kept
/// for later calls.
struct PinnedBuffer::Block {
  explicit Block(std::size_t size) : bytes(size) {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, bytes), "cudaMallocHost");
    data = static_cast<std::byte*>(memory);
    check(cudaEventCreateWithFlags(&sent, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  std::byte* data = nullptr;
  std::size_t bytes;
  int gpu = gpu_in_use();
  cudaEvent_t sent = nullptr;  // recorded after the copy to the GPU

  /// Whether the block is of this GPU and its last copy is done, so that it can be filled again.
  bool is_free(int for_gpu) const {
    if (gpu != for_gpu) return false;
    if (cudaEventQuery(sent) == cudaSuccess) return true;
    cudaGetLastError();  // clears "not ready", which a later check would take for an error
    return false;
  }
};

/// The spare blocks, which no PinnedBuffer has. The last copy from a spare block may still run.
struct PinnedBuffer::Blocks {
  static Blocks& all() {
    static auto& blocks = *new Blocks;  // never destroyed: copies may run until the process ends
    return blocks;
  }
  std::unique_ptr<Block> take(std::size_t bytes) {
    constexpr std::size_t kLeast = std::size_t{1} << 16;
    const int gpu = gpu_in_use();
    const std::lock_guard lock(mutex);
    for (auto& block : spare) {
      if (block->bytes < bytes || !block->is_free(gpu)) continue;
      std::swap(block, spare.back());
      std::unique_ptr<Block> taken = std::move(spare.back());
      spare.pop_back();
      return taken;
    }
    return std::make_unique<Block>(std::max(kLeast, std::bit_ceil(bytes)));
  }
  void give(std::unique_ptr<Block> block) {
    const std::lock_guard lock(mutex);
    spare.push_back(std::move(block));
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Block>> spare;
};

PinnedBuffer::PinnedBuffer(std::size_t bytes) : bytes_(bytes), block_(Blocks::all().take(bytes)) {}
PinnedBuffer::~PinnedBuffer() { Blocks::all().give(std::move(block_)); }

std::byte* PinnedBuffer::data() const { return block_->data; }
void PinnedBuffer::send(void* to, Stream stream) {
  copy_to_device(to, {data(), bytes_}, stream);
  check(cudaEventRecord(block_->sent, stream), "cudaEventRecord");
}

}  // namespace maskctl::attention::cuda
