#include "maskctl/verify/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/bands.h"

namespace maskctl::attention {
namespace {

using namespace solving;

/// How many rows a band has: a range of rows that are solved together.
constexpr Index kBand = 32;

/// Returns the median squared error of rows that are about as supposed, in units of the expected
/// rounding, for outputs or for gradients. If `off` names the rows that are off, returns nearly the
/// largest error of the other rows instead. The result is at least 1, and 1 if there are too few
/// such rows.
double noise_of(const SolveCall& call, const Mask& supposed, const std::vector<Group>& groups,
                const std::set<QueryRow>* off, bool gradients) {
  constexpr Index kRows = 8;
  constexpr std::size_t kHeads = 8, kLeast = 4;
  constexpr double kNear = 25;
  std::vector<double> seen;
  for (const Group& group : groups) {
    const Unit& unit = group.front();
    const Plane& plane = *supposed.plane(unit.b, unit.h);
    std::vector<Head> heads = unit.heads;
    std::erase_if(heads, [&](Head head) { return head.gradient != gradients; });
    heads.resize(std::min(kHeads, heads.size()));
    const Index rows = call.dims().queries;
    for (Index n = 0; n < std::min(kRows, rows); ++n) {
      const Index row = (2 * n + 1) * rows / (2 * std::min(kRows, rows));
      const OpenKeys open = row_keys(plane, row);
      if (std::ranges::count(open, 1) < 2) continue;
      const auto is_off = [&](Head head) { return off && off->contains({head.b, head.h, row}); };
      if (std::ranges::any_of(heads, is_off)) continue;
      const RowReport report = row_reports(call, heads, {row, row + 1}, open.data())[0];
      for (const double cost : report.head_cost) {
        seen.push_back(cost / static_cast<double>(call.dim(heads.front())));
      }
    }
  }
  if (!off) std::erase_if(seen, [](double x) { return x > kNear; });
  if (seen.size() < kLeast) return 1;
  if (!off) return std::max(1.0, median(std::move(seen)));
  constexpr double kNearlyAll = 0.9;
  std::ranges::sort(seen);
  return std::max(
      1.0, seen[static_cast<std::size_t>(kNearlyAll * static_cast<double>(seen.size() - 1))]);
}

void check_gradient(const SolveCall& call, Head head, Index i) {
  if (!call.has_gradients() || call.is_nan(head, i)) return;
  if (std::ranges::all_of(call.out(head, i), [](double x) { return std::isfinite(x); })) return;
  untold(
      fmt::format("grad_query is NaN in batch {}, head {}, query {}; give a run without, or the "
                  "output alone",
                  head.b, head.h, i));
}

/// Throws if the output is NaN in a row that may not be NaN.
void check_rows(const SolveCall& call) {
  const Dims& d = call.dims();
  for (Index b = 0; b < d.batch; ++b) {
    for (Index h = 0; h < d.q_heads; ++h) {
      for (Index i = 0; i < d.queries; ++i) {
        check_gradient(call, {b, h, true}, i);
        if (!call.is_nan({b, h}, i)) continue;
        if (call.empty_row() == EmptyRow::kNan) continue;
        untold(fmt::format(
            "the output is NaN in batch {}, head {}, query {}; give a run without "
            "NaN, or empty_row=nan where rows without a key are NaN{}",
            b, h, i,
            call.has_unread() ? "; a key that holds NaN makes all rows NaN that read it" : ""));
      }
    }
  }
}

/// Returns the cells of keys that hold NaN but that no query has read, since NaN would be in its
/// output; in the shape of the supposed mask.
Mask unread_cells(const SolveCall& call, const Mask& supposed) {
  const Dims& d = call.dims();
  const auto covered = [](Index extent, Index n, Index all) {
    return extent == 1 ? Range{0, all} : Range{n, n + 1};
  };
  return Mask::make(supposed.batch(), supposed.heads(), d.queries, d.keys,
                    [&](Index plane_b, Index plane_h) {
                      const Range batch = covered(supposed.batch(), plane_b, d.batch);
                      const Range heads = covered(supposed.heads(), plane_h, d.q_heads);
                      std::vector<Range> unread;
                      for (Index key = 0; key < d.keys; ++key) {
                        bool any = false;
                        for (Index b = batch.begin; b < batch.end; ++b) {
                          for (Index h = heads.begin; h < heads.end; ++h)
                            any |= call.is_unread({b, h}, key);
                        }
                        if (any) append_range(unread, {key, key + 1});
                      }
                      return key_ranges(d.queries, d.keys, unread);
                    });
}

/// Throws for a call of which hardly any row can be explained.
[[noreturn]] void refuse_call(const VerifyRequest& request, const SolveCall& call,
                              const std::vector<Group>& groups) {
  Index equations = 0;
  for (const Head head : groups.front().front().heads) equations += call.dim(head);
  std::string more;
  if (equations < call.dims().keys) {
    more = fmt::format(
        "; a mask that has little of the declared one takes more: {} numbers of the "
        "output tell of {} keys{}",
        equations, call.dims().keys,
        call.has_gradients() ? "" : ", and grad_query with cotangent_out doubles them");
  }
  std::string given;
  for (const auto& [name, array] : request.arguments.arrays) {
    given += fmt::format("{}{}", given.empty() ? "" : ", ", name);
  }
  for (const auto& [name, value] : request.arguments.options) {
    if (value != "false") given += fmt::format(", {}={}", name, value);
  }
  untold(
      fmt::format("hardly a row of the output is explained by any keys with the arguments that "
                  "were given: {}; give those of the call that made the output{}",
                  given, more));
}

/// All cells of the rows none of whose heads is in `off`, in the shape of `supposed`.
Mask taken_rows(const std::vector<Group>& groups, const Mask& supposed,
                const std::set<QueryRow>* off) {
  std::map<std::pair<Index, Index>, std::vector<Range>> taken;  // of each plane
  for (const Group& group : groups) {
    for (const Unit& unit : group) {
      std::vector<Range>& rows = taken[{unit.b, unit.h}];
      for (Index row = 0; off && row < supposed.queries(); ++row) {
        const auto is_off = [&](Head head) { return off->contains({head.b, head.h, row}); };
        if (std::ranges::none_of(unit.heads, is_off)) append_range(rows, {row, row + 1});
      }
    }
  }
  return Mask::make(supposed.batch(), supposed.heads(), supposed.queries(), supposed.keys(),
                    [&](Index b, Index h) {
                      return query_ranges(supposed.queries(), supposed.keys(), taken[{b, h}]);
                    });
}

}  // namespace

bool has_solver() { return true; }

void require_solver() {}

SolvedMask solve_mask(const VerifyRequest& request, const NamedResults& given,
                      std::span<const Neighbour> alternatives, const SolveOptions& options) {
  const WorkScope scope(request.arguments.context.limits());
  SolveCall call(request, given, options.tile);
  check_rows(call);
  const Dims& d = call.dims();
  const Mask& start = options.supposed   ? *options.supposed
                      : request.declared ? *request.declared
                                         : full_mask(1, 1, d.queries, d.keys);
  Mask supposed = start;
  std::optional<Mask> readable;
  if (call.has_unread()) {
    readable = complement(unread_cells(call, supposed));
    supposed = zip(Op::kAnd, supposed, *readable);
  }
  const std::vector<Group> groups = groups_of(supposed, call);
  const double noise = noise_of(call, supposed, groups, options.off, false);
  if (call.has_gradients()) {
    call.widen_gradients(
        std::max(1.0, noise_of(call, supposed, groups, options.off, true) / noise));
  }
  BandSolver solver(call, supposed, alternatives, noise, options);
  const Index bands = ceil_div(d.queries, kBand);
  parallel_for(bands * std::ssize(groups), [&](Index task) {
    const Index first = task % bands * kBand;
    solver.solve(groups[as_size(task / bands)], {first, std::min(first + kBand, d.queries)});
  });
  Answers& answers = solver.answers();
  if (answers.hopeless()) refuse_call(request, call, groups);
  SolvedMask out = assembled(supposed, d, answers.parts());
  if (readable) {  // cells that are not readable are decided: closed, whatever their weights
    for (Mask* cells : {&out.mask, &out.likeliest, &out.light, &out.alike}) {
      *cells = zip(Op::kAnd, *cells, *readable);
    }
  }
  out.noise = std::sqrt(noise);
  out.taken = taken_rows(groups, supposed, options.off);
  out.taken_rows = out.taken.count() / std::max<Index>(d.keys, 1);
  out.margin = answers.margin() >= kImpossible ? std::numeric_limits<double>::infinity()
                                               : std::sqrt(answers.margin() / noise);
  return out;
}

}  // namespace maskctl::attention
