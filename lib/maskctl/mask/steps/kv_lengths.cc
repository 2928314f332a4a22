#include "maskctl/mask/steps/kv_lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {
namespace {

bool cuts(const KvLengths& rule) { return rule.q_len || rule.window; }

/// The last `size` positions before `end` as a range, moved where necessary to fit in [0, extent).
Range last_before(Index end, Index size, Index extent) {
  const Index start = std::clamp<Index>(end - size, 0, extent - size);
  return {start, start + size};
}

/// The queries and keys of one batch to which the step cuts the mask.
struct Rest {
  Range q, k;
};
Rest rest_of(const KvLengths& rule, const MaskShape& shape, Index length, Index end) {
  return {rule.q_len ? last_before(end, *rule.q_len, shape.queries) : Range{0, shape.queries},
          rule.window ? last_before(length, std::min(*rule.window, shape.keys), shape.keys)
                      : Range{0, shape.keys}};
}

}  // namespace

std::string words(const KvLengths&) { return "kv lengths"; }

Meets meets(const KvLengths& rule) { return cuts(rule) ? Meets::kOwn : Meets::kKeeps; }

Mask cells(const KvLengths& rule, const MaskShape& shape) {
  const auto lengths = per_batch(shape, rule.lengths, "kv-lengths", "lengths");
  check_lengths(lengths, shape.keys, "kv-lengths", "keys");
  const auto plane = [&](Index length) {
    return rectangle(shape.queries, shape.keys, {0, shape.queries}, {0, length});
  };
  return per_values(shape, plane, lengths);
}

Mask apply_rule(const KvLengths& rule, const Mask& mask) {
  const MaskShape shape = shape_of(mask);
  const Mask kept = zip(Op::kAnd, mask, cells(rule, shape));
  const auto lengths = per_batch(shape, rule.lengths, "kv-lengths", "lengths");
  const auto ends = rule.end.empty() ? lengths : per_batch(shape, rule.end, "kv-lengths", "ends");
  if (rule.q_len && (*rule.q_len < 0 || *rule.q_len > shape.queries)) {
    refuse("kv-lengths",
           fmt::format("q_len={}: expected 0 to {} (the queries)", *rule.q_len, shape.queries));
  }
  if (rule.window && *rule.window < 0) {
    refuse("kv-lengths", fmt::format("window={}: expected at least 0", *rule.window));
  }
  if (!cuts(rule)) return kept;
  return kept.map_batch(shape.batch, [&](Index b, const PlanePtr& plane) {
    const auto [q, k] = rest_of(rule, shape, lengths[as_size(b)], ends[as_size(b)]);
    return plane->sliced(q, k);
  });
}

PairReason reason(const KvLengths& rule, const MaskShape&, const Cell& cell) {
  const Index length = of_batch(rule.lengths, cell.batch);
  const bool inside = cell.key < length;
  return {inside, fmt::format("key {} is {} length {} of batch {}", cell.key,
                              inside ? "below" : "not below", length, cell.batch)};
}

Cell cell_before(const KvLengths& rule, const MaskShape& shape, const Cell& cell) {
  const Index length = of_batch(rule.lengths, cell.batch);
  const auto [q, k] = rest_of(rule, shape, length, of_batch(rule.end, cell.batch, length));
  return {cell.batch, cell.head, cell.query + q.begin, cell.key + k.begin};
}

CellFormula formula(const KvLengths& rule) {
  if (cuts(rule)) return no_formula("it keeps the last queries or keys alone");
  return expr::key() < expr::of_batch("length", rule.lengths);
}

namespace {

constexpr std::array kKvLengthsFields = {
    Field{.name = "SRC",
          .type = FieldType::kSource,
          .help = "lengths [B]",
          .required = true,
          .group = 1,
          .positional = true,
          .stem = "lengths",
          .get =
              [](const Step& step) {
                const NamedArray& lengths = step.as<KvLengths>().lengths;
                return is_list(lengths) ? FieldValue() : FieldValue(lengths);
              },
          .set = fields::Access<&KvLengths::lengths>::set},
    Field{.name = "lens",
          .type = FieldType::kLengths,
          .help = "lengths, one or one per batch",
          .required = true,
          .group = 2,
          .get =
              [](const Step& step) {
                const NamedArray& lengths = step.as<KvLengths>().lengths;
                return is_list(lengths) ? FieldValue(lengths) : FieldValue();
              },
          .set = fields::Access<&KvLengths::lengths>::set},
    fields::of<&KvLengths::q_len>(
        {.name = "q_len", .help = "keep this many queries of each batch, up to its end"}),
    fields::of<&KvLengths::window>({.name = "window",
                                    .type = FieldType::kSide,
                                    .help = "keep this many last keys, or none = all",
                                    .fallback = "none"}),
    fields::of<&KvLengths::end>({.name = "end",
                                 .type = FieldType::kIntegerOrSource,
                                 .help = "one past the last query kept, a number or one per batch; "
                                         "the lengths if absent"})};

constexpr std::array kKvLengthsNames = {StepInfo{
    .name = "kv-lengths",
    .kind = StepKind::kOwn,
    .meaning = "closes keys past the length; can also keep the last queries and keys of each batch",
    .formula = "k < length[b]; queries [end - q_len, end), keys [length - window, length)",
    .example = "kv-lengths:lens=5+8,q_len=1",
    .args = kKvLengthsFields,
    .synonyms = "kv_lengths cache decode seqused",
    .make = blank<KvLengths>}};
constexpr RuleInfo kKvLengthsRow =
    describe<KvLengths>(kKvLengthsNames, Reopening::kLeak, Declares::kPadding);

}  // namespace

const RuleInfo& row(const KvLengths*) { return kKvLengthsRow; }

}  // namespace maskctl::step
