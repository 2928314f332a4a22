#include "maskctl/verify/merge_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/rounding.h"

namespace maskctl::attention {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnbound = std::numeric_limits<double>::infinity();

/// The relative error of one rounding to the type of the elements. An array of float64 may hold
/// float32 numbers; then it is that of float32.
double step_of(DType precision, std::span<const double> elements) {
  const bool wide = precision == DType::kFloat64 && !std::ranges::all_of(elements, [](double x) {
                      return std::isnan(x) || static_cast<double>(static_cast<float>(x)) == x;
                    });
  return epsilon(precision == DType::kFloat64 && !wide ? DType::kFloat32 : precision) / 2;
}

/// Whether two numbers are equal up to `error`, or both NaN, or both infinite. A number that the
/// type cannot hold may be infinite.
bool agree(double seen, double expected, double error, DType type) {
  if (std::isnan(expected)) return std::isnan(seen);
  if (std::isinf(seen) && std::abs(expected) >= largest_number(type)) {
    return std::signbit(seen) == std::signbit(expected);
  }
  return std::isinf(expected) ? seen == expected : std::abs(seen - expected) <= error;
}

/// Throws unless the array holds floats and has the shape of the first part's output.
void check_out(const Tensor& tensor, const Tensor& first, const std::string& what) {
  check_float(what.c_str(), tensor);
  if (tensor.shape() == first.shape()) return;
  refuse_shape(fmt::format("{} is {}, out of part 0 is {}", what, shape_text(tensor.shape()),
                           shape_text(first.shape())));
}

}  // namespace

void Merge::take_shape(const MergeCall& call) {
  const Tensor& first = call.parts.front().out;
  if ((first.rank() != 3 && first.rank() != 4) || first.elements() == 0) {
    refuse_shape(fmt::format("out of part 0 is {}, expected ({}) or the last three of these",
                             shape_text(first.shape()),
                             layout_ == Layout::kBthd ? "batch, queries, heads, head_dim"
                                                      : "batch, heads, queries, head_dim"));
  }
  const bool heads_last = layout_ == Layout::kBthd;
  const Index at = first.rank() - 3;
  batch_ = at == 1 ? first.extent(0) : 1;
  tokens_ = first.extent(heads_last ? at : at + 1);
  heads_ = first.extent(heads_last ? at + 1 : at);
  length_ = first.extent(at + 2);
}

std::vector<double> Merge::lse_of(const Tensor& tensor, const std::string& what) {
  check_float(what.c_str(), tensor);
  std::vector<Index> extents = tensor.shape();
  if (extents.size() == 4 && extents.back() == 1) extents.pop_back();
  if (extents.size() == 2 && batch_ == 1) extents.insert(extents.begin(), 1);
  const bool own = extents == std::vector<Index>{batch_, heads_, tokens_};
  if (!own && extents != std::vector<Index>{batch_, tokens_, heads_}) {
    refuse_shape(
        fmt::format("{} is {}, expected (batch, heads, queries) or (batch, queries, "
                    "heads), with {} batches, {} heads and {} queries",
                    what, shape_text(tensor.shape()), batch_, heads_, tokens_));
  }
  std::vector<double> given = doubles_of(tensor);
  lse_step_ = std::max(lse_step_, step_of(tensor.dtype(), given));
  if (own) return given;
  transposed_lse_ = true;
  std::vector<double> out(given.size());
  for (Index row = 0; row < rows(); ++row) {
    const Index b = row / (heads_ * tokens_), h = row / tokens_ % heads_, t = row % tokens_;
    out[as_size(row)] = given[as_size((b * tokens_ + t) * heads_ + h)];
  }
  return out;
}

Merge::Merge(const MergeCall& call) : layout_(call.layout) {
  if (call.parts.size() < 2) {
    refuse(fmt::format("{} to merge, expected 2 parts or more",
                       counted(static_cast<Index>(call.parts.size()), "part")));
  }
  take_shape(call);
  for (std::size_t p = 0; p < call.parts.size(); ++p) {
    const PartialResult& part = call.parts[p];
    check_out(part.out, call.parts.front().out, fmt::format("out of part {}", p));
    outs_.push_back(doubles_of(part.out));
    lses_.push_back(lse_of(part.lse, fmt::format("lse of part {}", p)));
  }
  check_out(call.out, call.parts.front().out, "the merged out");
  out_ = doubles_of(call.out);
  precision_ = precision_of(call.out);
  step_ = step_of(precision_, out_);
  if (call.lse) lse_ = lse_of(*call.lse, "the merged lse");
  note_empty();
}

void Merge::note_empty() {
  for (Index row = 0; row < rows(); ++row) {
    if (empty_parts(row) == parts()) has_all_empty_ = true;
    for (Index p = 0; p < parts(); ++p) {
      if (!is_empty(p, row)) continue;
      if (lses_[as_size(p)][as_size(row)] > 0) has_infinity_ = true;
      const auto out = std::span<const double>(outs_[as_size(p)])
                           .subspan(as_size(row_of_out(row) * length_), as_size(length_));
      if (!std::ranges::all_of(out, [](double x) { return std::isfinite(x); })) {
        has_nan_beside_ = true;
      }
    }
  }
}

Index Merge::lse_row(LseRows rows, Index row) const {
  if (rows == LseRows::kOwn) return row;
  const Index plane = heads_ * tokens_, at = row % plane, batch = row - at;
  const Index h = at / tokens_, t = at % tokens_;
  return batch +
         (rows == LseRows::kReadAsBth ? t * heads_ + h : at % heads_ * tokens_ + at / heads_);
}

std::vector<double> Merge::lses_at(LseRows rows, bool takes_infinity, Index row,
                                   double base) const {
  const std::size_t from = as_size(lse_row(rows, row));
  std::vector<double> out;
  for (const std::vector<double>& lse : lses_) {
    const double one = lse[from];
    if (std::isnan(one) || (takes_infinity && one == kUnbound)) return {};
    out.push_back(std::isinf(one) ? -kUnbound : one * base);
  }
  return out;
}

double Merge::weight_error(Index row) const {
  double most = -kUnbound;
  for (const std::vector<double>& lse : lses_) {
    if (std::isfinite(lse[as_size(row)])) most = std::max(most, lse[as_size(row)]);
  }
  // Parts whose weight is less than any rounding do not count, and differences of numbers that
  // stand for -inf, such as -1e30, are exact.
  constexpr double kNothing = 100, kMost = 1000;
  double size = 0;
  for (const std::vector<double>& lse : lses_) {
    if (lse[as_size(row)] > most - kNothing) size = std::max(size, std::abs(lse[as_size(row)]));
  }
  return static_cast<double>(parts()) * lse_step_ * (4 + 2 * std::min(size, kMost));
}

std::optional<Miss> Merge::miss(const Way<WeightRule>& way, Index row, double base) const {
  const std::vector<double> lses = lses_at(way.rule->rows, way.empty->takes_infinity, row, base);
  std::vector<double> weights(as_size(parts()), kUndefined);
  const bool none = std::ranges::all_of(lses, [](double lse) { return lse == -kUnbound; });
  if (!lses.empty() && !(none && way.empty->if_none)) way.rule->weigh(lses, weights);
  const double error =
      static_cast<double>(parts() + 1) * step_ + weight_error(lse_row(way.rule->rows, row));
  const Index from = row_of_out(row) * length_;
  for (Index e = 0; e < length_; ++e) {
    double expected = 0, size = 0;
    for (std::size_t p = 0; p < weights.size(); ++p) {
      if (weights[p] == 0 && !way.empty->multiplies) continue;
      const double term = weights[p] * outs_[p][as_size(from + e)];
      expected += term;
      size += std::abs(term);
    }
    const double seen = out_[as_size(from + e)];
    if (!agree(seen, expected, error * size + least_number(precision_), precision_)) {
      return Miss{e, seen, expected};
    }
  }
  return {};
}

std::optional<Miss> Merge::miss(const Way<LseRule>& way, Index row, double base) const {
  const std::vector<double> lses = lses_at(way.rule->rows, way.empty->takes_infinity, row, base);
  const bool none = std::ranges::all_of(lses, [](double lse) { return lse == -kUnbound; });
  double expected = way.empty->takes_infinity ? way.empty->lse : kUndefined;
  if (!lses.empty()) {
    expected = none && way.empty->if_none ? way.empty->lse : way.rule->lse(lses);
  }
  const double seen = lse_[as_size(row)];
  // The lse of a row without keys may stay +inf, as it is in all parts.
  const bool kept =
      std::ranges::all_of(lses_, [row](const auto& lse) { return lse[as_size(row)] == kUnbound; });
  if (kept && seen == kUnbound && expected == -kUnbound) return {};
  const double error = weight_error(lse_row(way.rule->rows, row)) +
                       2 * static_cast<double>(parts()) * lse_step_ * std::abs(expected);
  if (agree(seen, expected, error, DType::kFloat32)) return {};
  return Miss{-1, seen, expected};
}

std::string Merge::place(Index row, Index element) const {
  return fmt::format("({}, {}, {}{})", row / (heads_ * tokens_), row / tokens_ % heads_,
                     row % tokens_, element < 0 ? "" : fmt::format(", {}", element));
}

std::string Merge::where(const std::vector<Index>& rows) const {
  const auto words = [](const std::set<Index>& numbers, const char* one, const char* many) {
    constexpr std::size_t kMostRanges = 6;
    const std::vector<Index> ascending(numbers.begin(), numbers.end());
    return range_words(ranges_of(ascending), one, many, kMostRanges);
  };
  std::set<Index> batches, heads, queries;
  for (const Index row : rows) {
    batches.insert(row / (heads_ * tokens_));
    heads.insert(row / tokens_ % heads_);
    queries.insert(row % tokens_);
  }
  const std::string batch = batch_ > 1 ? words(batches, "batch", "batches") + ", " : "";
  return batch + words(heads, "head", "heads") + ", " + words(queries, "query", "queries");
}

}  // namespace maskctl::attention
