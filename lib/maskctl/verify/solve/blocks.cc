#include "maskctl/verify/solve/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "maskctl/attention/operations/native_sparse/checked.h"
#include "maskctl/attention/operations/native_sparse/spec.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/verify/solve/gradients.h"

namespace maskctl::attention {
namespace {

constexpr Index kMostCells = Index{1} << 28;

/// Returns the mask that opens, for each token, the keys of its listed blocks.
Mask listed_keys(const BlockProblem& problem) {
  const Dims& d = problem.d;
  const Index planes = d.batch * d.q_heads;
  if (d.keys > 0 && planes * d.queries > kMostCells / d.keys) {
    throw Error(Errc::kLimit, fmt::format("{} heads of {} tokens and keys are more than 2^28 "
                                          "cells; give fewer batches, or a shorter text",
                                          planes, d.queries));
  }
  Tensor open(DType::kBool, {d.batch, d.q_heads, d.queries, d.keys});
  std::ranges::fill(open.bytes(), std::byte{0});
  for (std::size_t n = 0; n < problem.sequences.size(); ++n) {
    const TokenSequence& sequence = problem.sequences[n];
    for (Index t = 0; t < sequence.tokens.size(); ++t) {
      for (Index h = 0; h < d.q_heads; ++h) {
        const Index row = (sequence.batch * d.q_heads + h) * d.queries + sequence.tokens.begin + t;
        for (const KeyBlock& block : problem.blocks(n, t, d.kv_head(h))) {
          if (block.times > 1) {
            solving::untold(fmt::format(
                "block_indices lists a block twice for token {}, whose keys count twice; a mask "
                "cannot say that, unless duplicate_blocks=once",
                t));
          }
          std::fill(open.bytes().begin() + row * d.keys + block.keys.begin,
                    open.bytes().begin() + row * d.keys + block.keys.end, std::byte{1});
        }
      }
    }
  }
  return mask_from_dense(open);
}

/// Notes the mask and the options of a call over blocks of keys, instead of running a kernel.
class BlockCalls : public CallRunner {
 public:
  AnyValue run_forward(const Operation& operation, const void* call) override {
    if (operation.name == NativeSparseAttentionOp::kRow.name) {
      take<NativeSparseAttentionOp>(call);
      return std::make_shared<NativeSparseResult>();
    }
    take<ApplyNativeSparseAttentionOp>(call);
    return std::make_shared<SoftmaxResult>();
  }
  AnyValue run_backward(const Operation&, const void*, const void*, const Cotangents&) override {
    return {};
  }

  std::optional<Mask> listed;
  double scale = 1;
  Index block_size = 1;

 private:
  template <class Op>
  void take(const void* any) {
    const auto& call = *static_cast<const typename Op::Call*>(any);
    if (call.in.g_cmp || call.in.g_slc) {
      solving::untold(
          "gates mix the output of two branches; give that of the selected one, before its gate, "
          "with block_indices and without gates");
    }
    const BlockProblem problem = checked_selected_problem(call.in, call.options);
    listed = listed_keys(problem);
    scale = problem.scale, block_size = problem.block_size;
  }
};

}  // namespace

std::optional<BlockCall> over_blocks(const VerifyRequest& request) {
  const std::string_view name = request.operation->name;
  const bool sparse =
      name == NativeSparseAttentionOp::kRow.name || name == ApplyNativeSparseAttentionOp::kRow.name;
  if (!sparse) return {};
  BlockCalls calls;
  NamedArguments arguments = request.arguments;
  std::erase_if(arguments.arrays,
                [](const auto& one) { return one.first.starts_with("cotangent_"); });
  arguments.runner = &calls;
  arguments.gradient_seed.reset();
  run(*request.operation, arguments);
  BlockCall out{request, calls.block_size};
  NamedArguments& own = out.request.arguments;
  out.request.operation = find_operation("flash_attention");
  out.request.declared = std::move(calls.listed);
  for (const char* list : {"block_indices", "block_counts", "cu_seqlens"}) own.arrays.erase(list);
  own.options = {{"softmax_scale", fmt::format("{}", calls.scale)}};
  return out;
}

}  // namespace maskctl::attention
