#include "maskctl/verify/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/verify/call_variants.h"
#include "maskctl/verify/compare.h"
#include "maskctl/verify/residuals.h"

namespace maskctl::attention {
namespace {

/// The log-likelihood ratio from which one of two masks is rejected: odds of 3 million to 1.
constexpr double kDecisive = 15;
/// How far share() may be from 0 (results of the declared mask) or 1 (results of the alternative)
/// for a mask that fits, in addition to six standard errors, because kernels have small systematic
/// errors.
constexpr double kShareSlack = 0.1;
/// A row does not fit a mask if its misfit (RowResidual::misfit, a squared error) is more than
/// kOutlier^2 times the squared noise of most rows.
constexpr double kOutlier = 30;
/// A tighter limit for rows of 16-bit results, unless the squared noise exceeds kModelled times
/// what the error model (rounding.h) expects: kSlack times the misfit that chance exceeds as rarely
/// as kRareDeviations standard deviations (once in a billion rows). Gradients have kGradientSlack
/// instead of kSlack, since they sum more roundings than the model counts. In f32 there is no such
/// limit, because large logits make some rows much noisier than others.
constexpr double kModelled = 4, kRareDeviations = 6, kSlack = 1.5, kGradientSlack = 4;
/// Rows outside the tolerance still fit a mask if all rows are about as noisy: if the noise of most
/// rows is at most kNoisy times what the error model expects, and the row's misfit is at most
/// kAlike^2 times their squared noise.
constexpr double kNoisy = 16, kAlike = 6;
/// The least squared noise of results that is assumed, as a multiple of the squared rounding noise
/// that the error model (rounding.h) expects. Results may be exact and show no noise.
constexpr double kLeastNoise = 0.05;
/// With at least this many rows, error() also takes a standard error from the scatter between rows.
constexpr std::size_t kClustered = 8;

/// Sums over the rows in which the results under the declared mask and under an alternative differ.
struct Evidence {
  double along = 0, squared = 0;
  std::vector<const RowResidual*> rows;
  /// Numbers of rows whose misfit is infinite, because of wrong NaN or infinities: under the
  /// declared mask only, and under the alternative only.
  Index broken_declared = 0, broken_other = 0;

  void add(const RowResidual& row, double declared_misfit) {
    rows.push_back(&row);
    along += row.along;
    squared += row.squared;
    if (std::isinf(declared_misfit) && !std::isinf(row.misfit)) ++broken_declared;
    if (std::isinf(row.misfit) && !std::isinf(declared_misfit)) ++broken_other;
  }
  double share() const { return squared > 0 ? along / squared : 0; }
  /// The standard error of share(): the larger of two estimates, from the squared noise `noise` and
  /// from the scatter between rows.
  double error(double noise) const {
    if (squared <= 0) return std::numeric_limits<double>::infinity();
    double scatter = 0;
    if (rows.size() >= kClustered) {
      const double a = share();
      for (const RowResidual* row : rows) {
        scatter += std::pow(row->along - a * row->squared, 2);
      }
    }
    return std::max(std::sqrt(noise / squared), std::sqrt(scatter) / squared);
  }
  /// The log-likelihood ratio of the two masks: above 0, the alternative is likelier than the
  /// declared mask.
  double ratio(double noise) const {
    if (broken_declared != broken_other) {
      return broken_declared > broken_other ? 2 * kDecisive : -2 * kDecisive;
    }
    if (squared <= 0) return 0;
    return (2 * share() - 1) / (2 * std::pow(error(noise), 2));
  }
  bool near(double expected, double noise) const {
    return broken_declared + broken_other > 0 || squared <= 0 ||
           std::abs(share() - expected) <= kShareSlack + 6 * error(noise);
  }
};

struct Tried {
  std::string text;
  std::vector<RowResidual> rows;
};

/// Judges whether the results of one call are those of the declared mask or of an alternative.
class Judge {
 public:
  Judge(const Residuals& residuals, std::vector<Tried> tried, bool gradients)
      : residuals_(residuals), tried_(std::move(tried)), gradients_(gradients), noise_(noise()) {}

  Judgement run() {
    for (const Tried& tried : tried_) compare(tried);
    const bool fits = declared_fits();
    if (fits && undecided_.empty() && preferred_.empty()) {
      const Sight seen = sight();
      if (2 * seen.blind > seen.rows) return unclear(seen);
      out_.least_cell = seen.least;
      out_.text = obeys_text(seen);
      return std::move(out_);
    }
    if (preferred_.empty() && fits) return unclear();
    if (const Tried* best = best_fit()) return another(*best, false);
    if (const Tried* part = fit_in_parts()) return another(*part, true);
    return none();
  }

 private:
  /// Estimates the squared noise, in units of the noise that the model expects. It is the median
  /// misfit of all rows, under the mask for which this median is smallest.
  double noise() const {
    std::vector<double> misfits;
    for (Index row = 0; row < residuals_.rows(); ++row) misfits.push_back(residuals_.misfit(row));
    double least = median(misfits);
    for (const Tried& tried : tried_) {
      std::vector<double> others = misfits;
      for (const RowResidual& row : tried.rows) others[as_size(row.row)] = row.misfit;
      least = std::min(least, median(std::move(others)));
    }
    return std::isfinite(least) ? std::max(least, kLeastNoise) : 1;
  }

  /// Whether a row does not fit a mask. `misfit` and `off` (outside the tolerance) are those of the
  /// row under this mask. A row outside the tolerance may still fit if all rows are about as noisy,
  /// as with kernels that round their logits. A row whose misfit exceeds most_misfit() never fits.
  bool is_off(Index row, double misfit, bool off) const {
    const bool as_the_rest = noise_ <= kNoisy * kNoisy && misfit <= kAlike * kAlike * usual();
    return (off && !as_the_rest) || misfit > most_misfit(row);
  }
  bool declared_off(Index row) const {
    return is_off(row, residuals_.misfit(row), residuals_.off(row));
  }
  double usual() const { return std::max(noise_, 1.0); }
  double most_misfit(Index row) const {
    const double most = kOutlier * kOutlier;
    if (noise_ > kModelled || !residuals_.rounds_to_16_bits(row)) return most * usual();
    const double slack = residuals_.cell_misfit(row) > 0 ? kSlack : kGradientSlack;
    return std::min(most, slack * rare_mean_square(residuals_.freedom(row), kRareDeviations)) *
           usual();
  }

  /// How well single cells can be told from one array of results.
  struct Sight {
    double least = 0;  // the weight that is needed in the worst row; infinite if that is not known
    Index rows = 0, blind = 0;  // in how many of them no weight is enough
    bool operator<(const Sight& other) const {
      return std::tie(blind, least) < std::tie(other.blind, other.least);
    }
  };
  /// That of the array which tells most.
  Sight sight() const {
    std::map<std::size_t, Sight> of_array;
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (residuals_.cell_misfit(row) == 0) continue;
      Sight& sight = of_array[residuals_.position(row).array];
      const double weight = std::sqrt(most_misfit(row) / residuals_.cell_misfit(row));
      const bool blind = !(weight < 1);
      sight.least = std::max(sight.least, blind ? std::numeric_limits<double>::infinity() : weight);
      ++sight.rows;
      sight.blind += blind;
    }
    Sight best{std::numeric_limits<double>::infinity(), 0, 0};
    for (const auto& [array, sight] : of_array) {
      if (best.rows == 0 || sight < best) best = sight;
    }
    return best;
  }
  std::string obeys_text(const Sight& sight) const {
    const std::string masks = tried_.empty()
                                  ? "no other mask was tried"
                                  : fmt::format("the other masks, {}, are rejected", tried_.size());
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

  Evidence evidence(const Tried& tried) const {
    Evidence out;
    for (const RowResidual& row : tried.rows) out.add(row, residuals_.misfit(row.row));
    return out;
  }

  void compare(const Tried& tried) {
    const Evidence all = evidence(tried);
    const double ratio = all.ratio(noise_);
    Comparison line{tried.text, Comparison::State::kUndecided, all.share(), all.error(noise_),
                    std::ssize(tried.rows)};
    if (ratio > kDecisive) {
      preferred_.push_back(&tried);
      line.state = fits(tried) ? Comparison::State::kFits : Comparison::State::kRejected;
    } else if (!preferring(tried).empty()) {
      preferred_.push_back(&tried);
    } else if (ratio < -kDecisive) {
      line.state = Comparison::State::kRejected;
    } else {
      undecided_.push_back(&tried);
    }
    out_.comparisons.push_back(std::move(line));
  }

  std::map<Index, Evidence> by_group(const Tried& tried) const {
    std::map<Index, Evidence> out;
    for (const RowResidual& row : tried.rows) {
      out[residuals_.group(row.row)].add(row, residuals_.misfit(row.row));
    }
    return out;
  }

  bool declared_fits() const {
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (declared_off(row)) return false;
    }
    return std::ranges::all_of(
        tried_, [this](const Tried& tried) { return evidence(tried).near(0, noise_); });
  }

  /// Whether all rows fit the alternative; rows in which both masks give the same results must fit
  /// the declared mask.
  bool fits(const Tried& tried) const {
    std::vector<bool> differs(as_size(residuals_.rows()), false);
    for (const RowResidual& row : tried.rows) {
      differs[as_size(row.row)] = true;
      if (is_off(row.row, row.misfit, row.off)) return false;
    }
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (!differs[as_size(row)] && declared_off(row)) return false;
    }
    return evidence(tried).near(1, noise_);
  }

  double total_misfit(const Tried& tried) const {
    double out = 0;
    for (const RowResidual& row : tried.rows) out += row.misfit - residuals_.misfit(row.row);
    return std::isnan(out) ? std::numeric_limits<double>::infinity() : out;
  }

  const Tried* best_fit() const {
    const Tried* best = nullptr;
    for (const Tried* tried : preferred_) {
      if (evidence(*tried).ratio(noise_) <= kDecisive || !fits(*tried)) continue;
      if (!best || total_misfit(*tried) < total_misfit(*best)) best = tried;
    }
    return best;
  }

  /// Finds an alternative that fits in part: heads that prefer this alternative fit it, and all
  /// other heads fit the declared mask. Null if there is none.
  const Tried* fit_in_parts() const {
    for (const Tried* tried : preferred_) {
      const std::set<Index> groups = preferring(*tried);
      std::vector<bool> good(as_size(residuals_.rows()));
      for (Index row = 0; row < residuals_.rows(); ++row) good[as_size(row)] = !declared_off(row);
      for (const RowResidual& row : tried->rows) {
        if (!groups.contains(residuals_.group(row.row))) continue;
        good[as_size(row.row)] = !is_off(row.row, row.misfit, row.off);
      }
      if (!groups.empty() && std::ranges::all_of(good, [](bool g) { return g; })) return tried;
    }
    return nullptr;
  }
  /// The groups of rows (see Residuals::group) that clearly fit the alternative better than the
  /// declared mask. There may be such groups even if all rows together do not prefer the
  /// alternative.
  std::set<Index> preferring(const Tried& tried) const {
    std::set<Index> out;
    for (const auto& [group, sums] : by_group(tried)) {
      if (sums.ratio(noise_) > kDecisive) out.insert(group);
    }
    return out;
  }

  std::string where_text(const std::vector<Index>& rows) const {
    const auto words = [](const std::set<Index>& numbers, const char* one, const char* many) {
      constexpr std::size_t kMostRanges = 6;
      const std::vector<Index> ascending(numbers.begin(), numbers.end());
      return range_words(ranges_of(ascending), one, many, kMostRanges);
    };
    std::set<Index> batches, heads, times;
    for (const Index row : rows) {
      const RowPosition& position = residuals_.position(row);
      batches.insert(position.batch);
      heads.insert(position.head);
      times.insert(position.time);
    }
    std::string out;
    if (residuals_.batches() > 1) out += words(batches, "batch", "batches") + ", ";
    out += words(heads, "head", "heads") + ", ";
    return out + (gradients_ ? words(times, "row", "rows") : words(times, "query", "queries"));
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

  /// Returns the judgement that the results are those of `best`. `in_part`: only in the groups of
  /// rows that prefer `best` to the declared mask.
  Judgement another(const Tried& best, bool in_part) {
    out_.verdict = Verdict::kAnother;
    out_.text = best.text + (in_part ? ", in a part only" : "");
    if (!in_part) out_.fit = as_size(&best - tried_.data());
    const std::set<Index> groups = preferring(best);
    std::vector<Index> rows;
    for (const RowResidual& row : best.rows) {
      // Leaves out rows in which the results under the two masks differ only by rounding.
      const bool counts = row.squared > noise_ || std::isinf(residuals_.misfit(row.row));
      if (!counts || (in_part && !groups.contains(residuals_.group(row.row)))) continue;
      rows.push_back(row.row);
    }
    out_.where = where_text(rows);
    return std::move(out_);
  }

  Judgement none() {
    out_.verdict = Verdict::kNone;
    std::vector<Index> rows;
    for (Index row = 0; row < residuals_.rows(); ++row) {
      if (declared_off(row)) rows.push_back(row);
    }
    const bool only_noisy = preferred_.empty() && undecided_.empty() && !tried_.empty();
    out_.text = fmt::format("none of {} masks fits", tried_.size() + 1);
    if (rows.empty()) {
      out_.text += "; what is off is too small to be seen row by row";
      return std::move(out_);
    }
    for (const Index row : rows) out_.off.insert(residuals_.position(row).time);
    if (std::ranges::none_of(rows, [this](Index row) { return residuals_.off(row); })) {
      out_.text += "; within the tolerance, but by more than rounding";
    }
    out_.where =
        fmt::format("{} of {} rows are off: {}", rows.size(), residuals_.rows(), where_text(rows));
    if (only_noisy && 2 * std::ssize(rows) > residuals_.rows()) {
      out_.text +=
          "; the declared one fits best, and all rows are off alike, as another softmax_scale or "
          "products in a lower precision make them; a larger rtol or atol allows the latter";
    }
    return std::move(out_);
  }

  const Residuals& residuals_;
  std::vector<Tried> tried_;
  bool gradients_;
  double noise_;
  std::vector<const Tried*> preferred_, undecided_;
  Judgement out_;
};

/// Throws unless `expected` has a result of this name and of the shape of `given`.
void check_given(const std::string& name, const Tensor& given, const NamedResults& expected) {
  const auto found = expected.find(name);
  if (found == expected.end()) {
    std::string names;
    for (const auto& [other, array] : expected) names += (names.empty() ? "" : ", ") + other;
    refuse(fmt::format("no result '{}' to compare; there are {}", name, names));
  }
  if (given.shape() == found->second.shape()) return;
  refuse_shape(fmt::format("{} is {}, expected {}", name == "out" ? "the output" : name,
                           shape_text(given.shape()), shape_text(found->second.shape())));
}

bool is_given_gradient(const NamedResults::value_type& result) { return is_gradient(result.first); }

/// Runs the call on the backend `request.against` with its inputs cast to f32, so that the results
/// are rounded only to f32.
NamedResults expected_results(const VerifyRequest& request, const NamedResults& given) {
  NamedArguments arguments = in_f32(request.arguments);
  arguments.context.backend = request.against;
  arguments.gradient_seed.reset();
  if (std::ranges::any_of(given, is_given_gradient)) arguments.gradient_seed = request.seed;
  NamedResults expected = attention::run(*request.operation, arguments);
  for (const auto& [name, array] : given) check_given(name, array, expected);
  return expected;
}

/// Whether results of the fast path (`declared`) agree with those of the reference path, both under
/// the declared mask. If not, something besides the mask closes cells, and alternatives would be
/// compared with the wrong mask.
bool agrees(const NamedResults& declared, const NamedResults& reference,
            const NamedResults& given) {
  return std::ranges::all_of(given, [&](const auto& result) {
    const Tolerance loose{1e-3, 1e-3};
    return distance(declared.at(result.first), reference.at(result.first), loose).bad == 0;
  });
}

Judgement judge(const VerifyRequest& request, const NamedResults& given,
                const NamedResults& reference, std::span<const Neighbour> alternatives) {
  const std::optional<Mask> applied = applied_mask(request);
  CallVariants variants(request, given, applied);
  NamedResults declared = variants.declared();
  if (variants.can_change_mask() && !agrees(declared, reference, given)) {
    variants = CallVariants(request, given, std::nullopt);
    declared = variants.declared();
  }
  const Residuals residuals(request, given, reference, declared,
                            Rounding(request, given, declared, variants));
  if (!variants.can_change_mask()) alternatives = {};
  std::vector<Tried> tried;
  for (const Neighbour& other : alternatives) {
    tried.push_back({other.text, residuals.under(variants.under(other.mask))});
  }
  for (const CallVariant& other : variants.others()) {
    tried.push_back({other.text, residuals.under(variants.run(other.arguments))});
  }
  Judgement out =
      Judge(residuals, std::move(tried), std::ranges::all_of(given, is_given_gradient)).run();
  // The first entries of `tried` are the alternatives. The entries after them are variants of the
  // call that keep its mask.
  if (out.fit && *out.fit < alternatives.size()) {
    out.obeyed = alternatives[*out.fit].mask;
  } else if (out.fit || out.verdict == Verdict::kObeys) {
    out.obeyed = applied;
  }
  return out;
}

}  // namespace

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames{"obeys", "another", "none", "unclear"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view name(Comparison::State state) {
  constexpr std::array<std::string_view, 3> kNames{"rejected", "fits", "undecided"};
  return kNames[static_cast<std::size_t>(state)];
}

GivenReport verify_given(const VerifyRequest& request, const NamedResults& given,
                         std::span<const Neighbour> alternatives) {
  const NamedResults expected = expected_results(request, given);
  GivenReport out;
  for (const bool gradients : {false, true}) {
    const bool any = std::ranges::any_of(
        given, [&](const auto& result) { return is_given_gradient(result) == gradients; });
    if (!any) continue;
    out.checks.push_back(compare_results(gradients ? "gradients" : "forward", given, expected,
                                         gradients, request.tolerance));
  }
  out.judgement = judge(request, given, expected, alternatives);
  return out;
}

}  // namespace maskctl::attention
