// A pool of workers that the tasks of a call share.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace maskctl::attention {

/// Makes as many workers as tasks run concurrently.
template <class Worker>
class WorkerPool {
 public:
  /// Runs task(worker) with a worker that no other thread uses: an idle one, or a new one from
  /// make().
  template <class Make, class Task>
  void run(Make&& make, Task&& task) {
    std::unique_ptr<Worker> worker = take();
    if (!worker) worker = make();
    task(*worker);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
  }

 private:
  std::unique_ptr<Worker> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    std::unique_ptr<Worker> worker = std::move(idle_.back());
    idle_.pop_back();
    return worker;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace maskctl::attention
