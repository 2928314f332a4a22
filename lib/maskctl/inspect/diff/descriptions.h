// Compares arrays that describe the tokens of one batch: ids, cumulative lengths, positions and
// padding masks must not contradict each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// What an array says of the tokens of a batch.
enum class TokenForm : std::uint8_t {
  kSegments,   // [S] or [B,S]: ids; pad_id is padding, of which ids without it say nothing
  kCuSeqlens,  // [N+1]: cumulative lengths of documents; tokens past the last are in none
  kPositions,  // [S] or [B,S]: documents as documents_from_positions() finds them
  kPadding,    // [S] or [B,S]: nonzero for tokens that are real; says nothing about documents
};
struct TokenArray {
  TokenForm form = TokenForm::kSegments;
  Tensor array;
  std::int32_t pad_id = -1;  // for kSegments
  std::string name;          // for words
};

/// The first token of which two arrays say different things.
struct Contradiction {
  enum class What : std::uint8_t {
    kTokens,      // another number of tokens: `token` is the first that only one of them has
    kRowTokens,   // document `batch` of cumulative lengths and row `batch` of real tokens differ
                  // in length by `count`; `token` is the smaller length
    kPadding,     // the token is real for one and padding for the other
    kStart,       // a document starts here for one, and goes on for the other
    kPaddedEnds,  // the only contradictions: documents of the first array end with tokens that are
                  // padding in the second one, as padded lengths do beside real ones
  };
  What what = What::kTokens;
  std::size_t first = 0, second = 0;  // which arrays; the first says more, real, or a start
  Index batch = 0, token = 0;
  Index count = 0;  // how many tokens these two contradict each other in, in this way
};

/// For each pair of arrays that contradict each other, in their order, the first contradiction:
/// padding before starts. Arrays of one row describe each row of a batch. Cumulative lengths may
/// count the tokens of all rows, one row after another; the real tokens alone, as kernels take them
/// after padding is cut out, if there are as many; or the real tokens of each row as one document.
/// Where a token is padding for any array, starts are not compared. Throws Error(kShape,
/// kInvalidArgument) for arrays that are not of their form.
std::vector<Contradiction> contradictions(std::span<const TokenArray> arrays);

/// "cu.npy says that token 5 is real, mask.npy that it is padding".
std::string contradiction_words(const Contradiction& found, std::span<const TokenArray> arrays);

}  // namespace maskctl
