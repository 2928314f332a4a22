// Transforms as data: a step is one rule with its arguments bound; a chain is a list of steps.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Where the diagonal of a non-square mask lies: kTopLeft: query i sits at key i; kBottomRight: at
/// key i + K - Q. kUnset is an error when Q != K.
enum class Align : std::uint8_t { kUnset, kTopLeft, kBottomRight };

/// An array and the text that named it (a SOURCE, or a list as "3+5"), so that a chain prints back.
struct NamedArray {
  Tensor array;
  std::string text;
};

namespace step {

// Steps that keep only cells of the current mask (and).

/// Keeps k <= q + shift(align) + offset. `offsets`: [1] or one per batch.
struct Causal {
  Align align = Align::kUnset;
  NamedArray offsets;  // empty array: 0
};
/// Keeps -left <= k - (q + shift + offset) <= right; nullopt = unbounded.
/// keys=N reads as left = N - 1, right = 0; both=N as left = right = N.
struct Window {
  std::optional<Index> left, right;
  Align align = Align::kUnset;
  Index offset = 0;
  enum class Spelling : std::uint8_t { kSides, kKeys, kBoth } spelling = Spelling::kSides;
};
/// Keeps floor((q + offset) / size) == floor(k / size); not causal by itself.
struct Chunk {
  Index size = 0;
  Index offset = 0;
};
/// Keeps equal ids, neither being pad_id. Ids are [S] or [B,S].
struct Document {
  NamedArray q, kv;
  bool shared = false;  // one SOURCE for both sides
  std::int32_t pad_id = -1;
};
/// Document lengths, shared by all batches: doc:lens=3+5. Tokens past the last are closed.
struct DocumentLengths {
  std::vector<Index> lengths;
};
/// Keeps valid positions. `valid`: [S] or [B,S] flags when bool or 2-D; otherwise [B] lengths of
/// the valid part that starts (kRight padding) or ends (kLeft) the sequence. both: queries too.
struct Pad {
  NamedArray valid;
  bool is_lengths = false;
  bool left = false;
  bool both = false;
};
/// Keeps (k - q) divisible by stride.
struct Dilated {
  Index stride = 1;
};
/// Keeps cells whose block is nonzero. map: [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb].
struct Block {
  NamedArray map;
  Index q_size = 0;
  Index k_size = 0;
};
/// Keeps jax.random.bernoulli(PRNGKey(seed), 1 - sparsity, [B,H,Q,K]), computed when read; or of
/// numpy's legacy stream np.random.seed(seed); np.random.binomial(1, 1 - sparsity, [B,H,Q,K]),
/// whose cells can only be drawn in order: drawn once and held as bits, seed below 2^32.
struct Random {
  double sparsity = 0.5;
  std::uint64_t seed = 0;
  enum class Stream : std::uint8_t { kJax, kNumpy } stream = Stream::kJax;
  Index max_bytes = Index{4} << 30;  // limit of the bits that kNumpy holds
};

// Steps that open cells (or).

/// Opens keys [0, n) for every query: a prefix all may read (prefix-LM), or attention sinks.
struct Prefix {
  Index n = 0;
};
struct Sinks {
  Index n = 0;
};
/// Opens the rows and the columns of these tokens.
struct Global {
  std::vector<Range> tokens;
};

// Steps with a rule of their own.

/// The current mask op another one.
struct Combine {
  Op op = Op::kAnd;
  Mask mask;
  std::string text;
};
/// Equal token types, joined to the current mask; zero: the side on which type 0 matches nothing.
struct Tokens {
  NamedArray q, kv;
  bool shared = true;
  enum class Join : std::uint8_t { kUnion, kIntersect, kReplace } join = Join::kUnion;
  enum class Zero : std::uint8_t { kQ, kKv, kBoth, kNone } zero = Zero::kQ;
};
struct Not {};
struct Slice {
  std::optional<Range> b, h, q, k;
};
/// Closes keys >= length; with q_len keeps that many last queries of each batch, the last at
/// end - 1 (end = the length unless given); with window keeps that many last keys.
struct KvLengths {
  NamedArray lengths;  // [1] or [B]
  std::optional<Index> q_len, window;
  NamedArray end;  // empty: the lengths; else [1] or [B]
};

}  // namespace step

struct Step;
using Chain = std::vector<Step>;

namespace step {
/// Applies a chain to some heads or batches only; the rest stays. The chain must keep Q and K.
struct Scoped {
  enum class Axis : std::uint8_t { kHeads, kBatch } axis = Axis::kHeads;
  std::vector<Range> members;
  Chain chain;
};
}  // namespace step

struct Step {
  using Rule = std::variant<step::Causal, step::Window, step::Chunk, step::Document,
                            step::DocumentLengths, step::Pad, step::Dilated, step::Block,
                            step::Random, step::Prefix, step::Sinks, step::Global, step::Combine,
                            step::Tokens, step::Not, step::Slice, step::KvLengths, step::Scoped>;
  Rule rule;
};

/// One step, or all from left to right. A message names the rule and what does not fit.
/// Throws Error(kShape, kInvalidArgument).
Mask apply(const Mask& mask, const Step& step);
Mask apply(Mask mask, std::span<const Step> chain);

}  // namespace maskctl
