#include "maskctl/mask/steps/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <span>

#include "maskctl/base/text.h"
#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/inner_chain.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {
namespace {

Index product_of(std::span<const Index> extents) {
  return std::accumulate(extents.begin(), extents.end(), Index{1}, std::multiplies<>{});
}

/// How often each dimension is divided in two.
std::vector<Index> bits_of(std::span<const Index> shape) {
  std::vector<Index> out;
  for (const Index extent : shape) {
    out.push_back(static_cast<Index>(std::bit_width(as_size(extent))) - 1);
  }
  return out;
}

/// Adds the coordinates of a cell of a grid, each times that of `unit`.
void add_coordinates(Index cell, std::span<const Index> shape, std::span<const Index> unit,
                     std::vector<Index>& out) {
  for (std::size_t i = shape.size(); i-- > 0; cell /= shape[i]) {
    out[i] += cell % shape[i] * unit[i];
  }
}

std::vector<Index> coordinates_of(const Grid& rule, Index token) {
  const std::size_t dimensions = rule.shape.size();
  std::vector<Index> out(dimensions);
  if (rule.order == Grid::Order::kMorton) {
    const auto bits = static_cast<std::size_t>(std::bit_width(as_size(product_of(rule.shape)))) - 1;
    for (std::size_t bit = 0; bit < bits; ++bit) {
      out[dimensions - 1 - bit % dimensions] |= (token >> bit & 1) << bit / dimensions;
    }
    return out;
  }
  const std::vector<Index> ones(dimensions, 1);
  const std::vector<Index>& tile = rule.tile.empty() ? ones : rule.tile;
  std::vector<Index> tiles;
  for (std::size_t i = 0; i < dimensions; ++i) tiles.push_back(rule.shape[i] / tile[i]);
  const Index cells = product_of(tile);
  add_coordinates(token / cells, tiles, tile, out);
  add_coordinates(token % cells, tile, ones, out);
  return out;
}

}  // namespace

bool operator==(const Grid& a, const Grid& b) {
  return a.shape == b.shape && a.tile == b.tile && a.order == b.order && a.axis == b.axis &&
         a.origin == b.origin && a.chain == b.chain;
}

Range Grid::tokens() const { return {origin, origin + product_of(shape)}; }

Index Grid::place(Index token) const {
  const std::vector<Index> at = coordinates_of(*this, token);
  if (axis) return at[as_size(*axis)];
  Index out = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) out = out * shape[i] + at[i];
  return out;
}

Indices Grid::places() const {
  const Index size = tokens().size();
  if (!axis && tile.empty() && order == Order::kRows) return {{0, 1, size}};
  Indices out;
  for (Index token = 0; token < size; ++token) append_index(place(token), out);
  return out;
}

Meets meets(const Grid&) { return Meets::kOwn; }

std::optional<Misfit> misfit(const Grid& rule, GivenNames) {
  const std::size_t dimensions = rule.shape.size();
  Index tokens = 1;
  for (const Index extent : rule.shape) {
    if (extent < 1 || tokens > kMaxArgument / extent) {
      return Misfit{"shape", fmt::format("shape={} of grid: expected extents of at least 1 and "
                                         "fewer than 2^31 tokens",
                                         list_text(rule.shape))};
    }
    tokens *= extent;
  }
  if (rule.axis && *rule.axis >= std::ssize(rule.shape)) {
    return Misfit{"axis", fmt::format("axis={} of grid: expected one of 0 to {}", *rule.axis,
                                      std::ssize(rule.shape) - 1)};
  }
  bool divides = rule.tile.empty() || rule.tile.size() == dimensions;
  for (std::size_t i = 0; divides && i < rule.tile.size(); ++i) {
    divides = rule.tile[i] >= 1 && rule.shape[i] % rule.tile[i] == 0;
  }
  if (!divides) {
    return Misfit{"tile", fmt::format("tile={} of grid: expected as many extents as shape={} has, "
                                      "which divide them",
                                      list_text(rule.tile), list_text(rule.shape))};
  }
  if (rule.order != Grid::Order::kMorton) return std::nullopt;
  if (!rule.tile.empty()) return Misfit{"tile", "tile= of grid says the order: leave out order="};
  const std::vector<Index> bits = bits_of(rule.shape);
  const Index all = std::accumulate(bits.begin(), bits.end(), Index{0});
  const auto turns = static_cast<Index>(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const Index turn = turns - 1 - static_cast<Index>(i);
    const bool filled = rule.shape[i] == Index{1} << bits[i];
    if (filled && bits[i] == (all - turn + turns - 1) / turns) continue;
    return Misfit{"order", fmt::format("Morton's curve does not fill shape={}: expected equal "
                                       "powers of 2, of which the last may be twice the first",
                                       list_text(rule.shape))};
  }
  return std::nullopt;
}

bool Grid::fits() const { return !misfit(*this, {}); }

namespace {

/// The cells of a smaller plane, from token `at.begin` on; all others are closed.
class PlacedPlane final : public ComputedRows {
 public:
  PlacedPlane(Index tokens, PlanePtr part, Range at)
      : ComputedRows(tokens, tokens), part_(std::move(part)), at_(at) {}
  Index bytes() const override { return static_cast<Index>(sizeof(*this)) + part_->bytes(); }

 private:
  void row(Index q, std::vector<Run>& runs) const override {
    if (!at_.contains(q)) return;
    const Index first = at_.begin;
    part_->rows({q - first, q - first + 1}, [&](Range, const Keys& keys) {
      std::vector<Run> scratch;
      for (const Run& run : as_runs(keys, scratch)) {
        runs.push_back({static_cast<std::int32_t>(run.begin + first),
                        static_cast<std::int32_t>(run.end + first)});
      }
    });
  }

  PlanePtr part_;
  Range at_;
};

/// How many tokens the chain is applied to.
Index chain_tokens(const Grid& rule) {
  return rule.axis ? rule.shape[as_size(*rule.axis)] : rule.tokens().size();
}

}  // namespace

Mask apply_rule(const Grid& rule, const Mask& mask) {
  if (const auto bad = misfit(rule, {})) refuse("grid", bad->message);
  const Range tokens = rule.tokens();
  if (mask.queries() != mask.keys() || tokens.begin < 0 || tokens.end > mask.keys()) {
    refuse("grid",
           fmt::format("tokens {} to {}: the mask has {} and {}, expected as many of both "
                       "and all of the grid",
                       tokens.begin, tokens.end - 1, counted(mask.queries(), "query", "queries"),
                       counted(mask.keys(), "key")));
  }
  const Indices places = rule.places();
  return apply_to_tokens(rule.chain, mask, chain_tokens(rule), "grid", [&](const Mask& all) {
    return all.map([&](const PlanePtr& plane) -> PlanePtr {
      PlanePtr part = taken(plane, places, places);
      if (tokens.size() == mask.keys()) return part;
      return std::make_shared<PlacedPlane>(mask.keys(), std::move(part), tokens);
    });
  });
}

std::optional<Inside> inside(const Grid& rule, const MaskShape& shape, const Cell& cell) {
  const Range tokens = rule.tokens();
  if (!tokens.contains(cell.query) || !tokens.contains(cell.key)) return std::nullopt;
  const Index n = chain_tokens(rule);
  return Inside{{shape.batch, shape.heads, n, n},
                {cell.batch, cell.head, rule.place(cell.query - tokens.begin),
                 rule.place(cell.key - tokens.begin)}};
}

PairReason reason(const Grid& rule, const MaskShape&, const Cell& cell) {
  const Range tokens = rule.tokens();
  for (const auto& [side, token] : {std::pair{"query", cell.query}, std::pair{"key", cell.key}}) {
    if (tokens.contains(token)) continue;
    return {false, fmt::format("{} {} is outside of the grid of tokens {} to {}", side, token,
                               tokens.begin, tokens.end - 1)};
  }
  const auto at = [&](Index token) {
    return joined(coordinates_of(rule, token - tokens.begin), ",");
  };
  return {true, fmt::format("query {} is at ({}), key {} at ({})", cell.query, at(cell.query),
                            cell.key, at(cell.key))};
}

CellFormula formula(const Grid&) { return no_formula("it applies a chain"); }

/// The extents divide the number of tokens, so that all of them take the bits of one number.
Index bits(const Grid& rule, const ArgumentBits& bits) {
  return bits.number() * (rule.tile.empty() ? 1 : 2) + bits.signed_number(rule.origin);
}

void edits(const Grid& rule, StepEdits& edits) {
  edits.without(rule);
  edits.inside(rule);
}

namespace {

constexpr std::array kGridFields = {
    fields::of<&Grid::shape>({.name = "shape",
                              .type = FieldType::kLengths,
                              .help = "extents of the grid, the last fastest: 13+30+45",
                              .required = true,
                              .min = 1}),
    fields::of<&Grid::axis>(
        {.name = "axis", .help = "the dimension that the chain is about, from 0; left out: all"}),
    fields::of<&Grid::tile>({.name = "tile",
                             .type = FieldType::kLengths,
                             .help = "extents of tiles whose tokens follow each other: 2+2",
                             .min = 1}),
    fields::of<&Grid::order>({.name = "order",
                              .type = FieldType::kChoice,
                              .help = "the order of the tokens: by rows, or along Morton's curve",
                              .fallback = "rows",
                              .choices = "rows|morton"}),
    fields::of<&Grid::origin>({.name = "origin",
                               .help = "the first token of the grid; those outside see nothing",
                               .fallback = "0"})};

constexpr std::array kGridNames = {
    StepInfo{.name = "grid",
             .kind = StepKind::kOwn,
             .meaning = "applies a chain to tokens as cells of a grid: along an axis, or in tiles",
             .formula = "chain(mask)[place[q], place[k]]",
             .example = "grid:shape=4+6,axis=1{window:both=1}",
             .args = kGridFields,
             .synonyms = "axial axis along tile tiled morton z-order frames video",
             .make = blank<Grid>,
             .chain = chain_in<Grid>}};
constexpr RuleInfo kGridRow = describe<Grid>(kGridNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Grid*) { return kGridRow; }

}  // namespace maskctl::step
