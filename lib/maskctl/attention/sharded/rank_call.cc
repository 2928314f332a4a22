#include "maskctl/attention/sharded/rank_call.h"

#include <algorithm>

#include "maskctl/attention/calls/bound_call.h"
#include "maskctl/attention/sharded/rank_parts.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

using Outlines = std::map<std::string, std::vector<Index>>;

/// A placeholder for an array of which only the shape is known. Its last extent is 0, so it has no
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

}  // namespace

struct RankCall::Impl {
  Impl(const Operation& form, NamedArguments given, Outlines shapes, const Sharding& sharding,
       Communicator& world);

  /// The whole shape of an input, also if `input` is a placeholder.
  const std::vector<Index>& whole_shape(const Tensor& input) const {
    const auto name = names.find(&input);
    return name == names.end() ? input.shape() : outlines.at(name->second);
  }
  Cotangents cotangents(void* output, const NamedResults& parts, OwnedArrays& random) const;
  void add_gradients(const CutCall& cut, void* output, const NamedResults& parts,
                     PlacedResults& results);

  const Operation& operation;
  NamedArguments arguments;
  Outlines outlines;
  OwnedArrays owned;
  BoundCall bound;
  std::map<const Tensor*, std::string> names;  // names of placeholders
  AnyValue call;                               // the whole call, after Operation::complete()
  RankParts rank;
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

/// The whole call, checked and completed.
AnyValue checked_call(const Operation& operation, const BoundCall& bound, OwnedArrays& owned) {
  bound.check_required();
  bound.idle(true);
  return completed(operation, bound.get(), owned);
}

}  // namespace

RankCall::Impl::Impl(const Operation& form, NamedArguments given, Outlines shapes,
                     const Sharding& sharding, Communicator& world)
    : operation(form),
      arguments(with_stand_ins(std::move(given), shapes)),
      outlines(std::move(shapes)),
      bound(operation, arguments),
      names(names_of(operation, bound.get(), outlines)),
      call(checked_call(operation, bound, owned)),
      rank(
          operation, call.get(), sharding,
          [this](const Tensor& array) { return whole_shape(array); }, world) {}

std::vector<std::string> RankCall::warnings() const {
  std::vector<std::string> lines;
  for (IdleArgument& idle : impl_->bound.idle(true)) lines.push_back(std::move(idle.line));
  return lines;
}

ArrayPlace RankCall::place(const std::string& name) const {
  const std::vector<Index>& shape = impl_->outlines.at(name);
  if (!name.starts_with(kCotangent)) return impl_->rank.place(impl_->rank.input(name), shape);
  const auto output =
      std::ranges::find(impl_->operation.outputs, std::string_view(name).substr(kCotangent.size()),
                        &ResultField::name);
  if (output == impl_->operation.outputs.end()) refuse_name(impl_->operation, name);
  return impl_->rank.place(*output, shape);
}

Cotangents RankCall::Impl::cotangents(void* output, const NamedResults& parts,
                                      OwnedArrays& random) const {
  Cotangents d;
  for (const ResultField& result : operation.outputs) {
    Tensor* const like = result.array(output);
    if (!like || !takes_cotangent(operation, result.name)) continue;
    const auto given = parts.find(std::string(kCotangent) + std::string(result.name));
    if (given != parts.end()) {
      *d.find(result.name) = &given->second;
    } else if (arguments.gradient_seed && result.name != "lse") {
      const std::vector<Index> shape = rank.whole_shape({result.name, result.axes, like});
      const std::uint64_t seed = *arguments.gradient_seed + random.tensors.size();
      *d.find(result.name) =
          random.keep(random_part({like->dtype(), shape, seed}, rank.place(result, shape)));
    }
  }
  return d;
}

void RankCall::Impl::add_gradients(const CutCall& cut, void* output, const NamedResults& parts,
                                   PlacedResults& results) {
  OwnedArrays random;
  const Cotangents d = cotangents(output, parts, random);
  if (!d.out) return;
  const Stopwatch clock;
  const AnyValue gradients = operation.backward(cut.call.get(), output, d);
  for (auto& [name, gradient] : rank.gradients(gradients.get())) {
    results["grad_" + name] = std::move(gradient);
  }
  times.backward = clock.seconds();
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
  impl.rank.ring().steps = &impl.steps;
  impl.steps.clear();
  CutCall cut = impl.rank.cut(by_pointer);
  const Stopwatch clock;
  const AnyValue output = impl.operation.forward(cut.call.get());
  impl.times = {clock.seconds(), 0};
  PlacedResults results;
  impl.add_gradients(cut, output.get(), parts, results);
  results.merge(impl.rank.outputs(output.get()));
  results.merge(impl.rank.updated(cut));
  return results;
}

const std::vector<RingStep>& RankCall::steps() const { return impl_->steps; }
const CallTimes& RankCall::times() const { return impl_->times; }
const RingPlace& RankCall::ring() const { return impl_->rank.ring(); }

Tensor random_part(const RandomOutline& whole, const ArrayPlace& place) {
  Tensor out = Tensor::unwritten(DType::kFloat32, shape_of(place));
  for_each_stretch(whole.shape, place, [&](Index from, Index to, Index n) {
    random_normal(whole.seed, from, out.as<float>().subspan(as_size(to), as_size(n)));
  });
  if (!whole.shape.empty()) fit_to_roles(whole.roles, whole.shape.back(), out.as<float>());
  return astype(out, whole.dtype);
}

}  // namespace maskctl::attention
