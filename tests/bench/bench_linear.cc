// Measures linear attention and the grouped product against the machine's peak of multiply-adds,
// and how time grows from T to 4T tokens.
//
//   bench_linear [pairs]
//
// A round runs the peak loop, T tokens, the peak loop again, and 4T tokens. Each line has medians
// over `pairs` (15) rounds: time(4T) / time(T); then the operations of the algorithm per second of
// CPU time over those of the peak loops around it, which other load on the machine changes least;
// then the same by the clock, all threads against all threads.
//
// Operations are the multiplications and additions of the products of the chunked form, with chunks
// of C = 64 tokens, and width D of keys and values. A product over the pairs (t, s <= t) of a chunk
// takes C D operations for each token, a product with the state 2 D^2. The forward pass does two of
// each: scores and what they read; reading and updating the state. The backward pass does five of
// each: scores, their gradient, d_query, d_key, d_value; d_query, d_key, d_value, the gradient of
// the state, and the states again. Decays per value make it six, as their gradient is made of the
// output. Exponentials, scaling and packing do not count.
#include <time.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench.h"
#include "fma_peak.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/base/threads.h"
#include "maskctl/kernels/grouped_matmul/grouped_matmul.h"
#include "maskctl/kernels/linear/recurrent.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using bench::median;

/// Seconds by the clock (wall), and of all threads together (cpu).
struct Spent {
  double wall = 0, cpu = 0;
};

double cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <class F>
Spent spend(F&& f) {
  const double cpu = cpu_now();
  const double wall = bench::seconds(f);
  return {wall, cpu_now() - cpu};
}

/// Operations per second by the clock (wall), and per second of CPU time (cpu).
struct Rate {
  double wall = 0, cpu = 0;
};

Rate rate(double operations, const Spent& spent) {
  return {operations / spent.wall, operations / spent.cpu};
}

Rate peak() {
  double clock = 0;
  const Spent spent = spend([&] { clock = bench::fma_peak() * 1e9; });
  return {clock, clock * spent.wall / spent.cpu};
}

/// Measures and prints a case: f(1) runs it on T tokens, which takes `operations`; f(4) on 4T
/// tokens.
template <class F>
void report(const std::string& name, int pairs, double operations, F&& f) {
  f(1), f(4);
  std::vector<double> growth, by_cpu, by_wall, gflops;
  for (int i = 0; i < pairs; ++i) {
    const Rate before = peak();
    const Spent one = spend([&] { f(1); });
    const Rate after = peak();
    const Spent four = spend([&] { f(4); });
    const Rate done = rate(operations, one);
    growth.push_back(four.cpu / one.cpu);
    by_cpu.push_back(done.cpu / std::max(before.cpu, after.cpu));
    by_wall.push_back(done.wall / std::max(before.wall, after.wall));
    gflops.push_back(done.wall * 1e-9);
  }
  std::printf("%-44s growth %.2f  of peak %.2f (cpu) %.2f (clock)  %.0f GFLOP/s\n", name.c_str(),
              median(growth), median(by_cpu), median(by_wall), median(gflops));
}

/// The same pseudo-random numbers in each call, between low and high.
Tensor numbers(std::vector<Index> shape, float low, float high) {
  Tensor t(DType::kFloat32, std::move(shape));
  std::uint32_t state = 7;
  for (float& x : t.as<float>()) {
    state = state * 1664525 + 1013904223;
    x = low + (high - low) * static_cast<float>(state >> 8) / 16777216.0f;
  }
  return t;
}

constexpr Index kTokens = 2048, kHeads = 8;
constexpr double kChunkTokens = 64;

struct Gates {
  const char* name;
  float per_head = 0, per_key = 0, per_value = 0;  // the strongest log decay; 0: none
};

struct Linear {
  Tensor q, k, v, d_out;
  std::optional<Tensor> g_gamma, gk, gv;

  Linear(Index tokens, Index dim, const Gates& gates)
      : q(numbers({1, tokens, kHeads, dim}, -1, 1)), k(q), v(q), d_out(q) {
    if (gates.per_head < 0) g_gamma = numbers({kHeads}, gates.per_head, 0);
    if (gates.per_key < 0) gk = numbers({1, tokens, kHeads, dim}, gates.per_key, 0);
    if (gates.per_value < 0) gv = numbers({1, tokens, kHeads, dim}, gates.per_value, 0);
  }
  RecurrentAttentionInputs inputs() const {
    RecurrentAttentionInputs in{&q, &k, &v};
    in.g_gamma = g_gamma ? &*g_gamma : nullptr;
    in.gk = gk ? &*gk : nullptr;
    in.gv = gv ? &*gv : nullptr;
    return in;
  }
};

/// The operations for T tokens, as counted above: `products` over pairs and as many with the state.
double operations(Index dim, int products) {
  const double d = static_cast<double>(dim), tokens = static_cast<double>(kTokens * kHeads);
  return products * tokens * (kChunkTokens * d + 2 * d * d);
}

void bench_linear(int pairs) {
  for (const Index dim : {128, 64}) {
    for (const Gates& gates :
         {Gates{"no gates"}, Gates{"a decay per head", -4}, Gates{"decays per key", 0, -0.2f},
          Gates{"decays per key and value", 0, -0.2f, -0.2f},
          Gates{"strong decays per key", 0, -4}}) {
      const Linear one(kTokens, dim, gates), four(4 * kTokens, dim, gates);
      const auto pick = [&](int size) -> const Linear& { return size == 1 ? one : four; };
      const std::string name = std::string(gates.name) + ", D " + std::to_string(dim);
      report(name, pairs, operations(dim, 2),
             [&](int size) { bench::keep(recurrent_attention(pick(size).inputs())); });
      report(name + ", backward", pairs, operations(dim, gates.per_value < 0 ? 6 : 5),
             [&](int size) {
               bench::keep(recurrent_attention_backward(pick(size).inputs(), pick(size).d_out));
             });
    }
  }
}

void bench_grouped(int pairs) {
  constexpr Index kGroups = 8, kInner = 512, kColumns = 768;
  const Tensor rhs = numbers({kGroups, kInner, kColumns}, -1, 1);
  const auto inputs = [](Index rows) {
    Tensor sizes(DType::kInt32, {kGroups});
    for (auto& n : sizes.as<std::int32_t>()) n = static_cast<std::int32_t>(rows / kGroups);
    return std::pair(numbers({rows, kInner}, -1, 1), sizes);
  };
  const auto one = inputs(kTokens), four = inputs(4 * kTokens);
  const Tensor d_out = numbers({kTokens, kColumns}, -1, 1);
  const Tensor long_d_out = numbers({4 * kTokens, kColumns}, -1, 1);
  const auto in = [&](int size) {
    const auto& [lhs, sizes] = size == 1 ? one : four;
    return GroupedMatmulInputs{&lhs, &rhs, &sizes};
  };
  const double work = 2.0 * kTokens * kInner * kColumns;
  report("grouped_matmul", pairs, work, [&](int size) { bench::keep(grouped_matmul(in(size))); });
  report("grouped_matmul, backward", pairs, 2 * work, [&](int size) {
    bench::keep(grouped_matmul_backward(in(size), size == 1 ? d_out : long_d_out));
  });
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 15;
  std::printf("%s, %d threads, peak %.0f GFLOP/s\n", cpu_target(), threads(), peak().wall * 1e-9);
  bench_linear(pairs);
  bench_grouped(pairs);
}
