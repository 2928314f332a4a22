#include "maskctl/mask/steps/window.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {

Meets meets(const Window&) { return Meets::kKeeps; }

namespace {

Index checked_side(Index keys) {
  if (keys >= 0) return keys;
  refuse("window", fmt::format("a side of {} keys: expected at least 0, or none", keys));
}

/// One side of the window for each batch; kUnbounded where it has no limit.
std::vector<Index> sides(const MaskShape& shape, const std::optional<Index>& one,
                         const NamedArray& each, const char* what) {
  const auto out = per_batch(shape, each, one.value_or(kUnbounded), "window", what);
  for (const Index keys : out) checked_side(keys);
  return out;
}

/// The keys around q + centre.
Diagonal around(Index centre, Index left, Index right) {
  return {left < kUnbounded ? centre - left : -kUnbounded,
          right < kUnbounded ? centre + right : kUnbounded};
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
  return around(align_shift(shape, rule.align, "window") + rule.offset, left, right);
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
    const auto [low, high] = around(shift + offset, left, right);
    return diagonal_band(shape.queries, shape.keys, low, high);
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

namespace {

const Window& window_in(const Step& step) { return step.as<Window>(); }

/// A side as an argument.
FieldValue read(const std::optional<Index>& one, const NamedArray& each) {
  return each.empty() ? fields::read(one) : fields::read(each);
}
void write(std::optional<Index>& one, NamedArray& each, FieldValue value) {
  one.reset();
  each = {};
  if (const Index* number = std::get_if<Index>(&value)) one = *number;
  if (auto* list = std::get_if<NamedArray>(&value)) each = std::move(*list);
}

/// The value with `by` added to its numbers; an array that has a name keeps it.
FieldValue moved(FieldValue value, Index by) {
  if (Index* number = std::get_if<Index>(&value)) *number += by;
  if (auto* list = std::get_if<NamedArray>(&value)) {
    if (is_list(*list)) list->text.clear();
    list->array = astype(list->array, DType::kInt64);
    for (std::int64_t& number : list->array.as<std::int64_t>()) number += by;
  }
  return value;
}

/// The spelling, unless the sides contradict it.
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

/// keys= and both= say both sides.
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
