// Keys and values as a quantised cache holds them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/candidates/some_queries.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

/// The numbers that a cache can hold, up to a scale.
struct Format {
  std::string_view name;
  double most;                        // the largest number
  int mantissa_bits, least_exponent;  // of floats; integers have 0 bits and exponent 0
};
constexpr std::array<Format, 5> kFormats{{{"int8", 127, 0, 0},
                                          {"int4", 7, 0, 0},
                                          {"float8_e4m3", 448, 3, -6},
                                          {"float8_e5m2", 57344, 2, -14},
                                          {"float4_e2m1", 6, 1, 0}}};

/// Which numbers share a scale.
enum class Shared : std::uint8_t { kUnscaled, kVector, kHead, kChannel, kArray };
constexpr std::array<std::string_view, 5> kSharedWords{
    "without a scale", "with a scale for each token and head", "with a scale for each head",
    "with a scale for each channel of a head", "with one scale for the array"};

double rounded(const Format& format, double x) {
  const double size = std::min(std::abs(x), format.most);
  if (format.mantissa_bits == 0) return std::copysign(std::nearbyint(size), x);
  const int exponent = size > 0 ? std::max(std::ilogb(size), format.least_exponent) : 0;
  const double step = std::ldexp(1.0, exponent - format.mantissa_bits);
  return std::copysign(std::min(std::nearbyint(size / step) * step, format.most), x);
}

/// The number of the scale of element e of an array [B,K,H,D] or [B,H,K,D].
Index scale_of(Shared shared, const Tensor& array, Index heads_axis, Index e) {
  const Index dim = array.shape().back(), d = e % dim, vector = e / dim;
  const Index second = array.extent(1), third = array.extent(2);
  const Index b = vector / (second * third);
  const Index head = heads_axis == 1 ? vector / third % second : vector % third;
  const Index heads = array.extent(heads_axis);
  switch (shared) {
    case Shared::kVector:
      return vector;
    case Shared::kHead:
      return b * heads + head;
    case Shared::kChannel:
      return (b * heads + head) * dim + d;
    case Shared::kUnscaled:
    case Shared::kArray:
      break;
  }
  return 0;
}

Tensor quantised(Tensor array, const Format& format, Shared shared, Index heads_axis) {
  std::vector<double> most(as_size(array.elements()), 0);
  const auto values = array.as<float>();
  for (Index e = 0; e < array.elements(); ++e) {
    double& largest = most[as_size(scale_of(shared, array, heads_axis, e))];
    if (std::isfinite(values[as_size(e)])) {
      largest = std::max(largest, std::abs(static_cast<double>(values[as_size(e)])));
    }
  }
  for (Index e = 0; e < array.elements(); ++e) {
    float& x = values[as_size(e)];
    const double largest = most[as_size(scale_of(shared, array, heads_axis, e))];
    const double scale = shared == Shared::kUnscaled ? 1 : largest / format.most;
    if (scale > 0 && std::isfinite(x)) x = static_cast<float>(rounded(format, x / scale) * scale);
  }
  return array;
}

struct Cache {
  const Format* format;
  Shared shared;
  bool keys, values;

  NamedArguments in(const Operation& operation, NamedArguments arguments) const {
    const Index heads_axis = operation.heads_first() ? 1 : 2;
    for (const char* name : {"key", "value"}) {
      if (!(std::string_view(name) == "key" ? keys : values)) continue;
      Tensor& array = arguments.arrays.at(name);
      array = quantised(std::move(array), *format, shared, heads_axis);
    }
    return arguments;
  }
  std::string text() const {
    return fmt::format("{} rounded to {}, {}, as in a quantised cache",
                       keys && values ? "keys and values"
                       : keys         ? "keys"
                                      : "values",
                       format->name, kSharedWords[static_cast<std::size_t>(shared)]);
  }
};

}  // namespace

Candidates of_caches(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given) {
  const auto some = SomeQueries::of(*call, declared, given);
  if (!some || !some->arguments().arrays.contains("value")) return {};
  const double before = some->distance(some->declared());
  double least = before;
  std::optional<Cache> best;
  const auto attempt = [&](const Cache& cache) {
    const NamedArguments changed = cache.in(call->operation(), some->arguments());
    const double distance = some->distance(call->run(changed).at("out"));
    if (distance < least) least = distance, best = cache;
  };
  for (const Format& format : kFormats) {
    for (const Shared shared :
         {Shared::kVector, Shared::kHead, Shared::kChannel, Shared::kArray, Shared::kUnscaled}) {
      if (shared == Shared::kUnscaled && format.mantissa_bits == 0) continue;
      attempt({&format, shared, true, true});
    }
  }
  if (best) {
    const Cache both = *best;
    attempt({both.format, both.shared, true, false});
    attempt({both.format, both.shared, false, true});
  }
  constexpr double kMuchNearer = 0.1;
  if (!best || least > kMuchNearer * before) return {};
  Candidate out{best->text(), {}, [call, cache = *best] {
                  return call->run(cache.in(call->operation(), call->arguments()));
                }};
  out.explains_noise = true;
  return {std::move(out)};
}

}  // namespace maskctl::attention
