// Who computes a call, and what it may use.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::attention {

/// kReference: float64 in plain loops, what all others are held against. kCpu: f32 tiles,
/// vectorised and on all threads, skipping what the mask closes. kCuda: tiles in f32 on an NVIDIA
/// GPU, skipping too.
enum class Backend : std::uint8_t { kReference, kCpu, kCuda };

/// "reference", "cpu", "cuda".
std::string_view name(Backend backend);
/// All of them, the reference first.
std::span<const std::string_view> backend_names();
/// Nothing for an unknown name.
std::optional<Backend> backend_from_name(std::string_view name);
/// Why a backend cannot run on this machine, as in "no NVIDIA GPU was found"; empty when it can.
/// The first question about a GPU takes as long as starting its driver.
std::string unavailable(Backend backend);

/// Belongs to the caller, who may share it between calls and threads. By default a call runs on the
/// CPU with the threads and the memory pool of the process, and is never stopped.
struct Context {
  Backend backend = Backend::kCpu;
  int threads = 0;                           // 0: as maskctl::threads() says
  std::shared_ptr<BufferPool> scratch = {};  // null: the pool of the process
  /// A call that is asked to stop throws Error(kCancelled) soon after and gives no result. Arrays
  /// that it updates in place (the cache of ragged_page_attention_v3) may be updated already.
  std::stop_token stop = {};
  /// With it, a kernel that the backend cannot run is run by the next backend of backends() that
  /// can, and the line says so: "softmax_backward: cpu instead of cuda: no CUDA device was found".
  /// Without it such a call throws Error(kUnsupported). Ranks of a ring and devices of a mesh call
  /// it from their threads.
  std::function<void(const std::string& line)> fallback = {};

  WorkLimits limits() const { return {threads, scratch.get(), stop}; }
};

}  // namespace maskctl::attention
