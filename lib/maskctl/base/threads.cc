// A team of threads that lasts as long as the process.
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

/// One call of parallel_for: each thread that takes part draws task numbers until none is left.
struct Job {
  Job(Index count, const std::function<void(Index)>& f, Index helpers)
      : tasks(count), task(f), wanted(helpers) {}

  const Index tasks;
  const std::function<void(Index)>& task;
  const WorkLimits limits = WorkScope::current();  // those of the caller
  std::atomic<Index> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  // Both guarded by the team's mutex: how many more helpers may join, and how many are at work.
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

/// Helpers sleep between jobs, which is cheaper than starting new threads. A caller begins at once
/// and never waits for helpers that have not arrived: a short job is finished before one wakes, and
/// a job gets done even when no helper can come.
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
      // The system starts no more threads: the existing ones, or the caller alone, do the job.
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
  std::list<Job*> open_;  // jobs that want helpers
  Index helpers_ = 0;
};

/// Never destroyed: its helpers sleep until the process ends. A forked child has none of these
/// helpers and gets a team of its own; the old locks and conditions wait for threads that no longer
/// exist.
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
  // Cached: the answer comes from a system file, and even the smallest combination needs it.
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
