#include "maskctl/attention/ring/exchange.h"

#include <algorithm>
#include <functional>

namespace maskctl::attention {
namespace {

/// f(first element, elements) of each run.
template <class F>
void for_each_run(const Tensor& array, const SeenKeys::Runs& runs, F&& f) {
  const Index keys = array.extent(1), row = array.extent(2) * array.extent(3);
  if (row == 0) return;
  for (Index b = 0; b < array.extent(0); ++b) {
    for (const Range& run : runs[runs.size() == 1 ? 0 : as_size(b)]) {
      f(as_size((b * keys + run.begin) * row), as_size(run.size() * row));
    }
  }
}

}  // namespace

std::vector<Tensor> gathered(Communicator& ring, const Tensor& own) {
  std::vector<Tensor> all(as_size(ring.size()), own);
  for (Index rank = 0; rank < ring.size() && !own.bytes().empty(); ++rank) {
    if (rank == ring.rank()) continue;
    ring.send(rank, own.bytes());
    ring.receive(rank, all[as_size(rank)].bytes());
  }
  ring.finish();
  return all;
}

SeenKeys::SeenKeys(const RingShard& shard) {
  for (Index t = 0; t < shard.ranks(); ++t) {
    wanted_.push_back(shard.seen_keys(shard.rank(), shard.owner(t)));
    lent_.push_back(shard.seen_keys(shard.reader(t), shard.rank()));
  }
}

bool SeenKeys::any_wanted(Index t) const {
  return !std::ranges::all_of(wanted(t), [](const auto& runs) { return runs.empty(); });
}

Range around(const SeenKeys::Runs& runs) {
  Range all;
  for (const std::vector<Range>& of_batch : runs) {
    for (const Range& run : of_batch) all = hull(all, run);
  }
  return all;
}

Index send_runs(Communicator& ring, Index to, const SeenKeys::Runs& runs, const Tensor& from) {
  std::size_t bytes = 0;
  for_each_run(from, runs, [&](std::size_t first, std::size_t n) {
    const auto run = std::as_bytes(from.as<float>().subspan(first, n));
    ring.send(to, run);
    bytes += run.size();
  });
  return static_cast<Index>(bytes);
}

void receive_runs(Communicator& ring, Index from, const SeenKeys::Runs& runs, Tensor& to) {
  for_each_run(to, runs, [&](std::size_t first, std::size_t n) {
    ring.receive(from, std::as_writable_bytes(to.as<float>().subspan(first, n)));
  });
}

void add_runs(const Tensor& part, const SeenKeys::Runs& runs, Tensor& sum) {
  for_each_run(sum, runs, [&](std::size_t first, std::size_t n) {
    const auto sums = sum.as<float>().subspan(first, n);
    std::ranges::transform(part.as<float>().subspan(first, n), sums, sums.begin(), std::plus<>());
  });
}

KeyValues::KeyValues(Communicator& ring, const RingShard& shard, const SeenKeys& seen,
                     const Tensor& key, const Tensor& value)
    : ring_(ring), shard_(shard), seen_(seen), own_key_(key), own_value_(value) {
  for (int i = 0; i < std::min<Index>(shard.ranks() - 1, 2); ++i) {
    key_[i] = Tensor(DType::kFloat32, key.shape());
    value_[i] = Tensor(DType::kFloat32, value.shape());
  }
}

Index KeyValues::start(Index t) {
  const int next = 1 - current_;
  const Index owner = shard_.owner(t), reader = shard_.reader(t);
  receive_runs(ring_, owner, seen_.wanted(t), key_[next]);
  receive_runs(ring_, owner, seen_.wanted(t), value_[next]);
  return send_runs(ring_, reader, seen_.lent(t), own_key_) +
         send_runs(ring_, reader, seen_.lent(t), own_value_);
}

void KeyValues::arrive() {
  first_ = false;
  current_ = 1 - current_;
}

}  // namespace maskctl::attention
