// Attention of tokens over listed blocks of keys, checked, as kernels take it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/problems/dims.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Integers [.., Hkv, width] of each token, or of each block of queries.
class TokenLists {
 public:
  TokenLists() = default;
  /// Throws Error(kShape, kInvalidArgument). `axes` 4: [B,rows,Hkv,width]; 3: width is 1.
  TokenLists(const char* name, const Tensor& array, Index axes, const Dims& dims,
             const std::vector<TokenSequence>& sequences, Index block_size);

  bool empty() const { return values_.empty(); }
  Index width() const { return width_; }
  std::int32_t least() const {
    return values_.empty() ? 0 : *std::min_element(values_.begin(), values_.end());
  }
  /// The integers of token t (of sequence number n) and key head u.
  const std::int32_t* at(std::size_t n, Index t, Index u) const;
  /// All integers [rows,Hkv,width], and the row of token t of sequence number n.
  const std::vector<std::int32_t>& values() const { return values_; }
  Index row(std::size_t n, Index t) const { return first_rows_[n] + t / tokens_per_row_; }

 private:
  std::vector<std::int32_t> values_;
  std::vector<Index> first_rows_;  // first row of each sequence
  Index heads_ = 1, width_ = 1;
  Index tokens_per_row_ = 1;
};

/// Keys of one row of the batch that a token sees, and how often they count.
struct KeyBlock {
  Range keys;
  Index times = 1;
};

/// Some tokens of sequence number `sequence` and one key head, kTaskTokens at most: a unit of work.
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
  Index count = 0;                       // blocks that count when `counts` is empty
  bool counts_duplicates = true;         // keys of a block that is listed twice count twice
  std::vector<TokenSequence> sequences;  // tokens and blocks of each count from its start
  TokenLists indices, counts;

  /// What token t of sequence n sees by key head u: ascending blocks, the last one up to t.
  std::vector<KeyBlock> blocks(std::size_t n, Index t, Index u) const;
  /// All tokens and key heads, cut into pieces.
  std::vector<TokenTask> tasks() const;
};

/// The choice of blocks by attention over their means; `blocks` has no lists, and its arrays are
/// not read.
struct SelectionProblem {
  const BlockProblem* blocks;
  TensorView query;                        // [B,T,Hq,D]
  TensorView mean_keys;                    // [B,C,Hkv,D] f32: means of the whole blocks of a row
  const std::vector<Index>* first_blocks;  // index in C of each sequence's first block
};

}  // namespace maskctl::attention
