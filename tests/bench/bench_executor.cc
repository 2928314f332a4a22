// Measures what ejkernel's runtime adds to a call: a call through the executor, which remembers its
// config, beside the same call of the operation with fixed options, on arrays so small that the
// operation costs little. At most 20 us may be added. Each line: name, median of the time added,
// medians of both sides; all in us.
#include <cstdio>

#include "bench.h"
#include "maskctl/attention/calls/by_name.h"
#include "maskctl/ejkernel/runtime/executor.h"
#include "maskctl/ejkernel/runtime/modules.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr int kPairs = 31, kCalls = 2000;

template <typename Through, typename Alone>
void compare(const char* name, Through&& through, Alone&& alone) {
  through();  // the first call chooses the config
  const bench::Pair times = bench::interleave(through, alone, kPairs, kCalls);
  bench::Times longer;
  for (int i = 0; i < kPairs; ++i) {
    const auto n = static_cast<std::size_t>(i);
    longer.runs.push_back(times.a.runs[n] - times.b.runs[n]);
  }
  std::printf("%s\t%.3f\t%.3f\t%.3f\n", name, longer.median() * 1e6, times.a.median() * 1e6,
              times.b.median() * 1e6);
}

/// Options that differ from the defaults, so that the key under which a config is remembered has to
/// list them all.
FlashAttentionOptions many_options(const Tensor& sinks) {
  FlashAttentionOptions options;
  options.mask.causal = true;
  options.softmax.scale = 0.125;
  options.softmax.soft_cap = 50;
  options.mask.window = Window(4, 0);
  options.softmax_aux = &sinks;
  return options;
}

}  // namespace

int main() {
  const Tensor x = random_normal({1, 2, 1, 8}, 1), sinks = random_normal({1}, 1);
  const FlashAttentionOptions plain, many = many_options(sinks);
  const Executor executor;
  const FlashAttention module;
  for (const auto& [name, options] :
       {std::pair{"flash_attention", &plain}, std::pair{"flash_attention, many options", &many}}) {
    compare(
        name,
        [&] {
          bench::keep(executor(module, {&x, &x, &x}, *options));
        },
        [&] { bench::keep(flash_attention(x, x, x, *options)); });
  }
  compare(
      "config choice alone",
      [&] {
        bench::keep(executor.choose_config(module, {&x, &x, &x}, many));
      },
      [] {});
}
