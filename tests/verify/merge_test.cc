// Tests the verdict on merges of partial results: each merge, right or wrong, is made by plain
// loops that share nothing with the verdict.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/merge_verdict.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace merge_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The partial results for one row.
struct Row {
  std::vector<std::vector<double>> outs;  // [part][element]
  std::vector<double> lses;               // natural logarithms
};

struct Merged {
  std::vector<double> out;
  double lse = 0;
};

struct Shape {
  Index parts = 2, batch = 1, heads = 1, queries = 1, length = 4;
  Index rows() const { return batch * heads * queries; }
};

/// A function that merges one row as a kernel would.
using Merger = std::function<Merged(const Row&)>;

Merged weighed(const Row& row, const std::vector<double>& weights, double lse) {
  Merged merged{std::vector<double>(row.outs[0].size()), lse};
  for (std::size_t p = 0; p < weights.size(); ++p) {
    for (std::size_t e = 0; e < merged.out.size(); ++e) {
      if (weights[p] != 0) merged.out[e] += weights[p] * row.outs[p][e];
    }
  }
  return merged;
}

/// The softmax of factor * lse, by a loop over the parts.
std::vector<double> powers(const std::vector<double>& lses, double factor) {
  double most = -kInf, sum = 0;
  for (const double lse : lses) most = std::max(most, factor * lse);
  std::vector<double> weights;
  for (const double lse : lses) {
    weights.push_back(most == -kInf ? 0 : std::exp(factor * lse - most));
    sum += weights.back();
  }
  for (double& weight : weights) weight = sum == 0 ? 0 : weight / sum;
  return weights;
}

double log_of_sum(const std::vector<double>& lses, double factor) {
  double most = -kInf, sum = 0;
  for (const double lse : lses) most = std::max(most, factor * lse);
  if (most == -kInf) return most;
  for (const double lse : lses) sum += std::exp(factor * lse - most);
  return most + std::log(sum);
}

Merged right(const Row& row) { return weighed(row, powers(row.lses, 1), log_of_sum(row.lses, 1)); }

/// A mistake, and the words for it in the verdicts on out and on lse; empty if that array is right.
struct Planted {
  std::string out, lse;
  Merger merge;
};

std::vector<Planted> planted(Index parts) {
  const std::size_t n = as_size(parts);
  const auto with = [](auto change) {
    return [change](const Row& row) {
      Row other = row;
      change(other.lses);
      return Merged{weighed(row, powers(other.lses, 1), 0).out, log_of_sum(other.lses, 1)};
    };
  };
  const auto of_lse = [](auto lse) {
    return [lse](const Row& row) { return Merged{right(row).out, lse(row.lses)}; };
  };
  const auto of_weights = [](auto weights) {
    return [weights](const Row& row) {
      return weighed(row, weights(row.lses), log_of_sum(row.lses, 1));
    };
  };
  std::vector<Planted> out{
      {"weights that are powers of 2 of an lse to base e", "log2 of the sum of powers of 2",
       [](const Row& row) {
         const double ln2 = std::log(2.0);
         return weighed(row, powers(row.lses, ln2), log_of_sum(row.lses, ln2) / ln2);
       }},
      {"weights that are powers of e of an lse that was converted to base 2", "the lse to base 2",
       [](const Row& row) {
         const double ln2 = std::log(2.0);
         return weighed(row, powers(row.lses, 1 / ln2), log_of_sum(row.lses, 1) / ln2);
       }},
      {"equal weights", "",
       of_weights([n](const auto&) { return std::vector<double>(n, 1 / static_cast<double>(n)); })},
      {"a sum without weights", "",
       of_weights([n](const auto&) { return std::vector<double>(n, 1); })},
      {"zeros, so that nothing was merged", "",
       of_weights([n](const auto&) { return std::vector<double>(n, 0); })},
      {"part 1 left out", "part 1 left out", with([](auto& lses) { lses[1] = -kInf; })},
      {"part 0 merged twice", "part 0 counted twice",
       with([](auto& lses) { lses[0] += std::log(2.0); })},
      {"part 0 weighed, but not added", "", of_weights([](const auto& lses) {
         auto weights = powers(lses, 1);
         weights[0] = 0;
         return weights;
       })},
      {"the weights of parts 0 and 1 swapped", "", of_weights([](const auto& lses) {
         auto weights = powers(lses, 1);
         std::swap(weights[0], weights[1]);
         return weights;
       })},
      {"weights exp(lse - largest lse), not divided by their sum", "",
       of_weights([](const auto& lses) {
         const double most = *std::ranges::max_element(lses);
         std::vector<double> weights;
         for (const double lse : lses) {
           weights.push_back(most == -kInf ? 0 : std::exp(lse - most));
         }
         return weights;
       })},
      {"", "the largest lse",
       of_lse([](const auto& lses) { return *std::ranges::max_element(lses); })},
      {"", "the lse to base 2",
       of_lse([](const auto& lses) { return log_of_sum(lses, 1) / std::log(2.0); })},
      {"", "every part counted twice",
       of_lse([](const auto& lses) { return log_of_sum(lses, 1) + std::log(2.0); })},
      {"", "part 0 left out", of_lse([](auto lses) {
         lses[0] = -kInf;
         return log_of_sum(lses, 1);
       })},
      {"NaN where no part has keys (inf - inf)", "NaN where no part has keys (inf - inf)",
       [](const Row& row) {
         const double most = *std::ranges::max_element(row.lses);
         if (most > -kInf) return right(row);
         return Merged{std::vector<double>(row.outs[0].size(), kNan), kNan};
       }},
      {"the output of a part without keys multiplied by 0, which keeps its NaN", "",
       [](const Row& row) {
         Merged merged = right(row);
         for (std::size_t p = 0; p < row.outs.size(); ++p) {
           for (std::size_t e = 0; e < merged.out.size(); ++e) merged.out[e] += 0 * row.outs[p][e];
         }
         return merged;
       }},
  };
  return out;
}

/// Draws partial results: normal outputs, lse values of a few units, and some parts without keys.
class Maker {
 public:
  explicit Maker(unsigned seed) : engine_(seed) {
    shape_.parts = 2 + below(7);
    shape_.batch = 1 + below(2);
    shape_.heads = 1 + below(4);
    shape_.queries = 1 + below(12);
    shape_.length = 8 + below(25);
    layout_ = below(2) == 0 ? Layout::kBthd : Layout::kBhtd;
    const DType dtypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
    dtype_ = dtypes[below(3)];
    empty_ = below(3) == 0 ? 0 : 0.3;
    nan_beside_ = below(2) == 0;
    make_rows();
  }

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  Index below(Index n) { return static_cast<Index>(engine_() % as_size(n)); }

  bool has_all_empty() const {
    return std::ranges::any_of(rows_, [](const Row& row) {
      return std::ranges::all_of(row.lses, [](double lse) { return lse == -kInf; });
    });
  }
  bool has_nan_beside() const {
    return std::ranges::any_of(rows_, [](const Row& row) {
      return std::ranges::any_of(row.outs, [](const auto& out) { return std::isnan(out[0]); });
    });
  }

  /// A call in which the rows with in(row) are merged by `merge`, and all others correctly.
  MergeCall call(const Merger& merge, const std::function<bool(Index)>& in = {}) const {
    MergeCall out;
    out.layout = layout_;
    for (Index p = 0; p < shape_.parts; ++p) out.parts.push_back({empty_out(), empty_lse()});
    out.out = empty_out();
    out.lse = empty_lse();
    for (Index row = 0; row < shape_.rows(); ++row) {
      const Row& from = rows_[as_size(row)];
      for (std::size_t p = 0; p < out.parts.size(); ++p) {
        put({from.outs[p], from.lses[p]}, row, out.parts[p].out, out.parts[p].lse);
      }
      put(!in || in(row) ? merge(from) : right(from), row, out.out, *out.lse);
    }
    for (PartialResult& part : out.parts) part.out = astype(part.out, dtype_);
    out.out = astype(out.out, dtype_);
    return out;
  }

 private:
  void make_rows() {
    std::normal_distribution<double> normal;
    std::bernoulli_distribution is_empty(empty_);
    const double level = 3 * normal(engine_);
    for (Index row = 0; row < shape_.rows(); ++row) {
      Row one;
      const bool none = empty_ > 0 && below(8) == 0;
      for (Index p = 0; p < shape_.parts; ++p) {
        const bool empty = none || is_empty(engine_);
        std::vector<double> out;
        for (Index e = 0; e < shape_.length; ++e) {
          out.push_back(empty ? (nan_beside_ ? kNan : 0) : rounded(normal(engine_)));
        }
        one.outs.push_back(std::move(out));
        const double lse = static_cast<float>(level + 1.5 * normal(engine_));
        one.lses.push_back(empty ? -kInf : lse);
      }
      rows_.push_back(std::move(one));
    }
  }
  double rounded(double x) const {
    Tensor one(DType::kFloat32, {1});
    one.as<float>()[0] = static_cast<float>(x);
    return static_cast<double>(astype(astype(one, dtype_), DType::kFloat32).as<float>()[0]);
  }
  Tensor empty_out() const {
    return {DType::kFloat32,
            layout_ == Layout::kBthd
                ? std::vector<Index>{shape_.batch, shape_.queries, shape_.heads, shape_.length}
                : std::vector<Index>{shape_.batch, shape_.heads, shape_.queries, shape_.length}};
  }
  Tensor empty_lse() const {
    return {DType::kFloat32, {shape_.batch, shape_.heads, shape_.queries}};
  }
  void put(const Merged& merged, Index row, Tensor& out, Tensor& lse) const {
    const Index b = row / (shape_.heads * shape_.queries), h = row / shape_.queries % shape_.heads,
                t = row % shape_.queries;
    const Index at = layout_ == Layout::kBthd ? (b * shape_.queries + t) * shape_.heads + h : row;
    for (Index e = 0; e < shape_.length; ++e) {
      out.as<float>()[as_size(at * shape_.length + e)] = static_cast<float>(merged.out[as_size(e)]);
    }
    lse.as<float>()[as_size(row)] = static_cast<float>(merged.lse);
  }

  std::mt19937 engine_;
  Shape shape_;
  Layout layout_ = Layout::kBthd;
  DType dtype_ = DType::kFloat32;
  double empty_ = 0;
  bool nan_beside_ = false;
  std::vector<Row> rows_;
};

bool says(const MergeFinding& finding, const std::string& text) {
  return std::ranges::find(finding.fits, text) != finding.fits.end();
}

/// Checks the finding about an array in which this mistake is planted ("": none). Where the arrays
/// do not show it, the finding is that of a right merge.
void check_finding(const MergeFinding& finding, const std::string& mistake) {
  INFO(to_text(finding));
  if (mistake.empty()) {
    CHECK(finding.verdict == MergeVerdict::kRight);
  } else if (finding.verdict != MergeVerdict::kRight) {
    CHECK(finding.verdict == MergeVerdict::kMistaken);
    CHECK(says(finding, mistake));
  }
}

TEST_CASE("merge: random right merges are accepted, and each mistake is found") {
  Index cases = 0, shown = 0;
  for (unsigned seed = 0; seed < test::rounds(60U); ++seed) {
    Maker maker(seed);
    INFO("seed " << seed << ", " << maker.shape().parts << " parts, " << name(maker.dtype()));
    const MergeJudgement found = judge_merge(maker.call(right));
    INFO("out " << to_text(found.out) << "; lse " << to_text(*found.lse));
    CHECK(found.verdict == MergeVerdict::kRight);
    CHECK(found.untold == 0);
    for (const Planted& one : planted(maker.shape().parts)) {
      const MergeJudgement judged = judge_merge(maker.call(one.merge));
      INFO("planted: " << one.out << "; " << one.lse);
      check_finding(judged.out, one.out);
      check_finding(*judged.lse, one.lse);
      ++cases;
      shown += judged.verdict == MergeVerdict::kMistaken ? 1 : 0;
    }
  }
  CHECK(shown > cases * 8 / 10);
}

TEST_CASE("merge: a mistake in one head is named with its rows") {
  Index heads = 0;
  for (unsigned seed = 100; seed < 100 + test::rounds(40U); ++seed) {
    Maker maker(seed);
    const Shape shape = maker.shape();
    if (shape.heads < 2 || shape.queries < 3) continue;
    ++heads;
    const auto in_head_1 = [shape](Index row) { return row / shape.queries % shape.heads == 1; };
    for (const Planted& one : planted(shape.parts)) {
      if (one.out != "equal weights" && one.out != "part 1 left out") continue;
      const MergeJudgement judged = judge_merge(maker.call(one.merge, in_head_1));
      INFO("seed " << seed << ": " << to_text(judged.out));
      REQUIRE(judged.out.verdict == MergeVerdict::kMistaken);
      CHECK(says(judged.out, one.out));
      CHECK(judged.out.in_part);
      CHECK(judged.out.where.find("head 1,") != std::string::npos);
    }
  }
  CHECK(heads > 5);
}

TEST_CASE("merge: a row that no known mistake explains is named") {
  for (unsigned seed = 200; seed < 200 + test::rounds(40U); ++seed) {
    Maker maker(seed);
    MergeCall call = maker.call(right);
    Tensor out = astype(call.out, DType::kFloat32);
    const auto row = as_size(maker.below(maker.shape().rows()) * maker.shape().length);
    out.as<float>()[row + 3] = std::isfinite(out.as<float>()[row + 3]) ? 77.0F : 0.0F;
    call.out = astype(out, maker.dtype());
    const MergeJudgement judged = judge_merge(call);
    CHECK(judged.verdict == MergeVerdict::kNone);
    CHECK(judged.out.rows_off == 1);
    CHECK(judged.lse->verdict == MergeVerdict::kRight);
  }
}

TEST_CASE("merge: a part without keys, with lse -inf or +inf, changes nothing") {
  Maker maker(7);
  MergeCall call = maker.call(right);
  for (const float none : {-HUGE_VALF, HUGE_VALF}) {
    MergeCall with = call;
    PartialResult identity{Tensor(maker.dtype(), call.out.shape()),
                           Tensor(DType::kFloat32, call.lse->shape())};
    std::ranges::fill(identity.lse.as<float>(), none);
    with.parts.push_back(identity);
    CHECK(judge_merge(with).verdict == MergeVerdict::kRight);
    MergeCall alone{{call.parts[0], identity}, call.parts[0].out, call.parts[0].lse, call.layout};
    MergeJudgement judged = judge_merge(alone);
    CHECK(judged.part_empty == judged.rows);
    MergeCall nothing{{identity, identity}, identity.out, identity.lse, call.layout};
    judged = judge_merge(nothing);
    CHECK(judged.verdict == MergeVerdict::kRight);
    CHECK(judged.all_empty == judged.rows);
  }
}

/// A call of 2 parts, [1,T,H,4], whose lse is [B,H,T] of `lse`.
MergeCall small_call(const std::vector<float>& lse_0, const std::vector<float>& lse_1, Index heads,
                     Index queries, const Merger& merge) {
  MergeCall call;
  const Tensor out(DType::kFloat32, {1, queries, heads, 4}),
      lse(DType::kFloat32, {1, heads, queries});
  call.parts = {{out, lse}, {out, lse}};
  call.out = out;
  call.lse = lse;
  for (Index row = 0; row < heads * queries; ++row) {
    Row one{{{1, 2, 3, 4}, {-4, 1, 0, 2}}, {lse_0[as_size(row)], lse_1[as_size(row)]}};
    const Index h = row / queries, t = row % queries;
    const Merged merged = merge(one);
    for (Index e = 0; e < 4; ++e) {
      const std::size_t at = as_size((t * heads + h) * 4 + e);
      call.parts[0].out.as<float>()[at] = static_cast<float>(one.outs[0][as_size(e)]);
      call.parts[1].out.as<float>()[at] = static_cast<float>(one.outs[1][as_size(e)]);
      call.out.as<float>()[at] = static_cast<float>(merged.out[as_size(e)]);
    }
    call.parts[0].lse.as<float>()[as_size(row)] = lse_0[as_size(row)];
    call.parts[1].lse.as<float>()[as_size(row)] = lse_1[as_size(row)];
    call.lse->as<float>()[as_size(row)] = static_cast<float>(merged.lse);
  }
  return call;
}

TEST_CASE("merge: a merge that is right for the other base of the lse is named") {
  const double ln2 = std::log(2.0);
  MergeCall call = small_call({1, 2, 3}, {2, 0.5, 3.25}, 1, 3, [ln2](const Row& row) {
    return weighed(row, powers(row.lses, ln2), log_of_sum(row.lses, ln2) / ln2);
  });
  const MergeJudgement as_e = judge_merge(call);
  CHECK(as_e.verdict == MergeVerdict::kMistaken);
  CHECK(as_e.right_to_other_base);
  call.base_2 = true;
  CHECK(judge_merge(call).verdict == MergeVerdict::kRight);
  call = small_call({1, 2, 3}, {2, 0.5, 3.25}, 1, 3, right);
  CHECK_FALSE(judge_merge(call).right_to_other_base);
  call.base_2 = true;
  const MergeJudgement as_2 = judge_merge(call);
  CHECK(as_2.verdict == MergeVerdict::kMistaken);
  CHECK(as_2.right_to_other_base);
  CHECK(says(as_2.out, "weights that are powers of e of an lse to base 2"));
}

TEST_CASE("merge: swapped axes of the lse are found from the shape or from the result") {
  const std::vector<float> a{1, 2, 3, 0, 1, -1}, b{2, 0.5, 3.25, 2, 0, 1};
  MergeCall call = small_call(a, b, 2, 3, right);
  for (Tensor* lse : {&call.parts[0].lse, &call.parts[1].lse, &*call.lse}) {
    Tensor turned(DType::kFloat32, {1, 3, 2});
    for (std::size_t n = 0; n < 6; ++n) {
      turned.as<float>()[n % 3 * 2 + n / 3] = lse->as<float>()[n];
    }
    *lse = turned;
  }
  const MergeJudgement judged = judge_merge(call);
  CHECK(judged.verdict == MergeVerdict::kRight);
  CHECK(judged.transposed_lse);
  MergeCall square = small_call({1, 2, 3, 0}, {2, 0.5, 3.25, 2}, 2, 2, right);
  for (PartialResult& part : square.parts) {
    std::swap(part.lse.as<float>()[1], part.lse.as<float>()[2]);
  }
  const MergeJudgement swapped = judge_merge(square);
  CHECK(says(swapped.out, "weights from an lse [B,H,T] that was read as [B,T,H]"));
  CHECK(says(*swapped.lse, "an lse [B,H,T] that was read as [B,T,H]"));
}

TEST_CASE(
    "merge: rows with a NaN lse are not judged, and mistakes that could not show are listed") {
  MergeCall call = small_call({1, 2, 3}, {1, 2, 3}, 1, 3, right);
  const std::vector<std::string> same = judge_merge(call).out.same;
  CHECK(std::ranges::find(same, "equal weights") != same.end());
  CHECK(std::ranges::find(same, "part 1 left out") == same.end());
  call.parts[1].lse.as<float>()[2] = std::numeric_limits<float>::quiet_NaN();
  CHECK(judge_merge(call).untold == 1);
  CHECK(judge_merge(call).verdict == MergeVerdict::kRight);
  std::ranges::fill(call.parts[1].lse.as<float>(), std::numeric_limits<float>::quiet_NaN());
  CHECK(judge_merge(call).verdict == MergeVerdict::kUnclear);
}

TEST_CASE(
    "merge: float32 powers that overflow to NaN, because no maximum is subtracted, are named") {
  const auto plain = [](const Row& row) {
    std::vector<double> weights;
    float sum = 0;
    for (const double lse : row.lses) {
      weights.push_back(std::exp(static_cast<float>(lse)));
      sum += std::exp(static_cast<float>(lse));
    }
    for (double& weight : weights) weight = static_cast<float>(weight) / sum;
    return weighed(row, weights, std::log(sum));
  };
  const MergeJudgement judged = judge_merge(small_call({1, 95, 3}, {2, 94, 2.5}, 1, 3, plain));
  const std::string text =
      "exp(lse) in float32 without the largest lse subtracted, which overflows or is 0";
  CHECK(judged.out.fits == std::vector<std::string>{text});
  CHECK(judged.lse->fits == std::vector<std::string>{text});
}

TEST_CASE("merge: arrays that do not fit are refused") {
  const MergeCall call = small_call({1, 2, 3}, {1, 2, 3}, 1, 3, right);
  MergeCall one = call, other_out = call, other_lse = call, whole = call, flat = call;
  one.parts.pop_back();
  CHECK_THROWS_AS(judge_merge(one), Error);
  other_out.parts[1].out = Tensor(DType::kFloat32, {1, 3, 2, 4});
  CHECK_THROWS_AS(judge_merge(other_out), Error);
  other_lse.parts[1].lse = Tensor(DType::kFloat32, {1, 3, 2});
  CHECK_THROWS_AS(judge_merge(other_lse), Error);
  whole.out = Tensor(DType::kInt32, call.out.shape());
  CHECK_THROWS_AS(judge_merge(whole), Error);
  flat.parts[0].out = Tensor(DType::kFloat32, {3, 4});
  CHECK_THROWS_AS(judge_merge(flat), Error);
}

}  // namespace

}  // namespace merge_cases
