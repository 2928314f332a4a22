// Loops over array elements that work on the bits of their dtype.
#include "maskctl/mask/arrays/elements.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "maskctl/mask/planes/words.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/tensor/element_types.h"

namespace maskctl {
namespace {

/// Constants of a dtype, as bits: a value is zero (of either sign) if (bits & magnitude) == 0;
/// `one` is the number 1.
template <typename U>
struct BitsOf {
  U magnitude;
  U one;
};

/// Calls f(BitsOf<U>), where U is the unsigned integer type of the same size as the dtype.
template <typename F>
auto visit_bits(DType dtype, const F& f) {
  const ElementType& type = element_type(dtype);
  const bool floats = type.kind == ElementKind::kFloat;
  const std::uint64_t magnitude = floats ? type.layout.magnitude() : ~std::uint64_t{0};
  const std::uint64_t one = floats ? type.layout.one() : 1;
  return visit_unsigned(type.bytes, [&]<typename U>(U) {
    return f(BitsOf<U>{static_cast<U>(magnitude), static_cast<U>(one)});
  });
}

/// True for dtypes whose elements 0 and 1 are the bytes 0 and 1: bool and 8-bit integers.
bool are_bytes(DType dtype) { return size_bytes(dtype) == 1 && !is_floating(dtype); }

template <typename U>
bool is_binary(BitsOf<U> bits, U value) {
  return ((value & bits.magnitude) == 0) | (value == bits.one);
}

/// Sets bytes[i] to 1 when element i is not zero, else to 0. Returns true when all elements are 0
/// or 1. There are no branches, so that the compiler vectorises the loop.
template <typename U>
bool nonzero_bytes(BitsOf<U> bits, std::span<const std::byte> elements,
                   std::span<std::uint8_t> bytes) {
  U other = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const U value = load<U>(elements, i);
    const bool nonzero = (value & bits.magnitude) != 0;
    bytes[i] = static_cast<std::uint8_t>(nonzero);
    other = static_cast<U>(other | static_cast<U>(nonzero & (value != bits.one)));
  }
  return other == 0;
}

bool all_bytes_binary(std::span<const std::uint8_t> bytes) {
  std::uint8_t seen = 0;
  for (const std::uint8_t byte : bytes) seen = static_cast<std::uint8_t>(seen | byte);
  return seen <= 1;
}

}  // namespace

bool pack_elements(DType dtype, std::span<const std::byte> elements,
                   std::span<std::uint64_t> words) {
  if (are_bytes(dtype)) {
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(elements.data()), elements.size());
    pack_bytes(bytes, words.first(static_cast<std::size_t>(words_for(std::ssize(bytes)))));
    return all_bytes_binary(bytes);
  }
  return visit_bits(dtype, [&]<typename U>(BitsOf<U> bits) {
    constexpr std::size_t kBlock = 4096;
    std::array<std::uint8_t, kBlock> bytes;
    bool binary = true;
    const std::size_t total = elements.size() / sizeof(U);
    for (std::size_t at = 0; at < total; at += kBlock) {
      const std::size_t n = std::min(kBlock, total - at);
      const std::span part = std::span(bytes).first(n);
      binary &= nonzero_bytes(bits, elements.subspan(at * sizeof(U), n * sizeof(U)), part);
      pack_bytes(part, words.subspan(at / 64, (n + 63) / 64));
    }
    return binary;
  });
}

std::optional<Index> first_not_binary(DType dtype, std::span<const std::byte> elements) {
  return visit_bits(dtype, [&]<typename U>(BitsOf<U> bits) -> std::optional<Index> {
    const std::size_t total = elements.size() / sizeof(U);
    for (std::size_t i = 0; i < total; ++i) {
      if (!is_binary(bits, load<U>(elements, i))) return static_cast<Index>(i);
    }
    return std::nullopt;
  });
}

Index count_not_binary(DType dtype, std::span<const std::byte> elements) {
  return visit_bits(dtype, [&]<typename U>(BitsOf<U> bits) {
    const std::size_t total = elements.size() / sizeof(U);
    Index count = 0;
    for (std::size_t i = 0; i < total; ++i) count += !is_binary(bits, load<U>(elements, i));
    return count;
  });
}

std::optional<double> first_nonzero(DType dtype, std::span<const std::byte> elements) {
  const auto at = visit_bits(dtype, [&]<typename U>(BitsOf<U> bits) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < elements.size() / sizeof(U); ++i) {
      if ((load<U>(elements, i) & bits.magnitude) != 0) return i;
    }
    return std::nullopt;
  });
  if (!at) return std::nullopt;
  Tensor one(dtype, {1});
  std::memcpy(one.bytes().data(), elements.data() + *at * one.bytes().size(), one.bytes().size());
  return astype(one, DType::kFloat64).as<double>()[0];
}

void expand_elements(DType dtype, std::span<const std::uint8_t> bytes,
                     std::span<std::byte> elements) {
  if (are_bytes(dtype)) {
    if (!bytes.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
    return;
  }
  visit_bits(dtype, [&]<typename U>(BitsOf<U> bits) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const U value = static_cast<U>(bits.one * static_cast<U>(bytes[i]));
      std::memcpy(elements.data() + i * sizeof(U), &value, sizeof(U));
    }
  });
}

std::string element_text(DType dtype, std::span<const std::byte> elements, Index i) {
  const auto at = static_cast<std::size_t>(i);
  return visit_bits(dtype, [&]<typename U>(BitsOf<U>) {
    const U bits = load<U>(elements, at);
    const double value = is_floating(dtype) ? number_from_bits(dtype, bits) : 0;
    switch (element_type(dtype).kind) {
      case ElementKind::kBool:
      case ElementKind::kUnsigned:
        return fmt::format("{}", std::uint64_t{bits});
      case ElementKind::kSigned:
        return fmt::format("{}", std::int64_t{static_cast<std::make_signed_t<U>>(bits)});
      case ElementKind::kFloat:  // only as many digits as the type has
        return sizeof(U) == 8 ? fmt::format("{}", value)
                              : fmt::format("{}", static_cast<float>(value));
    }
    return std::string();
  });
}

}  // namespace maskctl
