// Times ring attention over ranks of one thread each: processes that mpirun starts, or with
// "threads N" N threads of this process. Prints the median seconds of a forward and of a backward
// pass, and for each rank the bytes sent and its peak memory.
// usage: bench_ring MODULE|threads N QUERIES [WINDOW]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/sharded/gather.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/distributed/world.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr int kRepeats = 5;

double median(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

double seconds_of(Communicator& world, const auto& work) {
  meet(world);
  const auto begin = std::chrono::steady_clock::now();
  work();
  meet(world);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(Communicator& world, Index queries, Index window) {
  const WorkScope scope({.threads = 1});
  const Index share = queries / world.size();
  const auto seed = static_cast<std::uint64_t>(world.rank());
  const Tensor q = random_normal({1, share, 4, 64}, seed), k = random_normal({1, share, 4, 64}, 9),
               v = random_normal({1, share, 4, 64}, 8);
  RingAttentionOptions options;
  options.mask.causal = true;
  options.assign = window > 0 ? Assign::kContiguous : Assign::kZigzag;
  if (window > 0) options.mask.window = Window(window - 1, 0);
  std::vector<RingStep> steps;
  options.steps = &steps;
  std::vector<double> forward, backward;
  for (int i = 0; i <= (window > 0 ? 0 : kRepeats); ++i) {
    SoftmaxResult result;
    steps.clear();
    forward.push_back(
        seconds_of(world, [&] { result = ring_attention_shard(world, q, k, v, options); }));
    if (window > 0) continue;
    backward.push_back(seconds_of(world, [&] {
      ring_attention_shard_backward(world, q, k, v, result, result.out, options);
    }));
  }
  Index bytes = 0;
  for (const RingStep& step : steps) bytes += step.bytes;
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  const std::string own = fmt::format("rank {}: sent {} bytes in the last pass, {} MiB at most",
                                      world.rank(), bytes, usage.ru_maxrss / 1024);
  const std::vector<std::string> all = gathered_texts(world, own);
  if (world.rank() != 0) return;
  for (const std::string& line : all) fmt::print("{}\n", line);
  fmt::print("forward {:.4f} s", median(forward));
  fmt::print("{}\n", backward.empty() ? "" : fmt::format(", backward {:.4f} s", median(backward)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const Index window = argc > 4 ? std::atol(argv[4]) : 0;
  const Index ranks = std::atol(argv[2]), queries = std::atol(argv[3]);
  if (argv[1] == std::string("threads")) {
    run_ring(ranks, [&](Communicator& world) { run(world, queries, window); });
    return 0;
  }
  maskctl::distributed::World world({}, argv[1]);
  run(world, queries, window);
  return 0;
}
