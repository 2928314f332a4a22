#include "maskctl/mask/arrays/bias.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl {
namespace {

/// Constants of a floating dtype, as bits. A value is zero (of either sign) if (bits & magnitude)
/// == 0. `least` is the lowest finite number; `lowest` is -inf, or `least` in dtypes without
/// infinity.
template <typename U>
struct BiasBits {
  U magnitude;
  U lowest;
  U least;
};

template <typename F>
auto visit_bias(DType dtype, const F& f) {
  const FloatLayout& layout = element_type(dtype).layout;
  const std::uint64_t least = layout.sign() | layout.largest();
  return visit_unsigned(size_bytes(dtype), [&]<typename U>(U) {
    return f(BiasBits<U>{static_cast<U>(layout.magnitude()),
                         static_cast<U>(layout.has_infinity ? least + 1 : least),
                         static_cast<U>(least)});
  });
}

double rounded(DType dtype, double value) {
  return number_from_bits(dtype, float_bits(dtype, value));
}

/// The bits of the largest number of the dtype that is not above `limit`, or of a NaN if all
/// numbers are above it. `limit` is negative, and among negative numbers larger bits mean a lower
/// number.
std::uint64_t bits_at_or_below(DType dtype, double limit) {
  const std::uint64_t bits = float_bits(dtype, limit);
  return number_from_bits(dtype, bits) > limit ? bits + 1 : bits;
}

constexpr double kTenThousand = -10000;

/// A BiasRule as comparisons of bits: values from `threshold` down to `lowest` are closed, and -1e4
/// too if ten_thousand_closes.
template <typename U>
struct Closing {
  BiasBits<U> bits;
  U threshold, ten_thousand, ten_thousand_bfloat16;
  bool rest_is_open, ten_thousand_closes;

  Closing(BiasBits<U> of_dtype, const BiasRule& rule)
      : bits(of_dtype),
        threshold(static_cast<U>(
            bits_at_or_below(rule.dtype, rule.closed_below.value_or(kAlwaysCloses)))),
        ten_thousand(static_cast<U>(float_bits(rule.dtype, kTenThousand))),
        ten_thousand_bfloat16(
            static_cast<U>(float_bits(rule.dtype, rounded(DType::kBFloat16, kTenThousand)))),
        rest_is_open(rule.closed_below.has_value()),
        ten_thousand_closes(!rest_is_open && -largest_number(rule.dtype) <= kTenThousand) {}

  bool closed(U value) const {
    const bool penalty = (value == ten_thousand) | (value == ten_thousand_bfloat16);
    return ((value >= threshold) & (value <= bits.lowest)) | (penalty & ten_thousand_closes);
  }
  /// True if `value`, which does not close its cell, opens it; false if it does neither, which is
  /// an error.
  bool open(U value) const {
    const U magnitude = static_cast<U>(value & bits.magnitude);
    const bool finite = magnitude <= static_cast<U>(bits.least & bits.magnitude);
    return (magnitude == 0) | (finite & rest_is_open);
  }
};

template <typename U>
struct Seen {
  U other = 0, inf = 0, nearest = std::numeric_limits<U>::max(), farthest = 0;
};

/// Sets bytes[i] to 1 when element i is open, else to 0. The loop has no branches, so that the
/// compiler vectorises it.
template <typename U>
void open_bytes(const Closing<U>& rule, std::span<const std::byte> elements,
                std::span<std::uint8_t> bytes, Seen<U>& all) {
  const Closing<U> closing = rule;  // a local copy: the compiler sees that nobody writes to it
  Seen<U> seen = all;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const U value = load<U>(elements, i);
    const bool closed = closing.closed(value);
    const bool open = !closed & closing.open(value);
    const bool is_inf = closed & (value > closing.bits.least);
    const U number = static_cast<U>(value * static_cast<U>(closed & !is_inf));
    bytes[i] = static_cast<std::uint8_t>(open);
    seen.inf = static_cast<U>(seen.inf | static_cast<U>(is_inf));
    seen.other = static_cast<U>(seen.other | static_cast<U>(!(open | closed)));
    seen.farthest = std::max(seen.farthest, number);
    // `number` is 0 unless a finite number closes the cell; then number - 1 wraps around to the
    // largest U, which leaves the minimum as it is.
    seen.nearest = std::min(seen.nearest, static_cast<U>(number - 1));
  }
  all = seen;
}

/// A number that libraries write into closed cells, and how messages describe it.
struct Origin {
  double number;
  std::string_view words;
};
constexpr std::array kOrigins{
    Origin{-65504.0, "the minimum of float16"},
    Origin{-0x1.fep127, "the minimum of bfloat16"},
    Origin{-0x1.fffffep127, "the minimum of float32"},
    Origin{-0x1.fffffffffffffp1023, "the minimum of float64"},
    Origin{-0x1.fffffep127 / 2, "half of the minimum of float32"},
    Origin{-2.3819763e38, "0.7 of the minimum of float32, as in Gemma and JAX kernels"},
    Origin{-1e30, "-1e30"},
    Origin{-1e10, "-1e10"},
    Origin{-1e9, "-1e9"},
    Origin{-1e4, "-1e4"},
};

/// True when `number` is `origin` as it may be found in an array of `dtype`: exact, rounded to the
/// dtype, or first rounded to a narrower type.
bool arrives_as(double origin, double number, DType dtype) {
  const auto is = [&](double value) { return rounded(dtype, value) == number; };
  return is(origin) || is(rounded(DType::kFloat32, origin)) ||
         is(rounded(DType::kBFloat16, origin)) || is(rounded(DType::kFloat16, origin));
}

std::string number_text(double number, DType dtype) {
  if (!std::isfinite(number)) return "-inf";
  const std::string text = fmt::format("{:.9g}", number);
  for (const Origin& origin : kOrigins) {
    if (arrives_as(origin.number, number, dtype)) {
      return fmt::format("{} ({})", text, origin.words);
    }
  }
  return text;
}

}  // namespace

void BiasSeen::add(const BiasSeen& other) {
  inf |= other.inf;
  if (!other.min) return;
  nearest = min ? std::max(nearest, other.nearest) : other.nearest;
  farthest = min ? std::min(farthest, other.farthest) : other.farthest;
  min = true;
}

bool pack_bias(const BiasRule& rule, std::span<const std::byte> elements,
               std::span<std::uint64_t> words, BiasSeen& seen) {
  return visit_bias(rule.dtype, [&]<typename U>(BiasBits<U> bits) {
    constexpr std::size_t kBlock = 4096;
    std::array<std::uint8_t, kBlock> bytes;
    const Closing<U> closing(bits, rule);
    Seen<U> all;
    const std::size_t total = elements.size() / sizeof(U);
    for (std::size_t at = 0; at < total; at += kBlock) {
      const std::size_t n = std::min(kBlock, total - at);
      const std::span part = std::span(bytes).first(n);
      open_bytes(closing, elements.subspan(at * sizeof(U), n * sizeof(U)), part, all);
      pack_bytes(part, words.subspan(at / 64, (n + 63) / 64));
    }
    BiasSeen found{.inf = all.inf != 0, .min = all.farthest != 0};
    if (found.min) {
      found.nearest = number_from_bits(rule.dtype, std::uint64_t{all.nearest} + 1);
      found.farthest = number_from_bits(rule.dtype, all.farthest);
    }
    seen.add(found);
    return all.other == 0;
  });
}

std::optional<Index> first_not_bias(const BiasRule& rule, std::span<const std::byte> elements) {
  return visit_bias(rule.dtype, [&]<typename U>(BiasBits<U> bits) -> std::optional<Index> {
    const Closing<U> closing(bits, rule);
    for (std::size_t i = 0; i < elements.size() / sizeof(U); ++i) {
      const U value = load<U>(elements, i);
      if (!closing.closed(value) && !closing.open(value)) return static_cast<Index>(i);
    }
    return std::nullopt;
  });
}

std::string closed_by(const BiasSeen& seen, DType dtype) {
  std::string numbers;
  if (seen.min && seen.nearest == seen.farthest) {
    numbers = number_text(seen.nearest, dtype);
  } else if (seen.min) {
    numbers = fmt::format("numbers from {} to {}", number_text(seen.farthest, dtype),
                          number_text(seen.nearest, dtype));
  }
  if (!seen.inf) return numbers;
  return numbers.empty() ? "-inf" : "-inf and " + numbers;
}

void expand_bias(DType dtype, std::span<const std::uint8_t> bytes, std::span<std::byte> elements,
                 BiasFill fill) {
  visit_bias(dtype, [&]<typename U>(BiasBits<U> bits) {
    const U closed = fill == BiasFill::kInf ? bits.lowest : bits.least;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const U value = bytes[i] != 0 ? U{0} : closed;
      std::memcpy(elements.data() + i * sizeof(U), &value, sizeof(U));
    }
  });
}

}  // namespace maskctl
