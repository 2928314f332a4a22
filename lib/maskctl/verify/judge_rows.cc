#include "maskctl/verify/judge_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "maskctl/base/text.h"
#include "maskctl/verify/evidence.h"
#include "maskctl/verify/row_limits.h"
#include "maskctl/verify/row_words.h"
#include "maskctl/verify/sight.h"

namespace maskctl::attention {
namespace {

/// What is known of results that are those of the declared call.
std::string obeys_text(const Sight& sight, const std::vector<Tried>& tried) {
  const auto others =
      std::ranges::count_if(tried, [](const Tried& one) { return one.mask.has_value(); });
  const std::string masks = others == 0 ? "no other mask was tried"
                                        : fmt::format("the other masks, {}, are rejected", others);
  if (sight.rows == 0) return masks + "; single cells were not told apart";
  if (sight.blind > 0) {
    return fmt::format("{}; single cells were not told apart in {} of {}", masks, sight.blind,
                       counted(sight.rows, "row"));
  }
  return fmt::format(
      "{}; a leaked or missing cell shows from {:.2g} % of its row's weight, lighter ones were "
      "not told apart",
      masks, 100 * sight.least);
}

/// Judges whether the results of one call are those of the declared call or of a candidate.
class Judge {
 public:
  /// `left_out`: rows that are not judged; empty: all are.
  Judge(const Residuals& residuals, const std::vector<Tried>& tried,
        std::vector<bool> left_out = {})
      : residuals_(residuals), tried_(tried), limits_(residuals, tried, std::move(left_out)) {
    out_.noise = limits_.noise();
  }

  Judgement run() {
    for (const Tried& tried : tried_) compare(tried);
    const bool fits = declared_fits();
    if (fits && undecided_.empty() && preferred_.empty()) {
      const Sight seen = sight_of(residuals_, limits_);
      if (2 * seen.blind > seen.rows) return unclear(seen);
      out_.least_cell = seen.least;
      out_.text = obeys_text(seen, tried_);
      return std::move(out_);
    }
    if (preferred_.empty() && fits) return unclear();
    if (const Tried* best = best_fit()) return another(*best, rows_of(*best), false);
    if (const Tried* part = fit_in_parts()) return in_parts(*part);
    if (!limits_.leaves_out() && has_blank_rows()) return beside_blank_rows();
    if (const Tried* part = fit_where_off()) return another(*part, off_rows(), true);
    return none();
  }

 private:
  Evidence evidence(const Tried& tried) const {
    Evidence out;
    for (const RowResidual& row : tried.rows) {
      if (limits_.tells(row.row)) out.add(row, residuals_.misfit(row.row));
    }
    return out;
  }

  void compare(const Tried& tried) {
    if (tried.rows.empty() && !tried.mask) return;  // it says nothing of these results
    const Evidence all = evidence(tried);
    const double ratio = all.ratio(limits_.noise());
    Comparison line{tried.text, Comparison::State::kUndecided, all.share(),
                    all.error(limits_.noise()), std::ssize(tried.rows)};
    if (ratio > kDecisive) {
      preferred_.push_back(&tried);
      line.state = fits(tried) ? Comparison::State::kFits : Comparison::State::kRejected;
    } else if (!preferring(tried).empty()) {
      preferred_.push_back(&tried);
    } else if (ratio < -kDecisive) {
      line.state = Comparison::State::kRejected;
    } else if (tried.mask) {
      undecided_.push_back(&tried);
    }
    out_.comparisons.push_back(std::move(line));
  }

  std::map<Index, Evidence> by_group(const Tried& tried) const {
    std::map<Index, Evidence> out;
    for (const RowResidual& row : tried.rows) {
      if (limits_.tells(row.row))
        out[residuals_.group(row.row)].add(row, residuals_.misfit(row.row));
    }
    return out;
  }

  bool declared_fits() const {
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (limits_.declared_off(row)) return false;
    }
    return std::ranges::all_of(
        tried_, [this](const Tried& tried) { return evidence(tried).near(0, limits_.noise()); });
  }

  /// Whether all rows fit the alternative; rows in which both masks give the same results must fit
  /// the declared mask.
  bool fits(const Tried& tried) const {
    const std::vector<bool> off = off_flags(tried);
    if (std::ranges::find(off, true) != off.end()) return false;
    return evidence(tried).near(1, limits_.noise());
  }

  /// The log-likelihood ratio of the declared mask and a candidate: by how much `rows` (if empty:
  /// all rows) fit the candidate worse than the declared mask.
  double misfit(const Tried& tried, const std::vector<bool>& rows = {}) const {
    double out = 0;
    for (const RowResidual& row : tried.rows) {
      if (limits_.is_left_out(row.row) || (!rows.empty() && !rows[as_size(row.row)])) continue;
      const double length = static_cast<double>(residuals_.length(row.row));
      out += (row.misfit - residuals_.misfit(row.row)) * length / (2 * limits_.noise());
    }
    return std::isnan(out) ? std::numeric_limits<double>::infinity() : out;
  }

  const Tried* best_fit() {
    std::vector<const Tried*> fitting;
    for (const Tried* tried : preferred_) {
      if (evidence(*tried).ratio(limits_.noise()) > kDecisive && fits(*tried))
        fitting.push_back(tried);
    }
    return best_of(fitting, {});
  }

  /// The candidate that fits these rows best; candidates that fit as well become `equals_`.
  const Tried* best_of(const std::vector<const Tried*>& fitting, const std::vector<bool>& rows) {
    const Tried* best = nullptr;
    for (const Tried* tried : fitting) {
      if (!best || misfit(*tried, rows) < misfit(*best, rows)) best = tried;
    }
    for (const Tried* tried : fitting) {
      if (tried != best && misfit(*tried, rows) - misfit(*best, rows) < kDecisive) {
        equals_.push_back(tried);
      }
    }
    return best;
  }

  /// Finds a candidate that fits in part: heads that prefer this alternative fit it, and all
  /// other heads fit the declared mask. Null if there is none.
  const Tried* fit_in_parts() const {
    for (const Tried* tried : preferred_) {
      const std::set<Index> groups = preferring(*tried);
      const std::vector<bool> off = off_flags(*tried, &groups);
      if (groups.empty() || std::ranges::find(off, true) != off.end()) continue;
      const auto by = by_group(*tried);
      const bool near = std::ranges::all_of(by, [&](const auto& one) {
        return one.second.near(groups.contains(one.first) ? 1 : 0, limits_.noise());
      });
      if (near) return tried;
    }
    return nullptr;
  }
  /// The groups of rows (see Residuals::group) that clearly fit the alternative better than the
  /// declared mask. There may be such groups even if all rows together do not prefer the
  /// alternative.
  std::set<Index> preferring(const Tried& tried) const {
    std::set<Index> out;
    for (const auto& [group, sums] : by_group(tried)) {
      if (sums.ratio(limits_.noise()) > kDecisive) out.insert(group);
    }
    return out;
  }

  void note_off(const std::vector<Index>& rows, Judgement& out) const {
    for (const Index row : rows) out.off.insert(residuals_.position(row).time);
  }

  /// Whether each row is off under a candidate, in these groups; elsewhere as declared.
  std::vector<bool> off_flags(const Tried& tried, const std::set<Index>* groups = nullptr) const {
    std::vector<bool> off(as_size(residuals_.rows()));
    for (Index row = 0; row < residuals_.rows(); ++row)
      off[as_size(row)] = limits_.declared_off(row);
    for (const RowResidual& row : tried.rows) {
      if (groups && !groups->contains(residuals_.group(row.row))) continue;
      off[as_size(row.row)] = limits_.is_off(row.row, row.misfit, row.off);
    }
    return off;
  }

  /// The rows that are off under a candidate.
  std::vector<Index> off_under(const Tried& tried) const {
    const std::vector<bool> off = off_flags(tried);
    std::vector<Index> out;
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (off[as_size(row)]) out.push_back(row);
    }
    return out;
  }

  void note_nearest(std::vector<Index> rows, Judgement& out) const {
    for (const Tried& tried : tried_) {
      if (!tried.mask) continue;
      std::vector<Index> others = off_under(tried);
      if (others.size() >= rows.size()) continue;
      rows = std::move(others);
      out.nearest = tried.mask;
    }
    for (const Index row : rows) {
      const RowPosition& at = residuals_.position(row);
      const std::string_view array = residuals_.array(at);
      if (array == "out" || array == "lse" || array == "grad_query") {
        out.off_nearest.insert({at.batch, at.head, at.time});
      }
    }
  }

  std::vector<Index> off_rows() const {
    std::vector<Index> out;
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (limits_.declared_off(row)) out.push_back(row);
    }
    return out;
  }

  /// Finds a candidate that fits all rows that are off under the declared mask. Null if there is
  /// none.
  const Tried* fit_where_off() {
    std::vector<bool> off(as_size(residuals_.rows()), false);
    const std::vector<Index> rows = off_rows();
    if (rows.empty()) return nullptr;
    for (const Index row : rows) off[as_size(row)] = true;
    std::vector<const Tried*> fitting;
    for (const Tried& tried : tried_) {
      Evidence there;
      bool fits = true;
      std::size_t seen = 0;
      for (const RowResidual& row : tried.rows) {
        if (!off[as_size(row.row)]) continue;
        ++seen;
        fits = fits && !limits_.is_off(row.row, row.misfit, row.off);
        there.add(row, residuals_.misfit(row.row));
      }
      fits = fits && seen == rows.size() && there.ratio(limits_.noise()) > kDecisive;
      if (fits && there.near(1, limits_.noise())) fitting.push_back(&tried);
    }
    return best_of(fitting, off);
  }

  bool has_blank_rows() const {
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (residuals_.blank(row) != Blank::kNo && limits_.declared_off(row)) return true;
    }
    return false;
  }

  /// Leaves out the rows of other results, such as the lse, that belong to rows that are left out.
  void leave_out_beside(std::vector<bool>& left_out) const {
    std::set<QueryRow> places;
    const auto place = [this](Index row) {
      const RowPosition& at = residuals_.position(row);
      return QueryRow{at.batch, at.head, at.time};
    };
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (left_out[as_size(row)]) places.insert(place(row));
    }
    for (Index row = 0; row < residuals_.rows(); ++row) {
      const std::string_view array = residuals_.array(residuals_.position(row));
      if (array == "out" || array == "lse") {
        left_out[as_size(row)] = left_out[as_size(row)] || places.contains(place(row));
      }
    }
  }

  /// Names the rows of zeros and of NaN, and judges the other rows alone.
  Judgement beside_blank_rows() {
    std::vector<bool> left_out(as_size(residuals_.rows()), false);
    std::map<Blank, std::vector<Index>> blank;
    for (Index row = 0; row < residuals_.rows(); ++row) {
      const Blank kind = residuals_.blank(row);
      if (kind == Blank::kNo || !limits_.declared_off(row)) continue;
      left_out[as_size(row)] = true;
      blank[kind].push_back(row);
    }
    leave_out_beside(left_out);
    const bool all = std::ranges::all_of(left_out, [](bool out) { return out; });
    Judgement out = all ? Judgement{} : Judge(residuals_, tried_, std::move(left_out)).run();
    for (const auto& [kind, rows] : blank) {
      const bool of_lse = std::ranges::all_of(
          rows, [this](Index row) { return residuals_.array(residuals_.position(row)) == "lse"; });
      (kind == Blank::kNan ? out.nan_rows : out.zero_rows) =
          all && blank.size() == 1 ? (of_lse ? "all of lse" : "all rows")
                                   : (of_lse ? "lse, " : "") + where_text(residuals_, rows);
      note_off(rows, out);
    }
    if (all) {
      out.comparisons = std::move(out_.comparisons);
      out.noise = limits_.noise();
    }
    if (out.verdict == Verdict::kUnclear) {
      out.text = "as far as this precision tells, and these fit as well: " + out.text;
    }
    if (all || out.verdict == Verdict::kObeys || out.verdict == Verdict::kUnclear) {
      out.verdict = Verdict::kPartly;
    }
    return out;
  }

  Judgement unclear() {
    out_.verdict = Verdict::kUnclear;
    for (const Tried* tried : undecided_) {
      out_.text += (out_.text.empty() ? "" : "; ") + tried->text;
    }
    return std::move(out_);
  }

  /// Returns the judgement that the results cannot tell: in most rows they would hardly differ if
  /// all keys of the row were others.
  Judgement unclear(const Sight& seen) {
    out_.verdict = Verdict::kUnclear;
    out_.text = fmt::format("any mask that has other cells in {} of {}", seen.blind,
                            counted(seen.rows, "row"));
    return std::move(out_);
  }

  /// The rows in which the results of the candidate differ from the declared ones by more than
  /// rounding.
  std::vector<Index> rows_of(const Tried& tried) const {
    std::vector<Index> rows;
    for (const RowResidual& row : tried.rows) {
      if (limits_.is_left_out(row.row)) continue;
      if (row.squared > limits_.noise() || std::isinf(residuals_.misfit(row.row)))
        rows.push_back(row.row);
    }
    return rows;
  }

  /// Returns the judgement that these rows are those of `best`.
  Judgement another(const Tried& best, const std::vector<Index>& rows, bool in_part) {
    out_.verdict = best.mask ? Verdict::kAnother : Verdict::kOtherCall;
    out_.in_part = in_part;
    out_.text = best.text;
    constexpr std::size_t kMostEquals = 3;
    for (std::size_t n = 0; n < equals_.size(); ++n) {
      if (n == kMostEquals) {
        out_.text += fmt::format("; {} more fit as well", equals_.size() - n);
        break;
      }
      out_.text += "; or " + equals_[n]->text;
    }
    if (in_part) {
      out_.text += ", in a part only";
      note_off(rows, out_);
    }
    if (!in_part && equals_.empty()) out_.fit = as_size(&best - tried_.data());
    out_.where = where_text(residuals_, rows);
    return std::move(out_);
  }

  /// Returns the judgement that the results are those of `best` in the groups of rows that prefer
  /// it to the declared mask.
  Judgement in_parts(const Tried& best) {
    const std::set<Index> groups = preferring(best);
    std::vector<Index> rows = rows_of(best);
    std::erase_if(rows, [&](Index row) { return !groups.contains(residuals_.group(row)); });
    return another(best, rows, true);
  }

  Judgement none() {
    out_.verdict = Verdict::kNone;
    const std::vector<Index> rows = off_rows();
    out_.text = fmt::format("none of {} masks and calls fits", tried_.size() + 1);
    if (rows.empty()) {
      out_.text += "; what is off is too small to be seen row by row";
      return std::move(out_);
    }
    note_off(rows, out_);
    note_nearest(rows, out_);
    if (std::ranges::none_of(rows, [this](Index row) { return residuals_.off(row); })) {
      out_.text += "; within the tolerance, but by more than rounding";
    }
    out_.where = fmt::format("{} of {} rows are off: {}", rows.size(), residuals_.rows(),
                             where_text(residuals_, rows));
    return std::move(out_);
  }

  const Residuals& residuals_;
  const std::vector<Tried>& tried_;
  const RowLimits limits_;
  std::vector<const Tried*> preferred_, undecided_, equals_;
  Judgement out_;
};

}  // namespace

Judgement judge_rows(const Residuals& residuals, const std::vector<Tried>& tried) {
  return Judge(residuals, tried).run();
}

}  // namespace maskctl::attention
