#include "maskctl/inspect/recognise_names.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "maskctl/mask/nearest.h"

namespace maskctl {
namespace {

/// What a list must have too many for two plain steps to be told instead.
constexpr Index kWorthAStep = 32;

struct Extent {
  Index queries, keys;
  bool square() const { return queries == keys; }
};

NamedArray array_of(const std::vector<std::int32_t>& values) {
  Tensor tensor(DType::kInt32, {static_cast<Index>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<std::int32_t>().begin());
  return {std::move(tensor), ""};
}
NamedArray array_of(Index value) {
  Tensor tensor(DType::kInt64, {1});
  tensor.as<std::int64_t>().front() = value;
  return {std::move(tensor), ""};
}

/// The alignment from which `diagonal` is told with the smaller offset.
Align align_for(const Extent& extent, Index diagonal, Index& offset) {
  const Index shift = extent.keys - extent.queries;
  const bool bottom = std::abs(diagonal - shift) < std::abs(diagonal);
  offset = bottom ? diagonal - shift : diagonal;
  if (extent.square()) return Align::kUnset;
  return bottom ? Align::kBottomRight : Align::kTopLeft;
}

Step causal(const Extent& extent, Index high) {
  Index offset = 0;
  step::Causal rule;
  rule.align = align_for(extent, high, offset);
  if (offset != 0) rule.offsets = array_of(offset);
  return {rule};
}

/// Diagonals [low, high]; a side may be unbounded.
Step window(const Extent& extent, std::optional<Index> low, std::optional<Index> high) {
  using Spelling = step::Window::Spelling;
  const Index shift = extent.keys - extent.queries;
  step::Window rule;
  Index centre = 0;
  const auto inside = [&](Index d) { return (!low || *low <= d) && (!high || d <= *high); };
  if (inside(0) && !(high && *high == shift)) {
    rule.align = extent.square() ? Align::kUnset : Align::kTopLeft;
  } else if (inside(shift)) {
    rule.align = extent.square() ? Align::kUnset : Align::kBottomRight;
    centre = shift;
  } else {
    centre = high ? *high : *low;
    rule.align = align_for(extent, centre, rule.offset);
  }
  if (low) rule.left = centre - *low;
  if (high) rule.right = *high - centre;
  if (rule.left && rule.right == Index{0}) {
    rule.spelling = Spelling::kKeys;
  } else if (rule.left && rule.left == rule.right) {
    rule.spelling = Spelling::kBoth;
  }
  return {rule};
}

Step pad(Index length, bool left, bool both) {
  step::Pad rule;
  rule.valid = array_of(length);
  rule.is_lengths = true;
  rule.left = left;
  rule.both = both;
  return {rule};
}

Step document(const Classes& classes, const Extent& extent) {
  step::Document rule;
  rule.q = array_of(ids_of(classes.q, extent.queries, 0, -1));
  rule.shared = classes.shared;
  if (!classes.shared) rule.kv = array_of(ids_of(classes.k, extent.keys, 0, -1));
  return {rule};
}

Step types(const Classes& classes, const Extent& extent) {
  step::Tokens rule;
  rule.q = array_of(ids_of(classes.q, extent.queries, 1, 0));
  rule.shared = classes.shared;
  if (!classes.shared) rule.kv = array_of(ids_of(classes.k, extent.keys, 1, 0));
  return {rule};
}

Step block(const BlockGrid& grid) {
  step::Block rule;
  rule.map.array = Tensor(DType::kBool, {grid.rows, grid.columns});
  std::copy(grid.map.begin(), grid.map.end(), rule.map.array.as<std::uint8_t>().begin());
  rule.q_size = grid.q_size;
  rule.k_size = grid.k_size;
  return {rule};
}

/// Each move as it is.
Step literal(const Move& move, const Extent& extent) {
  struct Visitor {
    const Extent& extent;
    Step operator()(const Diagonals& span) const { return window(extent, span.low, span.high); }
    Step operator()(const Classes& classes) const { return document(classes, extent); }
    Step operator()(const BlockGrid& grid) const { return block(grid); }
    Step operator()(const FirstKeys& first) const { return {step::Prefix{first.n}}; }
    Step operator()(const OpenTokens& open) const { return {step::Global{open.tokens}}; }
    Step operator()(const Types& found) const { return types(found.classes, extent); }
  };
  return std::visit(Visitor{extent}, move.rule);
}

std::vector<Chain> band_forms(const Diagonals& span, const Extent& extent) {
  std::vector<Chain> forms;
  for (const Index high : {Index{0}, extent.keys - extent.queries}) {
    if (high > span.high) forms.push_back({causal(extent, high)});
  }
  forms.push_back({causal(extent, span.high)});
  forms.push_back({window(extent, span.low, std::nullopt)});
  if (span.high < 0 && span.low <= 0) forms.push_back({window(extent, span.low, 0)});
  return forms;
}

std::vector<Step> pad_forms(const Hull& hull, const Extent& extent) {
  std::vector<Step> forms;
  const auto add = [&](Range valid, bool both) {
    if (valid.end < extent.keys) forms.push_back(pad(valid.end, false, both));
    if (valid.begin > 0) forms.push_back(pad(extent.keys - valid.begin, true, both));
  };
  add(hull.k, false);
  if (extent.square()) {
    add({std::min(hull.q.begin, hull.k.begin), std::max(hull.q.end, hull.k.end)}, true);
  }
  return forms;
}

/// Keys or queries from the first to past the last one of each class, classes that overlap joined:
/// contiguous stretches, in order.
struct Stretch {
  Range q, k;
};
std::vector<Stretch> stretches(const Classes& classes) {
  std::vector<Stretch> hulls(static_cast<std::size_t>(classes.count));
  const auto extend = [](Range& hull, Range at) {
    hull = hull.empty() ? at : Range{std::min(hull.begin, at.begin), std::max(hull.end, at.end)};
  };
  for (const ClassRun& run : classes.q) extend(hulls[static_cast<std::size_t>(run.id)].q, run.at);
  for (const ClassRun& run : classes.k) extend(hulls[static_cast<std::size_t>(run.id)].k, run.at);
  std::sort(hulls.begin(), hulls.end(),
            [](const Stretch& a, const Stretch& b) { return a.k.begin < b.k.begin; });
  std::vector<Stretch> out;
  for (const Stretch& hull : hulls) {
    const bool joins =
        !out.empty() && (hull.k.begin < out.back().k.end || hull.q.begin < out.back().q.end);
    if (!joins) {
      out.push_back(hull);
      continue;
    }
    extend(out.back().q, hull.q);
    extend(out.back().k, hull.k);
    // A join may reach back over earlier stretches along the other axis.
    while (out.size() > 1 && (out.back().q.begin < out[out.size() - 2].q.end)) {
      const Stretch last = out.back();
      out.pop_back();
      extend(out.back().q, last.q);
      extend(out.back().k, last.k);
    }
  }
  return out;
}

/// Every stretch lies in one chunk of keys.
bool holds(const std::vector<Stretch>& found, Index size) {
  return size >= 1 && std::all_of(found.begin(), found.end(), [&](const Stretch& stretch) {
           return stretch.k.begin / size == (stretch.k.end - 1) / size;
         });
}

/// Keys are cut at multiples of the size. Borders of stretches that touch are such places; of a
/// single stretch its ends are.
std::vector<Index> chunk_sizes(const std::vector<Stretch>& found, const Extent& extent) {
  Index common = 0, widest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    widest = std::max(widest, found[i].k.size());
    const bool touches = i + 1 < found.size() && found[i].k.end == found[i + 1].k.begin;
    if (touches) common = std::gcd(common, found[i].k.end);
  }
  if (common == 0) common = found.front().k.begin;
  if (common == 0 && found.front().k.end < extent.keys) common = found.front().k.end;
  std::vector<Index> sizes;
  for (const Index size : {common, widest}) {
    if (holds(found, size) && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

/// The offset moves the rows of a chunk against its keys: the first border of rows tells it.
void chunk_forms(const std::vector<Stretch>& found, const Extent& extent,
                 std::vector<Step>& forms) {
  for (const Index size : chunk_sizes(found, extent)) {
    forms.push_back({step::Chunk{size, 0}});
    for (const Stretch& stretch : found) {
      const Index chunk = stretch.k.begin / size;
      const bool begins = stretch.q.begin > 0;
      if (!begins && stretch.q.end == extent.queries) continue;
      const Index offset =
          begins ? chunk * size - stretch.q.begin : (chunk + 1) * size - stretch.q.end;
      if (offset != 0) forms.push_back({step::Chunk{size, offset}});
      break;
    }
  }
}

/// Contiguous documents that tile the tokens from the first one.
void length_forms(const std::vector<Stretch>& found, const Extent& extent,
                  std::vector<Step>& forms) {
  if (!extent.square()) return;
  step::DocumentLengths rule;
  Index at = 0;
  for (const Stretch& stretch : found) {
    const Index begin = std::min(stretch.q.begin, stretch.k.begin);
    const Index end = std::max(stretch.q.end, stretch.k.end);
    if (begin < at) return;
    rule.lengths.insert(rule.lengths.end(), static_cast<std::size_t>(begin - at), 1);
    rule.lengths.push_back(end - begin);
    at = end;
  }
  // Tokens outside any document: closed at the end, alone elsewhere, which is checked like the
  // rest.
  forms.push_back({rule});
}

std::vector<Chain> class_forms(const Move& move, const Extent& extent) {
  const auto& classes = std::get<Classes>(move.rule);
  std::vector<Step> plain = pad_forms(hull_of(*move.open), extent);
  if (classes.count > 0) {
    const Index stride = common_stride(*move.open);
    if (stride > 1) plain.push_back({step::Dilated{stride}});
    const std::vector<Stretch> found = stretches(classes);
    chunk_forms(found, extent, plain);
    length_forms(found, extent, plain);
  }
  std::vector<Chain> forms;
  for (const Step& step : plain) forms.push_back({step});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (std::size_t j = i + 1; j < plain.size(); ++j) forms.push_back({plain[i], plain[j]});
  }
  if (extent.square()) forms.push_back({document(connected(*move.open, true), extent)});
  return forms;
}

std::vector<Chain> forms_of(const Move& move, const Extent& extent) {
  std::vector<Chain> forms;
  if (const auto* span = std::get_if<Diagonals>(&move.rule)) forms = band_forms(*span, extent);
  if (std::holds_alternative<Classes>(move.rule)) forms = class_forms(move, extent);
  forms.push_back({literal(move, extent)});
  return forms;
}

Index changes_in(const NamedArray& ids) {
  if (ids.array.dtype() != DType::kInt32) return ids.array.elements();
  const auto values = ids.array.as<std::int32_t>();
  Index runs = 0;
  for (std::size_t i = 0; i < values.size(); ++i) runs += i == 0 || values[i] != values[i - 1];
  return runs;
}

Index cost(const Step& step) {
  struct Visitor {
    Index operator()(const step::Document& rule) const {
      return 4 + 2 * (changes_in(rule.q) + changes_in(rule.kv));
    }
    Index operator()(const step::Tokens& rule) const {
      return 4 + 2 * (changes_in(rule.q) + changes_in(rule.kv));
    }
    Index operator()(const step::DocumentLengths& rule) const {
      return 1 + static_cast<Index>(rule.lengths.size());
    }
    Index operator()(const step::Global& rule) const {
      return static_cast<Index>(rule.tokens.size());
    }
    Index operator()(const step::Block& rule) const { return 4 + rule.map.array.elements(); }
    Index operator()(const step::Chunk& rule) const { return 1 + (rule.offset != 0); }
    Index operator()(const step::Window& rule) const {
      return rule.left.has_value() + rule.right.has_value() + 2 * (rule.offset != 0);
    }
    Index operator()(const step::Causal& rule) const { return rule.offsets.array.elements(); }
    Index operator()(const step::Pad& rule) const { return 1 + rule.both; }
    Index operator()(const step::Scoped& rule) const { return maskctl::cost(rule.chain); }
    Index operator()(const step::Prefix&) const { return 1; }
    Index operator()(const step::Dilated&) const { return 1; }
    Index operator()(const step::Sinks&) const { return 1; }
    Index operator()(const step::Random&) const { return 1; }
    Index operator()(const step::Combine&) const { return 1; }
    Index operator()(const step::Not&) const { return 1; }
    Index operator()(const step::Slice&) const { return 1; }
    Index operator()(const step::KvLengths&) const { return 1; }
  };
  return 8 + std::visit(Visitor{}, step.rule);
}

/// Few first keys beside a window are sinks.
void name_sinks(Chain& chain) {
  constexpr Index kMostSinks = 16;
  const bool window = std::any_of(chain.begin(), chain.end(), [](const Step& step) {
    return std::holds_alternative<step::Window>(step.rule);
  });
  if (!window) return;
  for (Step& step : chain) {
    const auto* prefix = std::get_if<step::Prefix>(&step.rule);
    if (prefix && prefix->n <= kMostSinks) step = {step::Sinks{prefix->n}};
  }
}

Chain joined(const std::vector<Chain>& parts) {
  Chain chain;
  for (const Chain& part : parts) chain.insert(chain.end(), part.begin(), part.end());
  return chain;
}

}  // namespace

Index cost(const Chain& chain) {
  Index sum = 0;
  for (const Step& step : chain) sum += cost(step);
  return sum;
}

bool has_arrays(const Chain& chain) {
  return std::any_of(chain.begin(), chain.end(), [](const Step& step) {
    return std::holds_alternative<step::Document>(step.rule) ||
           std::holds_alternative<step::Tokens>(step.rule) ||
           std::holds_alternative<step::Block>(step.rule);
  });
}

Index unexplained_cells(const PlanePtr& plane, const Chain& chain) {
  const Mask made = maskctl::apply(Mask(full_plane(plane->queries(), plane->keys())), chain);
  return changed_cells(Mask(plane), made);
}

/// Open tokens that something depends on: those whose column, or else row, holds a cell that the
/// other steps do not explain.
Chain needed_tokens(const PlanePtr& plane, const Chain& others, const OpenTokens& open) {
  const Mask made = maskctl::apply(Mask(full_plane(plane->queries(), plane->keys())), others);
  PlanePtr missing = combine(Op::kSub, plane, made.plane(0, 0));
  const auto among = [&](const std::vector<std::uint8_t>& flags) {
    std::vector<Range> tokens;
    for (const Range& range : open.tokens) {
      for (Index i = range.begin; i < std::min(range.end, static_cast<Index>(flags.size())); ++i) {
        if (!flags[static_cast<std::size_t>(i)]) continue;
        if (!tokens.empty() && tokens.back().end == i) {
          tokens.back().end = i + 1;
        } else {
          tokens.push_back({i, i + 1});
        }
      }
    }
    return tokens;
  };
  return {{step::Global{among(touched(*missing).k)}}};
}

Chain named(const PlanePtr& plane, const Moves& moves) {
  const Extent extent{plane->queries(), plane->keys()};
  std::vector<Chain> parts;
  for (const Move& move : moves) parts.push_back({literal(move, extent)});
  const Index allowed = unexplained_cells(plane, joined(parts));
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const Index steps = static_cast<Index>(joined(parts).size());
    std::vector<Chain> forms = forms_of(moves[i], extent);
    if (const auto* open = std::get_if<OpenTokens>(&moves[i].rule)) {
      std::vector<Chain> others = parts;
      others[i].clear();
      forms.push_back(needed_tokens(plane, joined(others), *open));
    }
    for (const Chain& form : forms) {
      const bool longer = form.size() > parts[i].size();
      const Index gain = longer ? kWorthAStep : 0;
      if (cost(form) + gain >= cost(parts[i]) || (longer && steps > 3)) continue;
      const Chain before = std::exchange(parts[i], form);
      if (unexplained_cells(plane, joined(parts)) <= allowed) continue;
      parts[i] = before;
    }
  }
  Chain chain = joined(parts);
  name_sinks(chain);
  return chain;
}

}  // namespace maskctl
