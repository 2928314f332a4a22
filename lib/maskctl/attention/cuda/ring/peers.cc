#include "maskctl/attention/cuda/ring/peers.h"

#include <algorithm>

#include "maskctl/attention/cuda/ring/parts.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kKey = 0, kValue = 1, kRow = 2;  // indices into Offer::arrays

const std::vector<Range>& runs_of(const SeenKeys::Runs& runs, Index b) {
  return runs[runs.size() == 1 ? 0 : as_size(b)];
}

bool fill(const SeenKeys::Runs& runs, Range rows) {
  return std::ranges::all_of(runs, [&](const std::vector<Range>& of_batch) {
    return of_batch.size() == 1 && of_batch.front() == rows;
  });
}

template <class View>
View cut_rows(const View& array, Range rows) {
  std::vector<Index> shape(array.shape().begin(), array.shape().end());
  shape[1] = rows.size();
  const Index first = rows.begin * array.stride(1) * size_bytes(array.dtype());
  return {array.data() + first, array.dtype(), shape, array.strides(), array.place()};
}

}  // namespace

MutableTensorView view_rows(const MutableTensorView& array, Range rows) {
  return cut_rows(array, rows);
}
TensorView view_rows(const TensorView& array, Range rows) { return cut_rows(array, rows); }

Peers::Peers(Workspace& workspace, const RingProblem& problem, const RingSteps& steps,
             const float* row, Index floats, bool gradients)
    : workspace_(workspace),
      problem_(problem),
      steps_(steps),
      key_bytes_(problem.key.stride(1) * size_bytes(problem.key.dtype())),
      value_bytes_(problem.value.stride(1) * size_bytes(problem.value.dtype())),
      row_(row),
      floats_(floats) {
  const Index batch = problem.key.extent(0), ranks = problem.shard->ranks();
  Index most_keys = 0;
  for (const RingPart& part : steps.parts) {
    if (!is_own(part)) most_keys = std::max(most_keys, part.keys.size());
  }
  const auto take_keys = [&](Index bytes, Index keys) {
    return workspace.take<std::byte>(batch * keys * bytes);
  };
  for (Slot& slot : slots_) {
    slot = {take_keys(key_bytes_, most_keys), take_keys(value_bytes_, most_keys)};
  }
  for (Index t = 1; t < ranks && gradients; ++t) {
    const Range keys = around(steps.sent[as_size(t)]);
    if (keys.empty()) continue;
    home_.push_back(
        {t, keys, take_keys(key_bytes_, keys.size()), take_keys(value_bytes_, keys.size())});
  }
  if (!row) return;
  rows_ = workspace.take<float>(ranks * floats);
  mean_ = workspace.take<float>(floats);
}

template <class T>
std::vector<T> Peers::exchanged(const std::vector<T>& to_each) const {
  Communicator& ring = *problem_.ring;
  std::vector<T> from_each = to_each;  // keeps this rank's own entry
  for (Index rank = 0; rank < ring.size(); ++rank) {
    if (rank == ring.rank() || (!row_ && !steps_.partners[as_size(rank)])) continue;
    ring.send(rank, std::as_bytes(std::span(&to_each[as_size(rank)], 1)));
    ring.receive(rank, std::as_writable_bytes(std::span(&from_each[as_size(rank)], 1)));
  }
  ring.finish();
  return from_each;
}

void Peers::begin() {
  steps_.begun.record(workspace_.stream());
  for (const Stream stream :
       {steps_.copies.get(), steps_.lanes[0].stream.get(), steps_.lanes[1].stream.get()}) {
    // Nothing may be written to the workspace while earlier calls in the call's stream use it.
    wait_for(steps_.begun.get(), stream);
  }
  const Offer own{
      gpu_in_use(),
      {problem_.key.data(), problem_.value.data(), reinterpret_cast<const std::byte*>(row_)},
      steps_.begun.get()};
  offers_ = exchanged(std::vector(as_size(problem_.ring->size()), own));
  fetch(0);
}

Workspace& Peers::memory(std::size_t n) const {
  return is_own(parts()[n]) ? workspace_ : steps_.lanes[n % 2].memory;
}

void Peers::copy_runs(const SeenKeys::Runs& runs, const Offer& from, int array, Range from_rows,
                      std::byte* to, Range to_rows) {
  const Index row_bytes = array == kKey ? key_bytes_ : value_bytes_;
  const int gpu = gpu_in_use();
  const auto at = [&](Index b, Index row, Range rows) {
    return (b * rows.size() + row - rows.begin) * row_bytes;
  };
  for (Index b = 0; b < problem_.key.extent(0); ++b) {
    for (const Range& run : runs_of(runs, b)) {
      copy_between_gpus(to + at(b, run.begin, to_rows), gpu,
                        from.arrays[array] + at(b, run.begin, from_rows), from.gpu,
                        as_size(run.size() * row_bytes), steps_.copies.get());
    }
  }
}

void Peers::fetch(std::size_t n) {
  if (n >= parts().size()) return;
  const RingPart& part = parts()[n];
  if (is_own(part)) return;
  if (n >= 2 && !is_own(parts()[n - 2])) wait_for(parts()[n - 2].done.get(), steps_.copies.get());
  const Offer& owner = offers_[as_size(part.owner)];
  const Range all{0, problem_.key.extent(1)};
  wait_for(owner.ready, steps_.copies.get());
  copy_runs(part.runs, owner, kKey, all, slots_[n % 2].key, part.keys);
  copy_runs(part.runs, owner, kValue, all, slots_[n % 2].value, part.keys);
  part.arrived.record(steps_.copies.get());
}

SoftmaxProblem Peers::arrived(std::size_t n) {
  fetch(n + 1);
  const RingPart& part = parts()[n];
  SoftmaxProblem softmax = part.softmax;
  softmax.query = view_rows(problem_.query, part.queries);
  if (is_own(part)) {
    softmax.key = view_rows(problem_.key, part.keys);
    softmax.value = view_rows(problem_.value, part.keys);
    return softmax;
  }
  wait_for(part.arrived.get(), memory(n).stream());
  const auto in_slot = [&](const TensorView& like, const std::byte* data) {
    const std::vector<Index> shape{like.extent(0), part.keys.size(), like.extent(2),
                                   like.extent(3)};
    return TensorView(data, like.dtype(), shape, like.place());
  };
  softmax.key = in_slot(problem_.key, slots_[n % 2].key);
  softmax.value = in_slot(problem_.value, slots_[n % 2].value);
  return softmax;
}

void Peers::done(std::size_t n) const { parts()[n].done.record(memory(n).stream()); }

void Peers::join() const {
  for (const RingPart& part : parts()) wait_for(part.done.get(), workspace_.stream());
}

const float* Peers::mean_row() {
  const Stream copies = steps_.copies.get();
  Parts all;
  for (const Offer& offer : offers_) {
    float* const to = rows_ + all.count * floats_;
    wait_for(offer.ready, copies);
    copy_between_gpus(to, gpu_in_use(), offer.arrays[kRow], offer.gpu,
                      as_size(floats_) * sizeof(float), copies);
    all.part[all.count++] = {to, nullptr, 0, 1};
  }
  steps_.gathered.record(copies);
  wait_for(steps_.gathered.get(), workspace_.stream());
  launch_sum({1, 1, floats_}, all, nullptr, 1.0f / static_cast<float>(all.count),
             {mean_, DType::kFloat32}, workspace_.stream());
  return mean_;
}

const std::vector<Peers::Home>& Peers::bring_home(const std::vector<KeyGradients>& gradients) {
  const Stream copies = steps_.copies.get();
  std::vector<Offer> to_each(offers_.size());
  for (const KeyGradients& gradient : gradients) {
    const RingPart& part = parts()[gradient.part];
    to_each[as_size(part.owner)] = {gpu_in_use(), {gradient.key, gradient.value}, part.done.get()};
  }
  const std::vector<Offer> from_each = exchanged(to_each);
  for (const Home& home : home_) {
    const SeenKeys::Runs& runs = steps_.sent[as_size(home.step)];
    const Index keys = problem_.key.extent(0) * home.keys.size();
    if (!fill(runs, home.keys)) {
      fill_bytes(home.key, 0, as_size(keys * key_bytes_), copies);
      fill_bytes(home.value, 0, as_size(keys * value_bytes_), copies);
    }
    const Offer& reader = from_each[as_size(problem_.shard->reader(home.step))];
    wait_for(reader.ready, copies);
    copy_runs(runs, reader, kKey, home.keys, home.key, home.keys);
    copy_runs(runs, reader, kValue, home.keys, home.value, home.keys);
  }
  steps_.gathered.record(copies);
  wait_for(steps_.gathered.get(), workspace_.stream());
  return home_;
}

void Peers::close() {
  steps_.read.record(steps_.copies.get());
  const std::vector<EventHandle> own(offers_.size(), steps_.read.get());
  for (const EventHandle read : exchanged(own)) {
    wait_for(read, workspace_.stream());
  }
}

}  // namespace maskctl::attention::cuda
