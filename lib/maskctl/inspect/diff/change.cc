#include "maskctl/inspect/diff/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

Index shift_of(Align align, Index shift) { return align == Align::kBottomRight ? shift : 0; }

void join(Reason& reason, const std::string& words) {
  if (reason.changes++ > 0) reason.words += " and ";
  reason.words += words;
}

Reason unchanged() { return {"parameter", "", 0}; }

void compare(Reason& reason, const char* name, Index a, Index b) {
  if (a != b) join(reason, fmt::format("{} {}", name, instead(b, a)));
}

std::string side_words(const std::optional<Index>& side) {
  return side ? std::to_string(*side) : "none";
}

Reason moved_alignment(Index by, Index shift) {
  const bool to_bottom = by == shift;
  return {"alignment", fmt::format("alignment {} instead of {} (moved by K - Q = {} keys)",
                                   to_bottom ? "bottom-right" : "top-left",
                                   to_bottom ? "top-left" : "bottom-right", shift)};
}

/// Only one side has moved, by as much as the other alignment would move it. A move of 1 may be
/// anything.
Reason as_alignment(Reason side, Index by, Index shift) {
  if (by == 1 || by == -1) return side;
  side.kind = "alignment";
  side.words += fmt::format(" (moved by K - Q = {}, as by the other alignment)", shift);
  return side;
}

Ids ids_of_step(const step::Document& rule) {
  Ids out;
  out.none = rule.pad_id;
  out.q = as_int32(rule.q.array, "ids");
  out.k = rule.shared ? out.q : as_int32(rule.kv.array, "ids");
  return out;
}

Ids ids_of_step(const step::DocumentLengths& rule, Index keys) {
  Ids out;
  out.q.assign(static_cast<std::size_t>(keys), -1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < rule.lengths.size(); ++i) {
    for (Index n = 0; n < rule.lengths[i] && at < out.q.size(); ++n) {
      out.q[at++] = static_cast<std::int32_t>(i);
    }
  }
  out.k = out.q;
  return out;
}

Ids ids_of_step(const Step& step, Index keys) {
  if (const auto* ids = step.get_if<step::Document>()) return ids_of_step(*ids);
  return ids_of_step(step.as<step::DocumentLengths>(), keys);
}

Reason pad_change(const step::Pad& a, const step::Pad& b) {
  Reason out = unchanged();
  if (a.is_lengths && b.is_lengths && a.left == b.left) {
    const auto before = as_int64(a.valid.array, "lengths"),
               after = as_int64(b.valid.array, "lengths");
    if (before.size() == 1 && after.size() == 1) compare(out, "pad length", before[0], after[0]);
  } else if (a.is_lengths && b.is_lengths) {
    const auto words = [](const step::Pad& rule) {
      const auto lengths = as_int64(rule.valid.array, "lengths");
      return fmt::format("{}pad length{}", rule.left ? "left " : "right ",
                         lengths.size() == 1 ? fmt::format(" {}", lengths.front()) : "s");
    };
    join(out, fmt::format("{} instead of {}", words(b), words(a)));
  } else {
    join(out, "other padding");
  }
  if (a.both != b.both) {
    join(out, b.both ? "padding rows closed" : "padding rows open");
    if (out.changes == 1) out.kind = "padding";
  }
  return out;
}

Reason block_change(const step::Block& a, const step::Block& b) {
  Reason out = unchanged();
  compare(out, "block rows", a.q_size, b.q_size);
  compare(out, "block columns", a.k_size, b.k_size);
  if (a.map.array.shape() != b.map.array.shape()) {
    if (out.changes == 0) join(out, "another block map");
    ++out.changes;
    return out;
  }
  const auto before = as_int64(a.map.array, "map"), after = as_int64(b.map.array, "map");
  Index differ = 0, first = -1;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if ((before[i] != 0) == (after[i] != 0)) continue;
    if (differ++ == 0) first = static_cast<Index>(i);
  }
  const Index columns = a.map.array.extent(a.map.array.rank() - 1);
  if (differ > 0) {
    join(out, fmt::format("{} of {} blocks changed, first block row {}, column {}", differ,
                          before.size(), first / columns, first % columns));
    out.changes += differ - 1;
  }
  if (out.changes > 0) ++out.changes;  // a grid fits almost anything, so a simpler rule is better
  return out;
}

/// For example "the rows of queries 3-5 closed", "query 4, keys 0-7 open".
std::string region_words(const step::Region& rule) {
  const char* state = rule.open ? "open" : "closed";
  const std::string queries = range_words(rule.q, "query", "queries", kMostRanges);
  const std::string keys = range_words(rule.k, "key", {}, kMostRanges);
  const auto lines = [&](const char* line, const std::vector<Range>& ranges,
                         const std::string& which) {
    const bool one = ranges.size() == 1 && ranges.front().size() == 1;
    return fmt::format("the {}{} of {} {}", line, one ? "" : "s", which, state);
  };
  if (rule.k.empty()) return lines("row", rule.q, queries);
  if (rule.q.empty()) return lines("column", rule.k, keys);
  return fmt::format("{}, {} {}", queries, keys, state);
}

Index first_keys(const Step& step) {
  if (const auto* prefix = step.get_if<step::Prefix>()) return prefix->n;
  return step.as<step::Sinks>().n;
}

/// The value of an argument as people write it; nothing for an array without a name.
std::optional<std::string> argument_text(const Field& field, const FieldValue& value) {
  if (!std::holds_alternative<std::monostate>(value)) return value_text(field, value);
  return field.fallback.empty() ? "none" : std::string(field.fallback);
}

/// The arguments that differ: "chunk size 5 instead of 4".
Reason arguments_change(const StepInfo& info, const Step& a, const Step& b) {
  Reason out = unchanged();
  for (const Field& field : info.args) {
    const FieldValue before = field.get(a), after = field.get(b);
    const auto text_a = argument_text(field, before), text_b = argument_text(field, after);
    if (text_a && text_b && text_a != text_b) {
      join(out, fmt::format("{} {} {} instead of {}", info.name, field.name, *text_b, *text_a));
    } else if (!same_content(before, after)) {
      join(out, fmt::format("another array of {} {}", info.name, field.name));
    }
  }
  return out;
}

Reason fields_change(const Step& a, const Step& b) {
  const StepInfo& info = info_of(a);
  if (&info != &info_of(b) || info.chain) return {"step", "another step", 8};
  return arguments_change(info, a, b);
}

Reason tokens_change(const step::Tokens& a, const step::Tokens& b) {
  const auto side = [](const step::Tokens& rule) {
    auto ids = as_int32(rule.q.array, "types");
    if (!rule.shared) {
      const auto kv = as_int32(rule.kv.array, "types");
      ids.insert(ids.end(), kv.begin(), kv.end());
    }
    return ids;
  };
  if (a.join != b.join || a.zero != b.zero || a.shared != b.shared) return fields_change(a, b);
  Reason out = unchanged();
  const auto before = side(a), after = side(b);
  Index differ = 0, first = -1;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] != after[i] && differ++ == 0) first = static_cast<Index>(i);
  }
  if (differ > 0) {
    join(out, fmt::format("token types of {} tokens changed, first token {}", differ,
                          first % a.q.array.elements()));
    out.changes += differ - 1;
  }
  return out;
}

constexpr std::size_t kPrefix = 100, kDocuments = 101, kLimits = 102;

}  // namespace

std::optional<Limits> limits_of(const Step& step, Index shift) {
  if (const auto* causal = step.get_if<step::Causal>()) {
    if (causal->offsets.array.elements() > 1) return std::nullopt;
    const Index offset =
        causal->offsets.array.elements() == 0 ? 0 : as_int64(causal->offsets.array, "offsets")[0];
    const Index high = shift_of(causal->align, shift) + offset;
    return Limits{std::nullopt, high, high, offset, true};
  }
  const auto* window = step.get_if<step::Window>();
  if (!window || window->is_per_batch()) return std::nullopt;
  const Index centre = shift_of(window->align, shift) + window->offset;
  Limits out{std::nullopt, std::nullopt, centre, window->offset, false};
  if (window->left) out.low = centre - *window->left;
  if (window->right) out.high = centre + *window->right;
  return out;
}

namespace {

/// `shift` is K - Q: a move by that much is the other alignment.
MaybeReason limits_change(const Limits& a, const Limits& b, Index shift) {
  if (a.low == b.low && a.high == b.high) return std::nullopt;
  const bool sides =
      a.low.has_value() == b.low.has_value() && a.high.has_value() == b.high.has_value();
  const Index by_low = a.low && b.low ? *b.low - *a.low : 0;
  const Index by_high = a.high && b.high ? *b.high - *a.high : 0;
  const Index by = by_low != 0 ? by_low : by_high;
  const bool one_move = by_low == 0 || by_high == 0 || by_low == by_high;
  const bool together = (!a.low || by_low == by) && (!a.high || by_high == by);
  const bool by_shift = sides && one_move && shift != 0 && (by == shift || by == -shift);
  if (by_shift && together) return moved_alignment(by, shift);
  Reason out = unchanged();
  if (sides && together && a.low && a.high) {
    compare(out, a.causal ? "window and causal offset" : "window offset", a.offset, a.offset + by);
    if (a.high == a.centre && a.offset == 0) {
      // Also worded as a window plus a causal rule, which such a window equals.
      out.words += fmt::format(", as by window left {} and causal offset {}",
                               instead(a.centre - *b.low, a.centre - *a.low), instead(by, 0));
    }
    return out;
  }
  if (a.low != b.low) {
    const auto left = [&a](const std::optional<Index>& low) {
      return low ? std::optional(a.centre - *low) : std::nullopt;
    };
    join(out, fmt::format("window left {} instead of {}", side_words(left(b.low)),
                          side_words(left(a.low))));
  }
  if (a.high == b.high) return by_shift ? as_alignment(out, by, shift) : out;
  if (a.causal && b.high) {
    join(out, fmt::format("causal offset {}", instead(a.offset + by_high, a.offset)));
  } else if (a.causal || (!a.high && b.causal)) {
    join(out, a.causal ? "the causal rule missing" : "a causal rule");
  } else {
    const auto right = [&a](const std::optional<Index>& high) {
      return high ? std::optional(*high - a.centre) : std::nullopt;
    };
    join(out, fmt::format("window right {} instead of {}", side_words(right(b.high)),
                          side_words(right(a.high))));
    // A window that ends at the diagonal is causal as well.
    if (b.high && a.high == a.centre) {
      out.words += fmt::format(" (causal offset {})", instead(*b.high - *a.high, 0));
    }
  }
  if (out.changes == 1 && !sides) out.kind = "step";
  return by_shift ? as_alignment(out, by, shift) : out;
}

}  // namespace

std::optional<std::pair<Index, Index>> documents_of(const Step& step, const Cell& cell,
                                                    Index keys) {
  if (const auto* rule = step.get_if<step::Within>()) return documents_of(*rule, cell);
  if (rule_number(step) != kDocuments) return std::nullopt;
  const Ids ids = ids_of_step(step, keys);
  const auto number = [&](const std::vector<std::int32_t>& side, Index at) -> Index {
    if (at >= std::ssize(side)) return -1;
    const std::int32_t id = side[static_cast<std::size_t>(at)];
    if (id == ids.none) return -1;
    std::vector<std::int32_t> order;
    for (const std::int32_t other : ids.k) {
      if (other == ids.none || std::ranges::find(order, other) != order.end()) continue;
      if (other == id) return std::ssize(order);
      order.push_back(other);
    }
    return -1;
  };
  const Index query = number(ids.q, cell.query), key = number(ids.k, cell.key);
  if (query < 0 || key < 0 || query == key) return std::nullopt;
  return std::pair(query, key);
}

std::size_t rule_number(const Step& step) {
  if (step.is<step::Prefix>() || step.is<step::Sinks>()) return kPrefix;
  if (step.is<step::Document>() || step.is<step::DocumentLengths>()) return kDocuments;
  if (step.is<step::Causal>() || step.is<step::Window>()) return kLimits;
  return rule_index(step);
}

Reason step_change(const Step& a, const Step& b, Index queries, Index keys) {
  switch (rule_number(a)) {
    case kPrefix: {
      Reason out = unchanged();
      compare(out, a.is<step::Sinks>() ? "sinks" : "prefix", first_keys(a), first_keys(b));
      return out;
    }
    case kDocuments:
      return documents_change(ids_of_step(a, keys), ids_of_step(b, keys)).value_or(unchanged());
    case kLimits: {
      const auto before = limits_of(a, keys - queries), after = limits_of(b, keys - queries);
      if (!before || !after) return fields_change(a, b);
      return limits_change(*before, *after, keys - queries).value_or(unchanged());
    }
    default:
      break;
  }
  if (const auto* pad = a.get_if<step::Pad>()) return pad_change(*pad, b.as<step::Pad>());
  if (const auto* block = a.get_if<step::Block>()) return block_change(*block, b.as<step::Block>());
  if (const auto* types = a.get_if<step::Tokens>()) {
    return tokens_change(*types, b.as<step::Tokens>());
  }
  if (const auto* within = a.get_if<step::Within>()) {
    return within_change(*within, b.as<step::Within>());
  }
  // Regions are edits by hand: one that moved is no simpler than another.
  if (a.is<step::Region>()) return {"step", "another step", 8};
  return fields_change(a, b);
}

namespace {

/// What differs in two steps that hold chains: their arguments, or one of the steps in the chains.
MaybeReason outer_change(const Step& a, const Step& b, Index queries, Index keys) {
  const Reason arguments = arguments_change(info_of(a), a, b);
  const Chain &in_a = *chain_of(a), &in_b = *chain_of(b);
  if (in_a == in_b) return arguments;
  if (arguments.changes > 0) return std::nullopt;
  // Documents may have as many queries as keys where the whole mask has not.
  if (a.is<step::Within>()) queries = keys;
  MaybeReason out = chain_change(in_a, in_b, queries, keys);
  if (out) out->words += " in " + inside_words(a);
  return out;
}

/// True for two diagonals given by the same arguments: then these are what differs, whatever else
/// would move the cells as much.
bool is_spelled_alike(const Step& a, const Step& b) {
  if (rule_number(a) != kLimits) return false;
  return std::ranges::all_of(info_of(a).args, [&](const Field& field) {
    const FieldValue in_a = field.get(a), in_b = field.get(b);
    if (field.type == FieldType::kChoice) return value_text(field, in_a) == value_text(field, in_b);
    const auto is_given = [](const FieldValue& value) {
      return !std::holds_alternative<std::monostate>(value);
    };
    return field.group == 0 || is_given(in_a) == is_given(in_b);
  });
}

/// The one step that the longer chain has and the shorter one lacks; null for a step that flips all
/// cells, which other reasons describe better.
const Step* lone_step(const Chain& longer, const Chain& shorter) {
  if (longer.size() != shorter.size() + 1) return nullptr;
  const auto [at, rest] = std::ranges::mismatch(longer, shorter);
  const bool is_lone = std::equal(at + 1, longer.end(), rest);
  return is_lone && at->row().meets(*at) != Meets::kFlips ? &*at : nullptr;
}

}  // namespace

MaybeReason chain_change(const Chain& a, const Chain& b, Index queries, Index keys) {
  const Index shift = keys - queries;
  if (const Step* added = lone_step(b, a)) {
    return Reason{"step", step_words(*added, shift) + " added"};
  }
  if (const Step* missing = lone_step(a, b)) {
    return Reason{"step", step_words(*missing, shift) + " missing"};
  }
  if (a.size() != b.size()) return std::nullopt;
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  if (in_a == a.end() || !std::equal(in_a + 1, a.end(), in_b + 1)) return std::nullopt;
  const StepInfo& info = info_of(*in_a);
  if (&info != &info_of(*in_b)) return std::nullopt;
  if (info.chain) return outer_change(*in_a, *in_b, queries, keys);
  const Reason effect = step_change(*in_a, *in_b, queries, keys);
  const bool told =
      !effect.words.empty() && effect.kind != "step" && !is_spelled_alike(*in_a, *in_b);
  return told ? effect : fields_change(*in_a, *in_b);
}

namespace {

/// Borders that moved, or lengths that changed, whichever is fewer.
Index moved_borders(const std::vector<Index>& a, const std::vector<Index>& b) {
  const auto borders = [](const std::vector<Index>& lengths) {
    std::vector<Index> out(lengths.size());
    std::inclusive_scan(lengths.begin(), lengths.end(), out.begin());
    return out;
  };
  const std::vector<Index> in_a = borders(a), in_b = borders(b);
  std::vector<Index> both;
  std::ranges::set_intersection(in_a, in_b, std::back_inserter(both));
  const Index moved =
      std::ssize(
          std::max(in_a, in_b, [](const auto& x, const auto& y) { return x.size() < y.size(); })) -
      std::ssize(both);
  const auto head = std::ranges::mismatch(a, b);
  const Index same = head.in1 - a.begin();
  Index tail = 0;
  while (tail < std::min(std::ssize(a), std::ssize(b)) - same &&
         *(a.end() - 1 - tail) == *(b.end() - 1 - tail)) {
    ++tail;
  }
  return std::min(moved, std::max(std::ssize(a), std::ssize(b)) - same - tail);
}

}  // namespace

Index moved_numbers(const Step& a, const Step& b, Index queries, Index keys) {
  const auto* lengths_a = a.get_if<step::DocumentLengths>();
  const auto* lengths_b = b.get_if<step::DocumentLengths>();
  if (lengths_a && lengths_b) return moved_borders(lengths_a->lengths, lengths_b->lengths);
  constexpr Index kMany = 1 << 20;
  if (rule_number(a) == kDocuments) return a == b ? 0 : kMany;
  return step_change(a, b, queries, keys).changes;
}

std::string step_words(const Step& step, Index shift) {
  if (const auto limits = limits_of(step, shift)) {
    if (limits->causal) return "causal";
    const auto side = [](const std::optional<Index>& bound, Index from, Index sign) {
      return bound ? std::to_string((*bound - from) * sign) : std::string("none");
    };
    return fmt::format("window left {}, right {}", side(limits->low, limits->centre, -1),
                       side(limits->high, limits->centre, 1));
  }
  const auto* region = step.get_if<step::Region>();
  return region ? region_words(*region) : words_of(step);
}

std::string inside_words(const Step& step) {
  if (step.is<step::Within>()) return "each document";
  const StepInfo& info = info_of(step);
  const Field& members = info.args.front();
  return fmt::format("{} {}", info.name, value_text(members, members.get(step)).value());
}

}  // namespace maskctl
