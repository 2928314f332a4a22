#include "maskctl/base/work_scope.h"

#include "maskctl/base/error.h"

namespace maskctl {
namespace {

thread_local const WorkLimits* innermost = nullptr;

}  // namespace

void WorkScope::enter(const WorkLimits& limits) {
  limits_ = limits;
  outer_ = innermost;
  if (outer_) {
    if (limits_->threads <= 0) limits_->threads = outer_->threads;
    if (!limits_->pool) limits_->pool = outer_->pool;
    if (!limits_->stop.stop_possible()) limits_->stop = outer_->stop;
  }
  innermost = &*limits_;
}

void WorkScope::leave() { innermost = outer_; }

WorkLimits WorkScope::current() { return innermost ? *innermost : WorkLimits{}; }
int WorkScope::threads() { return innermost ? innermost->threads : 0; }
BufferPool* WorkScope::pool() { return innermost ? innermost->pool : nullptr; }
const std::stop_token* WorkScope::stop() {
  return innermost && innermost->stop.stop_possible() ? &innermost->stop : nullptr;
}

void throw_if_stopped() {
  if (innermost && innermost->stop.stop_requested()) {
    throw Error(Errc::kCancelled, "stopped as requested");
  }
}

}  // namespace maskctl
