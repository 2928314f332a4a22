// A ring whose ranks are threads of this process. A message is copied once when it is sent, and
// once when it is received.
#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/ring/communicator.h"
#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::attention {
namespace {

/// The state that all ranks share, guarded by one mutex.
struct Ring {
  explicit Ring(Index size) : ranks(size) {}

  // A message owns its bytes, because the buffers of a rank that fails may be freed while another
  // rank is still copying.
  using Message = std::vector<std::byte>;
  std::mutex mutex;
  std::condition_variable changed;
  Index ranks;
  // Messages not yet received, by sender and receiver.
  std::map<std::pair<Index, Index>, std::deque<Message>> boxes;
  std::exception_ptr failure;  // exception of the first rank that failed

  std::deque<Message>& box(Index from, Index to) { return boxes[{from, to}]; }
};

class InProcessRank final : public Communicator {
 public:
  InProcessRank(Ring& ring, Index rank) : ring_(ring), rank_(rank) {}
  Index rank() const override { return rank_; }
  Index size() const override { return ring_.ranks; }
  bool shares_memory() const override { return true; }

  void send(Index to, std::span<const std::byte> bytes) override {
    Ring::Message message(bytes.begin(), bytes.end());
    const std::lock_guard lock(ring_.mutex);
    ring_.box(rank_, to).push_back(std::move(message));
    ring_.changed.notify_all();
  }
  void receive(Index from, std::span<std::byte> bytes) override {
    wanted_.push_back({from, bytes});
  }

  void finish() override {
    for (const Wanted& wanted : wanted_) take(wanted);
    wanted_.clear();
  }

 private:
  struct Wanted {
    Index from;
    std::span<std::byte> bytes;
  };

  void take(const Wanted& wanted) {
    const Ring::Message message = next_from(wanted.from);
    if (message.size() != wanted.bytes.size()) {
      refuse_shape(fmt::format("rank {} receives {} bytes from rank {} where it expects {}", rank_,
                               message.size(), wanted.from, wanted.bytes.size()));
    }
    std::ranges::copy(message, wanted.bytes.begin());
  }

  Ring::Message next_from(Index from) {
    std::unique_lock lock(ring_.mutex);
    std::deque<Ring::Message>& box = ring_.box(from, rank_);
    ring_.changed.wait(lock, [&] { return ring_.failure || !box.empty(); });
    if (ring_.failure) throw Error(Errc::kDevice, "another rank of the ring has failed");
    Ring::Message message = std::move(box.front());
    box.pop_front();
    return message;
  }

  Ring& ring_;
  Index rank_;
  std::vector<Wanted> wanted_;
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
      // Otherwise the ranks that have started would wait forever for the one that has not.
      failed();
    }
  }
  if (ring.failure) std::rethrow_exception(ring.failure);
}

}  // namespace maskctl::attention
