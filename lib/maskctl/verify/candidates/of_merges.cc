// Two ranges of keys whose results were merged by wrong weights.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/candidates/fitted.h"
#include "maskctl/verify/candidates/some_queries.h"
#include "maskctl/verify/key_side.h"
#include "maskctl/verify/merged.h"
#include "maskctl/verify/rounding.h"

namespace maskctl::attention {
namespace {

constexpr Index kLeastFitted = 16;  // of a row, from which two weights are fitted

NamedResults over_keys(const CallVariants& call, NamedArguments arguments, Range keys,
                       bool with_sinks) {
  const Mask& mask = *arguments.mask;
  const Mask only(key_ranges(mask.queries(), mask.keys(), std::vector<Range>{keys}));
  arguments.mask = zip(Op::kAnd, mask, only);
  if (!with_sinks) arguments.arrays.erase("softmax_aux");
  if (!arguments.arrays.contains("softmax_aux")) arguments.options["empty_row"] = "zero";
  return call.run(arguments);
}

/// The factors by which a row is nearest to a sum of two others, and the squared distance that is
/// left.
struct FittedPair {
  double f = 0, g = 0, left = 0;
};

template <typename Row, typename First, typename Second>
FittedPair fitted_pair(const Row& row, const First& first, const Second& second) {
  double aa = 0, ab = 0, bb = 0, ar = 0, br = 0, rr = 0;
  for (std::size_t e = 0; e < row.size(); ++e) {
    const double a = first[e], b = second[e], r = row[e];
    if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(r)) continue;
    aa += a * a, ab += a * b, bb += b * b, ar += a * r, br += b * r, rr += r * r;
  }
  const double determinant = aa * bb - ab * ab;
  double f = aa > 0 ? ar / aa : 0, g = 0;
  if (determinant > 1e-9 * aa * bb) {
    f = (ar * bb - br * ab) / determinant;
    g = (br * aa - ar * ab) / determinant;
  } else if (aa == 0 && bb > 0) {
    g = br / bb;
  }
  const double left = rr - 2 * (f * ar + g * br) + f * f * aa + 2 * f * g * ab + g * g * bb;
  return {f, g, std::max(0.0, left)};
}

struct NamedFactors {
  const char* text;
  PartFactors factors;
};

std::vector<NamedFactors> usual_mistakes() {
  const PartFactors right = softmax_factors();
  return {
      {"by equal weights",
       [](double, double) {
         return std::pair{0.5, 0.5};
       }},
      {"as a sum, without weights",
       [](double, double) {
         return std::pair{1.0, 1.0};
       }},
      {"by the weights of the other part",
       [right](double a, double b) {
         const auto [f, g] = right(a, b);
         return std::pair{g, f};
       }},
      {"by powers of 2 of an lse to base e",
       [right](double a, double b) { return right(a * std::numbers::ln2, b * std::numbers::ln2); }},
      {"by powers of e of an lse to base 2", [right](double a, double b) {
         return right(a * std::numbers::log2e, b * std::numbers::log2e);
       }}};
}

/// What a kernel may have done with two ranges of keys that meet at `cut`.
class CutKeys {
 public:
  CutKeys(std::shared_ptr<const CallVariants> call, Index cut)
      : call_(std::move(call)), cut_(cut), keys_(call_->mask()->keys()) {}

  Candidate only(bool first) const {
    const Range lost = first ? Range{cut_, keys_} : Range{0, cut_};
    const Mask& mask = *call_->mask();
    const Mask other =
        zip(Op::kSub, mask, Mask(key_ranges(mask.queries(), keys_, std::vector<Range>{lost})));
    return with_arguments(call_, fmt::format("keys {}-{} not read", lost.begin, lost.end - 1),
                          other, [other](NamedArguments& arguments) { arguments.mask = other; });
  }

  Candidate merged_by(const NamedFactors& mistake) const {
    Candidate out{text(mistake.text), {}, [self = *this, factors = mistake.factors] {
                    return self.merged_results(self.call_->arguments(), factors);
                  }};
    if (call_->has_values()) {
      out.signed_results = [self = *this, factors = mistake.factors] {
        return self.merged_results(CallVariants::randomly_signed(self.call_->arguments()), factors);
      };
    }
    return out;
  }
  NamedResults merged_results(const NamedArguments& arguments, const PartFactors& factors) const {
    NamedResults results = merged(*call_, over_keys(*call_, arguments, {0, cut_}, true),
                                  over_keys(*call_, arguments, {cut_, keys_}, false), factors);
    results.erase("lse");
    return results;
  }

  /// The candidate that merges both ranges by the weights that fit each row of `given` best.
  Candidate fitted(const Tensor& given) const {
    return {text("by other weights than the softmax's"), {}, [self = *this, given] {
              const NamedArguments& all = self.call_->arguments();
              Tensor sum = over_keys(*self.call_, all, {0, self.cut_}, true).at("out");
              const Tensor second =
                  over_keys(*self.call_, all, {self.cut_, self.keys_}, false).at("out");
              const auto x = sum.as<float>();
              const auto y = second.as<float>();
              const std::size_t length = as_size(sum.shape().back());
              for (std::size_t e = 0; e < x.size(); e += length) {
                const auto ours = x.subspan(e, length);
                const auto [f, g, left] =
                    fitted_pair(given.as<float>().subspan(e, length), ours, y.subspan(e, length));
                for (std::size_t d = 0; d < length; ++d) {
                  ours[d] = static_cast<float>(f * ours[d] + g * y[e + d]);
                }
              }
              return NamedResults{{"out", std::move(sum)}};
            }};
  }

 private:
  std::string text(const char* how) const {
    return fmt::format("keys 0-{} and {}-{} merged {}", cut_ - 1, cut_, keys_ - 1, how);
  }

  std::shared_ptr<const CallVariants> call_;
  Index cut_, keys_;
};

/// The weights exp(logit) of one query of the declared call, relative to the largest; 0 for closed
/// keys.
std::vector<double> key_weights(const CallVariants& call, const ProbeShape& shape, Index b, Index h,
                                Index i) {
  const NamedArguments& arguments = call.arguments();
  const auto number = [&](const char* name) {
    const auto found = arguments.options.find(name);
    return found == arguments.options.end() ? std::nullopt : number_from<double>(found->second);
  };
  const double scale =
      number("softmax_scale").value_or(1 / std::sqrt(static_cast<double>(shape.dim)));
  const std::optional<double> cap = number("logits_soft_cap");
  const auto bias = arguments.arrays.find("bias");
  const bool bias_first = adds_bias_before_cap(call.operation());
  const auto bias_at = [&](Index j) -> double {
    if (bias == arguments.arrays.end()) return 0;
    const Tensor& array = bias->second;
    const auto at = [&array](Index axis, Index n) { return array.extent(axis) == 1 ? 0 : n; };
    const Index row = (at(0, b) * array.extent(1) + at(1, h)) * array.extent(2) + at(2, i);
    return array.as<float>()[as_size(row * array.extent(3) + at(3, j))];
  };
  const Index kv_head = h / std::max<Index>(shape.heads / shape.kv_heads, 1);
  const float* const query =
      arguments.arrays.at("query").as<float>().data() +
      vector_at(shape.layout, b, i, h, shape.queries, shape.heads) * shape.dim;
  const float* const keys = arguments.arrays.at("key").as<float>().data();
  const Mask& mask = *call.mask();
  std::vector<std::uint8_t> open(as_size(shape.keys));
  dense_rows(*mask.plane(mask.batch() == 1 ? 0 : b, mask.heads() == 1 ? 0 : h), {i, i + 1}, open);
  std::vector<double> out(as_size(shape.keys), -std::numeric_limits<double>::infinity());
  double most = -std::numeric_limits<double>::infinity();
  for (Index j = 0; j < shape.keys; ++j) {
    if (open[as_size(j)] == 0) continue;
    const float* const key =
        keys + vector_at(shape.layout, b, j, kv_head, shape.keys, shape.kv_heads) * shape.dim;
    double logit = scale * std::inner_product(query, query + shape.dim, key, 0.0);
    if (bias_first) logit += bias_at(j);
    if (cap) logit = *cap * std::tanh(logit / *cap);
    if (!bias_first) logit += bias_at(j);
    out[as_size(j)] = logit;
    most = std::max(most, logit);
  }
  for (double& x : out) x = std::isfinite(x) ? std::exp(x - most) : 0;
  return out;
}

/// For each number of keys in the first range: adds to `left` the share of the row's squared length
/// that remains after the best combination of two sums is subtracted, which are the sums of
/// weighted values over the first and the second range.
void add_left(std::span<const double> weights, std::span<const double> values,
              std::span<const double> row, std::vector<double>& left) {
  const std::size_t dim = row.size();
  std::vector<double> first(dim, 0), second(dim, 0);
  for (std::size_t j = 0; j < weights.size(); ++j) {
    for (std::size_t d = 0; d < dim; ++d) second[d] += weights[j] * values[j * dim + d];
  }
  const double size = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  for (std::size_t cut = 1; cut < weights.size(); ++cut) {
    for (std::size_t d = 0; d < dim; ++d) {
      const double moved = weights[cut - 1] * values[(cut - 1) * dim + d];
      first[d] += moved;
      second[d] -= moved;
    }
    left[cut] += fitted_pair(row, first, second).left / size;
  }
}

/// How many keys each query of a plane sees.
std::vector<Index> keys_of_rows(const Mask& mask, Index b, Index h) {
  std::vector<Index> out;
  mask.plane(mask.batch() == 1 ? 0 : b, mask.heads() == 1 ? 0 : h)
      ->row_sizes({0, mask.queries()}, [&out](Range rows, const Plane::RowSize& size) {
        out.insert(out.end(), as_size(rows.size()), size.keys);
      });
  return out;
}

/// The cut between two ranges of keys that explains the output best if each row is merged by
/// weights of its own.
struct FoundCut {
  SomeQueries some;
  Index cut = 0;
};

std::optional<FoundCut> found_cut(const CallVariants& call, const NamedResults& declared,
                                  const NamedResults& given) {
  auto some = SomeQueries::of(call, declared, given);
  if (!some || !can_merge(declared) || some->given().shape().back() < kLeastFitted) return {};
  const ProbeShape shape = shape_of_call(call.operation(), call.arguments());
  const Index dim = some->given().shape().back();
  const Tensor seen = astype(given.at("out"), DType::kFloat64);
  const Tensor wanted = astype(declared.at("out"), DType::kFloat64);
  const Tensor values = astype(call.arguments().arrays.at("value"), DType::kFloat64);
  const Tensor& lse = declared.at("lse");
  const auto row_at = [&](const Tensor& of, Index n) {
    return of.as<double>().subspan(as_size(out_row(call, lse, n) * dim), as_size(dim));
  };
  // Rows that see many keys tell where the cut is; rows whose keys are all on one side of it do
  // not.
  std::vector<std::pair<Index, Index>> widest;  // numbers of keys, and rows of lse that are off
  std::vector<Index> keys;
  for (Index n = 0; n < lse.elements(); ++n) {
    const Index b = n / (shape.heads * shape.queries), h = n / shape.queries % shape.heads;
    if (n % shape.queries == 0) keys = keys_of_rows(*call.mask(), b, h);
    double apart = 0, size = 0;
    for (Index d = 0; d < dim; ++d) {
      apart += square(row_at(seen, n)[as_size(d)] - row_at(wanted, n)[as_size(d)]);
      size += square(row_at(seen, n)[as_size(d)]);
    }
    constexpr double kOff = 1e-3;
    if (size > 0 && std::isfinite(apart) && apart > kOff * size) {
      widest.emplace_back(keys[as_size(n % shape.queries)], n);
    }
  }
  if (widest.empty() || shape.keys < 2) return {};
  const Index most = std::ranges::max_element(widest)->first;
  std::erase_if(widest, [most](const auto& row) { return 2 * row.first < most; });
  constexpr std::size_t kMostRows = 64;  // all over the mask, as a window may lie on one side
  const std::size_t rows = std::min(kMostRows, widest.size());
  std::vector<double> left(as_size(shape.keys), 0);
  for (std::size_t one = 0; one < rows; ++one) {
    const Index n = widest[one * widest.size() / rows].second;
    const Index b = n / (shape.heads * shape.queries), h = n / shape.queries % shape.heads;
    const Index kv_head = h / std::max<Index>(shape.heads / shape.kv_heads, 1);
    std::vector<double> own;
    for (Index j = 0; j < shape.keys; ++j) {
      const auto value = values.as<double>().subspan(
          as_size(vector_at(shape.layout, b, j, kv_head, shape.keys, shape.kv_heads) * dim),
          as_size(dim));
      own.insert(own.end(), value.begin(), value.end());
    }
    add_left(key_weights(call, shape, b, h, n % shape.queries), own, row_at(seen, n), left);
  }
  const auto best = std::ranges::min_element(left.begin() + 1, left.end());
  // Two weights that are fitted to each row explain some part of any difference, so little may be
  // left.
  constexpr double kLeft = 1e-2;
  if (*best > kLeft * static_cast<double>(rows)) return {};
  return FoundCut{*std::move(some), best - left.begin()};
}

}  // namespace

Candidates of_merges(const std::shared_ptr<const CallVariants>& call, const NamedResults& declared,
                     const NamedResults& given) {
  const auto found = found_cut(*call, declared, given);
  if (!found) return {};
  constexpr double kExplained = 1e-2;
  const double before = found->some.distance(found->some.declared());
  const CutKeys keys(call, found->cut);
  const auto explains = [&](const PartFactors& factors) {
    const NamedResults results = keys.merged_results(found->some.arguments(), factors);
    return found->some.distance_in_part(results.at("out")) <= kExplained * before;
  };
  Candidates out;
  if (explains([](double, double) { return std::pair{1.0, 0.0}; })) out.push_back(keys.only(true));
  if (explains([](double, double) { return std::pair{0.0, 1.0}; })) out.push_back(keys.only(false));
  for (const NamedFactors& mistake : usual_mistakes()) {
    if (explains(mistake.factors)) out.push_back(keys.merged_by(mistake));
  }
  return out;
}

Candidates of_row_merges(const std::shared_ptr<const CallVariants>& call,
                         const NamedResults& declared, const NamedResults& given) {
  const auto found = found_cut(*call, declared, given);
  if (!found) return {};
  Candidate out = CutKeys(call, found->cut).fitted(astype(given.at("out"), DType::kFloat32));
  out.explains_noise = true;
  return {std::move(out)};
}

}  // namespace maskctl::attention
