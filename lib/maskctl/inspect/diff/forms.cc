#include "maskctl/inspect/diff/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <variant>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/clipped_grid.h"
#include "maskctl/inspect/recognise/own_rules.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

using recognition::OwnRule;

/// Keys of another document that a whole document sees.
struct Across {
  Index document = 0, other = 0;
  Range keys;  // of the other document, from its first token on
  friend bool operator==(const Across&, const Across&) = default;
};

/// A plane as documents of given lengths: the rule of each, and what each sees of one other.
struct Described {
  std::vector<OwnRule> rules;
  std::vector<Across> across;
};

std::optional<Described> described(const PlanePtr& plane, const std::vector<Range>& documents) {
  Described out;
  Index cells = 0;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const Range own = documents[i];
    const auto rule = recognition::rule_of(plane->sliced(own, own));
    if (!rule) return std::nullopt;
    out.rules.push_back(*rule);
    const Index inside = plane->count(own, own), all = plane->count(own, {0, plane->keys()});
    cells += all;
    if (all == inside) continue;
    for (std::size_t j = 0; j < documents.size(); ++j) {
      if (j == i) continue;
      const Index seen = plane->count(own, documents[j]);
      if (seen == 0) continue;
      const Range keys = recognition::hull_of(*plane->sliced(own, documents[j])).k;
      if (seen != all - inside || seen != own.size() * keys.size()) return std::nullopt;
      out.across.push_back({static_cast<Index>(i), static_cast<Index>(j), keys});
    }
    if (out.across.empty() || out.across.back().document != static_cast<Index>(i)) {
      return std::nullopt;
    }
  }
  return cells == plane->count() ? std::optional(std::move(out)) : std::nullopt;
}

enum class Kind : std::uint8_t { kCausal, kFull, kPrefix };

Kind kind_of(const OwnRule& rule) {
  return rule.is_causal() ? Kind::kCausal : rule.is_full() ? Kind::kFull : Kind::kPrefix;
}

std::string kind_text(Kind kind, bool one, const std::vector<Index>& prefixes) {
  if (kind == Kind::kCausal) return "causal";
  if (kind == Kind::kFull) return one ? "seeing all of itself" : "seeing all of themselves";
  return (one ? "causal behind a prefix of " : "causal behind prefixes of ") +
         joined(prefixes, "+");
}

/// "documents 1, 3 causal instead of seeing all of themselves" for each change of a rule.
void add_rules(const Described& a, const Described& b, std::vector<std::string>& parts) {
  constexpr std::array kKinds{Kind::kCausal, Kind::kFull, Kind::kPrefix};
  for (const Kind was : kKinds) {
    for (const Kind is : kKinds) {
      std::vector<Range> which;
      std::vector<Index> before, after;
      for (std::size_t i = 0; i < a.rules.size(); ++i) {
        const bool changed = a.rules[i].prefix != b.rules[i].prefix;
        if (!changed || kind_of(a.rules[i]) != was || kind_of(b.rules[i]) != is) continue;
        append_range(which, {static_cast<Index>(i), static_cast<Index>(i) + 1});
        before.push_back(a.rules[i].prefix);
        after.push_back(b.rules[i].prefix);
      }
      if (which.empty()) continue;
      const bool one = before.size() == 1;
      parts.push_back(fmt::format("{} {} instead of {}", range_words(which, "document"),
                                  kind_text(is, one, after), kind_text(was, one, before)));
    }
  }
}

/// "documents 1-2 seeing tokens 0-3 of document 0" for what is in `with` and not in `without`.
void add_across(const Described& with, const Described& without, const char* seeing,
                std::vector<std::string>& parts) {
  std::vector<Across> left;
  for (const Across& one : with.across) {
    if (std::ranges::find(without.across, one) == without.across.end()) left.push_back(one);
  }
  while (!left.empty()) {
    const Across first = left.front();
    std::vector<Range> which;
    std::erase_if(left, [&](const Across& one) {
      const bool same = one.other == first.other && one.keys == first.keys;
      if (same) append_range(which, {one.document, one.document + 1});
      return same;
    });
    parts.push_back(fmt::format("{} {} {} of document {}", range_words(which, "document"), seeing,
                                range_words(first.keys, "token"), first.other));
  }
}

MaybeReason documents_reason(const PlanePtr& a, const PlanePtr& b) {
  constexpr std::size_t kMostParts = 4, kMostDocuments = 64;
  std::vector<OwnRule> rules = recognition::documents_with_rules(a);
  if (rules.empty()) rules = recognition::documents_with_rules(b);
  if (rules.empty() || rules.size() > kMostDocuments) return std::nullopt;
  std::vector<Range> documents;
  std::vector<Index> lengths;
  for (const OwnRule& rule : rules) {
    const Index begin = documents.empty() ? 0 : documents.back().end;
    documents.push_back({begin, begin + rule.length});
    lengths.push_back(rule.length);
  }
  const auto in_a = described(a, documents), in_b = described(b, documents);
  if (!in_a || !in_b) return std::nullopt;
  std::vector<std::string> parts;
  add_rules(*in_a, *in_b, parts);
  add_across(*in_b, *in_a, "seeing", parts);
  add_across(*in_a, *in_b, "not seeing", parts);
  if (parts.empty() || parts.size() > kMostParts) return std::nullopt;
  return Reason{"document",
                joined(parts, "; ") + ", in documents of " + joined(lengths, "+") + " tokens"};
}

/// The numbers of a list of a step.
std::vector<Index> list_of(const Step& step, std::string_view name) {
  const Field* field = find_field(step, name);
  const FieldValue value = field ? field->get(step) : FieldValue{};
  const auto* list = std::get_if<std::vector<Index>>(&value);
  return list ? *list : std::vector<Index>{};
}

MaybeReason grid_reason(const PlanePtr& a, const PlanePtr& b, const Recognised& recognised_b) {
  const auto in_a = recognition::clipped_grid_of(*a);
  if (!in_a) return std::nullopt;
  const auto in_b = recognition::clipped_grid_of(*b);
  if (in_b && in_a->down == in_b->down && in_a->along == in_b->along) {
    return Reason{"parameter", fmt::format("rows of {} tokens instead of {}, in a {}", in_b->width,
                                           in_a->width, recognition::to_text(*in_a))};
  }
  if (recognised_b.residue.cells > 0 || recognised_b.chain.size() != 1) return std::nullopt;
  const Step& step = recognised_b.chain.front();
  if (info_of(step).name != "neighbourhood") return std::nullopt;
  const Index tokens = a->keys();
  const std::vector<Index> window{2 * in_a->down + 1, 2 * in_a->along + 1};
  const bool same = list_of(step, "shape") == std::vector{tokens / in_a->width, in_a->width} &&
                    list_of(step, "window") == window && list_of(step, "dilation").empty() &&
                    list_of(step, "stride").empty() && list_of(step, "causal").empty();
  if (!same) return std::nullopt;
  return Reason{"step", "windows moved inwards at the borders instead of clipped, in a " +
                            recognition::to_text(*in_a)};
}

}  // namespace

MaybeReason forms_reason(const PlanePtr& a, const PlanePtr& b, const Recognised& recognised_b) {
  if (a->queries() != a->keys()) return std::nullopt;
  if (auto documents = documents_reason(a, b)) return documents;
  return grid_reason(a, b, recognised_b);
}

MaybeReason first_keys_reason(const Mask& a, const Mask& b, const MaskDiff& found) {
  if (a.queries() != 1 || a.heads() != 1 || b.heads() != 1 || found.only_b > 0) return std::nullopt;
  std::vector<Range> batches;
  std::vector<Index> closed;
  for (const PlaneDiff& plane : found.planes) {
    const Index first = recognition::first_key(*b.plane(plane.batch, 0));
    if (a.plane(plane.batch, 0)->count({0, 1}, {0, first}) != plane.only_a) return std::nullopt;
    append_range(batches, {plane.batch, plane.batch + 1});
    closed.push_back(plane.only_a);
  }
  if (closed.size() < 2) return std::nullopt;
  return Reason{"padding", fmt::format("the first {} open keys of {} closed", joined(closed, "+"),
                                       range_words(batches, "batch", "batches"))};
}

}  // namespace maskctl
