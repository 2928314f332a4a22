// Registers grouped_matmul: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/calls/fields.h"
#include "maskctl/kernels/grouped_matmul/grouped_matmul.h"

namespace maskctl::attention {

inline constexpr std::string_view kExistingOutWords[] = {"add", "keep_unprocessed"};

inline constexpr ResultField kMatmulOutputs[] = {whole_result("out", "M N")};

inline constexpr ResultField kMatmulGradients[] = {
    result<&GroupedMatmulGradients::lhs>("lhs"),
    result<&GroupedMatmulGradients::rhs>("rhs"),
    result<&GroupedMatmulGradients::existing_out>("existing_out"),
};

/// A mesh may split rows (M), columns (N) and groups (G). A device with a range of the rows
/// computes how many rows of each group are in it. Groups that are split within one process are
/// multiplied part by part and added up; ranks of a ring each have the matrices of their groups and
/// the rows of these groups.
struct GroupedMatmulOp : FunctionOp<grouped_matmul, grouped_matmul_backward> {
  /// A call whose groups have equal sizes (or sizes that differ by 1).
  static UsualCall usual_call(AxisExtents extents);
  static void localise(Inputs& in, Options&, const Shard& shard, const ShardPlan&,
                       OwnedArrays& owned);
  static std::string_view rhs_axes(const void* call) {
    const Options& o = static_cast<const Call*>(call)->options;
    return o.transpose_rhs ? "G N K" : "G K N";
  }

  static constexpr std::array kFields = {
      with_alias("inputs", array<Call, &Inputs::lhs>("lhs", "M K", kRequired | kByRows)),
      with_alias("weights", array_by<rhs_axes, Call, &Inputs::rhs>("rhs", "G K N", kRequired)),
      array<Call, &Inputs::group_sizes>("group_sizes", "Gall", kIntegers),
      array<Call, &Inputs::group_offset>("group_offset", "1|", kIntegers),
      array<Call, &Inputs::existing_out>("existing_out", "M N"),
      array<Call, &Inputs::group_ids>("group_ids", "M", kIntegers),
      option<Call, &Options::transpose_rhs>("transpose_rhs",
                                            "true: rhs is [G, N, K]; false (default)"),
      needing("existing_out", choice<Call, &Options::existing_out_mode>(
                                  "existing_out_mode", kExistingOutWords,
                                  "add (default), keep_unprocessed", kStrict)),
      option<Call, &Options::preferred_element_type>("preferred_element_type",
                                                     "dtype of the result; that of lhs"),
      needing("!mesh", option<Call, &Options::group_parts>(
                           "group_parts", "parts of the groups, one after another; 1", kParts)),
      hint<Call, &Options::block_m>("block_m"),
      hint<Call, &Options::block_n>("block_n"),
      hint<Call, &Options::block_k>("block_k"),
  };

  static constexpr Operation kRow = {
      .name = "grouped_matmul",
      .summary = "each group of rows times its own matrix (experts)",
      .outputs = kMatmulOutputs,
      .gradients = kMatmulGradients,
      .splittable = "M N",
      .collective = "G",
  };
};

}  // namespace maskctl::attention
