#include "maskctl/attention/calls/by_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/attention/calls/bound_call.h"
#include "maskctl/attention/calls/fields.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/threefry.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// Returns f() and adds the seconds that it took to *target, unless `target` is null.
template <class F>
AnyValue timed(double* target, F&& f) {
  const Stopwatch watch;
  AnyValue result = f();
  if (target) *target += watch.seconds();
  return result;
}

/// The cotangents of a call: the given ones and, if there is a seed, random ones for outputs other
/// than lse. `random` owns the random arrays.
Cotangents cotangents_of(const Operation& operation, const NamedArguments& arguments, void* output,
                         OwnedArrays& random) {
  Cotangents d;
  for (const ResultField& result : operation.outputs) {
    const Tensor* const like = result.array(output);
    if (!like || !takes_cotangent(operation, result.name)) continue;
    const auto given = arguments.arrays.find(std::string(kCotangent) + std::string(result.name));
    if (given != arguments.arrays.end()) {
      *d.find(result.name) = &given->second;
    } else if (arguments.gradient_seed && result.name != "lse") {
      const std::uint64_t seed = *arguments.gradient_seed + random.tensors.size();
      *d.find(result.name) = random.keep(astype(random_normal(like->shape(), seed), like->dtype()));
    }
  }
  return d;
}

void check_cotangents(const Operation& operation, const NamedArguments& arguments) {
  for (const auto& [name, array] : arguments.arrays) {
    if (!name.starts_with(kCotangent)) continue;
    if (!takes_cotangent(operation, std::string_view(name).substr(kCotangent.size()))) {
      refuse_name(operation, name);
    }
  }
}

void move_results(std::span<const ResultField> fields, void* from, std::string_view prefix,
                  NamedResults& results) {
  for (const ResultArray& array : arrays_of(fields, from)) {
    results[std::string(prefix) + std::string(array.name)] = std::move(*array.tensor);
  }
}

/// Whether any query that sees no key (lse is -inf) has an output other than 0.
bool any_without_keys(const Operation& form, const NamedResults& results) {
  const Tensor out = astype(results.at("out"), DType::kFloat32);
  const std::span<const float> lse = results.at("lse").as<float>(), rows = out.as<float>();
  const Index heads = results.at("lse").extent(1), queries = results.at("lse").extent(2);
  const std::size_t width = lse.empty() ? 0 : rows.size() / lse.size();
  for (std::size_t i = 0; i < lse.size(); ++i) {
    if (lse[i] != -std::numeric_limits<float>::infinity()) continue;
    const auto plane = static_cast<Index>(i) / queries, query = static_cast<Index>(i) % queries;
    const Index row = form.heads_first()
                          ? static_cast<Index>(i)
                          : (plane / heads * queries + query) * heads + plane % heads;
    const auto is_some = [](float x) { return x != 0; };
    if (std::ranges::any_of(rows.subspan(as_size(row) * width, width), is_some)) return true;
  }
  return false;
}

// Random arrays for inputs that are not given.

/// Records the extents of the axes of a given array. Skips an array whose rank the field does not
/// allow: the operation itself reports that error.
void learn(const Field& field, std::span<const Index> shape, const void* call,
           const AxisExtents& wanted, AxisExtents& extents) {
  const auto axes = axes_of_rank(axes_of(field, call), shape.size());
  if (!axes) return;
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const Axis& axis = (*axes)[i];
    if (axis.name.empty() || axis.is_either() || axis.cumulative) continue;
    const Index extent = shape[i] / axis.factor;
    const auto found = wanted.find(axis.name);
    if (found != wanted.end() && found->second != extent) {
      refuse_shape(fmt::format("{}: its axis {} has {}, but {}={} was asked for", field.name,
                               axis.name, extent, axis.name, found->second));
    }
    extents[axis.name] = extent;
  }
}

Index extent_of(const Axis& axis, const Field& field, const AxisExtents& extents) {
  if (axis.name.empty()) return axis.factor;
  const auto found = extents.find(axis.name);
  if (found != extents.end()) return found->second * axis.factor + (axis.cumulative ? 1 : 0);
  refuse(fmt::format("{}: the extent of its axis {} is not known; give {}=SOURCE", field.name,
                     axis.name, field.name));
}

std::vector<Index> random_shape(const Field& field, const void* call, const AxisExtents& extents) {
  std::vector<Index> shape;
  for (const Axis& axis : first_axes(axes_of(field, call))) {
    shape.push_back(extent_of(axis, field, extents));
  }
  return shape;
}

Tensor random_array(const Field& field, const std::vector<Index>& shape, const RandomArrays& random,
                    std::uint64_t seed) {
  // max_bytes limits the size as f32, since random numbers are made as f32 and then converted.
  const auto elements = checked_product(shape);
  if (!elements || *elements > random.max_bytes / Index{sizeof(float)}) {
    throw Error(Errc::kLimit,
                fmt::format("{}: {} random numbers take more than {} bytes; use smaller extents or "
                            "raise the limit",
                            field.name, shape_text(shape), random.max_bytes));
  }
  Tensor numbers = random_normal(shape, seed);
  if (!shape.empty()) fit_to_roles(field.roles, shape.back(), numbers.as<float>());
  return astype(numbers, random.dtype);
}

}  // namespace

Tensor random_normal(std::vector<Index> shape, std::uint64_t seed) {
  constexpr Index kAtOnce = Index{1} << 16;
  Tensor out(DType::kFloat32, std::move(shape));
  const auto all = out.as<float>();
  parallel_for(ceil_div(out.elements(), kAtOnce), [&](Index part) {
    const Index first = part * kAtOnce, count = std::min(kAtOnce, out.elements() - first);
    random_normal(seed, first, all.subspan(as_size(first), as_size(count)));
  });
  return out;
}

void random_normal(std::uint64_t seed, Index first, std::span<float> out) {
  std::vector<std::uint32_t> bits(2 * out.size());
  random_bits(prng_key(seed), 2 * static_cast<std::uint64_t>(first), bits);
  for (std::size_t i = 0; i < out.size(); ++i) {  // Box-Muller transform
    const float radius = std::sqrt(-2 * std::log1p(-uniform_from_bits(bits[2 * i])));
    out[i] = radius * std::cos(2 * std::numbers::pi_v<float> * uniform_from_bits(bits[2 * i + 1]));
  }
}

void fit_to_roles(unsigned roles, Index width, std::span<float> numbers) {
  if ((roles & kUnit) != 0) {
    const float length = std::sqrt(static_cast<float>(width));
    for (float& x : numbers) x /= length;
  }
  if ((roles & kShare) != 0) {
    for (float& x : numbers) x = 1 / (1 + std::exp(-x));
  }
}

const Operation& form_of(const Operation& operation,
                         const std::function<bool(std::string_view array)>& is_given) {
  if (!operation.other_form) return operation;
  const bool other = std::ranges::any_of(operation.other_form->fields, [&](const Field& field) {
    return field.is_array && !operation.find(field.name, true) && is_given(field.name);
  });
  return other ? *operation.other_form : operation;
}

const Operation& form_of(const Operation& operation, const NamedArguments& arguments) {
  return form_of(operation, [&](std::string_view array) {
    return arguments.arrays.contains(std::string(array));
  });
}

NamedResults run(const Operation& operation, const NamedArguments& arguments) {
  const Operation& form = form_of(operation, arguments);
  check_cotangents(form, arguments);
  BoundCall call(form, arguments);
  call.check_required();
  call.idle(false);
  CallRunner* const runner = arguments.runner;
  CallTimes* const times = arguments.times;
  const AnyValue output = timed(times ? &times->forward : nullptr, [&] {
    return runner ? runner->run_forward(form, call.get()) : form.forward(call.get());
  });
  NamedResults results;
  OwnedArrays random;
  const Cotangents d = cotangents_of(form, arguments, output.get(), random);
  if (d.out) {
    const AnyValue gradients = timed(times ? &times->backward : nullptr, [&] {
      return runner ? runner->run_backward(form, call.get(), output.get(), d)
                    : form.backward(call.get(), output.get(), d);
    });
    move_results(form.gradients, gradients.get(), "grad_", results);
  }
  move_results(form.outputs, output.get(), "", results);
  call.move_updated(results);
  return results;
}

std::vector<std::string> warnings(const Operation& operation, const NamedArguments& arguments) {
  const Operation& form = form_of(operation, arguments);
  const BoundCall call(form, arguments);
  std::vector<std::string> out;
  for (IdleArgument& idle : call.idle(false)) out.push_back(std::move(idle.line));
  for_each_array(form, call.get(), [&](const Field& field, const Tensor& array) {
    if (!field.is(kLogDecay) || array.elements() == 0) return;
    const Tensor values = astype(array, DType::kFloat64);
    const double most = std::ranges::max(values.as<double>());
    if (!(most > 0)) return;
    out.push_back(fmt::format(
        "{}: {:.3g} is above 0; these are logarithms of what each step keeps, as log(0.9) "
        "= -0.105, so the state grows by e^{:.3g} a step",
        field.name, most, most));
  });
  return out;
}

std::vector<std::string> warnings(const Operation& operation, const NamedArguments& arguments,
                                  const NamedResults& results) {
  const Operation& form = form_of(operation, arguments);
  const BoundCall call(form, arguments);
  const std::vector<IdleArgument> known = call.idle(false);
  std::vector<std::string> out;
  for (const Field* const field : call.given()) {
    const bool is_known = std::ranges::find(known, field, &IdleArgument::field) != known.end();
    if (!field->is(kNoKeys) || is_known || !asks(form, *field, call.get())) continue;
    if (any_without_keys(form, results)) continue;
    out.push_back(fmt::format("{}: no effect: every query sees a key", field->name));
  }
  return out;
}

NamedArguments without(const Operation& operation, Role role, NamedArguments arguments) {
  for (const Field& field : operation.fields) {
    if (!field.is(role)) continue;
    arguments.arrays.erase(std::string(field.name));
    arguments.options.erase(std::string(field.name));
  }
  return arguments;
}

NamedArguments without_closing(const Operation& operation, NamedArguments arguments) {
  arguments = without(operation, kCloses, std::move(arguments));
  arguments.static_mask = nullptr;
  for (const Field& field : operation.fields) {
    if (!field.is(kCloses)) continue;
    visit_member(field, operation.empty_call(), [&](const auto& usual) {
      if constexpr (std::is_same_v<std::decay_t<decltype(usual)>, bool>) {
        if (usual) arguments.options[std::string(field.name)] = "false";
      }
    });
  }
  return arguments;
}

const AxisExtents& usual_extents() {
  static const AxisExtents kUsual = {{"B", 1},  {"T", 128}, {"Tq", 128}, {"Tk", 128}, {"S", 128},
                                     {"Hq", 4}, {"Hkv", 4}, {"D", 64},   {"Dv", 64},  {"K", 64},
                                     {"V", 64}, {"R", 64},  {"P", 32},   {"C", 64},   {"M", 128},
                                     {"N", 64}, {"G", 4},   {"W", 4}};
  return kUsual;
}

void add_random_arrays(const Operation& operation, const RandomArrays& random,
                       NamedArguments& arguments) {
  const Operation& form = form_of(operation, arguments);
  AxisExtents extents = random.extents;
  if (random.usual && form.usual_call) {
    UsualCall usual = form.usual_call(std::move(extents));
    extents = std::move(usual.extents);
    if (arguments.arrays.empty()) arguments.options.merge(usual.options);
    arguments.arrays.merge(usual.arrays);  // does not replace arrays that are given
  }
  const BoundCall call(form, arguments);
  const auto shape_of = [&](const Field& field) -> const std::vector<Index>* {
    const auto outline = random.outlines.find(std::string(field.name));
    if (outline != random.outlines.end()) return &outline->second;
    const Tensor* const given = array_of(field, call.get());
    return given ? &given->shape() : nullptr;
  };
  for (const Field& field : form.fields) {
    if (const std::vector<Index>* const given = shape_of(field)) {
      learn(field, *given, call.get(), random.wanted, extents);
    } else if (field.is(kRequired) && field.is(kIntegers)) {
      refuse_missing(field);
    }
  }
  std::uint64_t seed = random.seed;
  for (const Field& field : form.fields) {
    if (!field.is_array) continue;
    ++seed;
    if (!field.is(kRequired) || shape_of(field)) continue;
    const std::string name(field.name);
    std::vector<Index> shape = random_shape(field, call.get(), extents);
    if (random.parts) {
      (*random.parts)[name] = {random.dtype, std::move(shape), seed, field.roles};
    } else {
      arguments.arrays[name] = random_array(field, shape, random, seed);
    }
  }
}

}  // namespace maskctl::attention
