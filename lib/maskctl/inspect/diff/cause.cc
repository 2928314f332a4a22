// Why two masks differ: explains each pair of planes, then joins the explanations into one claim.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "maskctl/base/grouped.h"
#include "maskctl/inspect/diff/cells_said.h"
#include "maskctl/inspect/diff/change.h"
#include "maskctl/inspect/diff/crossings.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/diff/forms.h"
#include "maskctl/inspect/diff/known_documents.h"
#include "maskctl/inspect/diff/pair.h"
#include "maskctl/inspect/diff/where.h"
#include "maskctl/inspect/diff/whole.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/known_planes.h"
#include "maskctl/inspect/recognise/scopes.h"
#include "maskctl/mask/steps/not.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostPlanePairs = 256;

/// Finds the reason for the differences of two masks. Pairs the planes of A and B at each batch and
/// head of the common shape; equal pairs share a number and are explained once.
class Claim {
 public:
  Claim(const Mask& a, const Mask& b, const MaskDiff& found, const KnownChains& known)
      : a_(a),
        b_(b),
        found_(found),
        given_(known),
        batch_(std::max(a.batch(), b.batch())),
        heads_(std::max(a.heads(), b.heads())) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (Index n = 0; n < batch_; ++n) {
      for (Index h = 0; h < heads_; ++h) {
        const std::pair key(a.index_of(n, h), b.index_of(n, h));
        const auto [at, is_new] = numbers.emplace(key, static_cast<std::uint32_t>(pairs_.size()));
        if (is_new) pairs_.push_back({a.plane(n, h), b.plane(n, h), n, {}, false});
        pair_of_.push_back(at->second);
      }
    }
  }

  DiffCause make(const MaybeReason& whole) {
    if (whole && !(whole->kind == "heads" && one_plane_says_it())) {
      out_.kind = whole->kind;
      out_.text = whole->kind == "heads" ? "B = A with " + whole->words : whole->words;
      if (whole->kind == "polarity") {
        out_.edit = {{step::Not{}}};
      } else {
        by_rules();
      }
      measure();
      return std::move(out_);
    }
    if (!explained_) explain();
    chains(&PairCause::edit, out_.edit);
    if (wants_pipelines()) pipelines();
    measure();
    untold_ = untold();
    if (explains_little()) forget();
    out_.kind = kind();
    out_.text = text();
    const auto forms = pairs_.size() == 1
                           ? forms_reason(pairs_[0].a, pairs_[0].b, recognised(pairs_[0].b))
                       : out_.kind == "other" ? first_keys_reason(a_, b_, found_)
                                              : std::nullopt;
    if (forms) {
      out_.kind = forms->kind;
      out_.text = "B = A with " + forms->words;
      return std::move(out_);
    }
    if (const auto moved = moved_reason()) {
      out_.kind = moved->kind;
      out_.text = "B = A with " + moved->words;
    }
    return std::move(out_);
  }

  DiffCause known(const Reason& change, const KnownChains& chains) {
    out_.kind = change.kind;
    out_.text = "B = A with " + change.words;
    out_.by_pipelines = true;
    out_.pipeline_a = *chains.a;
    out_.pipeline_b = *chains.b;
    out_.edit_residue = differences();
    return std::move(out_);
  }

 private:
  struct PlanePair {
    PlanePtr a, b;
    Index batch = 0;  // the first one with these planes
    PairCause cause;
    bool differs = false;
  };

  /// Returns the plane as bands (runs of keys between straight lines), which are quick to search,
  /// if few bands make it up; otherwise the plane itself.
  PlanePtr few_lines(const PlanePtr& plane) {
    PlanePtr& lines = lines_[plane];
    if (!lines) lines = recognition::compacted(plane, 0);
    return lines;
  }

  const Recognised& recognised(const PlanePtr& plane) {
    auto& known = known_[plane.get()];
    if (!known)
      known = is_bulk(*plane) ? irregular() : recognise(Mask(plane), {.guess = false}, planes_);
    return *known;
  }
  /// Recognises both planes of a pair. If one of them is exactly a chain, the other is described as
  /// a change of this chain, so the slower search is left out.
  void recognise_pair(const PlanePtr& a, const PlanePtr& b) {
    if (recognised(a).residue.cells == 0 || recognised(b).residue.cells == 0) return;
    for (const PlanePtr& plane : {a, b}) {
      if (!is_bulk(*plane)) known_[plane.get()] = recognise(Mask(plane), {}, planes_);
    }
  }
  static Recognised irregular() {
    Recognised out;
    out.irregular = true;
    out.residue.cells = 1;
    return out;
  }
  /// True for a large plane stored as bits that would not be smaller as runs: reading it for each
  /// rule would take longer than reading the files.
  static bool is_bulk(const Plane& plane) {
    constexpr Index kManyCells = Index{1} << 26;
    const Index cells = plane.queries() * plane.keys();
    return cells > kManyCells && plane.bytes() >= cells / 16;
  }

  /// True if only one batch and head differs, in no more than a region (rows, columns or a
  /// rectangle) or a few cells. Naming these says more than a reason that concerns heads.
  bool one_plane_says_it() {
    if (found_.planes.size() > 1) return false;
    explain();
    const recognition::Description description({a_.queries(), a_.keys()});
    const PlaneDiff& plane = found_.planes.front();
    return pairs_[pair_of_[index(plane.batch, plane.head)]].cause.length <=
           static_cast<Index>(kCellsInWords) * description.cell() + description.step();
  }

  void explain() {
    explained_ = true;
    std::size_t explained = 0;
    for (PlanePair& pair : pairs_) pair.a = few_lines(pair.a), pair.b = few_lines(pair.b);
    for (const PlaneDiff& plane : found_.planes) {
      PlanePair& pair = pairs_[pair_of_[index(plane.batch, plane.head)]];
      if (pair.differs) continue;
      pair.differs = true;
      if (++explained > kMostPlanePairs) continue;
      if (auto cause = cause_by_documents(pair)) {
        pair.cause = std::move(*cause);
        continue;
      }
      recognise_pair(pair.a, pair.b);
      pair.cause = explain_pair(pair.a, pair.b, plane, recognised(pair.a), recognised(pair.b));
    }
  }

  /// Describes planes that are known to be documents followed by steps, if one of these differs.
  std::optional<PairCause> cause_by_documents(const PlanePair& pair) const {
    auto a = documents_chain(given_.documents_a, given_.a, pair.batch, pair.a);
    auto b = documents_chain(given_.documents_b, given_.b, pair.batch, pair.b);
    if (!a || !b) return std::nullopt;
    const auto change =
        are_comparable(a->front(), b->front()) &&
                std::equal(a->begin() + 1, a->end(), b->begin() + 1, b->end())
            ? std::optional(step_change(a->front(), b->front(), a_.queries(), a_.keys()))
            : std::nullopt;
    if (!change || change->changes == 0) return std::nullopt;
    return PairCause{{"irregular", ""},
                     {},
                     ChainPair{{change->kind, change->words}, std::move(*a), std::move(*b)},
                     0};
  }

  /// Where all planes are those of A moved alike: how, unless changed numbers say all.
  MaybeReason moved_reason() const {
    const bool numbers =
        out_.kind == "parameter" || out_.kind == "alignment" || out_.kind == "padding";
    if (numbers && untold_.cells == 0) return std::nullopt;
    const recognition::Description description({a_.queries(), a_.keys()});
    MaybeReason out;
    for (const PlanePair& pair : pairs_) {
      const bool is_short = pair.cause.length <= description.step() + description.number();
      const auto its = pair.differs && !is_short ? shift_reason(pair.a, pair.b) : std::nullopt;
      if (!its || (out && out->words != its->words)) return std::nullopt;
      out = its;
    }
    return out;
  }

  std::size_t index(Index batch, Index head) const {
    return static_cast<std::size_t>(batch * heads_ + head);
  }

  bool wants_pipelines() const {
    return std::ranges::any_of(pairs_,
                               [](const PlanePair& pair) { return pair.cause.chains.has_value(); });
  }

  Chain scoped(std::vector<Chain> chains) const {
    return recognition::scoped(std::move(chains), pair_of_, batch_, heads_,
                               {a_.queries(), a_.keys()});
  }

  void chains(Chain PairCause::*member, Chain& out) const {
    std::vector<Chain> each;
    each.reserve(pairs_.size());
    for (const PlanePair& pair : pairs_) each.push_back(pair.cause.*member);
    out = scoped(std::move(each));
  }

  /// Joins the chains of all pairs of planes, also of pairs that are equal, into one pipeline that
  /// makes A and one that makes B.
  void pipelines() {
    std::vector<Chain> a, b;
    for (const PlanePair& pair : pairs_) {
      a.push_back(pair.cause.chains ? pair.cause.chains->a
                                    : chain_of(pair, given_.documents_a, given_.a, pair.a));
      b.push_back(pair.cause.chains ? pair.cause.chains->b
                                    : chain_of(pair, given_.documents_b, given_.b, pair.b));
    }
    out_.by_pipelines = true;
    out_.pipeline_a = scoped(std::move(a));
    out_.pipeline_b = scoped(std::move(b));
  }
  Chain chain_of(const PlanePair& pair, const std::optional<Documents>& documents,
                 const std::optional<Chain>& steps, const PlanePtr& plane) {
    const auto given = documents_chain(documents, steps, pair.batch, plane);
    return given ? *given : recognised(plane).chain;
  }
  /// For a reason that concerns the whole mask: makes pipelines for A and B of the chains
  /// recognised for their planes. Does nothing if no rule was found for some plane.
  void by_rules() {
    const bool told = std::ranges::all_of(pairs_, [&](const PlanePair& pair) {
      return !recognised(pair.a).irregular && !recognised(pair.b).irregular;
    });
    if (told) pipelines();
  }

  /// Returns the cells that a chain gets wrong. For a mask with a single plane, recognise() has
  /// already counted them.
  Residue claimed(const Mask& mask, const Chain& chain) {
    if (pair_of_.size() == 1) {
      const Recognised& known = recognised(&mask == &a_ ? pairs_[0].a : pairs_[0].b);
      if (!known.irregular && known.chain == chain) return known.residue;
    }
    return residue_of(mask,
                      maskctl::apply(full_mask(batch_, heads_, a_.queries(), a_.keys()), chain));
  }

  void measure() {
    const Mask full = full_mask(batch_, heads_, a_.queries(), a_.keys());
    out_.edit_residue = out_.edit.empty()
                            ? differences()
                            : residue_of(b_, maskctl::apply(zip(Op::kAnd, a_, full), out_.edit));
    if (!out_.by_pipelines) return;
    out_.residue_a = claimed(a_, out_.pipeline_a);
    out_.residue_b = claimed(b_, out_.pipeline_b);
    const Index left = out_.residue_a.cells + out_.residue_b.cells;
    // The edit is the better claim if the pipelines leave more cells wrong than it does, because no
    // rule was found for some planes.
    if (left <= out_.edit_residue.cells) return;
    out_.by_pipelines = false;
    out_.pipeline_a = out_.pipeline_b = {};
    out_.residue_a = out_.residue_b = {};
  }

  Residue differences() const { return all_differences(a_, b_, found_); }

  const Wording& wording(const PairCause& cause) const {
    return out_.by_pipelines && cause.chains ? cause.chains->wording : cause.wording;
  }

  /// Whether most of the cells that differ, and many, are left to be told: then what was found does
  /// not say why they differ.
  bool explains_little() const {
    const Index left = untold_.cells;
    return left > static_cast<Index>(Residue::kListed) && 2 * left > found_.only_a + found_.only_b;
  }
  void forget() {
    for (PlanePair& pair : pairs_) pair.cause = {{"irregular", ""}, {}, {}, 0};
    out_ = {};
    untold_ = out_.edit_residue = differences();
  }

  std::string kind() const {
    std::string kind;
    for (const PlanePair& pair : pairs_) {
      const std::string& its = wording(pair.cause).kind;
      if (!pair.differs || its.empty()) continue;
      kind = kind.empty() || kind == its ? its : "other";
    }
    return kind.empty() ? "irregular" : kind;
  }

  std::string text() const {
    std::vector<std::string> words;
    std::vector<std::vector<PlaneDiff>> where;
    for (const PlaneDiff& plane : found_.planes) {
      const std::string& its =
          wording(pairs_[pair_of_[index(plane.batch, plane.head)]].cause).words;
      if (its.empty()) continue;
      const auto at = std::ranges::find(words, its);
      if (at == words.end()) {
        words.push_back(its);
        where.push_back({plane});
      } else {
        where[static_cast<std::size_t>(at - words.begin())].push_back(plane);
      }
    }
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
      out += (i > 0 ? "; " : "") + words[i];
      const bool everywhere = words.size() == 1 && std::ssize(where[i]) == batch_ * heads_;
      if (!everywhere) out += fmt::format(" ({})", where_words(where[i], batch_, heads_));
    }
    return with_cells(std::move(out));
  }

  std::string plane_words(Index batch, Index head) const {
    return maskctl::plane_words(batch, head, batch_, heads_);
  }

  /// The differences between A and B that the words do not explain: those of the pipelines, and
  /// those of the edit for planes that the words describe by it.
  Residue untold() const {
    if (!out_.by_pipelines) return out_.edit_residue;
    if (out_.residue_a.cells == 0 && !is_edited()) return out_.residue_b;
    const auto [differ, told] = differing_and_told();
    return residue_of(differ, told);
  }
  bool is_edited() const {
    return std::ranges::any_of(
        pairs_, [](const PlanePair& pair) { return pair.differs && !pair.cause.chains; });
  }
  /// The cells that differ, and those that differ by what the words say.
  std::pair<Mask, Mask> differing_and_told() const {
    const Mask full = full_mask(batch_, heads_, a_.queries(), a_.keys());
    const Mask all = zip(Op::kAnd, a_, full), differ = zip(Op::kXor, all, b_);
    const auto by_edit = [&] { return zip(Op::kXor, all, maskctl::apply(all, out_.edit)); };
    if (!out_.by_pipelines) return {differ, by_edit()};
    const Mask claimed =
        zip(Op::kXor, maskctl::apply(full, out_.pipeline_a), maskctl::apply(full, out_.pipeline_b));
    if (!is_edited()) return {differ, claimed};
    const Mask edited = by_edit();
    return {differ,
            Mask::make(batch_, heads_, a_.queries(), a_.keys(), [&](Index batch, Index head) {
              const auto& its = pairs_[pair_of_[index(batch, head)]];
              return (its.differs && !its.cause.chains ? edited : claimed).plane(batch, head);
            })};
  }
  /// How many of the cells that are left to be told are open in B.
  Index untold_open() const {
    if (untold_.cells == std::ssize(untold_.first)) {
      return std::ranges::count_if(untold_.first,
                                   [this](const Cell& cell) { return is_open_in(b_, cell); });
    }
    const auto [differ, told] = differing_and_told();
    return zip(Op::kAnd, zip(Op::kXor, differ, told), b_).count();
  }
  std::string with_cells(std::string words) const {
    const Residue& cells = untold_;
    if (cells.cells == 0) return "B = A with " + words;
    if (words.empty() && cells.cells > static_cast<Index>(Residue::kListed)) {
      return fmt::format(
          "irregular: no rule, row, column or rectangle that was tried explains the {} cells that "
          "differ",
          grouped(cells.cells));
    }
    const std::string list = cells_said(
        cells, [this] { return untold_open(); },
        [this](const Cell& cell, std::span<const Cell> listed) {
          return cell_words(cell, listed);
        });
    return words.empty() ? "B = A with " + list : fmt::format("B = A with {}, and {}", words, list);
  }

  /// Words for one of the `listed` cells.
  std::string cell_words(const Cell& cell, std::span<const Cell> listed) const {
    const bool open = is_open_in(b_, cell);
    std::string place = plane_words(cell.batch, cell.head);
    if (!place.empty()) place += ", ";
    return fmt::format("{}query {}, key {} {}{}", place, cell.query, cell.key,
                       open ? "open" : "closed", open ? document_words(cell, listed) : "");
  }

  /// Words for the documents that a cell joins, by the rules that make its planes.
  std::string document_words(const Cell& cell, std::span<const Cell> listed) const {
    if (given_.declared) return crossing_words(cell, *given_.declared);
    const PlanePair& pair = pairs_[pair_of_[index(cell.batch, cell.head)]];
    std::vector<const Recognised*> rules;
    for (const PlanePtr& plane : {pair.b, pair.a}) {
      const auto known = known_.find(plane.get());
      if (known != known_.end() && known->second) rules.push_back(&*known->second);
    }
    return crossing_words(cell, listed, rules);
  }

  const Mask& a_;
  const Mask& b_;
  const MaskDiff& found_;
  KnownChains given_;
  Index batch_, heads_;
  std::vector<PlanePair> pairs_;
  std::vector<std::uint32_t> pair_of_;
  std::map<PlanePtr, PlanePtr> lines_;
  recognition::KnownPlanes planes_;
  std::map<const Plane*, std::optional<Recognised>> known_;
  bool explained_ = false;
  DiffCause out_;
  Residue untold_;  // what untold() gives for out_
};

}  // namespace

std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b) {
  return diff_cause(a, b, diff(a, b));
}

std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found) {
  if (found.equal()) return std::nullopt;
  return Claim(a, b, found, {}).make(whole_reason(a, b, found));
}

std::optional<DiffCause> diff_cause(const Mask& a, const Mask& b, const MaskDiff& found,
                                    const KnownChains& known) {
  if (found.equal()) return std::nullopt;
  if (known.documents_a || known.documents_b) {
    return Claim(a, b, found, known).make(whole_reason(a, b, found));
  }
  const auto change =
      known.a && known.b ? chain_change(*known.a, *known.b, a.queries(), a.keys()) : std::nullopt;
  if (change) return Claim(a, b, found, known).known(*change, known);
  return Claim(a, b, found, {{}, {}, {}, {}, known.declared}).make(whole_reason(a, b, found));
}

}  // namespace maskctl
