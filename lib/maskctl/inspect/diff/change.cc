#include "maskctl/inspect/diff/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "maskctl/base/text.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

std::string side_words(const std::optional<Index>& side) {
  return side ? std::to_string(*side) : "none";
}

Reason moved_alignment(Index by, Index shift) {
  const bool to_bottom = by == shift;
  return {"alignment", fmt::format("alignment {} instead of {} (moved by K - Q = {} keys)",
                                   to_bottom ? "bottom-right" : "top-left",
                                   to_bottom ? "top-left" : "bottom-right", shift)};
}

/// Adds to a reason, which says that one side of a band of diagonals has moved, that the other
/// alignment would move this side as far. Not for a move by 1, which may have other causes.
Reason as_alignment(Reason side, Index by, Index shift) {
  if (by == 1 || by == -1) return side;
  side.kind = "alignment";
  side.words += fmt::format(" (moved by K - Q = {}, as by the other alignment)", shift);
  return side;
}

Ids ids_of(const StepDocuments& documents, Index keys) {
  Ids out;
  if (documents.q_ids) {
    out.none = documents.pad_id;
    out.q = as_int32(*documents.q_ids, "ids");
    out.k = documents.shared ? out.q : as_int32(*documents.k_ids, "ids");
    return out;
  }
  out.q.assign(as_size(keys), -1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < documents.q_lengths.size(); ++i) {
    for (Index n = 0; n < documents.q_lengths[i] && at < out.q.size(); ++n) {
      out.q[at++] = static_cast<std::int32_t>(i);
    }
  }
  out.k = out.q;
  return out;
}

/// "64 and 65 by batch" for 64+65; other texts as they are.
std::string by_batch_words(const std::string& text) {
  const auto numbers = split(text, '+');
  if (numbers.size() < 2) return text;
  std::string out;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    out += n == 0 ? "" : n + 1 == numbers.size() ? " and " : ", ";
    out += numbers[n];
  }
  return out + " by batch";
}

/// The value of an argument in words, an absent one as its default; nothing for an array
/// without a name.
std::optional<std::string> argument_text(const Field& field, const FieldValue& value) {
  if (!std::holds_alternative<std::monostate>(value)) {
    const bool by_batch =
        field.type == FieldType::kIntegerOrSource || field.type == FieldType::kSideOrSource;
    auto text = value_text(field, value);
    return by_batch && text ? std::optional(by_batch_words(*text)) : text;
  }
  return field.fallback.empty() ? "none" : std::string(field.fallback);
}

/// The arguments that differ between steps of the same name: "chunk size 5 instead of 4".
Reason arguments_change(const StepInfo& info, const Step& a, const Step& b) {
  Reason out = Reason::unchanged();
  for (const Field& field : info.args) {
    const FieldValue before = field.get(a), after = field.get(b);
    const auto text_a = argument_text(field, before), text_b = argument_text(field, after);
    if (text_a && text_b && text_a != text_b) {
      out.add(fmt::format("{} {} {} instead of {}", info.name, field.name, *text_b, *text_a));
    } else if (!same_content(before, after)) {
      out.add(fmt::format("another array of {} {}", info.name, field.name));
    }
  }
  return out;
}

Reason fields_change(const Step& a, const Step& b) {
  const StepInfo& info = info_of(a);
  if (&info != &info_of(b)) return {"step", "another step", 8};
  if (info.chain && *chain_of(a) != *chain_of(b)) return {"step", step_words(b, 0) + " changed", 8};
  return arguments_change(info, a, b);
}

}  // namespace

std::optional<Limits> limits_of(const Step& step, Index shift) {
  if (!keeps_diagonals(step)) return std::nullopt;
  const Field* align = find_field(step, "align");
  // A step without align= is only for as many queries as keys, where K - Q is 0.
  if (align && std::holds_alternative<std::monostate>(align->get(step))) shift = 0;
  const MaskShape shape{1, 1, std::max<Index>(-shift, 0), std::max<Index>(shift, 0)};
  const auto found = step.row().diagonal(step, shape);
  if (!found) return std::nullopt;
  Limits out{std::nullopt, std::nullopt, found->centre, found->offset, found->is_causal};
  if (found->low > -kUnbounded) out.low = found->low;
  if (found->high < kUnbounded) out.high = found->high;
  return out;
}

namespace {

/// Whether the centre of the steps, from which left= and right= count, is outside of the diagonals.
bool are_beside(const Limits& limits, Index centre) {
  return (limits.low && *limits.low > centre) || (limits.high && *limits.high < centre);
}

/// "from 3 to 9", "at least 3", "at most -13".
std::string span_words(const Limits& limits) {
  if (limits.low && limits.high) return fmt::format("from {} to {}", *limits.low, *limits.high);
  if (limits.low) return fmt::format("at least {}", *limits.low);
  return limits.high ? fmt::format("at most {}", *limits.high) : "any";
}

/// Words for how the diagonals that two steps keep differ; nothing if they are equal. `shift` is
/// the number of keys minus that of queries: a move by as much is a change of alignment.
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
  Reason out = Reason::unchanged();
  if (sides && together && a.low && a.high) {
    out.compare(a.causal ? "window and causal offset" : "window offset", a.offset, a.offset + by);
    if (a.high == a.centre && a.offset == 0 && *b.low <= a.centre) {
      // A window without future keys that is moved as a whole also equals one with another left
      // side and a causal offset, so this is worded too.
      out.words += fmt::format(", as by window left {} and causal offset {}",
                               instead(a.centre - *b.low, a.centre - *a.low), instead(by, 0));
    }
    return out;
  }
  const bool windows = a.low || b.low || !a.causal;
  if (windows && !by_shift && (are_beside(a, a.centre) || are_beside(b, a.centre))) {
    out.add(fmt::format("key - query {} instead of {}", span_words(b), span_words(a)));
    return out;
  }
  if (a.low != b.low) {
    const auto left = [&a](const std::optional<Index>& low) {
      return low ? std::optional(a.centre - *low) : std::nullopt;
    };
    out.add(fmt::format("window left {} instead of {}", side_words(left(b.low)),
                        side_words(left(a.low))));
  }
  if (a.high == b.high) return by_shift ? as_alignment(out, by, shift) : out;
  if (a.causal && b.high) {
    out.add(fmt::format("causal offset {}", instead(a.offset + by_high, a.offset)));
  } else if (a.causal || (!a.high && b.causal)) {
    out.add(a.causal ? "the causal rule missing" : "a causal rule");
  } else {
    const auto right = [&a](const std::optional<Index>& high) {
      return high ? std::optional(*high - a.centre) : std::nullopt;
    };
    out.add(fmt::format("window right {} instead of {}", side_words(right(b.high)),
                        side_words(right(a.high))));
    // A window with no key after its centre could also be written as a window with a causal rule.
    if (b.high && a.high == a.centre) {
      out.words += fmt::format(" (causal offset {})", instead(*b.high - *a.high, 0));
    }
  }
  if (out.changes == 1 && !sides) out.kind = "step";
  return by_shift ? as_alignment(out, by, shift) : out;
}

}  // namespace

namespace {

/// The number of the document with token `at`; nothing for a token past the last document.
std::optional<Index> document_at(std::span<const Index> lengths, Index at) {
  Index end = 0;
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    end += lengths[n];
    if (at < end) return static_cast<Index>(n);
  }
  return std::nullopt;
}

/// The number of the document to which token `at` belongs; `side` has the ids of the queries, or
/// those of the keys. Documents are numbered in the order in which they first appear among the
/// keys. Nothing for a token in no document.
std::optional<Index> document_at(const Ids& ids, const std::vector<std::int32_t>& side, Index at) {
  if (at >= std::ssize(side)) return std::nullopt;
  const std::int32_t id = side[as_size(at)];
  if (id == ids.none) return std::nullopt;
  std::vector<std::int32_t> order;
  for (const std::int32_t other : ids.k) {
    if (other == ids.none || std::ranges::find(order, other) != order.end()) continue;
    if (other == id) return std::ssize(order);
    order.push_back(other);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::pair<Index, Index>> documents_of(const Step& step, const Cell& cell) {
  const auto documents = documents_in(step);
  if (!documents) return std::nullopt;
  std::optional<Index> query, key;
  if (documents->q_ids) {
    const Ids ids = ids_of(*documents, 0);
    query = document_at(ids, ids.q, cell.query);
    key = document_at(ids, ids.k, cell.key);
  } else {
    query = document_at(documents->q_lengths, cell.query);
    key = document_at(documents->k_lengths, cell.key);
  }
  if (!query || !key || query == key) return std::nullopt;
  return std::pair(*query, *key);
}

bool are_comparable(const Step& a, const Step& b) {
  if (&a.row() == &b.row()) return true;
  if (keeps_diagonals(a) && keeps_diagonals(b)) return true;
  const bool alike = (chain_of(a) == nullptr) == (chain_of(b) == nullptr);
  if (a.row().documents && b.row().documents) return alike;
  return a.row().change && a.row().change(a, b);
}

Reason step_change(const Step& a, const Step& b, Index queries, Index keys) {
  if (const auto change = a.row().change) {
    if (auto found = change(a, b)) return std::move(*found);
  }
  if (keeps_diagonals(a) && keeps_diagonals(b)) {
    const auto before = limits_of(a, keys - queries), after = limits_of(b, keys - queries);
    if (before && after) {
      return limits_change(*before, *after, keys - queries).value_or(Reason::unchanged());
    }
  }
  const auto before = documents_in(a), after = documents_in(b);
  if (!before || !after) return fields_change(a, b);
  if (chain_of(a)) return within_change(a, b);
  return documents_change(ids_of(*before, keys), ids_of(*after, keys))
      .value_or(Reason::unchanged());
}

namespace {

/// What differs between two steps with chains inside: their arguments, or one step of the chains;
/// nothing if both.
MaybeReason outer_change(const Step& a, const Step& b, Index queries, Index keys) {
  const Reason arguments = arguments_change(info_of(a), a, b);
  const Chain &in_a = *chain_of(a), &in_b = *chain_of(b);
  if (in_a == in_b) return arguments;
  if (arguments.changes > 0) return std::nullopt;
  // Steps inside documents are compared as if each document had as many queries as keys, even if
  // the whole mask has not.
  if (documents_in(a)) queries = keys;
  MaybeReason out = chain_change(in_a, in_b, queries, keys);
  if (out) out->words += " in " + inside_words(a);
  return out;
}

/// True if both steps state the diagonals that they keep by the same arguments, whatever the
/// values: the difference is then worded as one of these arguments, even if another cause would
/// move the diagonals as far.
bool is_spelled_alike(const Step& a, const Step& b) {
  if (!keeps_diagonals(a)) return false;
  return std::ranges::all_of(info_of(a).args, [&](const Field& field) {
    const FieldValue in_a = field.get(a), in_b = field.get(b);
    if (field.type == FieldType::kChoice) return value_text(field, in_a) == value_text(field, in_b);
    const auto is_given = [](const FieldValue& value) {
      return !std::holds_alternative<std::monostate>(value);
    };
    return field.group == 0 || is_given(in_a) == is_given(in_b);
  });
}

/// The only step that `longer` has and `shorter` lacks; null if they differ otherwise. Also null
/// for a step that flips all cells, as other reasons describe it better.
const Step* lone_step(const Chain& longer, const Chain& shorter) {
  if (longer.size() != shorter.size() + 1) return nullptr;
  const auto [at, rest] = std::ranges::mismatch(longer, shorter);
  const bool is_lone = std::equal(at + 1, longer.end(), rest);
  return is_lone && at->row().meets(*at) != Meets::kFlips ? &*at : nullptr;
}

}  // namespace

namespace {

/// "keys at positions 9+0-8", for each side that the step places; empty where it names arrays.
std::string placed_words(const Step& placed) {
  const auto& at = placed.as<step::At>();
  if (!at.q.empty() || !at.kv.empty() || at.stride != 1) return "";
  std::string out;
  for (const std::string_view side : {"queries", "keys"}) {
    const Field& field = *find_field(placed, side);
    const auto text = value_text(field, field.get(placed));
    if (text) out += fmt::format("{}{} at positions {}", out.empty() ? "" : " and ", side, *text);
  }
  return out;
}

/// The step of a chain that is `at` and no other.
const step::At* placing(const Chain& chain) {
  return chain.size() == 1 ? chain[0].get_if<step::At>() : nullptr;
}

}  // namespace

MaybeReason positions_change(const Chain& a, const Chain& b) {
  const bool placed = placing(b) != nullptr;
  if (placed == (placing(a) != nullptr)) return std::nullopt;
  const Chain& outer = placed ? b : a;
  const std::string words = placed_words(outer[0]);
  if (words.empty()) return std::nullopt;
  const Chain &in_a = placed ? a : placing(a)->chain, &in_b = placed ? placing(b)->chain : b;
  const std::string moved =
      placed ? words + " instead of in order" : "tokens in order instead of " + words;
  if (in_a == in_b) return Reason{"step", moved};
  const auto other = chain_change(in_a, in_b, 0, 0);
  if (!other) return std::nullopt;
  return Reason{"other", moved + " and " + other->words};
}

MaybeReason chain_change(const Chain& a, const Chain& b, Index queries, Index keys) {
  const Index shift = keys - queries;
  if (const Step* added = lone_step(b, a)) {
    return Reason{"step", added_words(*added, shift)};
  }
  if (const Step* missing = lone_step(a, b)) {
    return Reason{"step", missing_words(*missing, shift)};
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

/// Compares two lists of document lengths. Returns the number of moved borders between documents or
/// of changed lengths, whichever is smaller.
Index moved_borders(std::span<const Index> a, std::span<const Index> b) {
  const auto borders = [](std::span<const Index> lengths) {
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
  const auto before = documents_in(a), after = documents_in(b);
  if (before && after && !chain_of(a)) {
    if (!before->q_ids && !after->q_ids) return moved_borders(before->q_lengths, after->q_lengths);
    constexpr Index kMany = 1 << 20;
    return a == b ? 0 : kMany;
  }
  return step_change(a, b, queries, keys).changes;
}

std::string step_words(const Step& step, Index shift) {
  if (const auto limits = limits_of(step, shift)) {
    if (limits->causal) {
      return words_of(step) +
             (limits->offset == 0 ? "" : fmt::format(" offset {}", limits->offset));
    }
    const auto side = [](const std::optional<Index>& bound, Index from, Index sign) {
      return bound ? std::to_string((*bound - from) * sign) : std::string("none");
    };
    return fmt::format("{} left {}, right {}", info_of(step).name,
                       side(limits->low, limits->centre, -1),
                       side(limits->high, limits->centre, 1));
  }
  return words_of(step);
}

std::string added_words(const Step& step, Index shift) {
  return step_words(step, shift) + (step.is<step::Region>() ? "" : " added");
}

std::string missing_words(const Step& step, Index shift) {
  const auto* region = step.get_if<step::Region>();
  if (region) return missing_region_words(step_words(step, shift), region->open);
  return step_words(step, shift) + " missing";
}

std::string missing_region_words(const std::string& words, bool open) {
  const std::string_view state = open ? " open" : " closed";
  return fmt::format("{} of {} missing", open ? "opening" : "closing",
                     std::string_view(words).substr(0, words.size() - state.size()));
}

}  // namespace maskctl
