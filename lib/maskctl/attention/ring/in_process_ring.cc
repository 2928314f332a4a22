// A ring of threads: what a rank sends is copied once by the ring, once by its neighbour.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::attention {
namespace {

/// What all ranks share, under one mutex.
struct Ring {
  explicit Ring(Index size) : ranks(as_size(size)) {}

  struct Rank {
    // Of this step. Owned here: a rank that fails unwinds, and its buffers are gone while the next
    // rank still copies.
    std::vector<std::shared_ptr<const std::vector<std::byte>>> sent;
    std::size_t taken = 0;  // of them by the next rank
    Index step = 0;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> ranks;
  std::exception_ptr failure;  // the first
};

class InProcessRank final : public Communicator {
 public:
  InProcessRank(Ring& ring, Index rank) : ring_(ring), rank_(rank) {}
  Index rank() const override { return rank_; }
  Index size() const override { return static_cast<Index>(ring_.ranks.size()); }

  void start(std::span<const std::byte> out, std::span<std::byte> in) override {
    auto sent = std::make_shared<const std::vector<std::byte>>(out.begin(), out.end());
    const std::lock_guard lock(ring_.mutex);
    mine().sent.push_back(std::move(sent));
    in_.push_back(in);
    ring_.changed.notify_all();
  }

  void finish() override {
    for (std::size_t n = 0; n < in_.size(); ++n) take(n);
    std::unique_lock lock(ring_.mutex);
    wait(lock, [this] { return mine().taken == mine().sent.size(); });
    mine().sent.clear();
    mine().taken = 0;
    ++mine().step;
    in_.clear();
    ring_.changed.notify_all();
  }

 private:
  Ring::Rank& mine() { return ring_.ranks[as_size(rank_)]; }
  Ring::Rank& previous() { return ring_.ranks[as_size((rank_ + size() - 1) % size())]; }

  /// Copies transfer number n of the previous rank.
  void take(std::size_t n) {
    std::shared_ptr<const std::vector<std::byte>> from;
    {
      std::unique_lock lock(ring_.mutex);
      wait(lock,
           [this, n] { return previous().step == mine().step && previous().sent.size() > n; });
      from = previous().sent[n];
    }
    if (from->size() != in_[n].size()) {
      refuse_shape(fmt::format("rank {} receives {} bytes where it expects {}", rank_, from->size(),
                               in_[n].size()));
    }
    std::ranges::copy(*from, in_[n].begin());
    const std::lock_guard lock(ring_.mutex);
    ++previous().taken;
    ring_.changed.notify_all();
  }

  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, Condition&& holds) {
    ring_.changed.wait(lock, [&] { return ring_.failure || holds(); });
    if (ring_.failure) throw Error(Errc::kDevice, "another rank of the ring has failed");
  }

  Ring& ring_;
  Index rank_;
  std::vector<std::span<std::byte>> in_;
};

}  // namespace

void run_ring(Index size, const std::function<void(Communicator&)>& f) {
  if (size < 1) refuse(fmt::format("a ring of {} ranks", size));
  Ring ring(size);
  const auto failed = [&ring] {
    const std::lock_guard lock(ring.mutex);
    if (!ring.failure) ring.failure = std::current_exception();
    ring.changed.notify_all();
  };
  const WorkLimits limits = WorkScope::current();
  {
    std::vector<std::jthread> team;
    try {
      for (Index rank = 0; rank < size; ++rank) {
        team.emplace_back([&ring, &f, &failed, &limits, rank] {
          const WorkScope scope(limits);
          InProcessRank self(ring, rank);
          try {
            f(self);
          } catch (...) {
            failed();
          }
        });
      }
    } catch (...) {
      failed();  // ranks that have started would wait for one that never comes
    }
  }
  if (ring.failure) std::rethrow_exception(ring.failure);
}

}  // namespace maskctl::attention
