// Tests that what info says about the numbers of a bias is true of each of its cells.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "inspect/sentences/bias_said.h"
#include "inspect/sentences/draws_asked.h"
#include "maskctl/inspect/recognise/bias_form.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  Bias next() {
    const Index most = 24;
    Bias out{pick(1, 4), pick(0, 3) == 0 ? 1 : pick(1, most), pick(1, most), {}};
    if (pick(0, 1) == 0) out.keys = std::max(out.keys, out.queries);
    const bool same = pick(0, 2) > 0;
    Index form = pick(0, 9), shift = 0;
    const bool holes = pick(0, 9) == 0;
    for (Index h = 0; h < out.heads; ++h) {
      if (!same || h == 0) form = pick(0, 9);
      if (!same || h == 0)
        shift = pick(0, 2) == 0 ? 0 : pick(0, 1) ? out.keys - out.queries : pick(0, 30);
      if (shift < 0) shift = 0;
      const double slope = std::exp2(-static_cast<double>(pick(1, 8)));
      const bool causal = pick(0, 1) == 1;
      const Index q0 = pick(0, out.queries - 1), k0 = pick(0, out.keys - 1),
                  q1 = pick(q0, out.queries - 1), k1 = pick(k0, out.keys - 1);
      const double low = pick(0, 1) ? -1.25 : -100;
      std::vector<double> table;
      for (Index i = 0; i < out.queries + out.keys; ++i)
        table.push_back(static_cast<double>(pick(-3, 3)) / 4);
      for (Index q = 0; q < out.queries; ++q) {
        for (Index k = 0; k < out.keys; ++k) {
          const auto d = static_cast<double>(k - q - shift);
          const bool in = q >= q0 && q <= q1 && k >= k0 && k <= k1;
          double value = 0;
          if (form == 1) value = -slope * std::abs(d);
          if (form == 2) value = slope * d;
          if (form == 3) value = slope * static_cast<double>(k);
          if (form == 4) value = in ? low : 0;
          if (form == 5) value = table[static_cast<std::size_t>(k - q + out.queries)];
          if (form == 6) value = static_cast<double>(pick(-8, 8)) / 8;
          if (form == 7) value = in ? 0.5 : q < q0 ? low / 2 : 0;
          if (form == 8) value = -slope;
          if (form == 9) value = d > 0 ? 1e9 : low;
          if (causal && d > 0) value = -INFINITY;
          if (holes && pick(0, 9) == 0) value = pick(0, 1) ? NAN : INFINITY;
          out.values.push_back(value);
        }
      }
    }
    return out;
  }

 private:
  Index pick(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  std::mt19937_64 random_;
};

TEST_CASE("info: what a bias adds is true of its cells", "[sentences]") {
  Index lines = 0;
  for (Index i = 0; i < draws_asked(2000); ++i) {
    const Bias bias = Draws(first_draw() + static_cast<std::uint64_t>(i)).next();
    Tensor array(DType::kFloat64, {1, bias.heads, bias.queries, bias.keys});
    std::ranges::copy(bias.values, array.as<double>().begin());
    const std::vector<std::string> text = bias_text(bias_form(astype(array, DType::kFloat32)));
    Index said = 0;
    const auto counted = [&](const char* what, auto&& holds) {
      const auto cells = std::ranges::count_if(bias.values, holds);
      if (cells == 0) return std::string();
      return std::string(what) + " in " + std::to_string(cells) + (cells == 1 ? " cell" : " cells");
    };
    const std::string of_nan = counted("NaN", [](double x) { return std::isnan(x); });
    const std::string of_inf = counted("inf", [](double x) { return std::isinf(x) && x > 0; });
    for (const std::string& one : {of_nan, of_inf}) {
      CHECK((one.empty() || std::ranges::find(text, one) != text.end()));
    }
    for (const std::string& line : text) {
      if (line == of_nan || line == of_inf) continue;
      const Truth truth = truth_of(line, bias);
      ++lines;
      said += truth.said;
      if (truth.true_in < truth.said) {
        FAIL_CHECK("bias " << i << ": " << line << ": true in " << truth.true_in << " of "
                           << truth.said);
      }
    }
    CHECK(said == bias.heads);
  }
  CHECK(lines > 0);
}

}  // namespace
}  // namespace maskctl::test
