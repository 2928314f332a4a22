// Grouped products and pooling by name.
#include "maskctl/attention/modules/grouped_matmul.h"
#include "maskctl/attention/modules/mean_pooling.h"
#include "maskctl/attention/named/operations.h"
#include "maskctl/attention/named/run_op.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

constexpr NamedArray kMatmulArrays[] = {
    {"lhs", "M K", true},
    {"rhs", "G K N", true},
    {"group_sizes", "Gall", false, true},
    {"group_ids", "M", false, true},
    {"group_offset", "1", false, true},
    {"existing_out", "M N"},
};
constexpr NamedOption kMatmulOptions[] = {
    {"transpose_rhs", "true: rhs is [G, N, K]"},
    {"existing_out_mode", "add (default), keep_unprocessed"},
    {"preferred_element_type", "dtype of the result; that of lhs"},
    {"block_m", "a hint; 0"},
    {"block_n", "a hint; 0"},
    {"block_k", "a hint; 0"},
};
constexpr NamedArray kPoolingArrays[] = {
    {"x", "B T C", true},
    {"attention_mask", "B T", false, true},
    {"cu_seqlens", "N+1", false, true},
};
constexpr NamedOption kPoolingOptions[] = {
    {"mode", "per_sequence (default), per_chunk"},
    {"chunk_size", "tokens of a chunk; 32"},
};

NamedResults run_matmul(Call& call) {
  auto bound = bind<GroupedMatmulOp>(call);
  GroupedMatmulOptions& options = bound.options;
  call.read("transpose_rhs", options.transpose_rhs);
  static constexpr std::string_view kModes[] = {"add", "keep_unprocessed"};
  call.read("existing_out_mode", options.existing_out_mode, kModes);
  call.read("block_m", options.block_m);
  call.read("block_n", options.block_n);
  call.read("block_k", options.block_k);
  std::optional<std::string> type;
  call.read("preferred_element_type", type);
  if (type) options.preferred_element_type = dtype_from_name(*type);
  if (type && !options.preferred_element_type) {
    throw Error(Errc::kInvalidArgument, "preferred_element_type: no dtype '" + *type + "'");
  }
  return run_op(call, bound);
}

NamedResults run_pooling(Call& call) {
  auto bound = bind<MeanPoolingOp>(call);
  static constexpr std::string_view kModes[] = {"per_sequence", "per_chunk"};
  call.read("mode", bound.options.mode, kModes);
  call.read("chunk_size", bound.options.chunk_size);
  return run_op(call, bound);
}

constexpr NamedOperation kOperations[] = {
    {"grouped_matmul", "", "each group of rows times its own matrix (experts)", kMatmulArrays,
     kMatmulOptions, false, true, run_matmul},
    {"mean_pooling", "", "means over tokens of sequences or chunks", kPoolingArrays,
     kPoolingOptions, false, true, run_pooling},
};

}  // namespace

std::span<const NamedOperation> other_operations() { return kOperations; }

}  // namespace maskctl::attention
