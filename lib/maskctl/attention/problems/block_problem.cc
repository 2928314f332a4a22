#include "maskctl/attention/problems/block_problem.h"

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

TokenLists::TokenLists(const char* what, const Tensor& array, Index axes, const Dims& d,
                       const std::vector<TokenSequence>& sequences, Index block_size) {
  check_rank(what, &array, axes);
  Index block_rows = 0;  // blocks of queries in one batch row
  for (const TokenSequence& s : sequences) {
    if (s.batch == 0) block_rows += ceil_div(s.tokens.size(), block_size);
  }
  std::vector<Index> expected{d.batch, d.queries, d.kv_heads};
  if (axes == 4) expected.push_back(array.extent(3));
  const bool by_block = array.extent(1) == block_rows && block_rows != d.queries;
  if (by_block) expected[1] = block_rows;
  check_shape(what, array, expected);
  check_integer(what, array);
  values_ = as_int32(array, what);
  heads_ = d.kv_heads;
  width_ = axes == 4 ? array.extent(3) : 1;
  tokens_per_row_ = by_block ? block_size : 1;
  Index packed = 0;
  for (const TokenSequence& s : sequences) {
    const Index in_row = by_block ? packed : s.tokens.begin;
    first_rows_.push_back(s.batch * expected[1] + (s.batch == 0 ? in_row : 0));
    packed += ceil_div(s.tokens.size(), tokens_per_row_);
  }
}

const std::int32_t* TokenLists::at(std::size_t n, Index t, Index u) const {
  return values_.data() + (row(n, t) * heads_ + u) * width_;
}

std::vector<KeyBlock> BlockProblem::blocks(std::size_t n, Index t, Index u) const {
  const std::int32_t* const listed = indices.at(n, t, u);
  const Index wanted = counts.empty() ? count : Index{*counts.at(n, t, u)};
  std::vector<Index> found;
  for (Index i = 0; i < std::min(wanted, indices.width()); ++i) {
    if (listed[i] >= 0 && listed[i] * block_size <= t) found.push_back(listed[i]);
  }
  std::sort(found.begin(), found.end());
  const Index start = sequences[n].tokens.begin;
  std::vector<KeyBlock> merged;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0 && found[i] == found[i - 1]) {
      if (counts_duplicates) ++merged.back().times;
      continue;
    }
    const Index first = found[i] * block_size;
    merged.push_back({{start + first, start + std::min(first + block_size, t + 1)}, 1});
  }
  return merged;
}

std::vector<TokenTask> BlockProblem::tasks() const {
  std::vector<TokenTask> pieces;
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    const Index tokens = sequences[n].tokens.size();
    for (Index u = 0; u < d.kv_heads; ++u) {
      for (Index t = 0; t < tokens; t += kTaskTokens) {
        pieces.push_back({n, u, {t, std::min(t + kTaskTokens, tokens)}});
      }
    }
  }
  return pieces;
}

}  // namespace maskctl::attention
