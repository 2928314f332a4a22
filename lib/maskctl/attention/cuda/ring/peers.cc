#include "maskctl/attention/cuda/ring/peers.h"

#include <algorithm>

#include "maskctl/attention/cuda/ring/parts.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kKey = 0, kValue = 1, kRow = 2;  // of Offer::arrays

/// What every rank has for this one, given what this one has for every rank.
template <class T>
std::vector<T> exchanged(Communicator& ring, const std::vector<T>& to_each) {
  std::vector<T> from_each = to_each;  // the own one stays
  for (Index rank = 0; rank < ring.size(); ++rank) {
    if (rank == ring.rank()) continue;
    ring.send(rank, std::as_bytes(std::span(&to_each[as_size(rank)], 1)));
    ring.receive(rank, std::as_writable_bytes(std::span(&from_each[as_size(rank)], 1)));
  }
  ring.finish();
  return from_each;
}

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
             const float* row, Index floats)
    : workspace_(workspace),
      problem_(problem),
      steps_(steps),
      key_bytes_(problem.key.stride(1) * size_bytes(problem.key.dtype())),
      value_bytes_(problem.value.stride(1) * size_bytes(problem.value.dtype())),
      floats_(floats) {
  Index most_keys = 0;
  for (const RingPart& part : steps.parts) {
    if (part.owner != problem.ring->rank()) most_keys = std::max(most_keys, part.keys.size());
  }
  const Index batch = problem.key.extent(0);
  for (Slot& slot : slots_) {
    slot.key = workspace.take<std::byte>(batch * most_keys * key_bytes_);
    slot.value = workspace.take<std::byte>(batch * most_keys * value_bytes_);
  }
  steps.begun.record(workspace.stream());
  wait_for(steps.begun.get(), steps.copies.get());  // earlier calls have used the memory
  const Offer own{
      gpu_in_use(),
      {problem.key.data(), problem.value.data(), reinterpret_cast<const std::byte*>(row)},
      steps.begun.get()};
  offers_ = exchanged(*problem.ring, std::vector(as_size(problem.ring->size()), own));
  for (const Offer& offer : offers_) connect_gpu(offer.gpu);
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

SoftmaxProblem Peers::arrived(std::size_t n) const {
  const RingPart& part = parts()[n];
  SoftmaxProblem softmax = part.softmax;
  softmax.query = view_rows(problem_.query, part.queries);
  if (is_own(part)) {
    softmax.key = view_rows(problem_.key, part.keys);
    softmax.value = view_rows(problem_.value, part.keys);
    return softmax;
  }
  wait_for(part.arrived.get(), workspace_.stream());
  const auto in_slot = [&](const TensorView& like, const std::byte* data) {
    const std::vector<Index> shape{like.extent(0), part.keys.size(), like.extent(2),
                                   like.extent(3)};
    return TensorView(data, like.dtype(), shape, like.place());
  };
  softmax.key = in_slot(problem_.key, slots_[n % 2].key);
  softmax.value = in_slot(problem_.value, slots_[n % 2].value);
  return softmax;
}

void Peers::done(std::size_t n) const { parts()[n].done.record(workspace_.stream()); }

const float* Peers::mean_row() {
  auto* const rows = workspace_.take<float>(problem_.ring->size() * floats_);
  auto* const mean = workspace_.take<float>(floats_);
  Parts all;
  for (const Offer& offer : offers_) {
    float* const to = rows + all.count * floats_;
    wait_for(offer.ready, steps_.copies.get());
    copy_between_gpus(to, gpu_in_use(), offer.arrays[kRow], offer.gpu,
                      as_size(floats_) * sizeof(float), steps_.copies.get());
    all.part[all.count++] = {to, nullptr, 0, 1};
  }
  steps_.gathered.record(steps_.copies.get());
  wait_for(steps_.gathered.get(), workspace_.stream());
  launch_sum({1, 1, floats_}, all, nullptr, 1.0f / static_cast<float>(all.count),
             {mean, DType::kFloat32}, workspace_.stream());
  return mean;
}

std::vector<Peers::Home> Peers::bring_home(const std::vector<KeyGradients>& gradients) {
  const RingShard& shard = *problem_.shard;
  const Stream copies = steps_.copies.get();
  std::vector<Offer> to_each(offers_.size());
  for (const KeyGradients& gradient : gradients) {
    const RingPart& part = parts()[gradient.part];
    to_each[as_size(part.owner)] = {gpu_in_use(), {gradient.key, gradient.value}, part.done.get()};
  }
  const std::vector<Offer> from_each = exchanged(*problem_.ring, to_each);
  std::vector<Home> home;
  for (Index t = 1; t < shard.ranks(); ++t) {
    const SeenKeys::Runs& runs = steps_.lent[as_size(t)];
    const Range keys = around(runs);
    if (keys.empty()) continue;
    const Offer& reader = from_each[as_size(shard.reader(t))];
    const Index rows = problem_.key.extent(0) * keys.size();
    const Home to{keys, workspace_.take<std::byte>(rows * key_bytes_),
                  workspace_.take<std::byte>(rows * value_bytes_)};
    if (!fill(runs, keys)) {
      fill_bytes(to.key, 0, as_size(rows * key_bytes_), copies);
      fill_bytes(to.value, 0, as_size(rows * value_bytes_), copies);
    }
    wait_for(reader.ready, copies);
    copy_runs(runs, reader, kKey, keys, to.key, keys);
    copy_runs(runs, reader, kValue, keys, to.value, keys);
    home.push_back(to);
  }
  steps_.gathered.record(copies);
  wait_for(steps_.gathered.get(), workspace_.stream());
  return home;
}

void Peers::close() {
  steps_.read.record(steps_.copies.get());
  const std::vector<EventHandle> own(offers_.size(), steps_.read.get());
  for (const EventHandle read : exchanged(*problem_.ring, own)) {
    wait_for(read, workspace_.stream());
  }
  exchanged(*problem_.ring, own);  // nobody records an event again before all wait for it
}

}  // namespace maskctl::attention::cuda
