#include "maskctl/inspect/why/why_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/mt19937.h"
#include "maskctl/mask/arrays/elements.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// The result of a rule that keeps or opens some cells: whether it holds for the pair, and why.
struct RuleResult {
  bool yes = false;
  std::string reason;
};

Index shift_of(const PairShape& shape, Align align) {
  return align == Align::kBottomRight ? shape.keys - shape.queries : 0;
}

std::span<const std::byte> bytes_of(const Tensor& array, Index i) {
  const std::size_t size = as_size(size_bytes(array.dtype()));
  return array.bytes().subspan(as_size(i) * size, size);
}

/// Element i of an array of whole numbers.
Index element(const Tensor& array, Index i) {
  Tensor one(array.dtype(), {1});
  std::ranges::copy(bytes_of(array, i), one.bytes().begin());
  return as_int64(one, "values").front();
}

/// True when element i is not 0. Reads only that element, however large the array is.
bool is_set(const Tensor& array, Index i) {
  return first_nonzero(array.dtype(), bytes_of(array, i)).has_value();
}

/// The value of batch b in an array [1] or [B].
Index of_batch(const Tensor& array, Index b) {
  return element(array, array.elements() == 1 ? 0 : b);
}

/// The index of token i of batch b in an array [S], [1,S] or [B,S].
Index place_of_token(const Tensor& array, Index b, Index i) {
  const Index length = array.extent(array.rank() - 1);
  return array.elements() == length ? i : b * length + i;
}

Index of_token(const Tensor& array, Index b, Index i) {
  return element(array, place_of_token(array, b, i));
}

/// For example " = query 5 + K - Q 4 + offset 2", for a diagonal that is shifted.
std::string diagonal_text(const Cell& cell, Index shift, Index offset) {
  if (shift == 0 && offset == 0) return "";
  std::string out = fmt::format(" (query {}", cell.query);
  if (shift != 0) out += fmt::format(" {} {} from K - Q", shift < 0 ? '-' : '+', std::abs(shift));
  if (offset != 0)
    out += fmt::format(" {} {} from offset", offset < 0 ? '-' : '+', std::abs(offset));
  return out + ")";
}

RuleResult holds(const step::Causal& rule, const PairShape& shape, const Cell& cell) {
  const bool moved = rule.offsets.array.elements() > 0;
  const Index offset = moved ? of_batch(rule.offsets.array, cell.batch) : 0;
  const Index shift = shift_of(shape, rule.align);
  const Index last = cell.query + shift + offset;
  const Index past = cell.key - last;
  return {past <= 0, fmt::format("the last key of query {} is {}{}: key {} is {}", cell.query, last,
                                 diagonal_text(cell, shift, offset), cell.key,
                                 past > 0    ? fmt::format("{} past it", past)
                                 : past == 0 ? std::string("the one")
                                             : fmt::format("{} before it", -past))};
}

RuleResult holds(const step::Window& rule, const PairShape& shape, const Cell& cell) {
  const Index shift = shift_of(shape, rule.align);
  const bool listed = rule.offsets.array.elements() > 0;
  const Index offset = listed ? of_batch(rule.offsets.array, cell.batch) : rule.offset;
  const Index centre = cell.query + shift + offset;
  const Index distance = cell.key - centre;
  const auto side = distance < 0 ? rule.left : rule.right;
  const std::string where = shift == 0 && offset == 0
                                ? fmt::format("query {}", cell.query)
                                : fmt::format("{}{}", centre, diagonal_text(cell, shift, offset));
  if (distance == 0) return {true, fmt::format("key {} is the key at {}", cell.key, where)};
  const Index away = std::abs(distance);
  const char* name = distance < 0 ? "left" : "right";
  return {!side || away <= *side, fmt::format("key {} is {} {} of {}, {}={}", cell.key, away, name,
                                              where, name, side ? std::to_string(*side) : "none")};
}

RuleResult holds(const step::Chunk& rule, const PairShape& shape, const Cell& cell) {
  const Index shift = shift_of(shape, rule.align);
  const bool listed = rule.origins.array.elements() > 0;
  const Index origin = listed ? of_batch(rule.origins.array, cell.batch) : 0;
  const Index q = floor_div(cell.query + shift + rule.offset - origin, rule.size);
  const Index k = floor_div(cell.key - origin, rule.size);
  std::string moved =
      shift == 0 ? "" : fmt::format(" {} {} from K - Q", shift < 0 ? '-' : '+', std::abs(shift));
  if (rule.offset != 0) moved += fmt::format(" + offset {}", rule.offset);
  const std::string from = origin == 0 ? "" : fmt::format(", origin={}", origin);
  return {q == k, fmt::format("query {}{} is in chunk {}, key {} in chunk {} (size={}{})",
                              cell.query, moved, q, cell.key, k, rule.size, from)};
}

RuleResult holds(const step::Document& rule, const PairShape&, const Cell& cell) {
  const Tensor& kv = rule.shared ? rule.q.array : rule.kv.array;
  const Index q = of_token(rule.q.array, cell.batch, cell.query);
  const Index k = of_token(kv, cell.batch, cell.key);
  std::string reason = fmt::format("query {} has id {}, key {} id {}", cell.query, q, cell.key, k);
  const bool pad = q == rule.pad_id || k == rule.pad_id;
  if (pad) reason += fmt::format(", and {} is padding", rule.pad_id);
  return {q == k && !pad, std::move(reason)};
}

/// "document 2 [9, 15)", or "past the last document".
std::string document_text(const std::vector<Index>& lengths, Index token, Index& number) {
  Index start = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (token < start + lengths[i]) {
      number = static_cast<Index>(i);
      return fmt::format("in document {} [{}, {})", i, start, start + lengths[i]);
    }
    start += lengths[i];
  }
  return fmt::format("past the last document, which ends at {}", start);
}

RuleResult holds(const step::DocumentLengths& rule, const PairShape&, const Cell& cell) {
  Index q = -1, k = -1;
  const std::string of_query = document_text(rule.lengths, cell.query, q);
  const std::string of_key = document_text(rule.lengths, cell.key, k);
  return {q == k && q >= 0,
          fmt::format("query {} is {}, key {} is {}", cell.query, of_query, cell.key, of_key)};
}

/// Whether token i is valid, and words for it.
RuleResult valid(const step::Pad& rule, const PairShape& shape, Index b, Index i) {
  if (!rule.is_lengths) {
    const bool yes = is_set(rule.valid.array, place_of_token(rule.valid.array, b, i));
    return {yes, yes ? "is flagged valid" : "is flagged as padding"};
  }
  const Index length = of_batch(rule.valid.array, b);
  const Range range = rule.left ? Range{shape.keys - length, shape.keys} : Range{0, length};
  return {range.contains(i),
          fmt::format("is {} the valid [{}, {})", range.contains(i) ? "in" : "outside", range.begin,
                      range.end)};
}

RuleResult holds(const step::Pad& rule, const PairShape& shape, const Cell& cell) {
  const RuleResult key = valid(rule, shape, cell.batch, cell.key);
  std::string reason = fmt::format("key {} {}", cell.key, key.reason);
  if (!rule.both) return {key.yes, std::move(reason)};
  const RuleResult query = valid(rule, shape, cell.batch, cell.query);
  reason += fmt::format(", query {} {}", cell.query, query.reason);
  return {key.yes && query.yes, std::move(reason)};
}

RuleResult holds(const step::Dilated& rule, const PairShape&, const Cell& cell) {
  const Index distance = cell.key - cell.query;
  const bool yes = distance % rule.stride == 0;
  return {yes, fmt::format("key - query = {}, {} multiple of stride={}", distance,
                           yes ? "a" : "not a", rule.stride)};
}

RuleResult holds(const step::Block& rule, const PairShape&, const Cell& cell) {
  const Tensor& map = rule.map.array;
  const Index rank = map.rank();
  const Index heads = rank == 4 ? map.extent(1) : 1;
  const Index b = rank >= 3 && map.extent(0) > 1 ? cell.batch : 0;
  const Index h = heads > 1 ? cell.head : 0;
  const Index rows = map.extent(rank - 2), columns = map.extent(rank - 1);
  const Index row = cell.query / rule.q_size, column = cell.key / rule.k_size;
  const Index at = ((b * heads + h) * rows + row) * columns + column;
  const bool yes = is_set(map, at);
  return {yes, fmt::format("block row {}, column {} of {}x{} is {}", row, column, rule.q_size,
                           rule.k_size, yes ? "set" : "0")};
}

/// One draw from numpy's stream, for which all earlier ones must be drawn.
bool numpy_draw(const step::Random& rule, const PairShape& shape, const Cell& cell) {
  NumpyRandomState random(static_cast<std::int64_t>(rule.seed));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(shape.keys));
  const Index rows = (cell.batch * shape.heads + cell.head) * shape.queries + cell.query;
  for (Index i = 0; i <= rows; ++i) random.bernoulli(1.0 - rule.sparsity, row);
  return row[static_cast<std::size_t>(cell.key)] != 0;
}

RuleResult holds(const step::Random& rule, const PairShape& shape, const Cell& cell) {
  bool yes = false;
  if (rule.stream == step::Random::Stream::kNumpy) {
    yes = numpy_draw(rule, shape, cell);
  } else {
    const Index plane = cell.batch * shape.heads + cell.head;
    const auto first = static_cast<std::uint64_t>(plane * shape.queries * shape.keys);
    yes = random_plane(shape.queries, shape.keys, prng_key(rule.seed), first,
                       static_cast<float>(1.0 - rule.sparsity))
              ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
  }
  return {yes, fmt::format("drawn {} (sparsity={}, seed={})", yes ? "open" : "closed",
                           rule.sparsity, rule.seed)};
}

RuleResult below(const Cell& cell, Index n) {
  return {cell.key < n,
          fmt::format("key {} is {} n={}", cell.key, cell.key < n ? "below" : "not below", n)};
}
/// prefix and sinks.
template <typename Rule>
RuleResult below_first(const Rule& rule, const Cell& cell) {
  const bool listed = rule.each.array.elements() > 0;
  return below(cell, listed ? of_batch(rule.each.array, cell.batch) : rule.n);
}
RuleResult holds(const step::Prefix& rule, const PairShape&, const Cell& cell) {
  return below_first(rule, cell);
}
RuleResult holds(const step::Sinks& rule, const PairShape&, const Cell& cell) {
  return below_first(rule, cell);
}

RuleResult holds(const step::Global& rule, const PairShape&, const Cell& cell) {
  const auto inside = [&](Index i) {
    return std::ranges::any_of(rule.tokens, [i](const Range& range) { return range.contains(i); });
  };
  const bool query = inside(cell.query), key = inside(cell.key);
  return {query || key, fmt::format("query {} is {}global, key {} is {}global", cell.query,
                                    query ? "" : "not ", cell.key, key ? "" : "not ")};
}

RuleResult holds(const step::Tokens& rule, const PairShape&, const Cell& cell) {
  const Tensor& kv = rule.shared ? rule.q.array : rule.kv.array;
  const Index q = of_token(rule.q.array, cell.batch, cell.query);
  const Index k = of_token(kv, cell.batch, cell.key);
  std::string reason =
      fmt::format("query {} has type {}, key {} type {}", cell.query, q, cell.key, k);
  const bool nothing = q == 0 && rule.zero != step::Tokens::Zero::kNone;
  if (q == k && nothing) reason += ", and type 0 matches nothing";
  return {q == k && !nothing, std::move(reason)};
}

const char* state(bool open) { return open ? "open" : "closed"; }

template <typename Rule>
Verdict keep(const Rule& rule, const PairShape& shape, const Cell& cell, bool before) {
  RuleResult result = holds(rule, shape, cell);
  return {before && result.yes, std::move(result.reason)};
}
template <typename Rule>
Verdict open(const Rule& rule, const PairShape& shape, const Cell& cell, bool before) {
  RuleResult result = holds(rule, shape, cell);
  return {before || result.yes, std::move(result.reason)};
}

Verdict judged(const auto& rule, const PairShape& shape, const Cell& cell, bool before) {
  return keep(rule, shape, cell, before);
}
Verdict judged(const step::Prefix& rule, const PairShape& shape, const Cell& cell, bool before) {
  return open(rule, shape, cell, before);
}
Verdict judged(const step::Sinks& rule, const PairShape& shape, const Cell& cell, bool before) {
  return open(rule, shape, cell, before);
}
Verdict judged(const step::Global& rule, const PairShape& shape, const Cell& cell, bool before) {
  return open(rule, shape, cell, before);
}

Verdict judged(const step::Region& rule, const PairShape&, const Cell& cell, bool before) {
  const auto named = [](const std::vector<Range>& ranges, Index i) {
    return ranges.empty() ||
           std::ranges::any_of(ranges, [i](const Range& range) { return range.contains(i); });
  };
  const bool inside = named(rule.q, cell.query) && named(rule.k, cell.key);
  return {inside ? rule.open : before,
          fmt::format("query {}, key {} is {} the region that is {}", cell.query, cell.key,
                      inside ? "in" : "outside", rule.open ? "opened" : "closed")};
}

Verdict judged(const step::Tokens& rule, const PairShape& shape, const Cell& cell, bool before) {
  if (rule.join == step::Tokens::Join::kUnion) return open(rule, shape, cell, before);
  const bool replace = rule.join == step::Tokens::Join::kReplace;
  return keep(rule, shape, cell, before || replace);
}

Verdict judged(const step::Combine& rule, const PairShape&, const Cell& cell, bool before) {
  const bool other = rule.mask.plane(cell.batch, cell.head)
                         ->count({cell.query, cell.query + 1}, {cell.key, cell.key + 1}) > 0;
  const std::string name = rule.text.empty() ? "the other mask" : rule.text;
  std::string reason = fmt::format("{} is {} there", name, state(other));
  switch (rule.op) {
    case Op::kAnd:
      return {before && other, std::move(reason)};
    case Op::kOr:
      return {before || other, std::move(reason)};
    case Op::kXor:
      return {before != other, std::move(reason)};
    case Op::kSub:
      break;
  }
  return {before && !other, std::move(reason)};
}

Verdict judged(const step::Not&, const PairShape&, const Cell&, bool before) {
  return {!before, fmt::format("{} becomes {}", state(before), state(!before))};
}

Verdict judged(const step::Slice&, const PairShape&, const Cell& cell, bool before) {
  return {before, fmt::format("query {}, key {} is inside the slice", cell.query, cell.key)};
}

Verdict judged(const step::KvLengths& rule, const PairShape&, const Cell& cell, bool before) {
  const Index length = of_batch(rule.lengths.array, cell.batch);
  const bool inside = cell.key < length;
  return {before && inside, fmt::format("key {} is {} length {} of batch {}", cell.key,
                                        inside ? "below" : "not below", length, cell.batch)};
}

Verdict judged(const step::Scoped&, const PairShape&, const Cell&, bool before) {
  return {before, ""};
}
Verdict judged(const step::Within&, const PairShape&, const Cell&, bool before) {
  return {before, ""};
}

/// The first of the `size` positions before `end`, shifted to lie in [0, extent).
Index first_before(Index end, Index size, Index extent) {
  return std::clamp<Index>(end - size, 0, extent - size);
}

Cell moved(const step::KvLengths& rule, const PairShape& shape, Cell cell) {
  const Index length = of_batch(rule.lengths.array, cell.batch);
  if (rule.q_len) {
    const bool has_end = rule.end.array.elements() > 0;
    const Index end = has_end ? of_batch(rule.end.array, cell.batch) : length;
    cell.query += first_before(end, *rule.q_len, shape.queries);
  }
  if (rule.window) {
    cell.key += first_before(length, std::min(*rule.window, shape.keys), shape.keys);
  }
  return cell;
}

}  // namespace

Verdict judge(const Step& step, const PairShape& shape, const Cell& cell, bool before) {
  return std::visit([&](const auto& rule) { return judged(rule, shape, cell, before); }, step.rule);
}

Cell cell_before(const Step& step, const PairShape& shape, const Cell& to) {
  Cell cell = to;
  if (const auto* slice = std::get_if<step::Slice>(&step.rule)) {
    const auto begin = [](const std::optional<Range>& range) { return range ? range->begin : 0; };
    cell = {to.batch + begin(slice->b), to.head + begin(slice->h), to.query + begin(slice->q),
            to.key + begin(slice->k)};
  } else if (const auto* lengths = std::get_if<step::KvLengths>(&step.rule)) {
    cell = moved(*lengths, shape, cell);
  }
  if (shape.batch == 1) cell.batch = 0;  // a step with more batches or heads repeats the only one
  if (shape.heads == 1) cell.head = 0;
  return cell;
}

}  // namespace maskctl
