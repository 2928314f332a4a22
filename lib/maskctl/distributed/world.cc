#include "maskctl/distributed/world.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/helper_file.h"
#include "maskctl/distributed/mpi/module.h"

namespace maskctl::distributed {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr int kData = 1, kNotice = 2;  // MPI tags: the kinds of messages
/// If a connection breaks, a rank waits this long before it reports that. Meanwhile it may receive
/// a notice or be ended by the launcher, which know better which rank failed.
constexpr std::chrono::seconds kLauncherPatience{3};
constexpr microseconds kIdle{1000}, kBusy{20}, kMostBusy{200};  // pauses between calls of MPI

/// The message that a failing rank sends to all others.
struct Notice {
  std::int64_t rank = 0;
  std::array<char, 2040> text{};
};

const MpiModule& load_module(const std::string& given) {
  // If the module is not found anywhere, dlopen() reports it.
  const std::string path =
      given.empty() ? find_helper_file(kMpiModuleFile).value_or(kMpiModuleFile) : given;
  // RTLD_GLOBAL: MPI loads plugins, which look for MPI's symbols in the process.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    throw Error(Errc::kUnsupported,
                fmt::format("ranks need the module {}, which cannot be loaded ({}); build maskctl "
                            "where MPI is installed (Debian: libopenmpi-dev)",
                            kMpiModuleFile, dlerror()));
  }
  using Get = const MpiModule* (*)();
  const auto get = reinterpret_cast<Get>(dlsym(library, kMpiModuleSymbol));
  const MpiModule* const module = get ? get() : nullptr;
  if (module && module->version == kMpiModuleVersion) return *module;
  throw Error(Errc::kUnsupported, fmt::format("{} is of another version of maskctl", path));
}

}  // namespace

/// Only one thread calls the module. It starts the transfers in a queue, checks whether running
/// transfers are done, and listens for notices from ranks that fail.
struct World::Impl {
  Impl(std::function<void()> on_failure, const std::string& path, Index piece)
      : on_failure_(std::move(on_failure)),
        module_(load_module(path)),
        piece_(std::max(piece, Index{sizeof(Notice)})),  // a Notice must fit into one piece
        thread_([this] { run(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return size_ > 0 || !cannot_join_.empty(); });
    if (cannot_join_.empty()) return;
    lock.unlock();
    thread_.join();
    throw Error(Errc::kDevice, "MPI does not start: " + cannot_join_);
  }
  ~Impl() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  struct Transfer {
    bool sends;
    int to, kind;
    void* bytes;  // the data to send if `sends`; else where to write what is received
    long long size;
  };

  void start(const Transfer& transfer) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(transfer);
      ++unfinished_;
    }
    wake_.notify_all();
  }
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return unfinished_ == 0 || failure_; });
    if (failure_) {
      throw Error(Errc::kDevice, fmt::format("rank {}: {}", failure_->rank, failure_->message));
    }
  }
  /// Sends a notice to all other ranks and waits, at most 2 seconds, until all are sent.
  void fail(const std::string& message) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
      failure_ = {rank_, message};
      notice_.rank = rank_;
      message.copy(notice_.text.data(), notice_.text.size() - 1);
      for (int to = 0; to < size_; ++to) {
        if (to == rank_) continue;
        queue_.push_back({true, to, kNotice, &notice_, sizeof(notice_)});
      }
    }
    wake_.notify_all();
    changed_.notify_all();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(2), [this] { return notices_sent_ == size_ - 1; });
  }

  void run() {
    int rank = 0, size = 0;
    const char* const why = module_.join(piece_, &rank, &size);
    {
      const std::lock_guard lock(mutex_);
      if (why) cannot_join_ = why;
      rank_ = rank, size_ = size;
    }
    changed_.notify_all();
    if (why) return;
    listening_ = module_.receive(-1, kNotice, &heard_, sizeof(heard_));
    microseconds pause = kBusy;
    while (take_queue()) {
      pause = look() ? microseconds(0) : std::min(std::max(2 * pause, kBusy), kMostBusy);
      listen();
      if (pause.count() > 0) rest(pause);
    }
    // All transfers are done. end() also completes the receive that waits for a notice, since MPI
    // must not end before it.
    if (!failed()) end();
  }

  bool failed() const {
    const std::lock_guard lock(mutex_);
    return failure_.has_value();
  }

  /// Starts the transfers in the queue. Returns false when this rank is leaving and nothing is left
  /// to do.
  bool take_queue() {
    std::deque<Transfer> queue;
    {
      const std::lock_guard lock(mutex_);
      queue.swap(queue_);
      if (leaving_ && queue.empty() && (active_.empty() || failure_)) return false;
    }
    for (const Transfer& t : queue) {
      void* const handle = t.sends ? module_.send(t.to, t.kind, t.bytes, t.size)
                                   : module_.receive(t.to, t.kind, t.bytes, t.size);
      active_.push_back({handle, t.to, t.kind});
    }
    return true;
  }

  /// Checks the running transfers. Returns true when any has ended.
  bool look() {
    Index data = 0, notices = 0;
    std::erase_if(active_, [&](const Active& active) {
      const char* why = nullptr;
      const int state = module_.done(active.handle, &why);
      if (state < 0) broken(active.rank, why);
      if (state != 0) ++(active.kind == kData ? data : notices);
      return state != 0;
    });
    if (data + notices == 0) return false;
    {
      const std::lock_guard lock(mutex_);
      unfinished_ -= data;
      notices_sent_ += notices;
    }
    changed_.notify_all();
    return true;
  }

  void broken(int rank, const std::string& why) {
    if (broken_) return;
    broken_ = {Clock::now() + kLauncherPatience, fmt::format("with rank {}: {}", rank, why)};
    // The data of this transfer will not arrive: make sure that finish() does not return as if it
    // had.
    const std::lock_guard lock(mutex_);
    ++unfinished_;
  }

  void listen() {
    if (broken_ && Clock::now() > broken_->first) set_failure({rank_, broken_->second});
    const char* why = nullptr;
    if (!listening_ || module_.done(listening_, &why) == 0) return;
    listening_ = nullptr;
    if (why) return;
    set_failure({heard_.rank, heard_.text.data()});
  }

  void set_failure(Failure failure) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
      failure_ = std::move(failure);
    }
    changed_.notify_all();
    if (on_failure_) on_failure_();
  }

  void rest(microseconds pause) {
    std::unique_lock lock(mutex_);
    if (!queue_.empty()) return;
    if (active_.empty()) {
      wake_.wait_for(lock, kIdle, [this] { return !queue_.empty() || leaving_; });
    } else {
      wake_.wait_for(lock, pause, [this] { return !queue_.empty(); });
    }
  }

  /// Sends a notice to this rank itself, which completes the receive that waits for one; then all
  /// ranks end MPI together.
  void end() {
    const Notice farewell{rank_, {}};
    const char* why = nullptr;
    void* const sent = module_.send(rank_, kNotice, &farewell, sizeof(farewell));
    while (listening_ && module_.done(listening_, &why) == 0) std::this_thread::yield();
    while (module_.done(sent, &why) == 0) std::this_thread::yield();
    module_.leave();
  }

  struct Active {
    void* handle;
    int rank, kind;
  };

  std::function<void()> on_failure_;
  const MpiModule& module_;
  Index piece_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // wakes callers that wait for transfers
  std::condition_variable wake_;     // wakes the transfer thread
  // Guarded by mutex_:
  int rank_ = 0, size_ = 0;
  std::string cannot_join_;
  std::deque<Transfer> queue_;
  Index unfinished_ = 0, notices_sent_ = 0;
  std::optional<Failure> failure_;
  bool leaving_ = false;
  Notice notice_;
  // Used only by the transfer thread:
  std::vector<Active> active_;
  std::optional<std::pair<Clock::time_point, std::string>> broken_;
  Notice heard_;
  void* listening_ = nullptr;

  std::thread thread_;  // last member: the thread uses all others
};

World::World(std::function<void()> on_failure, const std::string& module, Index piece)
    : impl_(std::make_unique<Impl>(std::move(on_failure), module, piece)) {}

World::~World() = default;

Index World::rank() const { return impl_->rank_; }
Index World::size() const { return impl_->size_; }

void World::send(Index to, std::span<const std::byte> bytes) {
  // MPI only reads what it sends, but a Transfer has the same non-const pointer for both
  // directions.
  impl_->start({true, static_cast<int>(to), kData, const_cast<std::byte*>(bytes.data()),  // NOLINT
                static_cast<long long>(bytes.size())});
}

void World::receive(Index from, std::span<std::byte> bytes) {
  impl_->start(
      {false, static_cast<int>(from), kData, bytes.data(), static_cast<long long>(bytes.size())});
}

void World::finish() { impl_->finish(); }
void World::fail(const std::string& message) { impl_->fail(message); }

std::optional<Failure> World::failure() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->failure_;
}

}  // namespace maskctl::distributed
