// Compares arrays that describe the tokens of one batch: ids, cumulative lengths, positions and
// padding masks must not contradict each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// What an array says of the tokens of a batch.
enum class TokenForm : std::uint8_t {
  kSegments,   // [S] or [B,S]: ids; pad_id is padding
  kCuSeqlens,  // [N+1]: cumulative lengths of the documents of one row; tokens past the last are
               // none
  kPositions,  // [S] or [B,S]: a document starts where a position does not follow the one before
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
    kTokens,   // another number of tokens: `token` is the first that only one of them has
    kPadding,  // the token is real for one and padding for the other
    kStart,    // a document starts here for one, and goes on for the other
  };
  What what = What::kTokens;
  std::size_t first = 0, second = 0;  // which arrays; the first says more, real, or a start
  Index batch = 0, token = 0;
  Index count = 0;  // how many tokens these two contradict each other in, in this way
};

/// Nothing if no two arrays contradict each other. Of several contradictions, the first pair of
/// arrays counts, and padding before starts. Arrays of one row describe each row of a batch, except
/// cumulative lengths beside arrays of several rows, of which each document is the real tokens of
/// one row, and cumulative lengths that count the real tokens of a padding mask, which they fit.
/// Positions say nothing about padding, and where a token is padding for any array, starts
/// are not compared. Throws Error(kShape, kInvalidArgument) for arrays that are not of their form.
std::optional<Contradiction> contradiction(std::span<const TokenArray> arrays);

/// "cu.npy says that token 5 is real, mask.npy that it is padding".
std::string contradiction_words(const Contradiction& found, std::span<const TokenArray> arrays);

}  // namespace maskctl
