#include "maskctl/mask/bias.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

/// The bits of a floating dtype: (bits & magnitude) == 0 is zero, whatever the sign.
template <typename U>
struct BiasBits {
  U magnitude;
  U minus_inf;
  U least;
};

template <typename F>
auto visit_bias(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kFloat16:
      return f(BiasBits<std::uint16_t>{0x7fff, 0xfc00, 0xfbff});
    case DType::kBFloat16:
      return f(BiasBits<std::uint16_t>{0x7fff, 0xff80, 0xff7f});
    case DType::kFloat32:
      return f(BiasBits<std::uint32_t>{0x7fffffff, 0xff800000, 0xff7fffff});
    default:
      return f(
          BiasBits<std::uint64_t>{~std::uint64_t{0} >> 1, 0xfff0000000000000, 0xffefffffffffffff});
  }
}

template <typename U>
U load(std::span<const std::byte> elements, std::size_t i) {
  U value;
  std::memcpy(&value, elements.data() + i * sizeof(U), sizeof(U));
  return value;
}

template <typename U>
struct Sums {
  U other = 0, inf = 0, least = 0;
};

/// bytes[i] = element i is zero. Free of branches, so that the compiler vectorises it.
template <typename U>
void zero_bytes(BiasBits<U> bits, std::span<const std::byte> elements,
                std::span<std::uint8_t> bytes, Sums<U>& sums) {
  U other = 0, inf = 0, least = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const U value = load<U>(elements, i);
    const bool zero = (value & bits.magnitude) == 0;
    const bool is_inf = value == bits.minus_inf;
    const bool is_least = value == bits.least;
    bytes[i] = static_cast<std::uint8_t>(zero);
    inf = static_cast<U>(inf | static_cast<U>(is_inf));
    least = static_cast<U>(least | static_cast<U>(is_least));
    other = static_cast<U>(other | static_cast<U>(!(zero | is_inf | is_least)));
  }
  sums.other = static_cast<U>(sums.other | other);
  sums.inf = static_cast<U>(sums.inf | inf);
  sums.least = static_cast<U>(sums.least | least);
}

}  // namespace

bool pack_bias(DType dtype, std::span<const std::byte> elements, std::span<std::uint64_t> words,
               BiasSeen& seen) {
  return visit_bias(dtype, [&]<typename U>(BiasBits<U> bits) {
    constexpr std::size_t kBlock = 4096;
    std::array<std::uint8_t, kBlock> bytes;
    Sums<U> sums;
    const std::size_t total = elements.size() / sizeof(U);
    for (std::size_t at = 0; at < total; at += kBlock) {
      const std::size_t n = std::min(kBlock, total - at);
      const std::span part = std::span(bytes).first(n);
      zero_bytes(bits, elements.subspan(at * sizeof(U), n * sizeof(U)), part, sums);
      pack_bytes(part, words.subspan(at / 64, (n + 63) / 64));
    }
    seen.inf |= sums.inf != 0;
    seen.min |= sums.least != 0;
    return sums.other == 0;
  });
}

std::optional<Index> first_not_bias(DType dtype, std::span<const std::byte> elements) {
  return visit_bias(dtype, [&]<typename U>(BiasBits<U> bits) -> std::optional<Index> {
    for (std::size_t i = 0; i < elements.size() / sizeof(U); ++i) {
      const U value = load<U>(elements, i);
      const bool known =
          (value & bits.magnitude) == 0 || value == bits.minus_inf || value == bits.least;
      if (!known) return static_cast<Index>(i);
    }
    return std::nullopt;
  });
}

void expand_bias(DType dtype, std::span<const std::uint8_t> bytes, std::span<std::byte> elements,
                 BiasFill fill) {
  visit_bias(dtype, [&]<typename U>(BiasBits<U> bits) {
    const U closed = fill == BiasFill::kInf ? bits.minus_inf : bits.least;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const U value = bytes[i] != 0 ? U{0} : closed;
      std::memcpy(elements.data() + i * sizeof(U), &value, sizeof(U));
    }
  });
}

double least_finite(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return -65504.0;
    case DType::kBFloat16:
      return -0x1.fep127;
    case DType::kFloat32:
      return -0x1.fffffep127;
    default:
      return -0x1.fffffffffffffp1023;
  }
}

}  // namespace maskctl
