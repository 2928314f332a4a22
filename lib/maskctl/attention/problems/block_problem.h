// Attention of each token over a list of key blocks: the checked problem that kernels receive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/problems/dims.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Integers [.., Hkv, width], one row per token or one row per block of queries.
class TokenLists {
 public:
  TokenLists() = default;
  /// `axes` is 4 for [B,rows,Hkv,width], or 3 for a width of 1. Throws Error(kShape,
  /// kInvalidArgument).
  TokenLists(const char* name, const Tensor& array, Index axes, const Dims& dims,
             const std::vector<TokenSequence>& sequences, Index block_size);

  bool empty() const { return values_.empty(); }
  Index width() const { return width_; }
  std::int32_t least() const {
    return values_.empty() ? 0 : *std::min_element(values_.begin(), values_.end());
  }
  /// The integers of token t of sequence n for key head u; t counts from the start of the sequence.
  const std::int32_t* at(std::size_t n, Index t, Index u) const;
  /// values(): all integers, [rows,Hkv,width]. row(): the row of token t of sequence n.
  const std::vector<std::int32_t>& values() const { return values_; }
  Index row(std::size_t n, Index t) const { return first_rows_[n] + t / tokens_per_row_; }

 private:
  std::vector<std::int32_t> values_;
  std::vector<Index> first_rows_;  // first row of each sequence
  Index heads_ = 1, width_ = 1;
  Index tokens_per_row_ = 1;
};

/// A range of keys that a token sees; the softmax counts each of them `times` times.
struct KeyBlock {
  Range keys;
  Index times = 1;
};

/// A unit of work: at most kTaskTokens tokens of one sequence, for one key head u.
inline constexpr Index kTaskTokens = 64;
struct TokenTask {
  std::size_t sequence = 0;
  Index u = 0;
  Range tokens;
};

struct BlockProblem {
  Dims d;
  TensorView query, key, value;
  double scale = 1;
  Index block_size = 0;
  Index count = 0;                       // the number of listed blocks to use if `counts` is empty
  bool counts_duplicates = true;         // whether a block that is listed twice counts twice
  std::vector<TokenSequence> sequences;  // token and block numbers are relative to the sequence
  TokenLists indices, counts;

  /// The key blocks that token t of sequence n sees for key head u, ascending; the last block ends
  /// at token t at most.
  std::vector<KeyBlock> blocks(std::size_t n, Index t, Index u) const;
  /// All tokens of all key heads, divided into tasks.
  std::vector<TokenTask> tasks() const;
};

/// Chooses key blocks by attention over the mean key of each block. The lists and arrays of
/// `blocks` are not read.
struct SelectionProblem {
  const BlockProblem* blocks;
  TensorView query;                        // [B,T,Hq,D]
  TensorView mean_keys;                    // [B,C,Hkv,D] f32: means of the whole blocks of a row
  const std::vector<Index>* first_blocks;  // first block of each sequence, an index in C
};

}  // namespace maskctl::attention
