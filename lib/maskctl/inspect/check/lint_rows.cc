// Finds rows that see nothing, rows that see everything, and rows whose keys a kernel reaches late.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/fixes.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/count/stats_parts.h"
#include "maskctl/inspect/find/unseen.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kRowsOpened>) {
  return {.id = "rows-opened",
          .severity = Severity::kWarning,
          .summary = "rows of a causal mask see every key",
          .claim = "that many rows see every key",
          .why = "such rows see the future, and other documents and padding",
          .fix = "close them with the step causal",
          .example = "maskctl check gen:causal:n=6 -t open:q=2",
          .fixed = close_opened_rows};
}

LintRule lint_row(RuleKey<FindingId::kPaddingRowsOpened>) {
  return {.id = "padding-rows-opened",
          .severity = Severity::kNote,
          .summary = "padding rows see every key",
          .claim =
              "that many rows at the first or last tokens see every key, and no other row sees "
              "their tokens",
          .why =
              "how Hugging Face avoids rows without a key (_unmask_unattended); harmless where "
              "their outputs are dropped, but a tool that compares masks sees it",
          .fix = "nothing, if the loss ignores padding",
          .example = "maskctl check gen:causal:n=6 -t 'pad:lens=4,side=left | open:q=0-1'"};
}

LintRule lint_row(RuleKey<FindingId::kEmptyRows>) {
  return {.id = "empty-rows",
          .severity = Severity::kWarning,
          .summary = "queries see no key, and nothing declares them to be padding",
          .claim = "that many rows see no key, and no query sees their tokens where it says so",
          .why =
              "softmax over nothing: -inf everywhere gives NaN in torch.softmax, jax.nn.softmax "
              "and torch.nn.MultiheadAttention with need_weights (pytorch#41508), 0 in torch SDPA, "
              "finfo.min gives the mean of V, flash-attention and Triton give 0; NaN spreads to "
              "all gradients",
          .fix =
              "let such rows see themselves; if they are padding, declare it by pad ids (doc:SRC), "
              "lengths (pad:lens=N) or of=both",
          .example = "maskctl check gen:causal:n=16 -t slice:q=4-7,k=6-15",
          .fixed = see_themselves,
          .unfixed = "which key is the query's own is not known"};
}

LintRule lint_row(RuleKey<FindingId::kPaddingRowsEmpty>) {
  return {
      .id = "padding-rows-empty",
      .severity = Severity::kNote,
      .summary = "padding tokens see no key",
      .claim = "that many rows see no key, and are declared to be padding, or seen by none",
      .why = "their outputs are NaN, 0 or the mean of V; NaN times a loss weight of 0 is still NaN",
      .fix = "let padding see itself, or select the loss with where instead of a product",
      .example =
          R"(python3 -c 'import numpy as np; np.save("ids.npy", np.array([[0, 0, 1, 1, -1, -1]], "i4"))'
maskctl check ids.npy --as segments)"};
}

LintRule lint_row(RuleKey<FindingId::kLeftPaddingNan>) {
  return {.id = "left-padding-nan",
          .severity = Severity::kNote,
          .summary = "left padding sees no key, and what is closed weighs 0",
          .claim = "that many rows at the first tokens see no key, and are seen by none",
          .why =
              "torch.softmax, jax.nn.softmax and torch.nn.MultiheadAttention with need_weights "
              "make NaN of such rows, whose NaN keys and values reach every row of the next layer, "
              "because 0 times NaN is NaN; torch SDPA, flash-attention and Triton make 0, "
              "transformers' eager attention, which adds the least finite number, the mean of V",
          .fix =
              "nothing, where the library makes 0; else let padding see itself, or close with the "
              "least finite number",
          .example = "maskctl check gen:causal:n=6 -t close:k=0-1"};
}

LintRule lint_row(RuleKey<FindingId::kFirstBlock>) {
  return {
      .id = "first-block",
      .severity = Severity::kNote,
      .summary = "most rows have keys, but none in the first block that is computed for them",
      .claim =
          "that many rows have keys, and none in the first block of 128 keys in which any of their "
          "128 queries has one",
      .why =
          "the running maximum of online softmax is -inf after that block: FlexAttention with "
          "ROWS_GUARANTEED_SAFE and kernels without the guard give NaN",
      .fix = "do not promise safe rows for this mask; the expectation row-safe:block=N checks it",
      .example = "maskctl check gen:window:keys=8,n=512"};
}

namespace {

constexpr BlockSize kKernelBlock{128, 128};
/// If a plane has more ranges of empty rows than this, their columns are not examined.
constexpr std::size_t kMostRanges = 4096;

void lint_opened_rows(const std::vector<PlaneUse>& uses, Index queries,
                      const std::vector<OpenedRows>& opened, Findings& out) {
  RowTally padding, others;
  const char* later = ", later ones too";
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const PlaneUse& use = uses[i];
    const auto add = [&](RowTally& tally, const std::vector<Range>& ranges) {
      for (const Range& rows : ranges) {
        if (rows.end == queries) later = "";  // no key is later than that of the last row
        tally.add(use.batch, use.head, rows.begin, rows.size() * use.times);
      }
    };
    add(padding, opened[i].padding);
    add(others, opened[i].others);
  }
  const auto tell = [&](FindingId id, const char* of, const char* rest, const RowTally& rows) {
    if (rows.count == 0) return;
    out.push_back({&lint_rule(id),
                   fmt::format("{}{} see{} all keys{}{}", counted(rows.count, "row"), of,
                               rows.count == 1 ? "s" : "", later, rest),
                   rows.first, rows.count});
  };
  tell(FindingId::kPaddingRowsOpened, " of padding", "", padding);
  tell(FindingId::kRowsOpened, "",
       padding.count == 0 ? ", and the others are causal"
                          : ", and the others but padding are causal",
       others);
}

/// Whether the queries are the tokens of the first keys, as in a static cache whose later slots are
/// empty: no query sees a key past its own number.
bool are_first_keys(const PlanePtr& plane) {
  return plane->queries() < plane->keys() && count_on_diagonals(plane, 1, kUnbounded) == 0;
}

/// Returns for each range of empty rows (rows that see no key) whether it is padding, that is,
/// whether its columns are empty too.
std::vector<bool> own_columns_empty(const PlanePtr& of, const std::vector<Range>& ranges) {
  const Plane& plane = *of;
  std::vector<bool> out(ranges.size(), false);
  if (plane.queries() != plane.keys() && !are_first_keys(of)) {
    // If queries and keys differ in number, they are different sequences: only empty rows at the
    // end count as padding.
    if (!ranges.empty()) out.back() = ranges.back().end == plane.queries();
    return out;
  }
  if (ranges.size() > kMostRanges) return out;
  std::vector<Index> edges;
  for (const Range& range : ranges) {
    edges.push_back(range.begin);
    edges.push_back(range.end);
  }
  if (edges.empty()) return out;
  std::vector<Index> open(edges.size() - 1);
  plane.counts({0, plane.queries()}, edges, open);
  for (std::size_t i = 0; i < ranges.size(); ++i) out[i] = open[2 * i] == 0;
  return out;
}

/// Splits ranges at the borders of `others`, and calls f(rows, inside) for each part; `inside` says
/// whether the part is within one of `others`. Ranges ascend and do not touch.
template <typename F>
void each_part(const std::vector<Range>& ranges, const std::vector<Range>& others, const F& f) {
  auto other = others.begin();
  for (const Range& range : ranges) {
    for (Index begin = range.begin; begin < range.end;) {
      while (other != others.end() && other->end <= begin) ++other;
      const bool inside = other != others.end() && other->begin <= begin;
      const Index edge = other == others.end() ? range.end : inside ? other->end : other->begin;
      const Index end = std::min(edge, range.end);
      f(Range{begin, end}, inside);
      begin = end;
    }
  }
}

/// Counts the empty rows (rows that see no key) of each plane as declared to be padding, apparently
/// left padding, or neither.
class EmptyRows {
 public:
  EmptyRows(const LintedMask& linted, const std::vector<RowSafety>& safety, const RowFacts& facts)
      : mask_(linted.mask), facts_(facts) {
    for (std::size_t i = 0; i < safety.size(); ++i) {
      const PlanePtr& plane = mask_.distinct()[i];
      ranges_.push_back(safety[i].empty == 0 ? std::vector<Range>{} : empty_rows(*plane));
      unseen_.push_back(own_columns_empty(plane, ranges_.back()));
      are_tokens_.push_back(plane->queries() == plane->keys() || are_first_keys(plane));
    }
    if (!facts.real_queries) return;
    for (const PlanePtr& plane : facts.real_queries->distinct()) {
      declared_.push_back(empty_rows(*plane));
    }
  }

  void report(Findings& out) {
    count();
    const auto tell = [&out](FindingId id, std::string_view of, const RowTally& rows,
                             const std::string& more = "") {
      if (rows.count == 0) return;
      const char* verb = rows.count == 1 ? "sees" : "see";
      out.push_back({&lint_rule(id),
                     fmt::format("{}{} {} no key{}", counted(rows.count, "row"), of, verb, more),
                     rows.first, rows.count});
    };
    tell(FindingId::kEmptyRows, "", others_, unseen_text());
    tell(FindingId::kLeftPaddingNan, " of left padding", of_left_padding_);
    tell(FindingId::kPaddingRowsEmpty, " of padding", of_padding_);
  }

  /// The mask in which the rows counted as empty-rows see themselves.
  Mask with_own_keys() {
    count();
    return Mask::make(mask_.batch(), mask_.heads(), mask_.queries(), mask_.keys(),
                      [this](Index b, Index h) {
                        const PlanePtr& plane = mask_.plane(b, h);
                        const auto found = rows_of_others_.find({b, h});
                        if (found == rows_of_others_.end()) return plane;
                        std::vector<Slab> own;
                        for (const Range& rows : found->second)
                          own.push_back({rows, {{0, 1, 1, 1}}});
                        return combine(Op::kOr, plane, bands(mask_.queries(), mask_.keys(), own));
                      });
  }

 private:
  const std::vector<Range>& declared(Index b, Index h) const {
    static const std::vector<Range> kNone;
    if (!facts_.real_queries) return kNone;
    const Mask& real = *facts_.real_queries;
    return declared_[real.index_of(real.batch() == 1 ? 0 : b, real.heads() == 1 ? 0 : h)];
  }

  void add(Index b, Index h) {
    const std::uint32_t plane = mask_.index_of(b, h);
    const std::vector<Range>& ranges = ranges_[plane];
    // A plane without open cells is reported as plane-empty instead.
    if (!ranges.empty() && ranges[0].size() == mask_.queries()) return;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      each_part({ranges[i]}, declared(b, h), [&](Range rows, bool is_declared) {
        const bool last = rows.end == mask_.queries() && are_tokens_[plane];
        RowTally& rows_like_these = tally(is_declared, unseen_[plane][i], rows.begin == 0, last);
        rows_like_these.add(b, h, rows.begin, rows.size());
        if (&rows_like_these != &others_) return;
        others_unseen_ += unseen_[plane][i] ? rows.size() : unseen_among(plane, rows);
        rows_of_others_[{b, h}].push_back(rows);
      });
    }
  }

  /// How many tokens of empty rows no query sees; 0 where that is not known.
  Index unseen_among(std::uint32_t plane, Range rows) {
    if (mask_.queries() != mask_.keys()) return 0;
    const auto [at, fresh] = unseen_tokens_.try_emplace(plane);
    if (fresh) {
      const auto found = unseen_keys(Mask(mask_.distinct()[plane]));
      if (found && !found->empty()) at->second = found->front().keys;
    }
    Index out = 0;
    for (const Range& tokens : at->second) out += intersect(tokens, rows).size();
    return out;
  }

  void count() {
    for (Index b = 0; b < mask_.batch(); ++b) {
      for (Index h = 0; h < mask_.heads(); ++h) add(b, h);
    }
  }

  /// Returns the tally for some empty rows (rows that see no key). Rows declared to be padding
  /// count as padding. Other rows whose tokens no query sees count as left padding if they come
  /// first, and as padding if they come last or if empty rows do not become NaN.
  RowTally& tally(bool is_declared, bool unseen, bool first, bool last) {
    if (is_declared) return of_padding_;
    if (facts_.all_declared || !unseen) return others_;
    if (!facts_.gives_nan) return of_padding_;
    return first ? of_left_padding_ : last ? of_padding_ : others_;
  }

  /// How many of the tokens of `others_` no query sees, where queries are tokens.
  std::string unseen_text() const {
    if (others_unseen_ == 0 || mask_.queries() != mask_.keys()) return "";
    const std::string some =
        others_unseen_ < others_.count ? fmt::format(" of {} of them", others_unseen_) : "";
    return fmt::format(", and no query sees {} token{}{}",
                       !some.empty()        ? "the"
                       : others_.count == 1 ? "its"
                                            : "their",
                       others_.count == 1 ? "" : "s", some);
  }

  const Mask& mask_;
  RowFacts facts_;
  std::vector<std::vector<Range>> ranges_, declared_;
  std::vector<std::vector<bool>> unseen_;
  std::vector<bool> are_tokens_;  // of each plane: whether its queries are tokens among the keys
  RowTally others_, of_padding_, of_left_padding_;
  std::map<std::pair<Index, Index>, std::vector<Range>> rows_of_others_;  // by batch and head
  Index others_unseen_ = 0;
  std::map<std::uint32_t, std::vector<Range>> unseen_tokens_;  // of planes that were asked
};

/// Reports rows that see keys, but none in the first block computed for them, if these are most
/// rows. Masks with documents or windows have few such rows, unless blocks are larger than what a
/// row sees.
void lint_first_block(const LintedMask& linted, const std::vector<RowSafety>& safety,
                      Findings& out) {
  const Mask& mask = linted.mask;
  const std::vector<PlaneUse>& uses = linted.uses;
  RowTally rows;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (safety[i].late == 0) continue;
    rows.add(uses[i].batch, uses[i].head, *safety[i].first_late, safety[i].late * uses[i].times);
  }
  if (2 * rows.count <= mask.batch() * mask.heads() * mask.queries()) return;
  out.push_back(
      {&lint_rule(FindingId::kFirstBlock),
       fmt::format(
           "{} with keys, none of them in the first {}x{} block that is computed for its queries",
           counted(rows.count, "row"), kKernelBlock.q, kKernelBlock.k),
       rows.first, rows.count});
}

std::vector<RowSafety> safety_of(const Mask& mask) {
  std::vector<RowSafety> out;
  for (const PlanePtr& plane : mask.distinct()) out.push_back(row_safety(*plane, kKernelBlock));
  return out;
}

}  // namespace

Fixed see_themselves(const Faulty& faulty) {
  const Mask* given = faulty.cells();
  if (!given || given->queries() != given->keys()) return std::nullopt;
  const Mask mask = given->map(readable);
  const std::optional<Mask> tokens = faulty.tokens();
  const Mask real = tokens ? *tokens : full_like(mask);
  const RowFacts facts{&real, tokens.has_value(), !faulty.given.reading.min_closed};
  return faulty.with(EmptyRows({mask, first_uses(mask)}, safety_of(mask), facts).with_own_keys());
}

void lint_rows(const LintedMask& linted, const std::vector<OpenedRows>& opened,
               const RowFacts& facts, Findings& out) {
  const std::vector<RowSafety> safety = safety_of(linted.mask);
  lint_opened_rows(linted.uses, linted.mask.queries(), opened, out);
  EmptyRows(linted, safety, facts).report(out);
  lint_first_block(linted, safety, out);
}

}  // namespace maskctl
