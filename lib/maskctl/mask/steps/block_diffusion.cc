// block-diffusion: the mask for training by block diffusion. The first half of the tokens is a
// noised copy of the sequence, the second half is the clean sequence (BD3-LM, arXiv:2503.09573,
// figure 3; SDAR and DFlash train so too).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// With n = K / 2 and blocks of `size` tokens in each half: a noised query sees the noised keys of
/// its own block and the clean keys of the blocks before it, a clean one the clean keys of its own
/// block and of those before it.
struct BlockDiffusion {
  Index size = 0;
  friend bool operator==(const BlockDiffusion&, const BlockDiffusion&) = default;
};
const RuleInfo& row(const BlockDiffusion*);

std::string words(const BlockDiffusion& rule) {
  return fmt::format("block diffusion of {} tokens", rule.size);
}

Meets meets(const BlockDiffusion&) { return Meets::kKeeps; }

Mask cells(const BlockDiffusion& rule, const MaskShape& shape) {
  if (shape.queries != shape.keys || shape.keys % 2 != 0) {
    refuse("block-diffusion",
           fmt::format("{}: the noised tokens and then the clean ones are expected, as many "
                       "queries as keys and an even number of both",
                       shape_text(shape)));
  }
  if (rule.size < 1) {
    refuse("block-diffusion", fmt::format("size {}: expected at least 1", rule.size));
  }
  const Index n = shape.keys / 2, size = std::min(rule.size, std::max<Index>(n, 1));
  std::vector<Slab> slabs;
  for (Index first = 0; first < n; first += size) {
    const Index end = std::min(first + size, n);
    slabs.push_back({{first, end}, {{first, end, 0, 0}, {n, n + first, 0, 0}}});
  }
  for (Index first = 0; first < n; first += size) {
    const Index end = std::min(first + size, n);
    slabs.push_back({{n + first, n + end}, {{n, n + end, 0, 0}}});
  }
  return Mask(bands(shape.queries, shape.keys, slabs));
}

PairReason reason(const BlockDiffusion& rule, const MaskShape& shape, const Cell& cell) {
  const Index n = shape.keys / 2;
  const bool clean_query = cell.query >= n, clean_key = cell.key >= n;
  const Index q = cell.query % n / rule.size, k = cell.key % n / rule.size;
  const bool open = clean_query ? clean_key && k <= q : clean_key ? k < q : k == q;
  const auto half = [](bool clean) { return clean ? "clean" : "noised"; };
  return {open,
          fmt::format("query {} is in {} block {}, key {} in {} block {} (size={})", cell.query,
                      half(clean_query), q, cell.key, half(clean_key), k, rule.size)};
}

Expr formula(const BlockDiffusion& rule) {
  const Expr n = expr::floor_divide(expr::keys(), 2);
  const auto block = [&](const Expr& token) {
    return expr::floor_divide(expr::modulo(token, n), rule.size);
  };
  const Expr q = block(expr::query()), k = block(expr::key());
  const Expr clean_query = n <= expr::query(), clean_key = n <= expr::key();
  return expr::where(clean_query, clean_key && k <= q, expr::where(clean_key, k < q, k == q));
}

/// Guesses the block size as the number of keys that most rows of the noised half see in that half.
std::vector<Chain> guesses(const BlockDiffusion*, const SampledRows& rows) {
  const Index n = rows.keys() / 2;
  if (rows.queries() != rows.keys() || rows.keys() % 2 != 0 || n < 2) return {};
  Votes sizes;
  for (Index i = 0; i < rows.size() && rows[i].query < n; ++i) {
    for (const Run& run : rows[i].runs) {
      // The last block touches the clean keys.
      const Index end = std::min<Index>(run.end, n);
      if (run.begin <= rows[i].query && rows[i].query < end) sizes.add(end - run.begin);
    }
  }
  const auto size = sizes.majority();
  if (!size || *size >= n) return {};
  return {{Step(BlockDiffusion{*size})}};
}

/// Noised tokens are to predict the clean ones of their own block, and see none after it.
Mask hides(const BlockDiffusion& rule, const MaskShape& shape) {
  const Index n = shape.keys / 2;
  std::vector<Slab> slabs;
  for (Index first = 0; first < n; first += rule.size) {
    slabs.push_back({{first, std::min(first + rule.size, n)}, {{n + first, 2 * n, 0, 0}}});
  }
  return Mask(bands(shape.queries, shape.keys, slabs));
}

namespace {

constexpr std::array kBlockDiffusionFields = {fields::of<&BlockDiffusion::size>(
    {.name = "size", .help = "tokens in a block of each half", .required = true, .min = 1})};

constexpr std::array kBlockDiffusionNames = {
    StepInfo{.name = "block-diffusion",
             .kind = StepKind::kAnd,
             .meaning = "keeps what noised tokens, and then the clean ones, see in block diffusion",
             .formula = "noised sees noised of its block and clean of blocks before, clean sees "
                        "clean up to its block",
             .example = "block-diffusion:size=4",
             .args = kBlockDiffusionFields,
             .noun = "block diffusion",
             .synonyms = "bd3lm bd3lms diffusion sdar",
             .make = blank<BlockDiffusion>}};
constexpr RuleInfo kBlockDiffusionRow =
    describe<BlockDiffusion>(kBlockDiffusionNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const BlockDiffusion*) { return kBlockDiffusionRow; }

}  // namespace maskctl::step
