// Writes a formula as a mask function of flash-attn 4, in CuTe's language; private to the layer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace maskctl {

/// The body of a function of b, h, q_idx, kv_idx, seqlen_info and aux_tensors, in which whatever is
/// computed with is a TensorSSA: numbers and elements of arrays are made such by
/// utils.scalar_to_ssa(), and indices of arrays are their element 0. "not" is written as other
/// comparisons.
struct CuteCode {
  std::vector<std::string> lines;
  std::vector<std::string> arrays;  // aux_tensors[i] is arrays[i]
  bool rounds = false;              // divides what may be below 0
};

/// The code of Formula::expression.
CuteCode cute_code(std::string_view expression);

}  // namespace maskctl
