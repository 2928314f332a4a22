#include "maskctl/mask/steps/window.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Meets meets(const Window&) { return Meets::kKeeps; }

Mask cells(const Window& rule, const MaskShape& shape) {
  for (const auto& side : {rule.left, rule.right}) {
    if (side && *side < 0) {
      refuse("window", fmt::format("a side of {} keys: expected at least 0, or none", *side));
    }
  }
  check_offset(rule.offset, "window");
  const Index shift = align_shift(shape, rule.align, "window");
  const auto plane = [&](Index offset) {
    const Index centre = shift + offset;
    const Index low = rule.left && *rule.left < kUnbounded ? centre - *rule.left : -kUnbounded;
    const Index high = rule.right && *rule.right < kUnbounded ? centre + *rule.right : kUnbounded;
    return diagonal_band(shape.queries, shape.keys, low, high);
  };
  if (rule.offsets.empty()) return Mask(plane(rule.offset));
  return per_value(shape, per_batch_offsets(shape, rule.offsets, "window", "offsets"), plane);
}

PairReason reason(const Window& rule, const MaskShape& shape, const Cell& cell) {
  const Index shift = shift_of(shape, rule.align);
  const Index offset = of_batch(rule.offsets, cell.batch, rule.offset);
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

Expr formula(const Window& rule) {
  const Expr centre =
      expr::diagonal(rule.align) +
      (rule.offsets.empty() ? expr::number(rule.offset) : expr::of_batch("offset", rule.offsets));
  Expr out = expr::truth(true);
  if (rule.left) out = centre - expr::key() <= expr::number(*rule.left);
  if (rule.right) out = out && expr::key() - centre <= expr::number(*rule.right);
  return out;
}

namespace {

const Window& window_in(const Step& step) { return std::get<Window>(step.rule); }

/// The spelling, unless the sides contradict it.
Window::Spelling spelling_of(const Window& rule) {
  using Spelling = Window::Spelling;
  const bool fits = rule.spelling == Spelling::kKeys ? rule.left && rule.right == Index{0}
                                                     : rule.left && rule.left == rule.right;
  return fits ? rule.spelling : Spelling::kSides;
}

template <std::optional<Index> Window::*Side>
constexpr Field window_side(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = FieldType::kSide,
          .help = help,
          .fallback = "none",
          .group = 1,
          .get =
              [](const Step& step) {
                const Window& rule = window_in(step);
                return spelling_of(rule) == Window::Spelling::kSides ? fields::read(rule.*Side)
                                                                     : FieldValue();
              },
          .set = fields::Access<Side>::set};
}

/// keys= and both= say both sides.
template <Window::Spelling Spelling>
constexpr Field window_width(std::string_view name, std::string_view help, Index min, int group) {
  constexpr Index kMore = Spelling == Window::Spelling::kKeys ? 1 : 0;
  return {.name = name,
          .help = help,
          .required = true,
          .min = min,
          .group = group,
          .get =
              [](const Step& step) {
                const Window& rule = window_in(step);
                return spelling_of(rule) == Spelling ? FieldValue(*rule.left + kMore)
                                                     : FieldValue();
              },
          .set =
              [](Step& step, FieldValue value) {
                Window& rule = std::get<Window>(step.rule);
                rule.spelling = Spelling;
                rule.left = std::get<Index>(value) - kMore;
                rule.right = kMore == 1 ? 0 : rule.left;
              }};
}

constexpr std::array kWindowFields = {
    window_side<&Window::left>("left", "keys before the query's own, or none"),
    window_side<&Window::right>("right", "keys after the query's own, or none"),
    window_width<Window::Spelling::kKeys>("keys", "left = keys - 1, right = 0", 1, 2),
    window_width<Window::Spelling::kBoth>("both", "left = right = both", 0, 3),
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
constexpr RuleInfo kWindowRow = describe<Window>(kWindowNames, Reopening::kHarmless);

}  // namespace

const RuleInfo& Window::row() { return kWindowRow; }

}  // namespace maskctl::step
