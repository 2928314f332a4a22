#include "maskctl/verify/residuals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "maskctl/tensor/convert.h"
#include "maskctl/verify/compare.h"
#include "maskctl/verify/key_side.h"

namespace maskctl::attention {
namespace {

/// The results of a row under two masks count as different if their squared distance is more than
/// this many times the squared error of f32 sums.
constexpr double kAboveSums = 2;

bool both_nan(double a, double b) { return std::isnan(a) && std::isnan(b); }

/// Whether one of the numbers is NaN or infinite and the other one is different.
bool clash(double a, double b) {
  return !both_nan(a, b) && a != b && !(std::isfinite(a) && std::isfinite(b));
}

}  // namespace

Residuals::Residuals(const VerifyRequest& request, const NamedResults& given,
                     const NamedResults& reference, const NamedResults& declared,
                     const Rounding& rounding, const std::optional<Mask>& mask)
    : supposes_noise_(rounding.is_supposed()) {
  for (const auto& [name, tensor] : given) {
    if (!is_floating(tensor.dtype()) || !declared.contains(name)) continue;
    add(request, name, tensor, reference.at(name), declared.at(name), rounding, mask);
  }
}

void Residuals::add(const VerifyRequest& request, const std::string& name, const Tensor& given,
                    const Tensor& reference, const Tensor& declared, const Rounding& rounding,
                    const std::optional<Mask>& mask) {
  Array array;
  array.name = name;
  array.given = doubles_of(given);
  array.declared = doubles_of(declared);
  array.length = name == "lse" || given.rank() == 0 ? 1 : given.shape().back();
  array.count = array.length == 0 ? 0 : std::ssize(array.given) / array.length;
  array.first = rows();
  array.noise = rounding.of(name, given, array.declared, array.length);
  const std::vector<double> expected = doubles_of(reference);
  const Tolerance tolerance =
      request.tolerance.value_or(usual_tolerance(precision_of(given), is_gradient(name)));
  array.relative = tolerance.relative;
  array.absolute = tolerance.absolute * std::max(1.0, largest_finite(expected));
  add_positions(request, given, array);
  add_keys(array, mask);
  for (Index row = 0; row < array.count; ++row) {
    double misfit = 0;
    bool off = false;
    for (Index e = row * array.length; e < (row + 1) * array.length; ++e) {
      const double a = array.given[as_size(e)], b = array.declared[as_size(e)];
      const double exact = expected[as_size(e)];
      if (clash(a, exact)) misfit = std::numeric_limits<double>::infinity();
      if (std::isfinite(a) && std::isfinite(b)) misfit += square(a - b) / noise(array, row, b);
      off = off || clash(a, exact) ||
            std::abs(a - exact) > array.absolute + array.relative * std::abs(exact);
    }
    misfit_.push_back(misfit / static_cast<double>(array.length));
    off_.push_back(off);
    add_freedom(array, row);
    add_blank(array, row);
  }
  arrays_.push_back(std::move(array));
}

void Residuals::add_positions(const VerifyRequest& request, const Tensor& tensor,
                              const Array& array) {
  // Results are [B,T,H,D] or [B,H,T,D]; for a latent [B,T,R], with one head; an lse is [B,H,T].
  const bool heads_first = request.operation->heads_first() || array.name == "lse";
  std::vector<Index> extents = tensor.shape();
  if (array.name != "lse" && !extents.empty()) extents.pop_back();
  while (extents.size() < 3) extents.push_back(1);
  const Index inner = extents[2], heads = heads_first ? extents[1] : inner;
  for (Index n = 0; n < array.count; ++n) {
    const Index batch = n / (extents[1] * inner), middle = n / inner % extents[1];
    const Index head = heads_first ? middle : n % inner, time = heads_first ? n % inner : middle;
    positions_.push_back({arrays_.size(), batch, head, time});
    groups_.push_back(group_count_ + batch * heads + head);
  }
  group_count_ += extents[0] * heads;
  batches_ = std::max(batches_, extents[0]);
}

void Residuals::add_freedom(const Array& array, Index row) {
  const double length = static_cast<double>(array.length);
  const auto elements = std::span(array.declared).subspan(as_size(row * array.length));
  const double relative = array.noise.relative * mean_square(elements.first(as_size(array.length)));
  const RowNoise& noise = array.noise.rows[as_size(row)];
  freedom_.push_back(noise.freedom(relative, length));
  constexpr double kMostOfSums = 1e-2;
  rounds_to_16_bits_.push_back(noise.sums < kMostOfSums * (noise.all() + relative));
  cell_misfit_.push_back(array.noise.cell / (noise.all() + relative));
}

double Residuals::noise(const Array& array, Index row, double value) const {
  return array.noise.rows[as_size(row)].all() +
         (std::isfinite(value) ? array.noise.relative * square(value) : 0);
}

void Residuals::add_keys(const Array& array, const std::optional<Mask>& mask) {
  const auto first = as_size(array.first);
  few_keys_.resize(first + as_size(array.count), false);
  no_key_.resize(first + as_size(array.count), false);
  const bool by_queries = array.name == "out" || array.name == "lse" || array.name == "grad_query";
  if (!mask || !by_queries) return;
  std::map<std::pair<Index, Index>, std::vector<Index>> keys;  // of the rows of a plane
  for (std::size_t n = first; n < positions_.size(); ++n) {
    const RowPosition& at = positions_[n];
    const Index b = mask->batch() == 1 ? 0 : at.batch, h = mask->heads() == 1 ? 0 : at.head;
    if (b >= mask->batch() || h >= mask->heads()) continue;
    std::vector<Index>& counts = keys[{b, h}];
    if (counts.empty()) {
      mask->plane(b, h)->row_sizes({0, mask->queries()},
                                   [&](Range rows, const Plane::RowSize& row) {
                                     counts.insert(counts.end(), as_size(rows.size()), row.keys);
                                   });
    }
    if (as_size(at.time) >= counts.size()) continue;
    few_keys_[n] = counts[as_size(at.time)] <= 1;
    no_key_[n] = counts[as_size(at.time)] == 0;
  }
}

void Residuals::add_blank(const Array& array, Index row) {
  const auto elements = [&](const std::vector<double>& all) {
    return std::span(all).subspan(as_size(row * array.length), as_size(array.length));
  };
  const auto given = elements(array.given), declared = elements(array.declared);
  const bool finite = std::ranges::all_of(declared, [](double x) { return std::isfinite(x); });
  Blank blank = Blank::kNo;
  if (finite && !no_key_[as_size(array.first + row)]) {
    const auto is_zero = [](double x) { return x == 0; };
    const bool zeros = array.length > 1 && std::ranges::all_of(given, is_zero) &&
                       !std::ranges::all_of(declared, is_zero);
    const bool nan = std::ranges::any_of(given, [](double x) { return std::isnan(x); });
    blank = nan ? Blank::kNan : zeros ? Blank::kZero : Blank::kNo;
  }
  blank_.push_back(blank);
}

/// The variance of a row's noise under a candidate, except the part that is relative to single
/// elements. At least the variance of the declared row. It may be larger if it is computed from
/// `other`, the candidate's row; this is done for gradients, where the declared row has too few
/// keys, and where `spread` (the row for values of random signs) is given.
double Residuals::noise_under(const Array& array, Index row, std::span<const double> other,
                              std::span<const double> spread) const {
  const double declared = array.noise.rows[as_size(row)].all();
  const bool own = is_gradient(array.name) || few_keys_[as_size(array.first + row)];
  if (!own && spread.empty()) return declared;
  const double size = mean_square(other);
  const double with_signs = spread.empty() ? size : mean_square(spread);
  return std::max(declared, array.noise.row(size, with_signs).all());
}

std::optional<std::vector<RowResidual>> Residuals::under(const NamedResults& other,
                                                         const NamedResults* spread) const {
  std::vector<RowResidual> out;
  for (const Array& array : arrays_) {
    const auto found = other.find(array.name);
    if (found == other.end()) return {};
    const std::vector<double> others = doubles_of(found->second);
    const bool has_spread = spread && array.name == "out";
    const std::vector<double> signs =
        has_spread ? doubles_of(spread->at("out")) : std::vector<double>();
    for (Index row = 0; row < array.count; ++row) {
      const auto elements = std::span(others).subspan(as_size(row * array.length));
      const double shared = noise_under(
          array, row, elements.first(as_size(array.length)),
          has_spread ? std::span(signs).subspan(as_size(row * array.length), as_size(array.length))
                     : std::span<const double>());
      RowResidual sums;
      sums.row = array.first + row;
      bool clashes = false;
      double distance = 0;
      for (Index e = row * array.length; e < (row + 1) * array.length; ++e) {
        const double a = array.given[as_size(e)], d = array.declared[as_size(e)];
        const double x = others[as_size(e)];
        sums.off = sums.off || clash(a, x) ||
                   std::abs(a - x) > array.absolute + array.relative * std::abs(x);
        if (clash(a, x)) sums.misfit = std::numeric_limits<double>::infinity();
        clashes = clashes || clash(d, x);
        if (std::isfinite(d) && std::isfinite(x)) distance += square(x - d);
        if (!std::isfinite(a) || !std::isfinite(x)) continue;
        if (!std::isfinite(d)) {
          sums.misfit += square(a - x) / (shared + array.noise.relative * square(x));
          continue;
        }
        const double s = shared + array.noise.relative * std::max(square(d), square(x));
        sums.along += (a - d) * (x - d) / s;
        sums.squared += square(x - d) / s;
        sums.misfit += square(a - x) / s;
      }
      sums.misfit /= static_cast<double>(array.length);
      const double sums_alone =
          array.noise.rows[as_size(row)].sums * static_cast<double>(array.length);
      if (clashes || distance > kAboveSums * sums_alone) out.push_back(sums);
    }
  }
  return out;
}

}  // namespace maskctl::attention
