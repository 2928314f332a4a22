#include "maskctl/verify/solve/bands.h"

#include <algorithm>
#include <map>
#include <utility>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/verify/solve/together.h"

namespace maskctl::attention::solving {

/// A range of rows in all units (heads that share a mask) of a group, and which of these rows have
/// no answer yet.
struct BandSolver::Band {
  const Group& group;
  Range rows;
  OpenKeys supposed;  // [rows, Tk]: the supposed open keys
  /// [units][rows]: whether this row of this unit has no answer yet
  std::vector<std::vector<bool>> left;
  /// [units]: the last row of each unit whose open keys turned out to differ from the supposed ones
  std::vector<std::optional<Found>> last = {};
  std::optional<Found> latest = {};  // the newest entry of `last`, whatever its unit

  OpenKeys supposed_at(Index r) const {
    const Index keys = std::ssize(supposed) / rows.size();
    return {supposed.begin() + r * keys, supposed.begin() + (r + 1) * keys};
  }
};

namespace {

/// Splits `heads` into one list for each query head, which has its output and, if there are any,
/// its gradients.
std::vector<std::vector<Head>> by_head(std::span<const Head> heads) {
  std::vector<std::vector<Head>> out;
  for (const Head head : heads) {
    if (!head.gradient) out.emplace_back();
    out.back().push_back(head);
  }
  return out;
}

}  // namespace

void BandSolver::solve(const Group& group, Range rows) {
  bool any = false;
  Band band{group, rows, OpenKeys(as_size(rows.size() * call_.dims().keys)), {}};
  dense_rows(*supposed_.plane(group.front().b, group.front().h), rows, band.supposed);
  for (const Unit& unit : group) {
    std::vector<bool>& left = band.left.emplace_back();
    for (Index row = rows.begin; row < rows.end; ++row) left.push_back(may_be_off(unit, row));
    any = any || std::ranges::count(left, true) > 0;
  }
  if (!any) return;
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

bool BandSolver::may_be_off(const Unit& unit, Index row) const {
  return !off_ || std::ranges::any_of(unit.heads, [&](Head head) {
    return off_->contains({head.b, head.h, row});
  });
}

void BandSolver::spread(Band& band, Index from, std::size_t n) {
  for (std::size_t way = 0; way < kWays; ++way) {
    const Index left = std::ranges::count(band.left[n], true);
    if (left < 2) return;
    if (!ways_[way].promise()) continue;
    const std::optional<OpenKeys> open =
        continued(*band.last[n], from, static_cast<Way>(way), band.group[n], band.rows,
                  band.supposed, alternatives_);
    if (!open) continue;
    const Index taken = take_rows(band, n, *open, {});
    ways_[way].count(taken, left);
    answers_.count_solved(taken);
  }
}

Index BandSolver::take_rows(Band& band, std::size_t n, const OpenKeys& open,
                            std::span<const std::optional<LeastSquares>> found) {
  const Unit& unit = band.group[n];
  const Index keys = call_.dims().keys;
  const std::vector<RowReport> reports = row_reports(call_, unit.heads, band.rows, open.data());
  Index taken = 0;
  for (Index r = 0; r < band.rows.size(); ++r) {
    if (!band.left[n][as_size(r)] || (!found.empty() && !found[as_size(r)])) continue;
    const OpenKeys row(open.begin() + r * keys, open.begin() + (r + 1) * keys);
    const auto answer = rows_.judge(unit.heads, band.rows.begin + r, row, reports[as_size(r)]);
    if (!answer) continue;
    if (!found.empty() && !std::ranges::includes(answer->light, found[as_size(r)]->uncertain)) {
      continue;
    }
    if (!found.empty()) answers_.count(true);
    answers_.keep(unit, band.rows.begin + r, {}, band.supposed_at(r), answer);
    band.left[n][as_size(r)] = false;
    ++taken;
  }
  return taken;
}

void BandSolver::solve_together(Band& band) {
  std::vector<std::size_t> all;
  for (std::size_t n = 0; n < band.group.size(); ++n) {
    if (std::ranges::find(band.left[n], true) != band.left[n].end()) all.push_back(n);
  }
  if (all.size() > 1) solve_together(band, all);
  for (const std::size_t n : all) solve_together(band, std::span(&n, 1));
}

void BandSolver::solve_together(Band& band, std::span<const std::size_t> units) {
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

std::vector<OpenKeys> BandSolver::starts_of(const Band& band, Index r, std::size_t n) const {
  std::vector<const Found*> before;
  if (band.last[n]) before.push_back(&*band.last[n]);
  if (band.latest) before.push_back(&*band.latest);
  return starts(band.group[n], band.rows.begin + r, band.supposed_at(r), before, alternatives_);
}

void BandSolver::solve_alike(Band& band, Index r, std::span<const std::size_t> units) {
  if (answers_.given_up() || !alike_.promise()) return;
  std::vector<Head> heads;
  for (const std::size_t n : units) {
    const std::vector<Head>& own = band.group[n].heads;
    heads.insert(heads.end(), own.begin(), own.end());
  }
  const Index row = band.rows.begin + r;
  const OpenKeys supposed = band.supposed_at(r);
  const auto all = rows_.solve(heads, row, supposed, starts_of(band, r, units.front()));
  alike_.count(all ? 1 : 0, 1);
  if (!all) return;
  for (const std::size_t n : units) {
    const auto answer = rows_.judge(band.group[n].heads, row, all->decided(supposed));
    if (!answer) continue;
    band.left[n][as_size(r)] = false;
    answers_.count(true);
    found(band, r, n, *answer);
    answers_.keep(band.group[n], row, {}, supposed, answer);
  }
}

bool BandSolver::solve_row(Band& band, Index r, std::size_t n) {
  if (answers_.given_up()) return false;
  const Unit& unit = band.group[n];
  const Index row = band.rows.begin + r;
  const OpenKeys supposed = band.supposed_at(r);
  const auto answer = rows_.solve(unit.heads, row, supposed, starts_of(band, r, n));
  answers_.count(answer.has_value());
  if (!answer) return false;
  band.left[n][as_size(r)] = false;
  answers_.keep(unit, row, {}, supposed, answer);
  if (found(band, r, n, *answer)) spread(band, r, n);
  return true;
}

bool BandSolver::found(Band& band, Index r, std::size_t n, const RowAnswer& answer) {
  const OpenKeys supposed = band.supposed_at(r);
  OpenKeys open = answer.decided(supposed);
  if (open == supposed) return false;
  band.last[n] = band.latest = Found{std::move(open), supposed};
  return true;
}

void BandSolver::solve_apart(Band& band, Index r, std::size_t n) {
  const Unit& unit = band.group[n];
  const Index row = band.rows.begin + r;
  const OpenKeys supposed = band.supposed_at(r);
  band.left[n][as_size(r)] = false;
  const std::vector<OpenKeys> from = starts_of(band, r, n);
  const std::vector<std::vector<Head>> heads = by_head(unit.heads);
  if (heads.size() > 1 && !answers_.given_up()) {
    const RowReport report =
        row_reports(call_, unit.heads, {row, row + 1}, supposed.data()).front();
    std::vector<Head> off, fit;
    std::size_t at = 0;
    for (const std::vector<Head>& one : heads) {
      const auto is_off = [&](Head head) { return rows_.is_off(head, report, at++); };
      std::vector<Head>& side = std::ranges::count_if(one, is_off) > 0 ? off : fit;
      side.insert(side.end(), one.begin(), one.end());
    }
    if (!off.empty() && !fit.empty()) {
      const auto good = rows_.judge(fit, row, supposed);
      const auto other = good ? rows_.solve(off, row, supposed, from) : std::nullopt;
      if (other) {
        answers_.count_solved_apart();
        answers_.keep(unit, row, fit, supposed, good);
        return answers_.keep(unit, row, off, supposed, other);
      }
    }
    return solve_each(unit, row, supposed, from);
  }
  answers_.keep(unit, row, {}, supposed, std::nullopt);
}

void BandSolver::solve_each(const Unit& unit, Index row, const OpenKeys& supposed,
                            const std::vector<OpenKeys>& starts) {
  std::map<std::pair<Index, Index>, std::vector<Head>> shared;
  for (const Head head : unit.heads) {
    shared[{head.b, call_.dims().kv_head(head.h)}].push_back(head);
  }
  bool all = true;
  for (const auto& [place, heads] : shared) {
    const std::vector<std::vector<Head>> single = by_head(heads);
    if (shared.size() > 1 && single.size() > 1) {
      if (auto answer = either(heads, row, supposed, starts)) {
        answers_.keep(unit, row, heads, supposed, answer);
        continue;
      }
    }
    for (const std::vector<Head>& alone : single) {
      const auto answer = either(alone, row, supposed, starts);
      all = all && answer;
      answers_.keep(unit, row, alone, supposed, answer);
    }
  }
  if (all) answers_.count_solved_apart();
}

std::optional<RowAnswer> BandSolver::either(std::span<const Head> heads, Index row,
                                            const OpenKeys& supposed,
                                            const std::vector<OpenKeys>& starts) {
  if (auto answer = rows_.judge(heads, row, supposed)) return answer;
  if (answers_.given_up()) return {};
  return rows_.solve(heads, row, supposed, starts);
}

}  // namespace maskctl::attention::solving
