#include "maskctl/attention/verify/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "maskctl/attention/verify/rounding.h"
#include "maskctl/attention/verify/solve/attempts.h"
#include "maskctl/attention/verify/solve/parts.h"
#include "maskctl/attention/verify/solve/row_panel.h"
#include "maskctl/attention/verify/solve/row_solver.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/dense.h"

namespace maskctl::attention {
namespace {

using namespace solving;

/// Rows that are weighed together.
constexpr Index kBand = 32;
/// Attempts after which rows are no longer searched, where hardly any was explained.
constexpr Index kAttempts = 24;
/// Products after which rows are no longer searched, where as many were for nothing.
constexpr double kMostWork = 2e12;

OpenKeys row_keys(const Plane& plane, Index row) {
  OpenKeys out(as_size(plane.keys()));
  dense_rows(plane, {row, row + 1}, out);
  return out;
}

/// Batches and heads that share a mask for sure, as one place of the supposed mask.
struct Unit {
  Index b = 0, h = 0;  // in the supposed mask
  std::vector<Head> heads;
};

/// Places whose supposed masks are equal.
using Group = std::vector<Unit>;

std::vector<Group> groups_of(const Mask& mask, const Dims& d) {
  std::map<std::uint32_t, Group> out;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      Unit unit{b, h, {}};
      for (Index n = 0; n < d.batch * d.q_heads; ++n) {
        const Head head{n / d.q_heads, n % d.q_heads};
        const bool here = (mask.batch() == 1 || head.b == b) && (mask.heads() == 1 || head.h == h);
        if (here) unit.heads.push_back(head);
      }
      out[mask.index_of(b, h)].push_back(std::move(unit));
    }
  }
  std::vector<Group> groups;
  groups.reserve(out.size());
  for (auto& [index, group] : out) groups.push_back(std::move(group));
  return groups;
}

/// The median error of rows that are about as supposed, in units of the expected rounding; 1 where
/// there are too few, or none is larger.
double noise_of(const SolveCall& call, const Mask& supposed, const std::vector<Group>& groups) {
  constexpr Index kRows = 8;
  constexpr std::size_t kHeads = 8, kLeast = 4;
  constexpr double kNear = 25;
  std::vector<double> seen;
  for (const Group& group : groups) {
    const Unit& unit = group.front();
    const Plane& plane = *supposed.plane(unit.b, unit.h);
    const auto heads = std::span(unit.heads).first(std::min(kHeads, unit.heads.size()));
    const Index rows = call.dims().queries;
    for (Index n = 0; n < std::min(kRows, rows); ++n) {
      const Index row = (2 * n + 1) * rows / (2 * std::min(kRows, rows));
      const OpenKeys open = row_keys(plane, row);
      if (std::ranges::count(open, 1) < 2) continue;
      const RowReport report = row_reports(call, heads, {row, row + 1}, open.data())[0];
      for (const double cost : report.head_cost) {
        seen.push_back(cost / static_cast<double>(call.dims().value_dim));
      }
    }
  }
  std::erase_if(seen, [](double x) { return x > kNear; });
  if (seen.size() < kLeast) return 1;
  return std::max(1.0, median(std::move(seen)));
}

/// All rows of all groups, band by band on all cores.
class Solver {
 public:
  Solver(const SolveCall& call, const Mask& supposed, std::span<const Alternative> alternatives)
      : call_(call),
        supposed_(supposed),
        alternatives_(alternatives),
        groups_(groups_of(supposed, call.dims())),
        noise_(noise_of(call, supposed, groups_)),
        rows_(call, noise_) {}

  void run() {
    const Index bands = ceil_div(call_.dims().queries, kBand);
    parallel_for(bands * std::ssize(groups_), [&](Index task) {
      const Index first = task % bands * kBand;
      run_band(groups_[as_size(task / bands)],
               {first, std::min(first + kBand, call_.dims().queries)});
    });
    if (hopeless()) {
      throw Error(Errc::kInvalidArgument,
                  "the mask cannot be told: hardly a row of the output is explained by any keys; "
                  "give query, key and value of the same call as the output, its softmax_scale, "
                  "and its bias or sinks if it has any");
    }
  }

  double noise() const { return noise_; }
  std::vector<RowPart>& parts() { return parts_; }
  double margin() const { return margin_; }

 private:
  bool hopeless() const { return failed_ >= kAttempts / 3 && solved_ < failed_ / 8; }

  /// What was found in a row before.
  struct Found {
    OpenKeys open, supposed;
  };

  /// Rows of a group, and what of them is not answered yet.
  struct Band {
    const Group& group;
    Range rows;
    OpenKeys supposed;                            // [rows, Tk]
    std::vector<std::vector<bool>> left;          // [units][rows]
    std::vector<std::optional<Found>> last = {};  // [units]: what was found before, if it differs
    std::optional<Found> latest = {};             // of any unit

    OpenKeys supposed_at(Index r) const {
      const Index keys = std::ssize(supposed) / rows.size();
      return {supposed.begin() + r * keys, supposed.begin() + (r + 1) * keys};
    }
  };

  void run_band(const Group& group, Range rows) {
    Band band{group, rows, OpenKeys(as_size(rows.size() * call_.dims().keys)), {}};
    dense_rows(*supposed_.plane(group.front().b, group.front().h), rows, band.supposed);
    band.left.assign(group.size(), std::vector<bool>(as_size(rows.size()), true));
    for (std::size_t n = 0; n < group.size(); ++n) take_rows(band, n, band.supposed, {});
    solve_together(band);
    band.last.resize(group.size());
    for (Index r = 0; r < rows.size(); ++r) {
      std::vector<std::size_t> off;
      for (std::size_t n = 0; n < group.size(); ++n) {
        if (band.left[n][as_size(r)]) off.push_back(n);
      }
      std::erase_if(off, [&](std::size_t n) { return solve_row(band, r, n); });
      if (off.size() > 1) solve_alike(band, r, off);
      for (const std::size_t n : off) {
        if (band.left[n][as_size(r)]) solve_apart(band, r, n);
      }
    }
  }

  /// How a mask may go on from one row to others: the same keys or the same difference from what
  /// was supposed, in place or moved along with the rows; or the alternative that is most like it.
  static constexpr std::size_t kWays = 5;

  /// Tries what row `from` of a unit has on all its rows that are left, at once.
  void spread(Band& band, Index from, std::size_t n) {
    for (std::size_t way = 0; way < kWays; ++way) {
      const Index left = std::ranges::count(band.left[n], true);
      if (left < 2) return;
      if (!ways_[way].promise()) continue;
      const std::optional<OpenKeys> open = continued(band, from, n, way);
      if (!open) continue;
      const Index taken = take_rows(band, n, *open, {});
      ways_[way].count(taken, left);
      solved_ += taken;
    }
  }

  /// The alternative whose row is most like the one that was found, if it is more so than what was
  /// supposed.
  const Plane* nearest_to(const Found& found, const Unit& unit, Index row) const {
    const Plane* out = nullptr;
    Index least = distance(found.supposed, found.open);
    for (const Alternative& other : alternatives_) {
      const Plane* const plane = other.mask.plane(unit.b, unit.h).get();
      const Index now = distance(row_keys(*plane, row), found.open);
      if (now < least) out = plane, least = now;
    }
    return out;
  }
  static Index distance(const OpenKeys& a, const OpenKeys& b) {
    Index out = 0;
    for (std::size_t j = 0; j < a.size(); ++j) out += a[j] != b[j];
    return out;
  }

  std::optional<OpenKeys> continued(const Band& band, Index from, std::size_t n,
                                    std::size_t way) const {
    const Found& found = *band.last[n];
    const Index keys = call_.dims().keys;
    OpenKeys out = band.supposed;
    if (way == 0) {
      const Plane* nearest = nearest_to(found, band.group[n], band.rows.begin + from);
      if (!nearest) return {};
      dense_rows(*nearest, band.rows, out);
      return out;
    }
    const bool moves = way == 1 || way == 3, differs = way == 3 || way == 4;
    for (Index r = 0; r < band.rows.size(); ++r) {
      for (Index j = 0; j < keys; ++j) {
        const Index at = moves ? j - (r - from) : j;
        if (at < 0 || at >= keys) continue;
        const std::uint8_t was = found.open[as_size(at)];
        const bool flip = was != found.supposed[as_size(at)];
        std::uint8_t& open = out[as_size(r * keys + j)];
        open = differs ? static_cast<std::uint8_t>(open ^ static_cast<std::uint8_t>(flip)) : was;
      }
    }
    return out;
  }

  /// Keeps the rows of a unit that are left and that `open`, [rows, Tk], explains: how many. Where
  /// `found` is not empty, it has these rows, and no key may be decided that it is uncertain of.
  Index take_rows(Band& band, std::size_t n, const OpenKeys& open,
                  std::span<const std::optional<LeastSquares>> found) {
    const Unit& unit = band.group[n];
    const Index keys = call_.dims().keys;
    const std::vector<RowReport> reports = row_reports(call_, unit.heads, band.rows, open.data());
    Index taken = 0;
    for (Index r = 0; r < band.rows.size(); ++r) {
      if (!band.left[n][as_size(r)] || (!found.empty() && !found[as_size(r)])) continue;
      const OpenKeys row(open.begin() + r * keys, open.begin() + (r + 1) * keys);
      auto answer = rows_.judge(unit.heads, band.rows.begin + r, row, reports[as_size(r)]);
      if (!answer) continue;
      const OpenKeys supposed = band.supposed_at(r);
      for (const Index j : answer->light) answer->open[as_size(j)] = supposed[as_size(j)];
      if (!found.empty() && !std::ranges::includes(answer->light, found[as_size(r)]->uncertain)) {
        continue;
      }
      if (!found.empty()) count(true);
      keep(unit, band.rows.begin + r, {}, supposed, answer);
      band.left[n][as_size(r)] = false;
      ++taken;
    }
    return taken;
  }

  /// Rows by least squares, all at once: with the heads of all units that are off, then of each.
  void solve_together(Band& band) {
    std::vector<std::size_t> all;
    for (std::size_t n = 0; n < band.group.size(); ++n) {
      if (std::ranges::find(band.left[n], true) != band.left[n].end()) all.push_back(n);
    }
    if (all.size() > 1) solve_together(band, all);
    for (const std::size_t n : all) solve_together(band, std::span(&n, 1));
  }

  void solve_together(Band& band, std::span<const std::size_t> units) {
    std::vector<Head> heads;
    std::vector<bool> wanted(as_size(band.rows.size()));
    for (const std::size_t n : units) {
      const std::vector<Head>& own = band.group[n].heads;
      heads.insert(heads.end(), own.begin(), own.end());
      for (std::size_t r = 0; r < wanted.size(); ++r) wanted[r] = wanted[r] || band.left[n][r];
    }
    const Index rows = std::ranges::count(wanted, true);
    if (rows < 2 || !has_equations(call_, heads) || !together_.promise()) return;
    const auto found = solve_rows(call_, heads, band.rows, band.supposed.data(), wanted, noise_);
    OpenKeys open = band.supposed;
    for (std::size_t r = 0; r < found.size(); ++r) {
      if (found[r])
        std::ranges::copy(found[r]->open,
                          open.begin() + std::ssize(found[r]->open) * static_cast<Index>(r));
    }
    for (const std::size_t n : units) together_.count(take_rows(band, n, open, found), rows);
  }

  /// Where the mask may be as in rows before: the same keys, or the same difference from what was
  /// supposed, each also moved by one; no keys; and the alternatives.
  std::vector<OpenKeys> starts(const Unit& unit, Index row, const OpenKeys& supposed,
                               std::span<const Found* const> before) const {
    std::vector<OpenKeys> out;
    for (const Found* found : before) {
      out.push_back(found->open);
      OpenKeys same = supposed, moved = supposed, shifted(supposed.size());
      for (std::size_t j = 0; j < supposed.size(); ++j) {
        const bool flip = found->open[j] != found->supposed[j];
        same[j] ^= static_cast<std::uint8_t>(flip);
        if (j + 1 == supposed.size()) continue;
        moved[j + 1] ^= static_cast<std::uint8_t>(flip);
        shifted[j + 1] = found->open[j];
      }
      out.push_back(std::move(same)), out.push_back(std::move(moved));
      out.push_back(std::move(shifted));
    }
    out.emplace_back(supposed.size());
    for (const Alternative& other : alternatives_) {
      out.push_back(row_keys(*other.mask.plane(unit.b, unit.h), row));
    }
    return out;
  }

  std::vector<OpenKeys> starts(const Band& band, Index r, std::size_t n) const {
    std::vector<const Found*> before;
    if (band.last[n]) before.push_back(&*band.last[n]);
    if (band.latest) before.push_back(&*band.latest);
    return starts(band.group[n], band.rows.begin + r, band.supposed_at(r), before);
  }

  /// A row of some units as one: with more equations, if they have the same keys.
  void solve_alike(Band& band, Index r, std::span<const std::size_t> units) {
    if (given_up() || !alike_.promise()) return;
    std::vector<Head> heads;
    for (const std::size_t n : units) {
      const std::vector<Head>& own = band.group[n].heads;
      heads.insert(heads.end(), own.begin(), own.end());
    }
    const Index row = band.rows.begin + r;
    const OpenKeys supposed = band.supposed_at(r);
    const auto all = rows_.solve(heads, row, supposed, starts(band, r, units.front()));
    alike_.count(all ? 1 : 0, 1);
    if (!all) return;
    for (const std::size_t n : units) {
      const auto answer = taken(band.group[n].heads, row, supposed, all->open);
      if (!answer) continue;
      band.left[n][as_size(r)] = false;
      count(true);
      found(band, r, n, answer->open);
      keep(band.group[n], row, {}, supposed, answer);
    }
  }

  /// A row of one unit; false where it is not solved.
  bool solve_row(Band& band, Index r, std::size_t n) {
    if (given_up()) return false;
    const Unit& unit = band.group[n];
    const Index row = band.rows.begin + r;
    const OpenKeys supposed = band.supposed_at(r);
    const auto answer = rows_.solve(unit.heads, row, supposed, starts(band, r, n));
    count(answer.has_value());
    if (!answer) return false;
    band.left[n][as_size(r)] = false;
    keep(unit, row, {}, supposed, answer);
    if (found(band, r, n, answer->open)) spread(band, r, n);
    return true;
  }

  /// Remembers a row that differs from what was supposed; whether it does.
  static bool found(Band& band, Index r, std::size_t n, const OpenKeys& open) {
    const OpenKeys supposed = band.supposed_at(r);
    if (open == supposed) return false;
    band.last[n] = band.latest = Found{open, supposed};
    return true;
  }

  /// A support that was found with other heads.
  std::optional<RowAnswer> taken(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                 const OpenKeys& open) const {
    auto answer = rows_.judge(heads, row, open);
    if (!answer) return {};
    for (const Index j : answer->light) answer->open[as_size(j)] = supposed[as_size(j)];
    return answer;
  }

  /// Heads that should share a mask and do not: those that are off together, then those of one key
  /// head, then each by itself.
  void solve_apart(Band& band, Index r, std::size_t n) {
    const Unit& unit = band.group[n];
    const Index row = band.rows.begin + r;
    const OpenKeys supposed = band.supposed_at(r);
    band.left[n][as_size(r)] = false;
    const std::vector<OpenKeys> from = starts(band, r, n);
    if (unit.heads.size() > 1 && !given_up()) {
      const RowReport report =
          row_reports(call_, unit.heads, {row, row + 1}, supposed.data()).front();
      std::vector<Head> off, fit;
      for (std::size_t h = 0; h < unit.heads.size(); ++h) {
        (rows_.is_off(report, h) ? off : fit).push_back(unit.heads[h]);
      }
      if (!off.empty() && !fit.empty()) {
        const auto good = rows_.judge(fit, row, supposed);
        const auto other = good ? rows_.solve(off, row, supposed, from) : std::nullopt;
        if (other) {
          keep(unit, row, fit, supposed, good);
          return keep(unit, row, off, supposed, other);
        }
      }
      return solve_each(unit, row, supposed, from);
    }
    keep(unit, row, {}, supposed, std::nullopt);
  }

  void solve_each(const Unit& unit, Index row, const OpenKeys& supposed,
                  const std::vector<OpenKeys>& starts) {
    std::map<std::pair<Index, Index>, std::vector<Head>> shared;
    for (const Head head : unit.heads) {
      shared[{head.b, call_.dims().kv_head(head.h)}].push_back(head);
    }
    for (const auto& [place, heads] : shared) {
      if (shared.size() > 1 && heads.size() > 1) {
        if (auto answer = either(heads, row, supposed, starts)) {
          keep(unit, row, heads, supposed, answer);
          continue;
        }
      }
      for (const Head head : heads) {
        const std::vector<Head> alone{head};
        keep(unit, row, alone, supposed, either(alone, row, supposed, starts));
      }
    }
  }

  std::optional<RowAnswer> either(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                  const std::vector<OpenKeys>& starts) {
    if (auto answer = rows_.judge(heads, row, supposed)) return answer;
    if (given_up()) return {};
    return rows_.solve(heads, row, supposed, starts);
  }

  /// Where hardly a row is explained, or rows that are not have cost some ten minutes.
  bool given_up() const {
    const Dims& d = call_.dims();
    const double row = 1e3 * static_cast<double>(d.q_heads * d.value_dim * d.keys);
    if (static_cast<double>(failed_) * row > kMostWork) return true;
    return failed_ >= kAttempts && solved_ < failed_ / 8;
  }
  void count(bool solved) { ++(solved ? solved_ : failed_); }

  void keep(const Unit& unit, Index row, std::vector<Head> heads, const OpenKeys& supposed,
            const std::optional<RowAnswer>& answer) {
    RowPart part{unit.b, unit.h, row, std::move(heads)};
    part.take(supposed, answer);
    const std::scoped_lock lock(mutex_);
    if (answer) margin_ = std::min(margin_, answer->margin);
    if (!part.says_nothing()) parts_.push_back(std::move(part));
  }

  const SolveCall& call_;
  const Mask& supposed_;
  std::span<const Alternative> alternatives_;
  std::vector<Group> groups_;
  double noise_;
  RowSolver rows_;
  Attempts together_, alike_;  // rows of a band; units of a row
  std::array<Attempts, kWays> ways_;
  std::atomic<Index> solved_ = 0, failed_ = 0;
  std::mutex mutex_;
  std::vector<RowPart> parts_;
  double margin_ = kImpossible;
};

/// Refuses rows that are NaN where no row may be.
void check_rows(const SolveCall& call) {
  if (call.empty_row() == EmptyRow::kNan) return;
  const Dims& d = call.dims();
  for (Index b = 0; b < d.batch; ++b) {
    for (Index h = 0; h < d.q_heads; ++h) {
      for (Index i = 0; i < d.queries; ++i) {
        if (!call.is_nan({b, h}, i)) continue;
        throw Error(Errc::kInvalidArgument,
                    fmt::format("the mask cannot be told: the output is NaN in batch {}, head {}, "
                                "query {}; give a run without NaN, or empty_row=nan where rows "
                                "without a key are NaN",
                                b, h, i));
      }
    }
  }
}

}  // namespace

SolvedMask solve_mask(const VerifyRequest& request, const NamedResults& given,
                      std::span<const Alternative> alternatives) {
  const WorkScope scope(request.arguments.context.limits());
  const SolveCall call(request, given);
  check_rows(call);
  const Dims& d = call.dims();
  const Mask supposed = request.declared ? *request.declared : full_mask(1, 1, d.queries, d.keys);
  Solver solver(call, supposed, alternatives);
  solver.run();
  SolvedMask out = assembled(supposed, d, solver.parts());
  out.noise = std::sqrt(solver.noise());
  const double margin = solver.margin();
  out.margin = margin >= kImpossible ? std::numeric_limits<double>::infinity()
                                     : std::sqrt(margin / solver.noise());
  return out;
}

}  // namespace maskctl::attention
