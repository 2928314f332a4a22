// Measures rates of CPU attention against the FMA peak measured between the runs, and against
// PyTorch's algorithm on OpenBLAS (the twin) where that is linked. Usage: bench_softmax [threads
// [pairs]]
//
// One line a case, of medians over the pairs: useful GFLOP/s (open cells), executed GFLOP/s (all
// cells of the groups of rows and columns that hold an open one), and both over the FMA peak; the
// executed rate over that of the dense mask, which runs in each pair just before; and how much
// longer the twin takes, which runs just after, so that each finds q, k and v as the one before
// left them.
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "bench.h"
#include "blas_attention.h"
#include "fma_peak.h"
#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using bench::median;

constexpr Index kHeads = 8;

struct Pattern {
  const char* name;
  PlanePtr plane;
  bool causal = false, additive = false;  // is_causal, or an additive attn_mask, in PyTorch
};

std::vector<Pattern> patterns(Index s) {
  std::vector<Slab> documents;  // documents of unequal lengths, each causal
  for (Index begin = 0, n = 0; begin < s; ++n) {
    const Index end = std::min(s, begin + 150 + 90 * (n % 5));
    documents.push_back({{begin, end}, {{begin, 1, 0, 1}}});
    begin = end;
  }
  return {{"dense", full_plane(s, s)},
          {"causal", diagonal_band(s, s, -s, 0), true},
          {"documents", bands(s, s, std::move(documents)), false, true},
          {"window256", diagonal_band(s, s, -255, 0), false, true}};
}

#ifdef MASKCTL_OPENBLAS
/// The plane as PyTorch's attn_mask [S, S]: 0 where open, -inf where closed.
Tensor additive(const Plane& plane) {
  std::vector<std::uint8_t> open(static_cast<std::size_t>(plane.queries() * plane.keys()));
  dense_plane(plane, open);
  Tensor mask(DType::kFloat32, {plane.queries(), plane.keys()});
  for (std::size_t i = 0; i < open.size(); ++i) {
    mask.as<float>()[i] = open[i] ? 0 : -std::numeric_limits<float>::infinity();
  }
  return mask;
}

void check_equal(const Tensor& a, const Tensor& b) {
  for (std::size_t i = 0; i < a.as<float>().size(); ++i) {
    bench::require(std::abs(a.as<float>()[i] - b.as<float>()[i]) < 1e-4f, "twin");
  }
}
#endif

class Case {
 public:
  Case(Index dim, Index s, const Pattern& pattern)
      : dim_(dim),
        pattern_(pattern),
        q_(random_normal({1, s, kHeads, dim}, 1)),
        k_(random_normal({1, s, kHeads, dim}, 2)),
        v_(random_normal({1, s, kHeads, dim}, 3)),
        d_out_(random_normal({1, s, kHeads, dim}, 4)),
        mask_(pattern.plane),
        full_(full_plane(s, s)) {}

  void run(int pairs) {
    forward(pairs);
    backward(pairs);
  }

 private:
  /// The rates that are measured, one value per pair; `share` is the useful rate over the FMA peak.
  struct Rates {
    std::vector<double> useful, share, of_dense, twin;
  };

  SoftmaxInputs inputs() const { return under(mask_); }
  SoftmaxInputs under(const Mask& mask) const { return {&q_, &k_, &v_, &mask, nullptr, nullptr}; }

  void forward(int pairs) {
    SoftmaxResult result = softmax_forward(inputs());
    std::vector<double> useful, share, ratio;
#ifdef MASKCTL_OPENBLAS
    const bench::BlasAttention twin(q_, k_, v_);
    std::optional<Tensor> mask;
    if (pattern_.additive) mask = additive(*pattern_.plane);
    const float* const added = mask ? mask->as<float>().data() : nullptr;
    check_equal(result.out, twin.run(pattern_.causal, added));
#endif
    const SoftmaxInputs dense = under(full_);
    Rates rates;
    for (int n = 0; n < pairs; ++n) {
      const double peak = bench::fma_peak();
      const double spent_dense = bench::seconds([&] { bench::keep(softmax_forward(dense)); });
      const double spent = bench::seconds([&] { result = softmax_forward(inputs()); });
      add(4, peak, spent, spent_dense, rates);
#ifdef MASKCTL_OPENBLAS
      rates.twin.push_back(bench::seconds([&] { bench::keep(twin.run(pattern_.causal, added)); }) /
                           spent);
#endif
    }
    print("forward", rates, kRowGroup, kColumnGroup);
  }

  void backward(int pairs) {
    const SoftmaxInputs dense = under(full_);
    const SoftmaxResult result = softmax_forward(inputs()), of_dense = softmax_forward(dense);
    Rates rates;
    for (int n = 0; n < pairs; ++n) {
      const double peak = bench::fma_peak();
      const double spent_dense =
          bench::seconds([&] { bench::keep(softmax_backward(dense, of_dense, d_out_)); });
      const double spent =
          bench::seconds([&] { bench::keep(softmax_backward(inputs(), result, d_out_)); });
      add(10, peak, spent, spent_dense, rates);
    }
    print("backward", rates, kColumnGroup, kRowGroup);
  }

  void add(double flops_of_cell, double peak, double spent, double spent_dense,
           Rates& rates) const {
    const auto rate = [&](const Mask& mask, double seconds) {
      return flops_of_cell * static_cast<double>(mask.count() * kHeads * dim_) / seconds / 1e9;
    };
    rates.useful.push_back(rate(mask_, spent));
    rates.share.push_back(rates.useful.back() / peak);
    rates.of_dense.push_back(rates.useful.back() / rate(full_, spent_dense));
  }

  void print(const char* pass, const Rates& rates, Index q_tile, Index k_tile) const {
    const BlockSize group{q_tile, k_tile};
    const PlaneStats cells = mask_stats(mask_, std::span(&group, 1)).total;
    const double waste =
        static_cast<double>(cells.blocks[0].executed) / static_cast<double>(cells.open);
    const double useful = median(rates.useful), share = median(rates.share);
    std::printf(
        "D %-3lld S %-5lld %-9s %-8s useful %6.1f GFLOP/s  executed %6.1f  of peak %.2f "
        "(executed %.2f)  of dense %.2f  waste %.2f",
        static_cast<long long>(dim_), static_cast<long long>(q_.extent(1)), pattern_.name, pass,
        useful, useful * waste, share, share * waste, median(rates.of_dense) * waste, waste - 1);
    if (!rates.twin.empty()) std::printf("  twin/ours %.2f", median(rates.twin));
    std::printf("\n");
    std::fflush(stdout);
  }

  Index dim_;
  const Pattern& pattern_;
  Tensor q_, k_, v_, d_out_;
  Mask mask_, full_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) set_threads(std::atoi(argv[1]));
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 15;
  std::printf("%s, %d threads, FMA peak %.1f GFLOP/s, %d pairs, medians\n", cpu_target(), threads(),
              bench::fma_peak(), pairs);
  for (const Index s : {2048, 4096}) {
    const std::vector<Pattern> all = patterns(s);
    for (const Index dim : {64, 128}) {
      for (const Pattern& pattern : all) Case(dim, s, pattern).run(pairs);
    }
  }
  return 0;
}
