// Transforms as data: a step is one rule with its arguments; a chain is a list of steps.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

/// Where the diagonal of a non-square mask lies. kTopLeft: query i is aligned with key i;
/// kBottomRight: with key i + K - Q. kUnset is an error when Q != K.
enum class Align : std::uint8_t { kUnset, kTopLeft, kBottomRight };

/// An array and the text that named it (a SOURCE, or a list such as "3+5"), from which a chain is
/// printed.
struct NamedArray {
  Tensor array;
  std::string text;
  friend bool operator==(const NamedArray& a, const NamedArray& b);
};

namespace step {

// Steps that keep only cells of the current mask (and).

/// Keeps k <= q + shift(align) + offset. `offsets`: [1] or one per batch.
struct Causal {
  Align align = Align::kUnset;
  NamedArray offsets;  // empty means 0
  friend bool operator==(const Causal&, const Causal&) = default;
};
/// Keeps -left <= k - (q + shift + offset) <= right; nullopt = unbounded.
/// keys=N reads as left = N - 1, right = 0; both=N as left = right = N.
struct Window {
  std::optional<Index> left, right;
  Align align = Align::kUnset;
  Index offset = 0;
  enum class Spelling : std::uint8_t { kSides, kKeys, kBoth } spelling = Spelling::kSides;
  NamedArray offsets = {};  // [B], one per batch, replaces `offset` unless empty
  friend bool operator==(const Window&, const Window&) = default;
};
/// Keeps floor((q + shift + offset - origin) / size) == floor((k - origin) / size); not causal by
/// itself. Without align, rows count from the first (shift 0), even when Q != K.
struct Chunk {
  Index size = 0;
  Index offset = 0;
  Align align = Align::kUnset;
  NamedArray origins = {};  // the key where a chunk starts: [1] or one per batch; empty: 0
  friend bool operator==(const Chunk&, const Chunk&) = default;
};
/// Keeps cells whose ids are equal and not pad_id. Ids are [S] or [B,S].
struct Document {
  NamedArray q, kv;
  bool shared = false;  // one SOURCE for both sides
  std::int32_t pad_id = -1;
  friend bool operator==(const Document&, const Document&) = default;
};
/// Document lengths, shared by all batches: doc:lens=3+5. Tokens past the last are closed.
struct DocumentLengths {
  std::vector<Index> lengths;
  friend bool operator==(const DocumentLengths&, const DocumentLengths&) = default;
};
/// Keeps valid positions. `valid` is [S] or [B,S] flags if bool or 2-D; otherwise it is [B] lengths
/// of the valid part at the start (kRight padding) or the end (kLeft). both: queries must be valid
/// too.
struct Pad {
  NamedArray valid;
  bool is_lengths = false;
  bool left = false;
  bool both = false;
  friend bool operator==(const Pad&, const Pad&) = default;
};
/// Keeps (k - q) divisible by stride.
struct Dilated {
  Index stride = 1;
  friend bool operator==(const Dilated&, const Dilated&) = default;
};
/// Keeps cells whose block is nonzero. map: [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb].
struct Block {
  NamedArray map;
  Index q_size = 0;
  Index k_size = 0;
  friend bool operator==(const Block&, const Block&) = default;
};
/// Keeps jax.random.bernoulli(PRNGKey(seed), 1 - sparsity, [B,H,Q,K]), computed when read; or
/// numpy's legacy np.random.seed(seed); np.random.binomial(1, 1 - sparsity, [B,H,Q,K]), whose cells
/// can only be drawn in order: they are drawn once and stored as bits, with seed below 2^32.
struct Random {
  double sparsity = 0.5;
  std::uint64_t seed = 0;
  enum class Stream : std::uint8_t { kJax, kNumpy } stream = Stream::kJax;
  Index max_bytes = Index{4} << 30;  // limit for the bits that kNumpy stores
  friend bool operator==(const Random&, const Random&) = default;
};

// Steps that open cells (or).

/// Opens keys [0, n) for every query: a shared prefix (prefix-LM), or attention sinks.
struct Prefix {
  Index n = 0;
  NamedArray each = {};  // [B], one per batch, replaces `n` unless empty
  friend bool operator==(const Prefix&, const Prefix&) = default;
};
struct Sinks {
  Index n = 0;
  NamedArray each = {};
  friend bool operator==(const Sinks&, const Sinks&) = default;
};
/// Opens the rows and the columns of these tokens.
struct Global {
  std::vector<Range> tokens;
  friend bool operator==(const Global&, const Global&) = default;
};
/// Opens or closes every cell of the given queries and keys; a side without ranges means all. For
/// manual edits: rows, columns, rectangles and single cells. Ranges must lie in the mask.
struct Region {
  bool open = true;
  std::vector<Range> q, k;
  friend bool operator==(const Region&, const Region&) = default;
};

// Steps with a rule of their own.

/// Combines the current mask with another one.
struct Combine {
  Op op = Op::kAnd;
  Mask mask;
  std::string text;
  friend bool operator==(const Combine& a, const Combine& b);  // equal cells
};
/// Opens cells of equal token types; zero: the side on which type 0 matches nothing.
struct Tokens {
  NamedArray q, kv;
  bool shared = true;
  enum class Join : std::uint8_t { kUnion, kIntersect, kReplace } join = Join::kUnion;
  enum class Zero : std::uint8_t { kQ, kKv, kBoth, kNone } zero = Zero::kQ;
  friend bool operator==(const Tokens&, const Tokens&) = default;
};
struct Not {
  friend bool operator==(const Not&, const Not&) = default;
};
struct Slice {
  std::optional<Range> b, h, q, k;
  friend bool operator==(const Slice&, const Slice&) = default;
};
/// Closes keys >= length. With q_len, also keeps only that many last queries of each batch, the
/// last one at end - 1 (end = the length unless given); with window, only that many last keys.
struct KvLengths {
  NamedArray lengths;  // [1] or [B]
  std::optional<Index> q_len, window;
  NamedArray end;  // [1] or [B]; empty means the lengths
  friend bool operator==(const KvLengths&, const KvLengths&) = default;
};

}  // namespace step

struct Step;
using Chain = std::vector<Step>;

namespace step {
/// Applies a chain to some heads or batches only and leaves the rest. The chain must keep Q and K.
struct Scoped {
  enum class Axis : std::uint8_t { kHeads, kBatch } axis = Axis::kHeads;
  std::vector<Range> members;
  Chain chain;
  friend bool operator==(const Scoped& a, const Scoped& b);
};
/// Applies a chain inside each document, as if it were a mask of its own (its queries x its keys);
/// all other cells are closed. Documents are lengths from the first token on, or ids [S] or [B,S]
/// of which equal ones are adjacent; queries and keys of one id form a document, and tokens of
/// pad_id are in none.
struct Within {
  std::vector<Index> lengths, kv_lengths;  // empty kv_lengths mean those of the queries
  NamedArray q, kv;                        // ids instead of lengths
  bool shared = true;                      // one SOURCE of ids for both sides
  std::int32_t pad_id = -1;
  Chain chain;
  friend bool operator==(const Within& a, const Within& b);
};
}  // namespace step

struct Step {
  using Rule =
      std::variant<step::Causal, step::Window, step::Chunk, step::Document, step::DocumentLengths,
                   step::Pad, step::Dilated, step::Block, step::Random, step::Prefix, step::Sinks,
                   step::Global, step::Region, step::Combine, step::Tokens, step::Not, step::Slice,
                   step::KvLengths, step::Scoped, step::Within>;
  Rule rule;
  friend bool operator==(const Step&, const Step&) = default;
};

/// Applies one step, or a chain from left to right. Errors name the rule and what does not fit.
/// Throws Error(kShape, kInvalidArgument).
Mask apply(const Mask& mask, const Step& step);
Mask apply(Mask mask, std::span<const Step> chain);

}  // namespace maskctl
