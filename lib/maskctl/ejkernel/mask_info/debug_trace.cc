#include "maskctl/ejkernel/mask_info/debug_trace.h"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl {
namespace {

using Sink = std::function<void(std::string_view)>;

std::atomic<bool> debug_mode{false};
std::mutex sink_mutex;
std::shared_ptr<const Sink> sink;

/// Passes a line to the sink. Does not hold the lock meanwhile, because the sink may call traced
/// functions.
void say(std::string_view text) {
  std::shared_ptr<const Sink> current;
  {
    const std::lock_guard lock(sink_mutex);
    current = sink;
  }
  if (current && *current) (*current)(fmt::format("[MaskInfo Debug] {}", text));
}

}  // namespace

void trace_call(std::string_view name) {
  if (debug_mode.load(std::memory_order_relaxed)) say(fmt::format("Calling {}()", name));
}

void trace_property(std::string_view name) {
  if (debug_mode.load(std::memory_order_relaxed)) say(fmt::format("Property access: {}", name));
}

void set_debug_mode(bool enabled) {
  debug_mode = enabled;
  say(enabled ? "Debug mode enabled" : "Debug mode disabled");
}

bool get_debug_mode() { return debug_mode; }

void set_debug_sink(std::function<void(std::string_view line)> line_sink) {
  auto next = std::make_shared<const Sink>(std::move(line_sink));
  const std::lock_guard lock(sink_mutex);
  sink.swap(next);
}

}  // namespace maskctl
