// The rules that open cells, and those that do neither.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/step_rules.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Opens keys [0, n), where each batch has its own n if `each` is not empty.
Mask open_first_keys(const Mask& mask, Index n, const NamedArray& each, std::string_view step) {
  const auto first = [&](Index count) {
    if (count < 0) refuse(step, fmt::format("n={}: expected at least 0", count));
    return rectangle(mask.queries(), mask.keys(), {0, mask.queries()},
                     {0, std::min(count, mask.keys())});
  };
  if (each.array.elements() == 0) return zip(Op::kOr, mask, Mask(first(n)));
  const auto counts = per_batch(mask, each, step, "n");
  return mask.map_batch(mask.batch(), [&](Index b, const PlanePtr& plane) {
    return combine(Op::kOr, plane, first(counts[static_cast<std::size_t>(b)]));
  });
}

std::vector<std::uint8_t> flags_of(std::span<const Range> tokens, Index size) {
  std::vector<std::uint8_t> flags(static_cast<std::size_t>(size));
  for (const Range& range : tokens) {
    const Range inside = intersect(range, {0, size});
    if (!inside.empty()) std::fill(flags.begin() + inside.begin, flags.begin() + inside.end, 1);
  }
  return flags;
}

Range checked_range(const std::optional<Range>& asked, Index extent, const char* axis) {
  if (!asked) return {0, extent};
  if (asked->begin < 0 || asked->end > extent || asked->begin > asked->end) {
    refuse("slice",
           fmt::format("{}={}:{} does not lie in 0:{}", axis, asked->begin, asked->end, extent));
  }
  return *asked;
}

Side zero_side(step::Tokens::Zero zero) {
  switch (zero) {
    case step::Tokens::Zero::kQ:
      return Side::kQuery;
    case step::Tokens::Zero::kKv:
      return Side::kKey;
    case step::Tokens::Zero::kBoth:
      return Side::kBoth;
    case step::Tokens::Zero::kNone:
      return Side::kNone;
  }
  return Side::kNone;
}

/// Row b of ids [S] or [B,S].
std::span<const std::int32_t> ids_of(std::span<const std::int32_t> ids, Index length, Index b) {
  const auto size = static_cast<std::size_t>(length);
  return ids.size() == size ? ids : ids.subspan(static_cast<std::size_t>(b) * size, size);
}

Mask token_planes(const Mask& mask, const step::Tokens& rule) {
  const NamedArray& kv = rule.shared ? rule.q : rule.kv;
  check_batched(mask, rule.q.array, mask.queries(), "tokens", "queries");
  check_batched(mask, kv.array, mask.keys(), "tokens", "keys");
  const auto q_ids = as_int32(rule.q.array, "token types");
  const auto kv_ids = as_int32(kv.array, "token types");
  const bool differ =
      rule.q.array.elements() != mask.queries() || kv.array.elements() != mask.keys();
  PlanePtr shared;
  return Mask::make(mask.batch(), 1, mask.queries(), mask.keys(), [&](Index b, Index) {
    if (shared && !differ) return shared;
    shared = equal_ids(ids_of(q_ids, mask.queries(), b), ids_of(kv_ids, mask.keys(), b), 0,
                       zero_side(rule.zero));
    return shared;
  });
}

/// The range of the last `size` positions before `end`, shifted to lie in [0, extent).
Range last_before(Index end, Index size, Index extent) {
  const Index start = std::clamp<Index>(end - size, 0, extent - size);
  return {start, start + size};
}

/// The named heads or batches in the given order, without repetitions.
std::vector<Index> members_of(const step::Scoped& rule, Index extent, std::string_view step) {
  std::vector<Index> members;
  for (const Range& range : rule.members) {
    if (range.begin < 0 || range.end > extent || range.empty()) {
      refuse(step, fmt::format("{}{} is out of range: the mask has {} (0 to {})", range.begin,
                               range.size() == 1 ? "" : fmt::format("-{}", range.end - 1), extent,
                               extent - 1));
    }
    for (Index i = range.begin; i < range.end; ++i) {
      if (std::find(members.begin(), members.end(), i) == members.end()) members.push_back(i);
    }
  }
  return members;
}

}  // namespace

Mask apply_rule(const Mask& mask, const step::Prefix& rule) {
  return open_first_keys(mask, rule.n, rule.each, "prefix");
}

Mask apply_rule(const Mask& mask, const step::Sinks& rule) {
  return open_first_keys(mask, rule.n, rule.each, "sinks");
}

Mask apply_rule(const Mask& mask, const step::Global& rule) {
  const Index extent = std::max(mask.queries(), mask.keys());
  for (const Range& range : rule.tokens) {
    if (range.begin < 0 || range.end > extent || range.empty()) {
      refuse("global", fmt::format("tokens {}-{}: expected tokens from 0 to {}", range.begin,
                                   range.end - 1, extent - 1));
    }
  }
  const Mask rows(query_flags(flags_of(rule.tokens, mask.queries()), mask.keys()));
  const Mask columns(key_flags(mask.queries(), flags_of(rule.tokens, mask.keys())));
  return zip(Op::kOr, mask, zip(Op::kOr, rows, columns));
}

Mask apply_rule(const Mask& mask, const step::Region& rule) {
  const char* name = rule.open ? "open" : "close";
  const auto checked = [&](const std::vector<Range>& ranges, Index extent, char axis) {
    for (const Range& range : ranges) {
      if (range.begin >= 0 && range.end <= extent && !range.empty()) continue;
      refuse(name, fmt::format("{}={}-{}: expected numbers from 0 to {}", axis, range.begin,
                               range.end - 1, extent - 1));
    }
    const Range all{0, extent};
    return flags_of(ranges.empty() ? std::span(&all, 1) : std::span(ranges), extent);
  };
  const PlanePtr rows = query_flags(checked(rule.q, mask.queries(), 'q'), mask.keys());
  const PlanePtr columns = key_flags(mask.queries(), checked(rule.k, mask.keys(), 'k'));
  return zip(rule.open ? Op::kOr : Op::kSub, mask, Mask(combine(Op::kAnd, rows, columns)));
}

Mask apply_rule(const Mask& mask, const step::Combine& rule) {
  return zip(rule.op, mask, rule.mask);
}

Mask apply_rule(const Mask& mask, const step::Tokens& rule) {
  const Mask types = token_planes(mask, rule);
  switch (rule.join) {
    case step::Tokens::Join::kUnion:
      return zip(Op::kOr, mask, types);
    case step::Tokens::Join::kIntersect:
      return zip(Op::kAnd, mask, types);
    case step::Tokens::Join::kReplace:
      break;
  }
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(),
                    [&](Index b, Index h) { return types.plane(b, h); });
}

Mask apply_rule(const Mask& mask, const step::Not&) { return complement(mask); }

Mask apply_rule(const Mask& mask, const step::Slice& rule) {
  return sliced(
      mask, checked_range(rule.b, mask.batch(), "b"), checked_range(rule.h, mask.heads(), "h"),
      checked_range(rule.q, mask.queries(), "q"), checked_range(rule.k, mask.keys(), "k"));
}

Mask apply_rule(const Mask& mask, const step::KvLengths& rule) {
  const Index queries = mask.queries(), keys = mask.keys();
  const auto lengths = per_batch(mask, rule.lengths, "kv-lengths", "lengths");
  const auto ends =
      rule.end.array.elements() == 0 ? lengths : per_batch(mask, rule.end, "kv-lengths", "ends");
  for (const Index length : lengths) {
    if (length < 0 || length > keys) {
      refuse("kv-lengths", fmt::format("length {}: expected 0 to {} (the keys)", length, keys));
    }
  }
  if (rule.q_len && (*rule.q_len < 0 || *rule.q_len > queries)) {
    refuse("kv-lengths",
           fmt::format("q_len={}: expected 0 to {} (the queries)", *rule.q_len, queries));
  }
  if (rule.window && *rule.window < 0) {
    refuse("kv-lengths", fmt::format("window={}: expected at least 0", *rule.window));
  }
  return mask.map_batch(mask.batch(), [&](Index b, const PlanePtr& plane) {
    const Index length = lengths[static_cast<std::size_t>(b)];
    const Index end = ends[static_cast<std::size_t>(b)];
    const PlanePtr kept =
        combine(Op::kAnd, plane, rectangle(queries, keys, {0, queries}, {0, length}));
    const Range q = rule.q_len ? last_before(end, *rule.q_len, queries) : Range{0, queries};
    const Range k =
        rule.window ? last_before(length, std::min(*rule.window, keys), keys) : Range{0, keys};
    return rule.q_len || rule.window ? kept->sliced(q, k) : kept;
  });
}

Mask apply_rule(const Mask& mask, const step::Scoped& rule) {
  const bool on_heads = rule.axis == step::Scoped::Axis::kHeads;
  const std::string_view name = on_heads ? "heads" : "batch";
  const auto members = members_of(rule, on_heads ? mask.heads() : mask.batch(), name);
  const auto size = static_cast<Index>(members.size());
  const Index batch = on_heads ? mask.batch() : size;
  const Index heads = on_heads ? size : mask.heads();
  const auto member = [&](Index i) { return members[static_cast<std::size_t>(i)]; };
  const Mask part = Mask::make(batch, heads, mask.queries(), mask.keys(), [&](Index b, Index h) {
    return on_heads ? mask.plane(b, member(h)) : mask.plane(member(b), h);
  });
  const Mask changed = maskctl::apply(part, std::span<const Step>(rule.chain));
  if (changed.batch() != batch || changed.heads() != heads || changed.queries() != mask.queries() ||
      changed.keys() != mask.keys()) {
    refuse(name, fmt::format("the chain turns {} into {}: expected one that keeps the shape",
                             shape_text(part), shape_text(changed)));
  }
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(), [&](Index b, Index h) {
    const auto at = std::find(members.begin(), members.end(), on_heads ? h : b);
    if (at == members.end()) return mask.plane(b, h);
    const Index i = at - members.begin();
    return on_heads ? changed.plane(b, i) : changed.plane(i, h);
  });
}

}  // namespace maskctl
