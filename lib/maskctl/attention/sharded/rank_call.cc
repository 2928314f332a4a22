#include "maskctl/attention/sharded/rank_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/axes.h"
#include "maskctl/attention/bound_call.h"
#include "maskctl/attention/ring/rank.h"
#include "maskctl/attention/sharded/cut_call.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

using Outlines = std::map<std::string, std::vector<Index>>;

/// Some ranks of another communicator.
class SubRing final : public Communicator {
 public:
  SubRing(Communicator& world, std::vector<Index> members)
      : world_(world), members_(std::move(members)) {}
  Index rank() const override {
    return std::ranges::find(members_, world_.rank()) - members_.begin();
  }
  Index size() const override { return std::ssize(members_); }
  bool shares_memory() const override { return world_.shares_memory(); }
  void send(Index to, std::span<const std::byte> bytes) override {
    world_.send(members_[as_size(to)], bytes);
  }
  void receive(Index from, std::span<std::byte> bytes) override {
    world_.receive(members_[as_size(from)], bytes);
  }
  void finish() override { world_.finish(); }

 private:
  Communicator& world_;
  std::vector<Index> members_;
};

/// Stands for an array of which only the extents are known: the last one is 0, and there are no
/// elements.
Tensor stand_in(std::vector<Index> shape) {
  if (!shape.empty()) shape.back() = 0;
  return {DType::kFloat32, std::move(shape)};
}

NamedArguments with_stand_ins(NamedArguments arguments, const Outlines& outlines) {
  for (const auto& [name, shape] : outlines) {
    if (!name.starts_with(kCotangent)) arguments.arrays.emplace(name, stand_in(shape));
  }
  return arguments;
}

Index checked_rank(const Mesh& mesh, const Communicator& world) {
  if (mesh.devices() == world.size()) return world.rank();
  refuse(fmt::format("a mesh of {} devices for {} {}: start one rank for each device",
                     mesh.devices(), world.size(), world.size() == 1 ? "rank" : "ranks"));
}

/// Start a transfer, unless the array is empty.
void send_array(Communicator& world, Index to, const Tensor& array) {
  if (!array.bytes().empty()) world.send(to, array.bytes());
}
void receive_array(Communicator& world, Index from, Tensor& array) {
  if (!array.bytes().empty()) world.receive(from, array.bytes());
}

}  // namespace

struct RankCall::Impl {
  Impl(const Operation& form, NamedArguments given, Outlines shapes, const Sharding& sharding,
       Communicator& all);

  ArrayPlace place(std::string_view axes, std::span<const Index> shape, bool in_ring) const;
  /// Whether this rank has only its share of an array.
  bool in_ring(const Field& field) const {
    return std::ranges::find(ring_place.arrays, field.name) != ring_place.arrays.end();
  }
  std::vector<Index> whole_shape(std::string_view axes, const Tensor& part, bool in_ring) const;
  PlacedArray placed(std::string_view axes, std::vector<Index> shape, Tensor part,
                     bool in_ring) const;

  const Field& input(std::string_view name) const {
    return *std::ranges::find(operation.fields, name, &Field::name);
  }
  /// The shape of the whole input, also for a stand-in.
  const std::vector<Index>& whole_shape(const Tensor& input) const {
    const auto name = names.find(&input);
    return name == names.end() ? input.shape() : outlines.at(name->second);
  }
  Cotangents cotangents(void* output, const NamedResults& parts, OwnedArrays& random) const;
  void add_gradients(CutCall& cut, void* output, const NamedResults& parts, PlacedResults& results);

  bool shares_part(Index device, std::string_view axes, std::span<const Index> shape,
                   bool in_ring) const;
  /// False for a device that repeats the work of another.
  bool contributes(Index device) const;
  /// Adds up what ranks with equal parts of an array give to its gradient.
  void sum(std::string_view axes, std::span<const Index> shape, bool in_ring, Tensor& gradient);
  Tensor sum_of(const std::vector<Index>& givers, const Tensor& own, DType dtype);

  const Operation& operation;
  NamedArguments arguments;
  Outlines outlines;
  Communicator& world;
  OwnedArrays owned;
  BoundCall bound;
  std::map<const Tensor*, std::string> names;  // names of stand-ins
  AnyValue call;                               // the whole call, completed
  ShardPlan plan;
  Index rank;
  Shard shard;
  SubRing ring;
  RingPlace ring_place;
  std::vector<RingStep> steps;
  CallTimes times;
};

namespace {

std::map<const Tensor*, std::string> names_of(const Operation& operation, const void* call,
                                              const Outlines& outlines) {
  std::map<const Tensor*, std::string> names;
  for_each_array(operation, call, [&](const Field& field, const Tensor& array) {
    if (outlines.contains(std::string(field.name))) names[&array] = field.name;
  });
  return names;
}

}  // namespace

RankCall::Impl::Impl(const Operation& form, NamedArguments given, Outlines shapes,
                     const Sharding& sharding, Communicator& all)
    : operation(form),
      arguments(with_stand_ins(std::move(given), shapes)),
      outlines(std::move(shapes)),
      world(all),
      bound(operation, arguments),
      names(names_of(operation, bound.get(), outlines)),
      call(completed(operation, bound.get(), owned)),
      plan(plan_of(operation, call.get(), sharding,
                   [this](const Tensor& array) { return whole_shape(array); })),
      rank(checked_rank(sharding.mesh, world)),
      shard(plan.shard_of(rank)),
      ring(world, plan.ring_of(rank)) {
  bound.check_required();
  bound.idle(true);
  if (ring.size() == 1) return;
  ring_place.ring = &ring;
  shard.ring = &ring_place;
  CutCall::Parts whole;  // stand-ins stay as they are
  for (const auto& [array, name] : names) whole[array] = array;
  const CutCall cut(operation, call.get(), shard, plan, whole);  // fills in ring_place
}

ArrayPlace RankCall::Impl::place(std::string_view axes, std::span<const Index> shape,
                                 bool shared) const {
  ArrayPlace place = place_of(shard.part(shape, axes));
  const std::vector<Axis> names_of_axes = checked_axes(axes, shape.size());
  for (std::size_t i = 0; shared && i < place.size(); ++i) {
    const auto share = ring_place.shares.find(names_of_axes[i].name);
    if (share != ring_place.shares.end()) place[i] = share->second;
  }
  return place;
}

std::vector<Index> RankCall::Impl::whole_shape(std::string_view axes, const Tensor& part,
                                               bool shared) const {
  std::vector<Index> shape = shard.whole(part.shape(), axes);
  const std::vector<Axis> names_of_axes = checked_axes(axes, shape.size());
  for (std::size_t i = 0; shared && i < shape.size(); ++i) {
    const std::string& name = names_of_axes[i].name;
    if (ring_place.shares.contains(name)) shape[i] = shard.extent(name);
  }
  return shape;
}

PlacedArray RankCall::Impl::placed(std::string_view axes, std::vector<Index> shape, Tensor part,
                                   bool shared) const {
  PlacedArray out{std::move(part), std::move(shape), {}, true};
  out.place = place(axes, out.shape, shared);
  for (Index other = 0; other < rank; ++other) {
    if (shares_part(other, axes, out.shape, shared)) out.is_first = false;
  }
  return out;
}

std::vector<std::string> RankCall::doubts() const {
  std::vector<std::string> lines;
  for (IdleArgument& idle : impl_->bound.idle(true)) lines.push_back(std::move(idle.line));
  return lines;
}

ArrayPlace RankCall::place(const std::string& name) const {
  const std::vector<Index>& shape = impl_->outlines.at(name);
  if (!name.starts_with(kCotangent)) {
    const Field& field = impl_->input(name);
    return impl_->place(axes_of(field, impl_->call.get()), shape, impl_->in_ring(field));
  }
  const auto output =
      std::ranges::find(impl_->operation.outputs, std::string_view(name).substr(kCotangent.size()),
                        &ResultField::name);
  if (output == impl_->operation.outputs.end()) refuse_name(impl_->operation, name);
  return impl_->place(output->axes, shape, true);
}

Cotangents RankCall::Impl::cotangents(void* output, const NamedResults& parts,
                                      OwnedArrays& random) const {
  Cotangents d;
  for (const ResultField& result : operation.outputs) {
    const Tensor* const like = result.array(output);
    if (!like || !takes_cotangent(operation, result.name)) continue;
    const auto given = parts.find(std::string(kCotangent) + std::string(result.name));
    if (given != parts.end()) {
      *d.find(result.name) = &given->second;
    } else if (arguments.gradient_seed && result.name != "lse") {
      const std::vector<Index> shape = whole_shape(result.axes, *like, true);
      const std::uint64_t seed = *arguments.gradient_seed + random.tensors.size();
      *d.find(result.name) =
          random.keep(random_part({like->dtype(), shape, seed}, place(result.axes, shape, true)));
    }
  }
  return d;
}

bool RankCall::Impl::contributes(Index device) const {
  return !plan.repeats(plan.ring_of(device).front());
}

/// True when another device has the same part of an array.
bool RankCall::Impl::shares_part(Index device, std::string_view axes, std::span<const Index> shape,
                                 bool shared) const {
  const bool same = plan.shard_of(device).part(shape, axes) == shard.part(shape, axes);
  if (!same || !shared) return same;
  const auto number = [this](Index d) {
    const std::vector<Index> members = plan.ring_of(d);
    return std::ranges::find(members, d) - members.begin();
  };
  return number(device) == number(rank);
}

/// The sum over the parts of all givers, at the first of them: first within each ring, rounded to
/// the dtype of the array, then over shards.
Tensor RankCall::Impl::sum_of(const std::vector<Index>& givers, const Tensor& own, DType dtype) {
  std::vector<Tensor> parts(givers.size(), own);
  for (std::size_t i = 1; i < givers.size(); ++i) receive_array(world, givers[i], parts[i]);
  world.finish();
  Tensor total(DType::kFloat32, own.shape());
  for (std::size_t i = 0; i < givers.size();) {
    const Index head = plan.ring_of(givers[i]).front();
    Tensor of_ring(DType::kFloat32, own.shape());
    for (; i < givers.size() && plan.ring_of(givers[i]).front() == head; ++i) {
      add(parts[i], of_ring);
    }
    add(astype(of_ring, dtype), total);
  }
  return astype(total, dtype);
}

void RankCall::Impl::sum(std::string_view axes, std::span<const Index> shape, bool shared,
                         Tensor& gradient) {
  std::vector<Index> group, givers;
  for (Index device = 0; device < plan.devices(); ++device) {
    if (shares_part(device, axes, shape, shared)) group.push_back(device);
  }
  std::ranges::copy_if(group, std::back_inserter(givers),
                       [this](Index device) { return contributes(device); });
  std::ranges::stable_sort(givers, {}, [this](Index d) { return plan.ring_of(d).front(); });
  if (givers.size() < 2) return;
  if (rank == givers.front()) {
    gradient = sum_of(givers, gradient, gradient.dtype());
    for (const Index device : group) {
      if (device != rank) send_array(world, device, gradient);
    }
  } else {
    const Tensor mine = gradient;
    if (contributes(rank)) send_array(world, givers.front(), mine);
    receive_array(world, givers.front(), gradient);
    world.finish();
  }
  world.finish();
}

void RankCall::Impl::add_gradients(CutCall& cut, void* output, const NamedResults& parts,
                                   PlacedResults& results) {
  OwnedArrays random;
  const Cotangents d = cotangents(output, parts, random);
  if (!d.out) return;
  const Stopwatch clock;
  const AnyValue gradients = operation.backward(cut.call.get(), output, d);
  for (const ResultArray& array : arrays_of(operation.gradients, gradients.get())) {
    const Field& field = input(array.name);
    const std::string_view axes = axes_of(field, call.get());
    const std::vector<Index>& shape = whole_shape(*array_of(field, call.get()));
    sum(axes, shape, in_ring(field), *array.tensor);
    times.backward = clock.seconds();
    results["grad_" + std::string(array.name)] =
        placed(axes, shape, std::move(*array.tensor), in_ring(field));
  }
}

RankCall::RankCall(const Operation& operation, NamedArguments arguments, Outlines outlines,
                   const Sharding& sharding, Communicator& world)
    : impl_(std::make_unique<Impl>(operation, std::move(arguments), std::move(outlines), sharding,
                                   world)) {}
RankCall::~RankCall() = default;

PlacedResults RankCall::run(NamedResults parts) {
  Impl& impl = *impl_;
  CutCall::Parts by_pointer;
  for (const auto& [array, name] : impl.names) by_pointer[array] = &parts.at(name);
  impl.ring_place.steps = &impl.steps;
  impl.steps.clear();
  CutCall cut(impl.operation, impl.call.get(), impl.shard, impl.plan, by_pointer);
  const Stopwatch clock;
  const AnyValue output = impl.operation.forward(cut.call.get());
  impl.times = {clock.seconds(), 0};
  PlacedResults results;
  impl.add_gradients(cut, output.get(), parts, results);
  for (const ResultArray& array : arrays_of(impl.operation.outputs, output.get())) {
    std::vector<Index> shape = impl.whole_shape(array.axes, *array.tensor, true);
    results[std::string(array.name)] =
        impl.placed(array.axes, std::move(shape), std::move(*array.tensor), true);
  }
  for (const CutCall::Update& update : cut.updated) {
    for_each_array(impl.operation, impl.call.get(), [&](const Field& field, const Tensor& array) {
      if (&array != update.whole) return;
      results[std::string(field.name)] =
          impl.placed(update.axes, impl.whole_shape(array), std::move(*update.part), false);
    });
  }
  return results;
}

const std::vector<RingStep>& RankCall::steps() const { return impl_->steps; }
const CallTimes& RankCall::times() const { return impl_->times; }
const RingPlace& RankCall::ring() const { return impl_->ring_place; }

Tensor random_part(const RandomOutline& whole, const ArrayPlace& place) {
  Tensor out = Tensor::unwritten(DType::kFloat32, shape_of(place));
  for_each_stretch(whole.shape, place, [&](Index from, Index to, Index n) {
    random_normal(whole.seed, from, out.as<float>().subspan(as_size(to), as_size(n)));
  });
  return astype(out, whole.dtype);
}

}  // namespace maskctl::attention
