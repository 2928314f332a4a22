// Element conversions between dtypes.
#include "maskctl/tensor/convert.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl {
namespace {

/// Storage types for elements that C++ has no type for, such as float16; load() converts them to
/// numbers.
struct BoolByte {
  std::uint8_t bits;
};
template <FloatLayout layout>
struct SmallFloat {
  using Bits = std::conditional_t<layout.bits() == 8, std::uint8_t, std::uint16_t>;
  Bits bits;

  static SmallFloat nearest(float value) {
    return {static_cast<Bits>(bits_from_float<layout>(value))};
  }
};
template <typename T>
constexpr bool kIsSmallFloat = false;
template <FloatLayout layout>
constexpr bool kIsSmallFloat<SmallFloat<layout>> = true;

template <int bytes>
using UnsignedOf =
    std::tuple_element_t<std::bit_width(unsigned{bytes}) - 1,
                         std::tuple<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>>;

/// Returns a value of the storage type that belongs to a row of kElementTypes; only its type
/// matters.
template <std::size_t row>
constexpr auto storage() {
  constexpr ElementType kType = kElementTypes[row];
  if constexpr (kType.kind == ElementKind::kBool) {
    return BoolByte();
  } else if constexpr (kType.kind == ElementKind::kUnsigned) {
    return UnsignedOf<kType.bytes>();
  } else if constexpr (kType.kind == ElementKind::kSigned) {
    return std::make_signed_t<UnsignedOf<kType.bytes>>();
  } else if constexpr (kType.bytes == sizeof(double)) {
    return double();
  } else if constexpr (kType.bytes == sizeof(float)) {
    return float();
  } else {
    return SmallFloat<kType.layout>();
  }
}

/// Calls f(T()), where T is the storage type of the dtype.
template <typename F>
void visit(DType dtype, F&& f) {
  [&]<std::size_t... row>(std::index_sequence<row...>) {
    const auto call = [&](auto element) { return f(element), true; };
    (void)((static_cast<std::size_t>(dtype) == row && call(storage<row>())) || ...);
  }
  (std::make_index_sequence<kElementTypes.size()>());
}

template <typename T>
T load(T value) {
  return value;
}
std::uint8_t load(BoolByte value) { return value.bits != 0; }
template <FloatLayout layout>
float load(SmallFloat<layout> value) {
  return float_from_bits<layout>(value.bits);
}

/// Converts to float so that rounding the result again, to 8 or 16 bits, gives what rounding
/// `value` directly would ("round to odd"): an inexact result has its last bit set, so it never
/// looks like a tie.
float narrow_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

/// Converts a whole number of up to 64 bits to a double of 53 bits, rounded to odd like
/// narrow_to_odd().
template <typename Int>
double whole_to_odd(Int value) {
  constexpr std::uint64_t kCut = (1 << 11) - 1;
  const bool negative = value < 0;
  const auto bits = static_cast<std::uint64_t>(value);
  std::uint64_t magnitude = negative ? 0 - bits : bits;
  if (magnitude >> 53 != 0 && (magnitude & kCut) != 0) magnitude = (magnitude & ~kCut) | (kCut + 1);
  return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

/// A float32 that rounds to the same 8-bit or 16-bit float as `value` does.
template <typename T>
float single(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return narrow_to_odd(whole_to_odd(value));
  } else {
    return narrow_to_odd(value);
  }
}

/// The value without its fraction, modulo 2^64. NaN and values that fit neither int64 nor uint64
/// give the smallest int64, as on x86.
template <typename T>
std::uint64_t truncate(T value) {
  if (value >= T(-0x1p63) && value < T(0x1p63)) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  if (value >= T(0x1p63) && value < T(0x1p64)) return static_cast<std::uint64_t>(value);
  return std::uint64_t{1} << 63;
}

template <typename To, typename From>
To converted(From value) {
  if constexpr (std::is_same_v<To, BoolByte>) {
    return {static_cast<std::uint8_t>(value != From(0))};
  } else if constexpr (kIsSmallFloat<To>) {
    return To::nearest(single(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return static_cast<To>(truncate(value));
  } else {
    return static_cast<To>(value);
  }
}

/// Sets `out` to the element. Returns false when it is not a whole number or out of the range of
/// Int.
template <typename Int, typename T>
bool whole(T value, Int& out) {
  if constexpr (std::is_floating_point_v<T>) {
    const T limit = std::ldexp(T(1), std::numeric_limits<Int>::digits);
    if (!(value >= -limit && value < limit) || std::trunc(value) != value) return false;
  } else if (!std::in_range<Int>(value)) {
    return false;
  }
  out = static_cast<Int>(value);
  return true;
}

template <typename Int>
std::vector<Int> as_whole(const Tensor& tensor, std::string_view what) {
  std::vector<Int> out(static_cast<std::size_t>(tensor.elements()));
  visit(tensor.dtype(), [&]<typename T>(T) {
    const std::span<const T> elements = tensor.as<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (whole(load(elements[i]), out[i])) continue;
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: element {} is {}; expected a whole number that fits int{}", what,
                              i, load(elements[i]), sizeof(Int) * 8));
    }
  });
  return out;
}

}  // namespace

Tensor astype(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype && dtype != DType::kBool) return tensor;
  Tensor out = Tensor::unwritten(dtype, tensor.shape());
  convert(tensor, out);
  return out;
}

void convert(const TensorView& from, const MutableTensorView& to) {
  if (from.elements() != to.elements()) {
    throw Error(Errc::kShape, fmt::format("{} elements do not fill an array of shape {}",
                                          from.elements(), shape_text(to.shape())));
  }
  visit(from.dtype(), [&]<typename From>(From) {
    const std::span<const From> in = from.as<From>();
    visit(to.dtype(), [&]<typename To>(To) {
      const std::span<To> out = to.as<To>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = converted<To>(load(in[i]));
    });
  });
}

std::uint64_t float_bits(DType dtype, double value) {
  std::uint64_t out = 0;
  visit(dtype,
        [&]<typename T>(T) { out = std::bit_cast<UnsignedOf<sizeof(T)>>(converted<T>(value)); });
  return out;
}

double number_from_bits(DType dtype, std::uint64_t bits) {
  double out = 0;
  visit(dtype, [&]<typename T>(T) {
    using Bits = UnsignedOf<sizeof(T)>;
    out = static_cast<double>(load(std::bit_cast<T>(static_cast<Bits>(bits))));
  });
  return out;
}

DType precision_of(const Tensor& tensor) {
  if (tensor.dtype() != DType::kFloat32 && tensor.dtype() != DType::kFloat64) {
    return tensor.dtype();
  }
  for (const DType narrow : {DType::kBFloat16, DType::kFloat16}) {
    const Tensor back = astype(astype(tensor, narrow), tensor.dtype());
    if (std::ranges::equal(back.bytes(), tensor.bytes())) return narrow;
  }
  return tensor.dtype();
}

std::vector<std::int64_t> as_int64(const Tensor& tensor, std::string_view what) {
  return as_whole<std::int64_t>(tensor, what);
}

std::vector<std::int32_t> as_int32(const Tensor& tensor, std::string_view what) {
  return as_whole<std::int32_t>(tensor, what);
}

Tensor int32_array(const Tensor& tensor, std::string_view what) {
  if (tensor.dtype() == DType::kInt32) return tensor;
  Tensor out = Tensor::unwritten(DType::kInt32, tensor.shape());
  std::ranges::copy(as_int32(tensor, what), out.as<std::int32_t>().begin());
  return out;
}

Int32Elements::Int32Elements(const Tensor& tensor, std::string_view what) {
  if (tensor.dtype() == DType::kInt32) {
    values_ = tensor.as<std::int32_t>();
  } else {
    converted_ = as_int32(tensor, what);
    values_ = converted_;
  }
}

}  // namespace maskctl
