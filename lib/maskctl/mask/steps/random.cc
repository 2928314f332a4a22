#include "maskctl/mask/steps/random.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/mt19937.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::string words(const Random&) { return "random cells"; }

Meets meets(const Random&) { return Meets::kKeeps; }

namespace {

constexpr std::uint64_t kMostNumpySeed = 0xffffffffU;

/// The cells drawn from numpy's stream in order of batch, head, query and key.
Mask numpy_cells(const MaskShape& shape, const Random& rule) {
  if (rule.seed > kMostNumpySeed) {
    refuse("random",
           fmt::format("seed {}: numpy's stream takes 0 to {}", rule.seed, kMostNumpySeed));
  }
  const Index extents[] = {shape.batch, shape.heads, shape.queries, words_for(shape.keys), 8};
  const auto bytes = checked_product(extents);
  if (!bytes || *bytes > rule.max_bytes) {
    throw Error(Errc::kLimit,
                fmt::format("step random: numpy's stream must be drawn in order and held, which "
                            "takes more than the limit of {} bytes for {}; use stream=jax",
                            rule.max_bytes, shape_text(shape)));
  }
  NumpyRandomState random(static_cast<std::int64_t>(rule.seed));
  std::vector<std::uint8_t> row(as_size(shape.keys));
  const auto stride = as_size(words_for(shape.keys));
  return Mask::make(shape.batch, shape.heads, shape.queries, shape.keys, [&](Index, Index) {
    return stored_rows(shape.queries, shape.keys, true,
                       [&](Range q, std::span<std::uint64_t> words) {
                         for (std::size_t i = 0; i < as_size(q.size()); ++i) {
                           random.bernoulli(1.0 - rule.sparsity, row);
                           pack_bytes(row, words.subspan(i * stride, stride));
                         }
                       });
  });
}

/// The plane of index `plane` = b * H + h. Its draws follow those of all planes with lower indices.
PlanePtr jax_plane(const MaskShape& shape, const Random& rule, Index plane) {
  const auto first =
      static_cast<std::uint64_t>(plane) * static_cast<std::uint64_t>(shape.queries * shape.keys);
  return random_plane(shape.queries, shape.keys, prng_key(rule.seed), first,
                      static_cast<float>(1.0 - rule.sparsity));
}

/// The cell as numpy's stream draws it; this needs all draws before it.
bool numpy_draw(const MaskShape& shape, const Random& rule, const Cell& cell) {
  NumpyRandomState random(static_cast<std::int64_t>(rule.seed));
  std::vector<std::uint8_t> row(as_size(shape.keys));
  const Index rows = (cell.batch * shape.heads + cell.head) * shape.queries + cell.query;
  for (Index i = 0; i <= rows; ++i) random.bernoulli(1.0 - rule.sparsity, row);
  return row[as_size(cell.key)] != 0;
}

}  // namespace

Mask cells(const Random& rule, const MaskShape& shape) {
  if (!(rule.sparsity >= 0.0 && rule.sparsity <= 1.0)) {
    refuse("random",
           fmt::format("sparsity {}: expected 0 (all open) to 1 (all closed)", rule.sparsity));
  }
  if (rule.stream == Random::Stream::kNumpy) return numpy_cells(shape, rule);
  return Mask::make(shape.batch, shape.heads, shape.queries, shape.keys,
                    [&](Index b, Index h) { return jax_plane(shape, rule, b * shape.heads + h); });
}

PairReason reason(const Random& rule, const MaskShape& shape, const Cell& cell) {
  const bool yes =
      rule.stream == Random::Stream::kNumpy
          ? numpy_draw(shape, rule, cell)
          : jax_plane(shape, rule, cell.batch * shape.heads + cell.head)
                    ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
  return {yes, fmt::format("drawn {} (sparsity={}, seed={})", yes ? "open" : "closed",
                           rule.sparsity, rule.seed)};
}

/// Returns a step that is checked in the same way but draws no cells: JAX's stream draws only what
/// is read. With a seed that numpy refuses, keeps numpy's stream so that it is still refused.
Random hollow(const Random& rule) {
  Random out = rule;
  if (out.seed <= kMostNumpySeed) out.stream = Random::Stream::kJax;
  out.max_bytes = 0;
  return out;
}

CellFormula formula(const Random&) { return no_formula("its cells are drawn from a stream"); }

std::optional<Misfit> misfit(const Random& rule, GivenNames) {
  if (rule.stream != Random::Stream::kNumpy || rule.seed <= kMostNumpySeed) return std::nullopt;
  return Misfit{"seed", fmt::format("seed= of random must be 0 to {} for numpy's stream, got {}",
                                    kMostNumpySeed, rule.seed)};
}

void limit(Random& rule, Index max_bytes) { rule.max_bytes = max_bytes; }

/// Adds no edits (steps that may have been meant instead): nobody means other random cells.
void edits(const Random&, StepEdits&) {}

namespace {

constexpr std::array kRandomFields = {
    fields::of<&Random::sparsity>({.name = "sparsity",
                                   .type = FieldType::kReal,
                                   .help = "share of cells that are closed, 0 to 1",
                                   .required = true,
                                   .max = 1}),
    fields::of<&Random::seed>(
        {.name = "seed", .type = FieldType::kSeed, .help = "seed of the stream", .fallback = "0"}),
    fields::of<&Random::stream>(
        {.name = "stream",
         .type = FieldType::kChoice,
         .help = "jax: threefry, computed when read; numpy: the legacy MT19937, drawn and held",
         .fallback = "jax",
         .choices = "jax|numpy"})};

constexpr std::array kRandomNames = {
    StepInfo{.name = "random",
             .kind = StepKind::kAnd,
             .meaning = "keeps random cells, the same for the same seed and shape",
             .formula = "uniform[b,h,q,k] < 1 - sparsity",
             .example = "random:sparsity=0.5,seed=1",
             .args = kRandomFields,
             .synonyms = "bigbird dropout sparse",
             .make = blank<Random>}};
constexpr RuleInfo kRandomRow =
    describe<Random>(kRandomNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Random*) { return kRandomRow; }

}  // namespace maskctl::step
