// The backend of a call, and its limits: threads, memory, cancellation.
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

/// kReference: plain loops in float64, against which the others are checked. kCpu: vectorized f32
/// tiles on all threads; closed tiles are skipped. kCuda: f32 tiles on an NVIDIA GPU; closed tiles
/// are skipped.
enum class Backend : std::uint8_t { kReference, kCpu, kCuda };

/// The name of a backend: "reference", "cpu" or "cuda".
std::string_view name(Backend backend);
/// The names of all backends, the reference first.
std::span<const std::string_view> backend_names();
/// The backend of this name; nullopt for an unknown name.
std::optional<Backend> backend_from_name(std::string_view name);
/// Why a backend cannot run on this machine, as in "no NVIDIA GPU was found"; empty when it can.
/// The first call for a GPU may take long, because it starts the driver.
std::string unavailable(Backend backend);

/// How a call runs. The caller owns it and may share it between calls and threads. By default a
/// call runs on the CPU with the threads and memory pool of the process, and cannot be cancelled.
struct Context {
  Backend backend = Backend::kCpu;
  int threads = 0;                           // 0: maskctl::threads()
  std::shared_ptr<BufferPool> scratch = {};  // null: the pool of the process
  /// A call that is cancelled throws Error(kCancelled) soon after and gives no result. Arrays that
  /// it updates in place (the cache of ragged_page_attention_v3) may already be changed.
  std::stop_token stop = {};
  /// If set, a kernel that the backend cannot run is run by the next of backends() that can, and
  /// this function receives a line such as "softmax_backward: cpu instead of cuda: no CUDA device
  /// was found". If not set, such a call throws Error(kUnsupported). Ring and mesh calls invoke it
  /// from several threads.
  std::function<void(const std::string& line)> fallback = {};

  WorkLimits limits() const { return {threads, scratch.get(), stop}; }
};

}  // namespace maskctl::attention
