#include "maskctl/ejkernel/lazy/block_grid.h"

#include <fmt/format.h>

#include <limits>

#include "maskctl/ejkernel/mask_info/python_error.h"

namespace maskctl::lazy {
namespace {

void check_positive(const char* what, Index value) {
  if (value >= 1) return;
  throw Error(Errc::kInvalidArgument, fmt::format("{} {}: expected at least 1", what, value));
}

struct Named {
  const char* name;
  Index value;
};

/// whole / part; throws with ejkernel's message if there is a remainder.
Index divided(const Named& whole, const Named& part) {
  if (whole.value % part.value == 0) return whole.value / part.value;
  throw PythonError(PythonType::kValueError, fmt::format("{}={} should divide {}={}.", part.name,
                                                         part.value, whole.name, whole.value));
}

}  // namespace

BlockGrid block_grid_of(const std::vector<Index>& shape, const BlockInfoOptions& options) {
  check_positive("query block", options.q_block);
  check_positive("key block", options.kv_block);
  check_positive("head shards", options.head_shards);
  check_positive("query shards", options.q_seq_shards);
  const Named queries{"q_seq_len", shape[1]}, q_block{"q_block_size", options.q_block};
  BlockGrid grid;
  grid.heads = shape[0];
  grid.rows = divided(queries, q_block);
  grid.columns = divided({"kv_seq_len", shape[2]}, {"kv_blocksize", options.kv_block});
  const Index shard = divided(queries, {"q_seq_shards", options.q_seq_shards});
  grid.rows_per_shard = divided({"q_seq_len_per_shard", shard}, q_block);
  grid.heads_per_shard = divided({"head_count", grid.heads}, {"head_shards", options.head_shards});
  return grid;
}

DType smallest_dtype(Index most) {
  if (most <= std::numeric_limits<std::int8_t>::max()) return DType::kInt8;
  if (most <= std::numeric_limits<std::int16_t>::max()) return DType::kInt16;
  return DType::kInt32;
}

}  // namespace maskctl::lazy
