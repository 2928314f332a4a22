// Findings in masks that a few steps nearly explain.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/exceptions.h"
#include "maskctl/inspect/check/family.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/check/opened_rows.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/inspect/recognise/summary.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kNearly>) {
  return {.id = "nearly",
          .severity = Severity::kWarning,
          .summary = "a few steps make the mask except for some cells",
          .claim =
              "the mask differs from the steps named in that many cells, rows of padding that see "
              "every key left out",
          .why =
              "single cells of a regular mask are rarely meant: an index that is off by one, a "
              "cell written by hand, a leak between documents",
          .fix = "recognise prints the steps; compare with diff, or make the mask from the steps",
          .example = "maskctl check gen:causal:n=32 -t close:q=20,k=5",
          .beside = {LintRule::Beside::kTellsReopened},
          .fixed = follow_steps};
}

namespace {

/// In a mask of n cells, at most n / kMost unexplained cells are exceptions; more of them are a
/// pattern of their own. In small masks, kAlways cells may be exceptions, but in tiny masks only
/// n / kMostOfTiny.
constexpr Index kMost = 64, kAlways = 4, kMostOfTiny = 32;
constexpr Index kNotCrowded = 8;
constexpr std::size_t kListed = 4;

/// Returns how many ranges of global tokens and how many regions (rows, columns or rectangles) the
/// steps contain. Each can be fitted to single cells that should be reported, so each counts as one
/// unexplained cell.
Index tokens_and_regions(const Chain& chain) {
  Index out = 0;
  for (const Step& step : chain) {
    if (const Chain* inner = chain_of(step)) out += tokens_and_regions(*inner);
    if (const auto* global = step.get_if<step::Global>()) out += std::ssize(global->tokens);
    out += step.is<step::Region>();
  }
  return out;
}

Chain without_tokens_and_regions(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (tokens_and_regions({step}) == 0) out.push_back(step);
  }
  return out;
}

/// The stride of the dilation in a chain for one batch entry: neighbouring tokens are this far
/// apart. 1 without a dilation.
Index stride_of(const Chain& chain, Index batch) {
  Index out = 1;
  for (const Step& step : chain) {
    const auto* dilated = step.get_if<step::Dilated>();
    if (dilated) out *= of_batch(dilated->strides, batch, dilated->stride);
  }
  return out;
}

bool are_documents(const Chain& chain);

/// True for steps that make documents from lengths, also inside a scope of batch entries or heads
/// with lengths of their own.
bool is_documents(const Step& step) {
  const Chain* inner = chain_of(step);
  if (step.row().scope) return are_documents(*inner);
  const auto documents = documents_in(step);
  return documents && !documents->q_ids && !inner;
}

/// True if each step keeps diagonals or makes documents, also inside scopes. Chunks may be
/// documents of equal length.
bool are_plain(const Chain& chain) {
  return std::ranges::all_of(chain, [](const Step& step) {
    if (is_documents(step) || step.is<step::Chunk>() || keeps_diagonals(step)) return true;
    return step.row().scope && are_plain(*chain_of(step));
  });
}

bool are_documents(const Chain& chain) {
  const auto cuts = [](const Step& step) {
    const Chain* inner = step.row().scope ? chain_of(step) : nullptr;
    return is_documents(step) || step.is<step::Chunk>() || (inner && are_documents(*inner));
  };
  return std::ranges::any_of(chain, cuts) && are_plain(chain);
}

/// Whether there are several documents and each is long enough to be one: those of a token or two
/// may only stand for single cells. At both ends, single tokens may be padding that sees itself.
bool are_long(std::span<const Index> lengths) {
  constexpr Index kLeast = 2, kLeastOnAverage = 4;
  while (!lengths.empty() && lengths.front() == 1) lengths = lengths.subspan(1);
  while (!lengths.empty() && lengths.back() == 1) lengths = lengths.first(lengths.size() - 1);
  const Index tokens = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  return lengths.size() > 1 && std::ranges::min(lengths) >= kLeast &&
         tokens >= kLeastOnAverage * std::ssize(lengths);
}

/// The steps that cut the tokens into documents or chunks, also those inside scopes.
Chain borders_of(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (step.row().scope) {
      Step scoped = step;
      *info_of(scoped).chain(scoped) = borders_of(*chain_of(step));
      out.push_back(std::move(scoped));
    } else if (const auto* documents = step.get_if<step::DocumentLengths>()) {
      if (are_long(documents->lengths)) out.push_back(step);
    } else if (step.is<step::Chunk>()) {
      out.push_back(step);
    }
  }
  return out;
}

/// True if a step has an array of ids, types or blocks, also inside scopes: no text names it.
bool names_arrays(const Chain& chain) {
  return recognition::has_arrays(chain) || std::ranges::any_of(chain, [](const Step& step) {
           const Chain* inner = chain_of(step);
           return inner && names_arrays(*inner);
         });
}

bool is_inverse(const Chain& chain) {
  return !chain.empty() && chain.back().row().meets(chain.back()) == Meets::kFlips;
}

/// Whether queries are tokens among the keys, and in no head do most of them see themselves.
bool hides_selves(const Mask& mask) {
  if (mask.queries() != mask.keys()) return false;
  return std::ranges::all_of(mask.distinct(), [](const PlanePtr& plane) {
    return 2 * count_on_diagonals(plane, 0, 0) < plane->keys();
  });
}

/// For example "query 17, key 3; query 17, key 4 and 12 more"; batch and head are named if they are
/// not 0.
std::string cells_text(const Residue& residue) {
  std::string out;
  const std::size_t listed = std::min(residue.first.size(), kListed);
  for (std::size_t i = 0; i < listed; ++i) {
    const Cell& cell = residue.first[i];
    if (i > 0) out += "; ";
    if (cell.batch > 0) out += fmt::format("batch {}, ", cell.batch);
    if (cell.head > 0) out += fmt::format("head {}, ", cell.head);
    out += fmt::format("query {}, key {}", cell.query, cell.key);
  }
  const Index more = residue.cells - static_cast<Index>(listed);
  return more > 0 ? out + fmt::format(" and {} more", more) : out;
}

constexpr std::size_t kMostPieces = 16;

/// The open cells of a plane as rectangles; nothing if more than kMostPieces are needed.
std::optional<std::vector<recognition::Hull>> pieces_of(const Plane& plane) {
  std::vector<recognition::Hull> out;
  bool few = true;
  recognition::each_row_while(plane, [&](Range rows, const Keys& keys) {
    std::vector<Run> scratch;
    for (const Run& run : as_runs(keys, scratch)) {
      const auto above = std::ranges::find_if(out, [&](const recognition::Hull& piece) {
        return piece.q.end == rows.begin && piece.k.begin == run.begin && piece.k.end == run.end;
      });
      if (above != out.end()) {
        above->q.end = rows.end;
      } else {
        out.push_back({rows, {run.begin, run.end}});
      }
    }
    few = out.size() <= kMostPieces;
    return few;
  });
  return few ? std::optional(std::move(out)) : std::nullopt;
}

/// The only run of a row; empty if there are several, or none.
Range only_run(const Plane& plane, Index query) {
  Range out{0, 0};
  Index runs = 0;
  plane.row_sizes({query, query + 1}, [&](Range, const Plane::RowSize& size) { runs = size.runs; });
  if (runs != 1) return out;
  plane.rows({query, query + 1}, [&](Range, const Keys& keys) { out = hull_of(keys); });
  return out;
}

/// True if there are several cells, and each is in a row with a single run of open keys, which is
/// as long as the only run of the middle row of the plane. Neighbourhood attention has such rows:
/// its windows are shifted, not cut, at both ends of the keys.
bool are_full_windows(const Residue& residue, const Mask& mask) {
  return residue.cells > 1 && std::ranges::all_of(residue.first, [&mask](const Cell& cell) {
           const Plane& plane = *mask.plane(cell.batch, cell.head);
           const Range middle = only_run(plane, plane.queries() / 2);
           return !middle.empty() && only_run(plane, cell.query).size() == middle.size();
         });
}

/// The number of exceptions: ranges of global tokens and regions in the steps, and cells that the
/// steps do not explain.
Index exceptions_of(const Recognised& found) {
  return found.residue.cells + tokens_and_regions(found.chain);
}

bool is_few(const Pattern& pattern) {
  const Index cells = pattern.mask.cells();
  return exceptions_of(pattern.found) <=
         std::max(std::min(kAlways, cells / kMostOfTiny), cells / kMost);
}

/// The token of query 0 where a causal step without an offset says that the queries lie elsewhere
/// than at the end of the keys.
std::optional<Index> shift_in(const Chain& chain, const Mask& mask) {
  const Index most = mask.keys() - mask.queries();
  for (const Step& step : chain) {
    const auto* causal = step.get_if<step::Causal>();
    if (!causal || most <= 0 || !causal->offsets.empty()) continue;
    const Index shift = shift_of(shape_of(mask), causal->align);
    if (shift >= 0 && shift < most) return shift;
  }
  return std::nullopt;
}

/// The cells that steps leave open in the rows of a pattern's mask; its rows of opened padding are
/// closed, as in the mask.
Mask made_by(const Chain& chain, const Pattern& pattern) {
  const Mask out = maskctl::apply(full_like(pattern.mask), chain);
  return pattern.opened ? zip(Op::kSub, out, *pattern.opened) : out;
}

/// The cells that steps do not explain.
class Unexplained {
 public:
  explicit Unexplained(const Pattern& pattern)
      : pattern_(pattern),
        mask_(pattern.mask),
        residue_(pattern.found.residue),
        steps_(made_by(pattern.found.chain, pattern)),
        cells_(zip(Op::kXor, mask_, steps_)),
        rectangle_(rectangle_of_cells()) {
    std::map<std::uint32_t, std::pair<Index, Index>> first;  // where each plane of cells is used
    std::ranges::copy_if(residue_.first, std::back_inserter(judged_), [&](const Cell& cell) {
      const std::pair at(cell.batch, cell.head);
      return first.try_emplace(cells_.index_of(cell.batch, cell.head), at).first->second == at;
    });
  }

  /// True when the cells follow a rule: their rows are windows of equal length, or none of them is
  /// an exception in its own plane (is_exception()).
  bool follow_a_rule() const {
    return are_full_windows(residue_, mask_) || std::ranges::none_of(judged_, is_odd());
  }

  /// Whether some rows were taken for opened padding, and some of the cells are in other rows that
  /// see every key: these rows may be opened padding, too.
  bool are_in_full_rows() const {
    return pattern_.opened && any_plane([this](Index b, Index h) {
             const Plane& plane = *mask_.plane(b, h);
             const PlanePtr cells = cells_.plane(b, h);
             bool found = false;
             plane.row_sizes({0, plane.queries()}, [&](Range same, const Plane::RowSize& size) {
               found =
                   found || (size.keys == plane.keys() && cells->count(same, {0, size.keys}) > 0);
             });
             return found;
           });
  }

  /// True when the cells look like mistakes: at least a third are exceptions with no other cell
  /// near them or mirrored across the diagonal, or all form one rectangle that lies alone. Cells
  /// with neighbours are lines or blocks: a stride, selected keys.
  bool are_strays() const {
    const auto strays = std::ranges::count_if(
        judged_, [this](const Cell& cell) { return is_alone(cell) && is_odd()(cell); });
    return (3 * strays >= std::ssize(judged_) && !are_crowded()) || is_island();
  }

  /// Whether the steps cut tokens into documents or chunks, and all cells are open between these,
  /// are exceptions, and are few beside the others of their planes.
  bool cross_borders() const {
    constexpr Index kMostShare = 8;
    const auto many = [this](Index b, Index h) {
      const Index cells = cells_.plane(b, h)->count();
      return kMostShare * cells > mask_.plane(b, h)->count() - cells;
    };
    if (any_plane(many)) return false;
    const Mask inside = maskctl::apply(full_like(mask_), borders_of(pattern_.found.chain));
    return zip(Op::kSub, cells_, zip(Op::kSub, mask_, inside)).count() == 0 &&
           3 * std::ranges::count_if(judged_, is_odd()) >= std::ssize(judged_);
  }

  /// Whether the cells that are open in some plane, but not by the steps, are one rectangle that
  /// joins documents, or a few rectangles of which one begins or ends inside a document. False for
  /// a rectangle that covers the rows of whole documents and begins at key 0 or ends at the last
  /// query: documents may share such a part.
  bool joins_documents() const {
    if (!are_documents(pattern_.found.chain)) return false;
    const Mask documents = maskctl::apply(full_like(mask_), borders_of(pattern_.found.chain));
    if (documents.count() == documents.cells()) return false;  // they are too short
    return any_plane([&](Index b, Index h) {
      const Plane& steps = *steps_.plane(b, h);
      const PlanePtr opened = combine(Op::kSub, mask_.plane(b, h), steps_.plane(b, h));
      const auto cuts = [&](const recognition::Hull& piece) {
        return continues(steps, piece.q.begin) || continues(steps, piece.q.end);
      };
      const auto all = pieces_of(*opened);
      if (all && all->size() == 1) {
        const auto& [q, k] = all->front();
        return (k.begin > 0 && q.end < mask_.queries()) || cuts(all->front());
      }
      const auto across = pieces_of(*combine(Op::kSub, opened, documents.plane(b, h)));
      return across && std::ranges::any_of(*across, cuts);
    });
  }

  /// The cells as text, if few rectangles cover them exactly: "head 1, queries 25-30, keys 2-9;
  /// head 1, queries 40-47, keys 4-15".
  std::optional<std::string> rectangles() const {
    std::string out;
    std::size_t listed = 0;
    for (Index b = 0; b < cells_.batch(); ++b) {
      for (Index h = 0; h < cells_.heads(); ++h) {
        const auto pieces = pieces_of(*cells_.plane(b, h));
        if (!pieces || (listed += pieces->size()) > kListed) return std::nullopt;
        for (const auto& [q, k] : *pieces) {
          out += fmt::format("{}{}{}{}, {}", out.empty() ? "" : "; ",
                             b > 0 ? fmt::format("batch {}, ", b) : "",
                             h > 0 ? fmt::format("head {}, ", h) : "",
                             range_words(q, "query", "queries"), range_words(k, "key"));
        }
      }
    }
    return out;
  }

 private:
  /// Whether a query is in the document of the one before it.
  bool continues(const Plane& steps, Index query) const {
    return query > 0 && query < mask_.queries() && query <= mask_.keys() &&
           steps.count({query, query + 1}, {query - 1, query}) == 1;
  }

  const Plane& plane_of(const Mask& mask) const {
    const Cell& first = residue_.first.front();
    return *mask.plane(first.batch, first.head);
  }

  std::optional<recognition::Hull> rectangle_of_cells() const {
    const recognition::Hull hull = recognition::hull_of(plane_of(cells_));
    const bool is_all = hull.q.size() * hull.k.size() == residue_.cells &&
                        plane_of(cells_).count(hull.q, hull.k) == residue_.cells;
    return is_all ? std::optional(hull) : std::nullopt;
  }

  /// Whether many cells share few rows, columns or diagonals: they follow a rule of their own.
  bool are_crowded() const {
    if (std::ssize(judged_) <= kNotCrowded) return false;
    std::set<Index> queries, keys, diagonals;
    for (const Cell& cell : judged_) {
      queries.insert(cell.query);
      keys.insert(cell.key);
      diagonals.insert(cell.key - cell.query);
    }
    return 2 * std::min({queries.size(), keys.size(), diagonals.size()}) < judged_.size();
  }

  std::function<bool(const Cell&)> is_odd() const {
    return [this](const Cell& cell) {
      return is_exception(mask_.plane(cell.batch, cell.head), cell.query, cell.key, shift_);
    };
  }

  /// True if the steps open this cell, and neither the next one away from the diagonal in its row
  /// nor that in its column: it is the corner where the window of a document ends, which sinks may
  /// leave open in another document.
  bool is_end_of_window(const Cell& cell) const {
    const PlanePtr& plane = steps_.plane(cell.batch, cell.head);
    const auto opens = [&](Index query, Index key) {
      return plane->count(intersect({query, query + 1}, {0, mask_.queries()}),
                          intersect({key, key + 1}, {0, mask_.keys()})) > 0;
    };
    const Index out = cell.key > cell.query + mask_.keys() - mask_.queries() ? 1 : -1;
    return opens(cell.query, cell.key) && !opens(cell.query, cell.key + out) &&
           !opens(cell.query - out, cell.key);
  }

  /// True when the cell with query and key exchanged is unexplained too.
  bool has_mirror(const Cell& cell) const {
    return mask_.queries() == mask_.keys() && cell.query != cell.key &&
           cells_.plane(cell.batch, cell.head)
                   ->count({cell.key, cell.key + 1}, {cell.query, cell.query + 1}) == 1;
  }

  /// Whether no other unexplained cell is within `reach` of this one in both axes. Cells on the
  /// anti-diagonal through this one do not count, because no rule runs along that. False for a cell
  /// at the end of a window or with a mirrored cell.
  bool is_alone(const Cell& cell) const {
    if (is_end_of_window(cell) || has_mirror(cell)) return false;
    const Index queries = mask_.queries(), keys = mask_.keys();
    const PlanePtr& plane = cells_.plane(cell.batch, cell.head);
    const Index reach = stride_of(pattern_.found.chain, cell.batch);
    const auto near = [reach](Index at, Index size) {
      return Range{std::max<Index>(at - reach, 0), std::min(at + reach + 1, size)};
    };
    Index others = plane->count(near(cell.query, queries), near(cell.key, keys)) - 1;
    for (Index step = -reach; step <= reach; ++step) {
      const Index q = cell.query + step, k = cell.key - step;
      if (step == 0 || q < 0 || q >= queries || k < 0 || k >= keys) continue;
      others -= plane->count({q, q + 1}, {k, k + 1});
    }
    return others == 0;
  }

  /// Whether the cells are one rectangle, not at an edge of the mask, that stands out: it is open
  /// and the cells around it are closed, or it is closed and all cells around it that the steps
  /// open are open, some of them above and below. The steps must keep diagonals or make documents.
  bool is_island() const {
    if (!rectangle_ || !are_plain(pattern_.found.chain)) return false;
    const auto& [q, k] = *rectangle_;
    if (q.begin == 0 || k.begin == 0 || q.end == mask_.queries() || k.end == mask_.keys()) {
      return false;
    }
    const Plane &mask = plane_of(mask_), &steps = plane_of(steps_);
    const Range rows{q.begin - 1, q.end + 1}, columns{k.begin - 1, k.end + 1};
    const Index around = mask.count(rows, columns) - mask.count(q, k);
    if (mask.count(q, k) > 0) return around == 0;
    return around == steps.count(rows, columns) - steps.count(q, k) &&
           steps.count({q.begin - 1, q.begin}, k) > 0 && steps.count({q.end, q.end + 1}, k) > 0;
  }

  /// Whether holds(batch, head) is true for some plane with cells that the steps do not explain;
  /// equal planes are asked once.
  template <typename Holds>
  bool any_plane(const Holds& holds) const {
    std::set<std::uint32_t> seen;
    for (Index b = 0; b < cells_.batch(); ++b) {
      for (Index h = 0; h < cells_.heads(); ++h) {
        if (!seen.insert(cells_.index_of(b, h)).second || cells_.plane(b, h)->count() == 0)
          continue;
        if (holds(b, h)) return true;
      }
    }
    return false;
  }

  const Pattern& pattern_;
  const Mask& mask_;
  const Residue& residue_;
  Mask steps_, cells_;
  std::optional<Index> shift_ = shift_in(pattern_.found.chain, mask_);
  std::vector<Cell> judged_;  // the first cells, of which heads and batch entries share none
  std::optional<recognition::Hull> rectangle_;
};

/// " (causal)"; a summary of several batches may have its brackets.
std::string in_brackets(const std::string& text) {
  const bool has = text.starts_with('(') && text.find(')') + 1 == text.size();
  return has ? " " + text : " (" + text + ")";
}

Findings inverse_of(const Recognised& found, const std::string& text, const Pattern& pattern) {
  const Mask& mask = pattern.mask;
  const Mask given = pattern.opened ? zip(Op::kOr, mask, *pattern.opened) : mask;
  if (!is_inverse(found.chain) || tokens_and_regions(found.chain) > 0 || !hides_selves(given))
    return {};
  return {{&lint_rule(FindingId::kPolarity),
           fmt::format("the mask is the inverse of one: {}", text),
           {},
           mask.cells()}};
}

}  // namespace

Pattern pattern_of(const Mask& given, const Mask* tokens, recognition::KnownPlanes& known) {
  Pattern out{.mask = without_opened_padding(given, opened_rows(given, tokens))};
  const Mask& mask = out.mask;
  if (mask.count() != given.count()) out.opened = zip(Op::kSub, given, mask);
  const Recognised all = recognise(mask, {.guess = false}, known);
  out.found = regions_as_cells(all, mask);
  out.explained = all.residue.cells == 0 && !all.irregular && !names_arrays(all.chain);
  out.is_rule = out.explained && tokens_and_regions(all.chain) == 0;
  if (out.opened) out.found.residue = residue_of(mask, made_by(out.found.chain, out));
  // Global tokens and regions may stand for what are only single cells. So prefer the steps without
  // them, or no steps, if that leaves no more exceptions.
  for (Chain plain : {without_tokens_and_regions(out.found.chain), Chain{}}) {
    if (plain == out.found.chain) continue;
    const Mask steps = made_by(plain, out);
    const Index most = exceptions_of(out.found);
    // The number of cells that differ is at least the difference of the counts.
    if (std::abs(steps.count() - mask.count()) > most) continue;
    Residue residue = residue_of(mask, steps);
    if (residue.cells > most) continue;
    out.found = {std::move(plain), std::move(residue)};
  }
  return out;
}

std::optional<Findings> lint_pattern(const Pattern& pattern, const std::string& words) {
  const Mask& mask = pattern.mask;
  const Recognised& found = pattern.found;
  const Residue& residue = found.residue;
  if (found.irregular || names_arrays(found.chain)) {
    return pattern.explained ? std::optional(Findings{}) : std::nullopt;
  }
  const std::string text = found.chain.empty() ? words : summary_text(found.chain);
  if (residue.cells == 0) return inverse_of(found, text, pattern);
  const Unexplained cells(pattern);
  const bool off_family = are_off_family(mask, found.chain, residue);
  if (!off_family && cells.follow_a_rule()) return std::nullopt;
  if (cells.are_in_full_rows()) return std::nullopt;
  // What leaves more cells than not is not nearly the mask.
  if (2 * residue.cells > mask.count()) return std::nullopt;
  if (!off_family && !cells.joins_documents() && !cells.cross_borders() &&
      !(is_few(pattern) && cells.are_strays())) {
    return std::nullopt;
  }
  const Cell& at = residue.first.front();
  const bool is_listed = residue.cells <= static_cast<Index>(kListed);
  const auto parts = is_listed ? std::nullopt : cells.rectangles();
  const auto why = off_family_text(mask, found.chain, at);
  return Findings{
      {&lint_rule(FindingId::kNearly),
       fmt::format("{}{} except for {}: {}{}", words, words == text ? "" : in_brackets(text),
                   counted(residue.cells, "cell"), parts ? *parts : cells_text(residue),
                   why ? "; in the first, " + *why : ""),
       {at.batch, at.head, at.query, at.key, {}, {}},
       residue.cells}};
}

}  // namespace maskctl
