// A pool of threads that lives as long as the process.
#include "maskctl/base/threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

std::atomic<int> requested{0};
thread_local bool inside_task = false;

/// One call of parallel_for. Each thread that works on it takes the next task number until none is
/// left.
struct Job {
  Job(Index count, const std::function<void(Index)>& f, Index helpers)
      : tasks(count), task(f), wanted(helpers) {}

  const Index tasks;
  const std::function<void(Index)>& task;
  const WorkLimits limits = WorkScope::current();  // of the calling thread
  std::atomic<Index> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  // Both are guarded by the mutex of the team: how many more helpers may join, and how many are
  // working now.
  Index wanted, active = 0;

  void work() {
    const WorkScope scope(limits);
    inside_task = true;
    for (Index i = next++; i < tasks; i = next++) {
      try {
        throw_if_stopped();
        task(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = tasks;
      }
    }
    inside_task = false;
  }
};

/// The helper threads. They sleep between jobs, which is cheaper than starting new threads. The
/// caller starts working at once and waits only for helpers that have joined: a short job is
/// finished before any helper wakes, and a job gets done even when no helper is free.
class Team {
 public:
  void run(Job& job) {
    invite(job);
    job.work();
    std::unique_lock lock(mutex_);
    open_.remove(&job);
    left_.wait(lock, [&] { return job.active == 0; });
  }

 private:
  void invite(Job& job) {
    const std::lock_guard lock(mutex_);
    try {
      for (; helpers_ < job.wanted; ++helpers_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {
      // The system refuses to start more threads: the job runs on the existing ones, or on the
      // caller alone.
    }
    open_.push_back(&job);
    for (Index i = 0; i < job.wanted; ++i) invited_.notify_one();
  }

  [[noreturn]] void help() {
    std::unique_lock lock(mutex_);
    while (true) {
      invited_.wait(lock, [this] { return !open_.empty(); });
      Job& job = *open_.front();
      if (--job.wanted == 0) open_.pop_front();
      ++job.active;
      lock.unlock();
      job.work();
      lock.lock();
      if (--job.active == 0) left_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable invited_, left_;
  std::list<Job*> open_;  // jobs that more helpers may join
  Index helpers_ = 0;
};

/// The team is never destroyed: its helpers sleep until the process ends. A forked child has none
/// of the helper threads, so it gets a new team; the locks of the old one may be held by threads
/// that no longer exist.
Team& team() {
  static Team* instance = [] {
    pthread_atfork(nullptr, nullptr, [] { instance = new Team; });
    return new Team;
  }();
  return *instance;
}

}  // namespace

void set_threads(int count) { requested = count < 0 ? 0 : count; }

int threads() {
  if (const int count = WorkScope::threads(); count > 0) return count;
  const int count = requested;
  if (count > 0) return count;
  // Cached: the number comes from a system file, which is slow to read, and is needed for every
  // operation, however small.
  static const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : static_cast<int>(cores);
}

void parallel_for(Index tasks, const std::function<void(Index)>& task) {
  const Index helpers = std::min<Index>(threads(), tasks) - 1;
  if (helpers <= 0 || inside_task) {
    for (Index i = 0; i < tasks; ++i) {
      throw_if_stopped();
      task(i);
    }
    return;
  }
  Job job(tasks, task, helpers);
  team().run(job);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace maskctl
