#include "maskctl/attention/ring/exchange.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace maskctl::attention {
namespace {

/// Calls f(batch, run) for each run (a range of keys) of each batch row in an array [B, T, H, D];
/// does nothing if H or D is 0.
template <class F>
void for_each_run(const Tensor& array, const SeenKeys::Runs& runs, F&& f) {
  if (array.extent(2) * array.extent(3) == 0) return;
  for (Index b = 0; b < array.extent(0); ++b) {
    for (const Range& run : runs[runs.size() == 1 ? 0 : as_size(b)]) f(b, run);
  }
}

/// Returns the elements of a run (a range of keys) in batch row b of an array [B, T, H, D] whose
/// first row is key `first`.
template <class Array>
auto elements(Array& array, Index first, Index b, Range run) {
  const Index row = array.extent(2) * array.extent(3);
  return array.template as<float>().subspan(
      as_size((b * array.extent(1) + run.begin - first) * row), as_size(run.size() * row));
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
    sent_.push_back(shard.seen_keys(shard.reader(t), shard.rank()));
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

Index send_runs(Communicator& ring, Index to, const SeenKeys::Runs& runs, const Tensor& from,
                Index first) {
  std::size_t bytes = 0;
  for_each_run(from, runs, [&](Index b, Range run) {
    const auto sent = std::as_bytes(elements(from, first, b, run));
    ring.send(to, sent);
    bytes += sent.size();
  });
  return static_cast<Index>(bytes);
}

void receive_runs(Communicator& ring, Index from, const SeenKeys::Runs& runs, Tensor& to,
                  Index first) {
  for_each_run(to, runs, [&](Index b, Range run) {
    ring.receive(from, std::as_writable_bytes(elements(to, first, b, run)));
  });
}

void add_runs(const Tensor& part, Index first, const SeenKeys::Runs& runs, Tensor& sum) {
  for_each_run(sum, runs, [&](Index b, Range run) {
    const auto sums = elements(sum, 0, b, run);
    std::ranges::transform(elements(part, first, b, run), sums, sums.begin(), std::plus<>());
  });
}

Tensor stretch_of(const Tensor& like, Range keys) {
  std::vector<Index> shape = like.shape();
  shape[1] = keys.size();
  return {DType::kFloat32, std::move(shape)};
}

KeyValues::KeyValues(Communicator& ring, const RingShard& shard, const SeenKeys& seen,
                     const Tensor& key, const Tensor& value)
    : ring_(ring), shard_(shard), seen_(seen), own_key_(key), own_value_(value) {}

Index KeyValues::start(Index t) {
  const Index owner = shard_.owner(t), reader = shard_.reader(t);
  const SeenKeys::Runs& wanted = seen_.wanted(t);
  const Range stretch = around(wanted);
  next_ = {stretch_of(own_key_, stretch), stretch_of(own_value_, stretch)};
  receive_runs(ring_, owner, wanted, next_.key, stretch.begin);
  receive_runs(ring_, owner, wanted, next_.value, stretch.begin);
  return send_runs(ring_, reader, seen_.sent(t), own_key_) +
         send_runs(ring_, reader, seen_.sent(t), own_value_);
}

void KeyValues::arrive() {
  ++step_;
  now_ = std::move(next_);
}

Range KeyValues::keys() const {
  const Range all = shard_.keys(shard_.owner(step_));
  if (step_ == 0) return all;
  const Range stretch = around(seen_.wanted(step_));
  return {all.begin + stretch.begin, all.begin + stretch.end};
}

}  // namespace maskctl::attention
