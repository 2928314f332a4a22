#include "app/python/worker.h"

#include <pthread.h>

#include <thread>
#include <vector>

namespace maskctl::app {
namespace {

/// Workers that nobody uses now. Never destroyed, because their threads wait until the process
/// ends.
struct Idle {
  std::mutex mutex;
  std::vector<Worker*> workers;
};

Idle& idle() {
  static Idle& all = *new Idle;
  // The child of a fork() has no worker threads: it must start with an empty list and an unlocked
  // mutex.
  [[maybe_unused]] static const int registered =
      pthread_atfork([] { all.mutex.lock(); }, [] { all.mutex.unlock(); },
                     [] {
                       all.workers.clear();
                       all.mutex.unlock();
                     });
  return all;
}

}  // namespace

Worker& Worker::take() {
  Idle& all = idle();
  const std::lock_guard lock(all.mutex);
  if (all.workers.empty()) return *new Worker;
  Worker& last = *all.workers.back();
  all.workers.pop_back();
  return last;
}

void Worker::give_back() {
  Idle& all = idle();
  const std::lock_guard lock(all.mutex);
  all.workers.push_back(this);
}

Worker::Worker() {
  std::thread([this] { run(); }).detach();
}

void Worker::begin(const std::function<void()>& work) {
  const std::lock_guard lock(mutex_);
  work_ = &work;
  begins_.notify_one();
}

bool Worker::ended_within(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return work_ == nullptr; });
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    begins_.wait(lock, [this] { return work_ != nullptr; });
    lock.unlock();
    (*work_)();
    lock.lock();
    work_ = nullptr;
    ended_.notify_one();
  }
}

}  // namespace maskctl::app
