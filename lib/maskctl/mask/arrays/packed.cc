// Computes lengths, positions and chunks of packed sequences from their cumulative lengths.
#include "maskctl/mask/arrays/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

using Integers = std::vector<std::int64_t>;

/// The most bytes of any result, because the lengths may come from an untrusted file.
constexpr Index kMaxBytes = Index{4} << 30;

[[noreturn]] void fail(Errc code, const std::string& message) { throw Error(code, message); }

/// The elements of cumulative lengths. Throws unless they have one axis and an integer dtype.
Integers integers_of(const Tensor& cu) {
  if (cu.rank() != 1) {
    fail(Errc::kShape, "cumulative lengths have shape " + shape_text(cu.shape()) +
                           "; expected one axis of sequences + 1");
  }
  if (!is_integer(cu.dtype())) {
    fail(Errc::kInvalidArgument,
         fmt::format("cumulative lengths are {}; expected integers", name(cu.dtype())));
  }
  return as_int64(cu, "cumulative lengths");
}

/// The lengths cu[1:] - cu[:-1]. Overflow wraps around, as in JAX.
Integers differences(const Integers& cu) {
  Integers lens;
  for (std::size_t i = 1; i < cu.size(); ++i) {
    lens.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(cu[i]) -
                                             static_cast<std::uint64_t>(cu[i - 1])));
  }
  return lens;
}

/// An int64 array for a result, filled with zeros. Throws Error(kLimit) if it is too large.
Tensor result(std::vector<Index> shape) {
  const auto elements = checked_product(shape);
  if (!elements || *elements > kMaxBytes / size_bytes(DType::kInt64)) {
    throw Error(Errc::kLimit, fmt::format("packed sequences give an array of shape {}; expected at "
                                          "most {} bytes, so use shorter sequences",
                                          shape_text(shape), kMaxBytes));
  }
  return Tensor(DType::kInt64, std::move(shape));
}

Tensor tensor_of(const Integers& values, DType dtype) {
  Tensor out = result({static_cast<Index>(values.size())});
  std::ranges::copy(values, out.as<std::int64_t>().begin());
  return astype(out, dtype);
}

/// How many elements of the result belong to each sequence, and their sum.
struct Counts {
  Integers of;
  Index total = 0;
};

Counts counts_of(Integers lens) {
  Counts counts{std::move(lens)};
  for (const std::int64_t n : counts.of) {
    if (n < 0) {
      fail(Errc::kInvalidArgument,
           fmt::format("a sequence has {} elements; expected lengths that do not decrease", n));
    }
    const auto total = checked_add(counts.total, n);
    if (!total) throw Error(Errc::kLimit, "the lengths of the sequences do not fit 64 bits");
    counts.total = *total;
  }
  return counts;
}

/// Returns the number of tokens of each sequence. Throws if cu_seqlens does not start with 0:
/// in the source that packed.h cites, results have cu_seqlens[-1] elements only if it does.
Counts tokens_of(const Tensor& cu_seqlens) {
  const Integers cu = integers_of(cu_seqlens);
  if (cu.empty() || cu.front() != 0) {
    fail(Errc::kShape,
         cu.empty() ? "cumulative lengths are empty; expected at least a 0"
                    : fmt::format("cumulative lengths start with {}; expected 0", cu.front()));
  }
  return counts_of(differences(cu));
}

/// Calls f(sequence, elements) for each sequence that has elements. Sequences are numbered without
/// the empty ones unless keep_empty.
template <typename F>
void for_each_sequence(const Counts& counts, bool keep_empty, F&& f) {
  Index seen = 0;
  for (std::size_t i = 0; i < counts.of.size(); ++i) {
    if (counts.of[i] == 0) continue;
    f(keep_empty ? static_cast<Index>(i) : seen, counts.of[i]);
    ++seen;
  }
}

/// An array [total, 2] with a row (sequence, i) for each element i of each sequence, i from 0.
Tensor numbered(const Counts& counts, bool keep_empty, DType dtype) {
  Tensor out = result({counts.total, 2});
  auto next = out.as<std::int64_t>().begin();
  for_each_sequence(counts, keep_empty, [&](Index number, Index n) {
    for (Index i = 0; i < n; ++i) {
      *next++ = number;
      *next++ = i;
    }
  });
  return astype(out, dtype);
}

/// (a + b - 1) // b as in Python, in 128 bits so that no input overflows.
std::int64_t cdiv(std::int64_t a, Index b) {
  if (b == 0) fail(Errc::kInvalidArgument, "cannot divide into chunks of 0; expected 1 or more");
  const __int128 sum = static_cast<__int128>(a) + b - 1;
  const bool floors = sum % b != 0 && (sum < 0) != (b < 0);
  return static_cast<std::int64_t>(sum / b - floors);
}

Integers cdiv(Integers values, Index b) {
  for (std::int64_t& value : values) value = cdiv(value, b);
  return values;
}

}  // namespace

Tensor cdiv(const Tensor& a, Index b) {
  if (!is_integer(a.dtype())) {
    fail(Errc::kInvalidArgument,
         fmt::format("cannot divide {} into chunks; expected integers", name(a.dtype())));
  }
  Tensor out = tensor_of(cdiv(as_int64(a, "dividend"), b), a.dtype());
  out.reshape(a.shape());
  return out;
}

Tensor prepare_lens(const Tensor& cu_seqlens) {
  return tensor_of(differences(integers_of(cu_seqlens)), cu_seqlens.dtype());
}

Tensor prepare_lens_from_mask(const Tensor& mask) {
  if (mask.rank() != 2) {
    fail(Errc::kShape,
         "mask has shape " + shape_text(mask.shape()) + "; expected batch and sequence");
  }
  const Tensor cells = astype(mask, DType::kInt32);
  Tensor out(DType::kInt32, {mask.extent(0)});
  const auto width = static_cast<std::size_t>(mask.extent(1));
  for (std::size_t row = 0; row < out.as<std::int32_t>().size(); ++row) {
    std::uint32_t sum = 0;
    for (const std::uint32_t cell : cells.as<std::uint32_t>().subspan(row * width, width)) {
      sum += cell;
    }
    out.as<std::uint32_t>()[row] = sum;
  }
  return out;
}

Tensor prepare_cu_seqlens_from_mask(const Tensor& mask, DType out_dtype) {
  Integers cu{0};
  for (const std::int32_t n : as_int32(prepare_lens_from_mask(mask), "lengths")) {
    cu.push_back(cu.back() + n);
  }
  return tensor_of(cu, out_dtype);
}

Tensor prepare_position_ids(const Tensor& cu_seqlens) {
  const Counts tokens = tokens_of(cu_seqlens);
  Tensor out = result({tokens.total});
  auto next = out.as<std::int64_t>().begin();
  for (const Index n : tokens.of) {
    for (Index i = 0; i < n; ++i) *next++ = i;
  }
  return astype(out, cu_seqlens.dtype());
}

Tensor prepare_sequence_ids(const Tensor& cu_seqlens, bool keep_empty) {
  const Counts tokens = tokens_of(cu_seqlens);
  Tensor out = result({tokens.total});
  auto next = out.as<std::int64_t>().begin();
  for_each_sequence(tokens, keep_empty,
                    [&](Index number, Index n) { next = std::fill_n(next, n, number); });
  return astype(out, DType::kInt32);
}

Tensor prepare_token_indices(const Tensor& cu_seqlens, bool keep_empty) {
  return numbered(tokens_of(cu_seqlens), keep_empty, cu_seqlens.dtype());
}

Tensor prepare_chunk_indices(const Tensor& cu_seqlens, Index chunk_size, bool keep_empty) {
  const Integers lens = differences(integers_of(cu_seqlens));
  return numbered(counts_of(cdiv(lens, chunk_size)), keep_empty, cu_seqlens.dtype());
}

Tensor prepare_chunk_offsets(const Tensor& cu_seqlens, Index chunk_size) {
  Integers offsets{0};
  for (const Index chunks : cdiv(differences(integers_of(cu_seqlens)), chunk_size)) {
    const auto next = checked_add(offsets.back(), chunks);
    if (!next) throw Error(Errc::kLimit, "the number of chunks does not fit 64 bits");
    offsets.push_back(*next);
  }
  return tensor_of(offsets, cu_seqlens.dtype());
}

Tensor IdentityDtypeConvert::backward(const Tensor& cotangent) const {
  return astype(cotangent, dtype_);
}

IdentityDtypeConvert identity_dtype_convert(DType dtype) { return IdentityDtypeConvert(dtype); }

}  // namespace maskctl
