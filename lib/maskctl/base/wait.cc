#include "maskctl/base/wait.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "maskctl/base/work_scope.h"

namespace maskctl {

bool wait_ready(int fd, short events, Index milliseconds) {
  using Clock = std::chrono::steady_clock;
  constexpr Index kSlice = 20;  // milliseconds between two checks for a stop request
  // Nothing can end the wait early: let read or write wait.
  if (milliseconds < 0 && !WorkScope::stop()) return true;
  const auto start = Clock::now();
  for (;;) {
    throw_if_stopped();
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    const Index left =
        milliseconds < 0 ? kSlice : std::max<Index>(0, milliseconds - waited.count());
    pollfd wait{fd, events, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min(left, kSlice)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (ready == 0 && left <= kSlice && milliseconds >= 0) return false;
  }
}

}  // namespace maskctl
