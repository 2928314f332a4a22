// Times making mask statistics and block information, at block size 512, from the document ids of a
// million tokens.
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench.h"
#include "maskctl/ejkernel/lazy/block_info.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"

namespace {

using namespace maskctl;

// Document ids of n tokens: `docs` documents of similar but unequal lengths.
Tensor packed_ids(Index n, Index docs) {
  Tensor ids(DType::kInt32, {1, n});
  Index i = 0;
  for (std::int32_t& id : ids.as<std::int32_t>()) {
    id = static_cast<std::int32_t>(std::min(docs - 1, (i + (i / 977) % 7) * docs / n));
    ++i;
  }
  return ids;
}

// Combines documents, causal, a window of `window` keys to each side (as ejkernel has it), and
// chunks.
Mask masked(const Tensor& ids, Index window, Index chunk) {
  const Index n = ids.extent(1);
  step::Document documents;
  documents.q = {ids, "ids"};
  documents.shared = true;
  step::Window sides;
  sides.left = sides.right = window;
  const Chain chain{documents, step::Causal{}, sides, step::Chunk{chunk}};
  return maskctl::apply(Mask(full_plane(n, n)), chain);
}

lazy::BlockInfoOptions options_of(Index block, bool shrink) {
  lazy::BlockInfoOptions options;
  options.q_block = options.kv_block = block;
  options.shrink_grid = shrink;
  return options;
}

// Compares the class (empty, partial, full) of each block with a count of its open cells.
void check_small() {
  constexpr Index kTokens = 1536, kWindow = 200, kChunk = 384, kBlock = 64;
  const Tensor ids = packed_ids(kTokens, 9);
  const auto id = [&](Index i) { return ids.as<std::int32_t>()[static_cast<std::size_t>(i)]; };
  const lazy::BlockInfo info =
      lazy::process_mask(masked(ids, kWindow, kChunk), 0, options_of(kBlock, false));
  Index number = 0;
  for (Index q0 = 0; q0 < kTokens; q0 += kBlock) {
    for (Index k0 = 0; k0 < kTokens; k0 += kBlock, ++number) {
      Index open = 0;
      for (Index q = q0; q < q0 + kBlock; ++q) {
        for (Index k = k0; k < k0 + kBlock; ++k) {
          open += k <= q && q - k <= kWindow && q / kChunk == k / kChunk && id(q) == id(k);
        }
      }
      const int want = open == 0 ? 0 : open == kBlock * kBlock ? 2 : 1;
      bench::require(info.block_mask.as<std::int8_t>()[static_cast<std::size_t>(number)] == want,
                     "block classes of 1536 tokens");
    }
  }
}

/// The peak memory of the process so far, in MB.
double peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace

int main() {
  check_small();
  constexpr Index kTokens = Index{1} << 20, kBlock = 512;
  const Tensor ids = packed_ids(kTokens, 52);
  bench::Times total, build, stats, whole, shrunk;
  double peak_mb = 0;
  for (int run = 0; run < 25; ++run) {
    Mask mask;
    build.runs.push_back(bench::seconds([&] { mask = masked(ids, 4096, 8192); }));
    Index open = 0;
    stats.runs.push_back(bench::seconds([&] {
      const BlockSize block{kBlock, kBlock};
      open = mask_stats(mask, {&block, 1}).total.open;
    }));
    bench::require(open == mask.count(), "open cells");
    const auto blocks = [&](bool shrink) {
      return bench::seconds([&] {
        const lazy::BlockInfo info = lazy::process_mask(mask, 0, options_of(kBlock, shrink));
        bench::keep(info.partial_mask_blocks->shape());
      });
    };
    whole.runs.push_back(blocks(false));
    shrunk.runs.push_back(blocks(true));
    total.runs.push_back(build.runs.back() + stats.runs.back() + whole.runs.back() +
                         shrunk.runs.back());
    if (run == 0) peak_mb = peak();  // after the first run
  }
  bench::report("total", total);
  bench::report("build", build);
  bench::report("stats", stats);
  bench::report("whole", whole);
  bench::report("shrunk", shrunk);
  std::printf("peak_mb\t%.9f\t%.9f\n", peak_mb, peak_mb);  // MB, in the columns of the seconds
  return 0;
}
