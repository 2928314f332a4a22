#include "maskctl/mask/steps/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Meets meets(const Window&) { return Meets::kKeeps; }

namespace {

Index checked_side(Index keys) {
  if (keys >= 0) return keys;
  refuse("window", fmt::format("a side of {} keys: expected at least 0, or none", keys));
}

/// The width of one side of the window for each batch; kUnbounded if it has no limit.
std::vector<Index> sides(const MaskShape& shape, const std::optional<Index>& one,
                         const NamedArray& each, const char* what) {
  const auto out = per_batch(shape, each, one.value_or(kUnbounded), "window", what);
  for (const Index keys : out) checked_side(keys);
  return out;
}

/// Returns the diagonals (key - query) from shift + offset - left to shift + offset + right.
Diagonal around(Index shift, Index offset, Index left, Index right) {
  const Index centre = shift + offset;
  return {left < kUnbounded ? centre - left : -kUnbounded,
          right < kUnbounded ? centre + right : kUnbounded, centre, offset};
}

std::optional<Index> side_of(const std::optional<Index>& one, const NamedArray& each, Index batch) {
  return each.empty() ? one : of_batch(each, batch);
}

}  // namespace

std::optional<Diagonal> diagonal(const Window& rule, const MaskShape& shape) {
  if (rule.is_per_batch()) return std::nullopt;
  const Index left = checked_side(rule.left.value_or(kUnbounded)),
              right = checked_side(rule.right.value_or(kUnbounded));
  check_offset(rule.offset, "window");
  return around(align_shift(shape, rule.align, "window"), rule.offset, left, right);
}

Mask cells(const Window& rule, const MaskShape& shape) {
  if (const auto one = diagonal(rule, shape)) {
    return Mask(diagonal_band(shape.queries, shape.keys, one->low, one->high));
  }
  const std::vector<Index> lefts = sides(shape, rule.left, rule.lefts, "left"),
                           rights = sides(shape, rule.right, rule.rights, "right");
  const Index shift = align_shift(shape, rule.align, "window");
  const auto plane = [&](Index left, Index right, Index offset) {
    check_offset(offset, "window");
    const Diagonal kept = around(shift, offset, left, right);
    return diagonal_band(shape.queries, shape.keys, kept.low, kept.high);
  };
  return per_values(shape, plane, lefts, rights,
                    per_batch(shape, rule.offsets, rule.offset, "window", "offsets"));
}

PairReason reason(const Window& rule, const MaskShape& shape, const Cell& cell) {
  const Index shift = shift_of(shape, rule.align);
  const Index offset = of_batch(rule.offsets, cell.batch, rule.offset);
  const Index centre = cell.query + shift + offset;
  const Index distance = cell.key - centre;
  const auto side = distance < 0 ? side_of(rule.left, rule.lefts, cell.batch)
                                 : side_of(rule.right, rule.rights, cell.batch);
  const std::string where = shift == 0 && offset == 0
                                ? fmt::format("query {}", cell.query)
                                : fmt::format("{}{}", centre, diagonal_text(cell, shift, offset));
  if (distance == 0) return {true, fmt::format("key {} is the key at {}", cell.key, where)};
  const Index away = std::abs(distance);
  const char* name = distance < 0 ? "left" : "right";
  return {!side || away <= *side, fmt::format("key {} is {} {} of {}, {}={}", cell.key, away, name,
                                              where, name, side ? std::to_string(*side) : "none")};
}

Expr formula(const Window& rule) {
  const Expr centre =
      expr::diagonal(rule.align) + expr::of_batch("offset", rule.offsets, rule.offset);
  Expr out = expr::truth(true);
  if (rule.left || !rule.lefts.empty()) {
    out = centre - expr::key() <= expr::of_batch("left", rule.lefts, rule.left.value_or(0));
  }
  if (rule.right || !rule.rights.empty()) {
    out =
        out && expr::key() - centre <= expr::of_batch("right", rule.rights, rule.right.value_or(0));
  }
  return out;
}

/// Counts the bits of both sides of the window, whichever arguments they are written with.
Index bits(const Window& rule, const ArgumentBits& bits) {
  const auto side = [&](const std::optional<Index>& keys) {
    return keys ? std::max<Index>(bits.signed_number(*keys), 1) : 0;
  };
  return side(rule.left) + side(rule.right) + bits.signed_number(rule.offset) +
         bits.list(rule.offsets) + bits.list(rule.lefts) + bits.list(rule.rights);
}

/// Adds edits (steps that may have been meant instead): windows with one side unbounded, windows
/// with the same width on both sides, and the usual edits of left= and right=.
void edits(const Window& rule, StepEdits& edits) {
  if (rule.is_per_batch()) return edits.usual(rule);
  Window sides = rule;
  sides.spelling = Window::Spelling::kSides;
  const auto put = [&](const char* text, std::optional<Index> left, std::optional<Index> right) {
    Window other = sides;
    other.left = left;
    other.right = right;
    edits.put(text, std::move(other));
  };
  const auto [left, right] = std::pair(rule.left, rule.right);
  if (left && right) {
    put("window open to the left", std::nullopt, right);
    put("window open to the right", left, std::nullopt);
  }
  if (left && right != left) put("window to both sides", left, left);
  if (right && left != right) put("window to both sides as to the right", right, right);
  edits.usual(sides);
}

namespace {

const Window& window_in(const Step& step) { return step.as<Window>(); }

/// One side as the value of an argument: a number, or one per batch.
FieldValue read(const std::optional<Index>& one, const NamedArray& each) {
  return each.empty() ? fields::read(one) : fields::read(each);
}
void write(std::optional<Index>& one, NamedArray& each, FieldValue value) {
  one.reset();
  each = {};
  if (const Index* number = std::get_if<Index>(&value)) one = *number;
  if (auto* list = std::get_if<NamedArray>(&value)) each = std::move(*list);
}

/// Returns the value with `by` added to its numbers. An array that was given as a list such as
/// "3+5" loses that text; one with a name keeps the name.
FieldValue moved(FieldValue value, Index by) {
  if (Index* number = std::get_if<Index>(&value)) *number += by;
  if (auto* list = std::get_if<NamedArray>(&value)) *list = moved_by(*list, by);
  return value;
}

/// The arguments with which the rule was written (such as keys=), if its sides can be written with
/// them; otherwise kSides (left= and right=).
Window::Spelling spelling_of(const Window& rule) {
  using Spelling = Window::Spelling;
  if (!rule.left && rule.lefts.empty()) return Spelling::kSides;
  const bool fits = rule.spelling == Spelling::kKeys
                        ? rule.right == Index{0} && rule.rights.empty()
                        : rule.left == rule.right && rule.lefts == rule.rights;
  return fits ? rule.spelling : Spelling::kSides;
}

template <std::optional<Index> Window::*One, NamedArray Window::*Each>
constexpr Field window_side(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = FieldType::kSideOrSource,
          .help = help,
          .fallback = "none",
          .group = 1,
          .get =
              [](const Step& step) {
                const Window& rule = window_in(step);
                return spelling_of(rule) == Window::Spelling::kSides ? read(rule.*One, rule.*Each)
                                                                     : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                Window& rule = step.as<Window>();
                write(rule.*One, rule.*Each, std::move(value));
              }};
}

/// An argument that gives both sides at once: keys= or both=.
template <Window::Spelling Spelling>
constexpr Field window_width(std::string_view name, std::string_view help, Index min, int group) {
  constexpr Index kMore = Spelling == Window::Spelling::kKeys ? 1 : 0;
  return {.name = name,
          .type = FieldType::kIntegerOrSource,
          .help = help,
          .required = true,
          .min = min,
          .group = group,
          .get =
              [](const Step& step) {
                const Window& rule = window_in(step);
                return spelling_of(rule) == Spelling ? moved(read(rule.left, rule.lefts), kMore)
                                                     : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                Window& rule = step.as<Window>();
                rule.spelling = Spelling;
                write(rule.left, rule.lefts, moved(std::move(value), -kMore));
                rule.right = kMore == 1 ? std::optional<Index>(0) : rule.left;
                rule.rights = kMore == 1 ? NamedArray() : rule.lefts;
              }};
}

constexpr std::array kWindowFields = {
    window_side<&Window::left, &Window::lefts>(
        "left", "keys before the query's own, or none; or one per batch"),
    window_side<&Window::right, &Window::rights>(
        "right", "keys after the query's own, or none; or one per batch"),
    window_width<Window::Spelling::kKeys>("keys", "left = keys - 1, right = 0; or one per batch", 1,
                                          2),
    window_width<Window::Spelling::kBoth>("both", "left = right = both; or one per batch", 0, 3),
    fields::align<&Window::align>(
        "where the diagonal lies when Q != K; needed then (shift 0 or K - Q)"),
    fields::number_or_each<Window, &Window::offset, &Window::offsets>(
        {.name = "offset",
         .help = "moves the window towards later keys: a number, or one per batch",
         .fallback = "0",
         .min = kAnyNumber})};

constexpr std::array kWindowNames = {
    StepInfo{.name = "window",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys near the query's position",
             .formula = "-left <= k - (q + shift + offset) <= right",
             .example = "window:keys=128",
             .args = kWindowFields,
             .synonyms = "sliding sliding-window sliding_window swa local banded band",
             .make = blank<Window>}};
constexpr RuleInfo kWindowRow =
    describe<Window>(kWindowNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Window*) { return kWindowRow; }

}  // namespace maskctl::step
