#include "maskctl/inspect/recognise/names.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl::recognition {
namespace {

/// Writing a step as several steps must save more bits of the description than this many numbers
/// take.
constexpr Index kWorthAStep = 1;

std::vector<Chain> band_forms(const Diagonals& span, const Extent& extent) {
  std::vector<Chain> forms;
  if (extent.queries == 1) {  // in a single row, a diagonal is not determined
    const Step right = pad(span.high + 1, false, false);
    const Step left = pad(extent.keys - span.low, true, false);
    if (span.low <= 0) return {{right}};
    if (span.high + 1 == extent.keys) return {{left}};
    return {{left, right}};
  }
  for (const Index high : {Index{0}, extent.keys - extent.queries}) {
    if (high > span.high) forms.push_back({causal(extent, high)});
  }
  forms.push_back({causal(extent, span.high)});
  forms.push_back({window(extent, span.low, std::nullopt)});
  if (span.high < 0 && span.low <= 0) forms.push_back({window(extent, span.low, 0)});
  return forms;
}

std::vector<Step> pad_forms(const Hull& seen, const Extent& extent) {
  std::vector<Step> forms;
  const auto add = [&](Range valid, bool both) {
    if (valid.end < extent.keys) forms.push_back(pad(valid.end, false, both));
    if (valid.begin > 0) forms.push_back(pad(extent.keys - valid.begin, true, both));
  };
  add(seen.k, false);
  if (extent.square()) add(hull(seen.q, seen.k), true);
  return forms;
}

/// The queries and keys of a class, from its first to past its last. Overlapping ones are merged,
/// so that the queries and the keys of a stretch follow those of the stretch before.
struct Stretch {
  Range q, k;
};
std::vector<Stretch> stretches(const Classes& classes) {
  std::vector<Stretch> hulls(static_cast<std::size_t>(classes.count));
  const auto extend = [](Range& range, Range at) { range = hull(range, at); };
  for (const ClassRun& run : classes.q) extend(hulls[static_cast<std::size_t>(run.id)].q, run.at);
  for (const ClassRun& run : classes.k) extend(hulls[static_cast<std::size_t>(run.id)].k, run.at);
  std::sort(hulls.begin(), hulls.end(),
            [](const Stretch& a, const Stretch& b) { return a.k.begin < b.k.begin; });
  std::vector<Stretch> out;
  for (const Stretch& stretch : hulls) {
    const bool joins =
        !out.empty() && (stretch.k.begin < out.back().k.end || stretch.q.begin < out.back().q.end);
    if (!joins) {
      out.push_back(stretch);
      continue;
    }
    extend(out.back().q, stretch.q);
    extend(out.back().k, stretch.k);
    // The merged stretch may now overlap the queries of earlier ones.
    while (out.size() > 1 && (out.back().q.begin < out[out.size() - 2].q.end)) {
      const Stretch last = out.back();
      out.pop_back();
      extend(out.back().q, last.q);
      extend(out.back().k, last.k);
    }
  }
  return out;
}

/// True if each stretch (the queries and keys of a class, which see each other) has its keys in a
/// single chunk of this size.
bool holds(const std::vector<Stretch>& found, Index size) {
  return size >= 1 && std::all_of(found.begin(), found.end(), [&](const Stretch& stretch) {
           return stretch.k.begin / size == (stretch.k.end - 1) / size;
         });
}

/// Chunk sizes with which the keys of every stretch (the queries and keys of a class) are in a
/// single chunk. Tried are the common divisor of the borders between touching stretches (else an
/// end of the first stretch) and the length of the longest stretch, along keys and along queries.
std::vector<Index> chunk_sizes(const std::vector<Stretch>& found, const Extent& extent) {
  Index common = 0, common_rows = 0, widest = 0, highest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    widest = std::max(widest, found[i].k.size());
    highest = std::max(highest, found[i].q.size());
    if (i + 1 == found.size()) break;
    if (found[i].k.end == found[i + 1].k.begin) common = std::gcd(common, found[i].k.end);
    if (found[i].q.end == found[i + 1].q.begin) common_rows = std::gcd(common_rows, found[i].q.end);
  }
  if (common == 0) common = found.front().k.begin;
  if (common == 0 && found.front().k.end < extent.keys) common = found.front().k.end;
  if (common_rows == 0) common_rows = found.front().q.begin;
  if (common_rows == 0 && found.front().q.end < extent.queries) common_rows = found.front().q.end;
  std::vector<Index> sizes;
  // Sizes that give many more chunks than there are classes explain nothing and are costly to try.
  const Index most = 2 * std::ssize(found) + 64;
  for (const Index size : {common, widest, common_rows, highest}) {
    if (size > 0 && extent.keys / size > most) continue;
    if (holds(found, size) && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

/// Adds chunk steps of likely sizes, without and with an offset. An offset moves the queries of a
/// chunk against its keys, so it is read off the first stretch (the queries and keys of a class)
/// that does not have all queries.
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
      // Where one chunk has all keys, rows are closed: that is no chunk.
      if (offset != 0 && size < extent.keys) forms.push_back({step::Chunk{size, offset}});
      break;
    }
  }
}

/// Adds chunks that are counted from a key other than the first. Their size is that of the longest
/// stretch (the queries and keys of a class).
void origin_form(const std::vector<Stretch>& found, const Extent& extent,
                 std::vector<Step>& forms) {
  if (found.size() < 4) return;  // fewer stretches could be documents of any lengths
  Index size = 0;
  for (const Stretch& stretch : found) size = std::max(size, stretch.k.size());
  const Index origin = found[1].k.begin % size;
  if (origin == 0 || extent.keys / size > 2 * std::ssize(found) + 64) return;
  step::Chunk rule{size, 0};
  rule.origins.array = Tensor(DType::kInt64, {1});
  rule.origins.array.as<std::int64_t>().front() = origin;
  forms.push_back({std::move(rule)});
}

/// Which document gets the tokens between two documents if no cell decides.
enum class Gap : std::uint8_t { kNobody, kBefore, kAfter };

/// Adds documents that cover the tokens from the first one on. With kNobody, each token between two
/// documents becomes a document of its own. Tokens past the last document are closed.
void length_forms(const std::vector<Stretch>& found, Gap gap, std::vector<Step>& forms) {
  step::DocumentLengths rule;
  Index at = 0;
  for (const Stretch& stretch : found) {
    Index begin = std::min(stretch.q.begin, stretch.k.begin);
    const Index end = std::max(stretch.q.end, stretch.k.end);
    if (begin < at) return;
    if (gap == Gap::kBefore && !rule.lengths.empty()) rule.lengths.back() += begin - at;
    if (gap == Gap::kNobody || (gap == Gap::kBefore && rule.lengths.empty())) {
      rule.lengths.insert(rule.lengths.end(), static_cast<std::size_t>(begin - at), 1);
    }
    if (gap == Gap::kAfter) begin = at;
    rule.lengths.push_back(end - begin);
    at = end;
  }
  // What is between stretches is a guess: every form is compared with the mask later.
  forms.push_back({rule});
}

/// Returns what the runs of classes, in ascending order, leave out of a range.
std::vector<Range> outside(const std::vector<ClassRun>& runs, Range all) {
  std::vector<Range> out;
  Index at = all.begin;
  const auto leave_out = [&](Index end) {
    if (at < end) out.push_back({at, end});
  };
  for (const ClassRun& run : runs) {
    leave_out(run.at.begin);
    at = run.at.end;
  }
  leave_out(all.end);
  return out;
}

/// Adds steps that close the rows, and the columns, in which no class has a cell. One gap among the
/// keys is left padding behind a prefix.
void close_forms(const Classes& classes, const Extent& extent, std::vector<Step>& forms) {
  std::vector<Range> rows = outside(classes.q, {0, extent.queries});
  std::vector<Range> columns = outside(classes.k, {0, extent.keys});
  if (!rows.empty()) forms.push_back({step::Region{false, std::move(rows), {}}});
  if (columns.size() > 1) forms.push_back({step::Region{false, {}, std::move(columns)}});
}

std::vector<Chain> class_forms(const Move& move, const Extent& extent) {
  const auto& classes = std::get<Classes>(move.rule);
  std::vector<Step> plain = pad_forms(hull_of(*move.open), extent);
  close_forms(classes, extent, plain);
  if (classes.count > 0) {
    const Index stride = common_stride(*move.open);
    if (stride > 1) plain.push_back({step::Dilated{stride}});
    const std::vector<Stretch> found = stretches(classes);
    chunk_forms(found, extent, plain);
    origin_form(found, extent, plain);
    if (extent.square()) {
      for (const Gap gap : {Gap::kNobody, Gap::kBefore, Gap::kAfter}) {
        length_forms(found, gap, plain);
      }
    }
  }
  std::vector<Chain> forms;
  forms.reserve(plain.size());
  for (const Step& step : plain) forms.push_back({step});
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (std::size_t j = i + 1; j < plain.size(); ++j) forms.push_back({plain[i], plain[j]});
  }
  // A prefix in front of left padding: all rows see the first keys and those after the padding.
  const auto& keys = classes.k;
  if (classes.count == 1 && keys.size() == 2 && keys[0].at.begin == 0 &&
      keys[1].at.end == extent.keys) {
    forms.push_back({pad(keys[1].at.size(), true, false), step::Prefix{keys[0].at.end}});
  }
  if (extent.square()) {
    forms.emplace_back().push_back(document(connected(*move.open, true), extent));
  }
  return forms;
}

std::vector<Chain> forms_of(const Move& move, const Extent& extent) {
  if (const auto* span = std::get_if<Diagonals>(&move.rule)) return band_forms(*span, extent);
  if (std::holds_alternative<Classes>(move.rule)) return class_forms(move, extent);
  return {};
}

/// Renames a prefix of a few keys to sinks if the chain has a window.
void name_sinks(Chain& chain) {
  constexpr Index kMostSinks = 16;
  const bool window = std::any_of(chain.begin(), chain.end(),
                                  [](const Step& step) { return step.is<step::Window>(); });
  if (!window) return;
  for (Step& step : chain) {
    const auto* prefix = step.get_if<step::Prefix>();
    if (prefix && prefix->n <= kMostSinks) step = {step::Sinks{prefix->n}};
  }
}

/// Writes closed rows and columns, whose list may be long, behind all other steps where these only
/// close cells too, so that the order makes no difference.
void name_regions_last(Chain& chain) {
  const bool commute = std::ranges::all_of(chain, [](const Step& step) {
    const Meets meets = step.row().meets(step);
    return meets == Meets::kKeeps || meets == Meets::kCloses;
  });
  if (!commute) return;
  std::ranges::stable_partition(chain, [](const Step& step) { return !step.is<step::Region>(); });
}

/// Returns an all-open mask to which all chains in `parts` except number `without` are applied.
Mask applied(const PlanePtr& like, const std::vector<Chain>& parts, std::size_t without) {
  Mask made = full_like(Mask(like));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != without) made = maskctl::apply(made, parts[i]);
  }
  return made;
}

bool explains(const PlanePtr& plane, const std::vector<Chain>& parts, Index allowed) {
  const PlanePtr made = applied(plane, parts, parts.size()).plane(0, 0);
  // Counts are cheaper than differences, and tell most forms that do not fit.
  if (std::abs(made->count() - plane->count()) > allowed) return false;
  return differing_cells(plane, made) <= allowed;
}

/// Returns a step that opens the needed tokens of `open`, whose tokens are seen by every query and
/// see every key. A token is needed if an open cell of the plane in its column is closed in
/// `others`, the mask of all other steps.
Chain needed_tokens(const PlanePtr& plane, const Mask& others, const OpenTokens& open) {
  const PlanePtr missing = combine(Op::kSub, plane, others.plane(0, 0));
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
  std::vector<Range> tokens = among(touched(*missing).k);
  if (tokens.empty()) return {};
  return {{step::Global{std::move(tokens)}}};
}

}  // namespace

Index unexplained_cells(const PlanePtr& plane, const Chain& chain) {
  return differing_cells(Mask(plane), maskctl::apply(full_like(Mask(plane)), chain));
}

Chain named(const PlanePtr& plane, const Moves& moves, Index allowed) {
  const Extent extent{plane->queries(), plane->keys()};
  const Description description(extent);
  std::vector<Chain> parts(moves.size());
  for (std::size_t i = 0; i < moves.size(); ++i) parts[i].push_back(literal(moves[i], extent));
  for (std::size_t i = 0; i < moves.size(); ++i) {
    std::size_t steps = 0;
    for (const Chain& part : parts) steps += part.size();
    std::vector<Chain> forms = forms_of(moves[i], extent);
    forms.push_back({});  // the step may be unnecessary
    if (const auto* open = std::get_if<OpenTokens>(&moves[i].rule)) {
      forms.push_back(needed_tokens(plane, applied(plane, parts, i), *open));
    }
    for (Chain& form : forms) {
      const bool longer = form.size() > parts[i].size();
      const Index gain = longer ? kWorthAStep * description.number() : 0;
      if (description.of(form) + gain >= description.of(parts[i]) || (longer && steps > 3))
        continue;
      std::swap(parts[i], form);
      if (!explains(plane, parts, allowed)) std::swap(parts[i], form);
    }
  }
  Chain chain;
  for (Chain& part : parts) std::ranges::move(part, std::back_inserter(chain));
  name_sinks(chain);
  name_regions_last(chain);
  return chain;
}

}  // namespace maskctl::recognition
