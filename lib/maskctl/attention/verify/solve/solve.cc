#include "maskctl/attention/verify/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "maskctl/attention/verify/rounding.h"
#include "maskctl/attention/verify/solve/bands.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {
namespace {

using namespace solving;

/// Rows of a band.
constexpr Index kBand = 32;

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

/// Refuses outputs that are NaN where no row may be.
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
                      std::span<const Alternative> alternatives, Index tile) {
  const WorkScope scope(request.arguments.context.limits());
  const SolveCall call(request, given, tile);
  check_rows(call);
  const Dims& d = call.dims();
  const Mask supposed = request.declared ? *request.declared : full_mask(1, 1, d.queries, d.keys);
  const std::vector<Group> groups = groups_of(supposed, d);
  const double noise = noise_of(call, supposed, groups);
  BandSolver solver(call, supposed, alternatives, noise);
  const Index bands = ceil_div(d.queries, kBand);
  parallel_for(bands * std::ssize(groups), [&](Index task) {
    const Index first = task % bands * kBand;
    solver.solve(groups[as_size(task / bands)], {first, std::min(first + kBand, d.queries)});
  });
  Answers& answers = solver.answers();
  if (answers.hopeless()) {
    throw Error(Errc::kInvalidArgument,
                "the mask cannot be told: hardly a row of the output is explained by any keys; "
                "give query, key and value of the same call as the output, its softmax_scale, "
                "and its bias or sinks if it has any");
  }
  SolvedMask out = assembled(supposed, d, answers.parts());
  out.noise = std::sqrt(noise);
  out.margin = answers.margin() >= kImpossible ? std::numeric_limits<double>::infinity()
                                               : std::sqrt(answers.margin() / noise);
  return out;
}

}  // namespace maskctl::attention
