#include "maskctl/mask/steps/neighbourhood.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/text.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::vector<Axis> axes_of(const Neighbourhood& rule, Index tokens) {
  std::vector<Axis> out;
  for (std::size_t i = 0; i < rule.window.size(); ++i) {
    const auto entry = [i](const std::vector<Index>& list, Index absent) {
      return list.empty() ? absent : list[i];
    };
    out.push_back({.extent = entry(rule.shape, tokens),
                   .window = rule.window[i],
                   .dilation = entry(rule.dilation, 1),
                   .stride = entry(rule.stride, 1),
                   .causal = entry(rule.causal, 0) != 0});
  }
  return out;
}

std::vector<Index> coordinates(std::span<const Axis> axes, Index token) {
  std::vector<Index> out(axes.size());
  for (std::size_t i = axes.size(); i-- > 0; token /= axes[i].extent) {
    out[i] = token % axes[i].extent;
  }
  return out;
}

namespace {

/// Computed when read: a row costs O(rows of its neighbourhood).
class NeighbourhoodPlane final : public ComputedRows {
 public:
  NeighbourhoodPlane(Index tokens, std::vector<Axis> axes)
      : ComputedRows(tokens, tokens), axes_(std::move(axes)) {}

  Index bytes() const override {
    return static_cast<Index>(sizeof(*this) + axes_.size() * sizeof(Axis));
  }

 private:
  void row(Index q, std::vector<Run>& runs) const override {
    add(coordinates(axes_, q), 0, 0, runs);
  }

  /// Appends the keys whose coordinates before dimension `i` make `base`.
  void add(const std::vector<Index>& at, std::size_t i, Index base, std::vector<Run>& runs) const {
    const Axis& axis = axes_[i];
    const Range places = axis.places(at[i]);
    const bool last = i + 1 == axes_.size();
    if (last && axis.dilation == 1) {
      append(base * axis.extent + places.begin, base * axis.extent + places.end, runs);
      return;
    }
    for (Index place = places.begin; place < places.end; ++place) {
      const Index key = base * axis.extent + place * axis.dilation + at[i] % axis.dilation;
      if (last) {
        append(key, key + 1, runs);
      } else {
        add(at, i + 1, key, runs);
      }
    }
  }
  static void append(Index begin, Index end, std::vector<Run>& runs) {
    append_run({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)}, runs);
  }

  std::vector<Axis> axes_;
};

/// A line whose windows move by one token a query: a window, moved inwards at both ends.
PlanePtr line_plane(Index tokens, Index window) {
  const Index left = window / 2, last = tokens - window;
  const Range middle{left, last + left};
  return bands(tokens, tokens,
               {{{0, middle.begin}, {{0, window}}},
                {middle, {{-left, window - left, 1, 1}}},
                {{middle.end, tokens}, {{last, tokens}}}});
}

}  // namespace

PlanePtr neighbourhood_plane(Index tokens, std::vector<Axis> axes) {
  const Axis& axis = axes.front();
  if (axes.size() == 1 && axis.dilation == 1 && axis.stride == 1 && !axis.causal) {
    return line_plane(tokens, axis.window);
  }
  return std::make_shared<NeighbourhoodPlane>(tokens, std::move(axes));
}

namespace {

std::string grid_text(const std::vector<Index>& numbers) { return joined(numbers, "x"); }

}  // namespace

std::string words(const Neighbourhood& rule) {
  return fmt::format("neighbourhood {}", grid_text(rule.window));
}

Meets meets(const Neighbourhood&) { return Meets::kKeeps; }

std::optional<Misfit> misfit(const Neighbourhood& rule, GivenNames) {
  const std::size_t dimensions = rule.window.size();
  if (dimensions < 1 || dimensions > 4) {
    return Misfit{"window", fmt::format("window= of neighbourhood has {} dimensions: expected 1 to "
                                        "4",
                                        dimensions)};
  }
  if (dimensions > 1 && rule.shape.empty()) {
    return Misfit{"window",
                  "neighbourhood needs shape= in more than one dimension: the extents of "
                  "the grid, 8+10"};
  }
  const std::pair<std::string_view, const std::vector<Index>*> lists[] = {
      {"shape", &rule.shape},
      {"dilation", &rule.dilation},
      {"stride", &rule.stride},
      {"causal", &rule.causal}};
  for (const auto& [name, list] : lists) {
    if (list->empty() || list->size() == dimensions) continue;
    return Misfit{name, fmt::format("{}= of neighbourhood has {}, window= has {}", name,
                                    counted(std::ssize(*list), "entry", "entries"), dimensions)};
  }
  return std::nullopt;
}

Mask cells(const Neighbourhood& rule, const MaskShape& shape) {
  if (const auto bad = misfit(rule, {})) refuse("neighbourhood", bad->message);
  for (const auto* list : {&rule.window, &rule.dilation, &rule.stride, &rule.shape}) {
    if (std::ranges::all_of(*list, [](Index number) { return number >= 1; })) continue;
    refuse("neighbourhood", fmt::format("{}: expected numbers of at least 1", list_text(*list)));
  }
  const std::vector<Axis> axes = axes_of(rule, shape.keys);
  Index tokens = 1;
  for (const Axis& axis : axes) {
    tokens = axis.extent > 0 && tokens <= kMaxArgument / axis.extent ? tokens * axis.extent : -1;
    if (tokens < 0) break;
  }
  if (tokens != shape.keys || tokens != shape.queries) {
    refuse("neighbourhood",
           fmt::format("a grid of {} does not have {} and {}: expected as many of both as the grid "
                       "has tokens",
                       rule.shape.empty() ? std::string("one dimension") : grid_text(rule.shape),
                       counted(shape.queries, "query", "queries"), counted(shape.keys, "key")));
  }
  for (const Axis& axis : axes) {
    if (axis.stride > axis.window) {
      refuse("neighbourhood", fmt::format("stride {} exceeds the window of {}: some queries would "
                                          "lie outside of their own window",
                                          axis.stride, axis.window));
    }
    if (axis.window * axis.dilation <= axis.extent) continue;
    refuse("neighbourhood",
           fmt::format("window {} of dilation {} does not fit into {} tokens of its dimension",
                       axis.window, axis.dilation, axis.extent));
  }
  return Mask(neighbourhood_plane(shape.keys, axes));
}

PairReason reason(const Neighbourhood& rule, const MaskShape& shape, const Cell& cell) {
  const std::vector<Axis> axes = axes_of(rule, shape.keys);
  const auto q = coordinates(axes, cell.query), k = coordinates(axes, cell.key);
  std::string out = fmt::format("query {} is at ({}), key {} at ({})", cell.query, joined(q, ","),
                                cell.key, joined(k, ","));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].sees(q[i], k[i])) continue;
    const Range places = axes[i].places(q[i]);
    const auto token = [&](Index place) {
      return place * axes[i].dilation + q[i] % axes[i].dilation;
    };
    return {false, out + fmt::format(": in dimension {} it sees {} to {}{}", i, token(places.begin),
                                     token(places.end - 1),
                                     axes[i].dilation == 1
                                         ? std::string()
                                         : fmt::format(" in steps of {}", axes[i].dilation))};
  }
  return {true, out + ": inside in each dimension"};
}

CellFormula formula(const Neighbourhood& rule) {
  if (rule.shape.empty()) return no_formula("its line is as long as the mask: give shape=");
  const std::vector<Axis> axes = axes_of(rule, 0);
  std::optional<Expr> out;
  Index inner = 1;
  for (std::size_t i = axes.size(); i-- > 0; inner *= axes[i].extent) {
    const Axis& axis = axes[i];
    const auto at = [&](const Expr& token) {
      return expr::modulo(expr::floor_divide(token, inner), axis.extent);
    };
    const Expr q = at(expr::query()), k = at(expr::key());
    const Expr group = expr::modulo(q, axis.dilation);
    const Expr place = expr::floor_divide(q, axis.dilation);
    const Expr key = expr::floor_divide(k, axis.dilation);
    const Expr last =  // the last place of the dilation group
        expr::floor_divide(expr::number(axis.extent - 1) - group, axis.dilation);
    const Expr first = place - expr::modulo(place, axis.stride);
    const auto leader_at = [&](Index ahead) {
      const Expr leader = first + ahead;
      return expr::where(leader < last, leader, last);
    };
    Expr begin = expr::number(0), end = place;
    if (axis.causal) {
      begin = leader_at(axis.stride - 1) + (1 - axis.window);
    } else {
      const Expr left = leader_at(axis.stride / 2) + -(axis.window / 2);
      const Expr from_0 = expr::where(left < expr::number(0), expr::number(0), left);
      const Expr most = last + (1 - axis.window);
      begin = expr::where(from_0 < most, from_0, most);
      end = begin + (axis.window - 1);
    }
    const Expr sees = group == expr::modulo(k, axis.dilation) && begin <= key && key <= end;
    out = out ? sees && *out : sees;
  }
  return *out;
}

namespace {

template <auto Member>
constexpr Field grid_field(std::string_view name, std::string_view help, Index min,
                           Index max = kMaxArgument) {
  return fields::of<Member>({.name = name,
                             .type = FieldType::kLengths,
                             .help = help,
                             .required = name == "window",
                             .min = min,
                             .max = max});
}

constexpr std::array kNeighbourhoodFields = {
    grid_field<&Neighbourhood::window>("window", "keys that a query sees in each dimension: 5+5",
                                       1),
    grid_field<&Neighbourhood::shape>(
        "shape", "extents of the grid of tokens, the last fastest: 8+10; left out: a line", 1),
    grid_field<&Neighbourhood::dilation>("dilation", "distance of neighbours in each dimension", 1),
    grid_field<&Neighbourhood::stride>("stride", "queries that share a window in each dimension",
                                       1),
    grid_field<&Neighbourhood::causal>("causal", "1 where a dimension ends at the query: 1+0", 0,
                                       1)};

constexpr std::array kNeighbourhoodNames = {
    StepInfo{.name = "neighbourhood",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys near the query in a grid, moved inwards at its borders",
             .formula = "start[d] <= k[d] < start[d] + window[d] in each dimension d",
             .example = "neighbourhood:window=5+5,shape=8+10",
             .args = kNeighbourhoodFields,
             .synonyms = "neighborhood natten na2d na3d local2d",
             .make = blank<Neighbourhood>}};
constexpr RuleInfo kNeighbourhoodRow =
    describe<Neighbourhood>(kNeighbourhoodNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Neighbourhood*) { return kNeighbourhoodRow; }

}  // namespace maskctl::step
