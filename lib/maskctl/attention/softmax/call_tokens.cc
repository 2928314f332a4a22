#include "maskctl/attention/softmax/call_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

void check_tokens(const Tensor& array, Index batch, Index length, const char* what) {
  const bool fits = (array.rank() == 1 && array.extent(0) == length) ||
                    (array.rank() == 2 && array.extent(1) == length &&
                     (array.extent(0) == 1 || array.extent(0) == batch));
  if (!fits) {
    refuse_shape(
        fmt::format("{} is {}, expected ({}, {})", what, shape_text(array.shape()), batch, length));
  }
}

NamedArray int32_tokens(const Tensor& array, Index batch, Index length, const char* what) {
  check_tokens(array, batch, length, what);
  return {int32_array(array, what), {}};
}

namespace {

/// The elements of an array [B] of lengths from 0 to `most`; empty if there is no array.
std::vector<Index> row_lengths(const Tensor* array, Index batch, Index most, const char* what) {
  if (!array) return {};
  if (array->rank() != 1 || array->extent(0) != batch) {
    refuse_shape(fmt::format("{} are {}, expected ({},)", what, shape_text(array->shape()), batch));
  }
  std::vector<Index> lengths = as_int64(*array, what);
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    if (lengths[b] >= 0 && lengths[b] <= most) continue;
    refuse(fmt::format("{}[{}] is {}, expected 0 to {}", what, b, lengths[b], most));
  }
  return lengths;
}

/// The length of each sequence, from cumulative lengths. `padded`: each sequence has a batch row of
/// its own.
std::vector<Index> sequence_lengths(const Tensor& cum, bool padded, Index extent,
                                    const char* what) {
  constexpr Index kNoLimit = std::numeric_limits<Index>::max();
  std::vector<Index> lengths;
  for (const Range& range : packed_sequences(cum, padded ? kNoLimit : extent, what)) {
    lengths.push_back(range.size());
    if (range.size() <= extent) continue;
    refuse(fmt::format("{}: sequence {} has {} tokens, past the {} of its row", what,
                       lengths.size() - 1, range.size(), extent));
  }
  return lengths;
}

CallLengths cumulative_lengths(const MaskArguments& a, const MaskExtents& x) {
  const bool padded = x.batch != 1;
  CallLengths out{sequence_lengths(*a.cum_seqlens_q, padded, x.queries, "cum_seqlens_q"),
                  sequence_lengths(*a.cum_seqlens_k, padded, x.keys, "cum_seqlens_k"), true,
                  !padded};
  const Index sequences = std::ssize(out.queries);
  if (sequences != std::ssize(out.keys)) {
    refuse_shape(fmt::format("cum_seqlens_q names {} sequences and cum_seqlens_k {}", sequences,
                             out.keys.size()));
  }
  if (padded && sequences != x.batch) {
    refuse_shape(
        fmt::format("cum_seqlens_q names {} sequences in a batch of {}; "
                    "expected {}, or a batch of 1 that holds them all",
                    sequences, x.batch, x.batch));
  }
  return out;
}

}  // namespace

CallLengths call_lengths(const MaskArguments& a, const MaskExtents& x) {
  if (!a.cum_seqlens_q != !a.cum_seqlens_k) {
    refuse("cum_seqlens_q and cum_seqlens_k are given one without the other");
  }
  if (!a.cum_seqlens_q) {
    return {row_lengths(a.query_lengths, x.batch, x.queries, "query_lengths"),
            row_lengths(a.key_lengths, x.batch, x.keys, "key_lengths")};
  }
  if (a.q_positions || a.kv_positions || a.query_lengths || a.key_lengths) {
    refuse("cumulative lengths are given beside positions or lengths; leave one out");
  }
  return cumulative_lengths(a, x);
}

std::vector<Index> query_ends(const CallLengths& lengths) {
  if (!lengths.packed) return lengths.queries;
  return {std::accumulate(lengths.queries.begin(), lengths.queries.end(), Index{0})};
}

}  // namespace maskctl::attention
