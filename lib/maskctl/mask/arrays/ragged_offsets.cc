// cuDNN's ragged offsets as real and padded cumulative lengths, and back.
#include <fmt/format.h>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/requests.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The names of the two arrays of one side, as messages say them.
struct RaggedNames {
  const char *lengths, *offsets;
};
constexpr RaggedNames kRaggedQueries{"seq_len_q", "q_ragged_offset"};
constexpr RaggedNames kRaggedKeys{"seq_len_kv", "k_ragged_offset"};

[[noreturn]] void refuse_ragged(const std::string& message) {
  throw Error(Errc::kInvalidArgument, message);
}

/// The elements of an array [N] or [N,1,1,1].
std::vector<std::int64_t> column(const Tensor& array, Index size, const char* name) {
  if (array.rank() > 0 && array.extent(0) == size && array.elements() == size) {
    return as_int64(array, name);
  }
  throw Error(Errc::kShape, fmt::format("{} has the shape {}; expected ({},) or ({}, 1, 1, 1)",
                                        name, shape_text(array.shape()), size, size));
}

/// The tokens before each sequence, from offsets in elements.
std::vector<Index> tokens_before(std::span<const std::int64_t> offsets, Index elements,
                                 const char* name) {
  std::vector<Index> out;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Index offset = offsets[i];
    if (i == 0 && offset != 0)
      refuse_ragged(fmt::format("{} starts with {}; expected 0", name, offset));
    if (i > 0 && offset < offsets[i - 1]) {
      refuse_ragged(
          fmt::format("{} falls from {} to {} at entry {}", name, offsets[i - 1], offset, i));
    }
    if (offset % elements != 0) {
      refuse_ragged(fmt::format("{}, entry {}: {} is no multiple of the {} elements of a token",
                                name, i, offset, elements));
    }
    out.push_back(offset / elements);
  }
  return out;
}

/// Both cumulative lengths of one side.
struct RaggedSide {
  Tensor real, padded;
};

RaggedSide side_of(const Tensor& lengths, const Tensor& offsets, Index elements, Index batch,
                   const RaggedNames& names) {
  if (elements < 1) {
    refuse_ragged(
        fmt::format("a token of {} has {} elements; expected at least 1", names.offsets, elements));
  }
  const auto lens = column(lengths, batch, names.lengths);
  const auto before =
      tokens_before(column(offsets, batch + 1, names.offsets), elements, names.offsets);
  std::vector<Index> real{0};
  for (std::size_t b = 0; b < lens.size(); ++b) {
    const Index room = before[b + 1] - before[b];
    if (lens[b] < 0 || lens[b] > room) {
      refuse_ragged(
          fmt::format("{}, entry {}: {}; expected 0 to {}, the tokens between the "
                      "offsets {} and {} of {}",
                      names.lengths, b, lens[b], room, before[b] * elements,
                      before[b + 1] * elements, names.offsets));
    }
    real.push_back(real.back() + lens[b]);
  }
  return {int64_list(real), int64_list(before)};
}

/// Lengths [N], from ends [N+1].
Tensor lengths_between(const Tensor& ends) {
  const auto all = as_int64(ends, "ends");
  std::vector<Index> out;
  for (std::size_t i = 1; i < all.size(); ++i) out.push_back(all[i] - all[i - 1]);
  return int32_list(out);
}

}  // namespace

PaddedLengths lengths_of_ragged(const RaggedOffsets& ragged) {
  const Index batch = ragged.q_lens.rank() > 0 ? ragged.q_lens.extent(0) : -1;
  RaggedSide q = side_of(ragged.q_lens, ragged.q, ragged.q_elements, batch, kRaggedQueries);
  RaggedSide k = side_of(ragged.k_lens, ragged.k, ragged.k_elements, batch, kRaggedKeys);
  return {std::move(q.real), std::move(k.real), std::move(q.padded), std::move(k.padded)};
}

RaggedOffsets ragged_of_lengths(const PaddedLengths& lengths) {
  return {lengths_between(lengths.q),
          lengths_between(lengths.kv),
          lengths.q_padded,
          lengths.kv_padded,
          1,
          1};
}

}  // namespace maskctl
