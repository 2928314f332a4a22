// Measures how time grows from n to 4n tokens when the number of documents stays.
#include <vector>

#include "bench.h"
#include "maskctl/base/threads.h"
#include "maskctl/inspect/count/stats.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/render/figure/density.h"

namespace {

using namespace maskctl;

constexpr Index kDocuments = 52, kWindow = 4096;

struct Case {
  Index n;
  Mask full;
  Step document_step;
  PlanePtr documents, band, mask, interleaved;

  explicit Case(Index size)
      : n(size), full(full_plane(size, size)), document_step{step::DocumentLengths{lengths(size)}} {
    documents = build().plane(0, 0);
    band = diagonal_band(n, n, 1 - kWindow, 0);
    mask = combine(Op::kAnd, documents, band);
    const std::vector<std::int32_t> ids = interleaved_ids(n);
    interleaved =
        combine(Op::kAnd, equal_ids(ids, ids, -1, Side::kBoth), diagonal_band(n, n, -n, 0));
  }
  /// Document ids that change at almost every token.
  static std::vector<std::int32_t> interleaved_ids(Index n) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
    std::uint32_t state = 1;
    for (std::int32_t& id : ids) {
      state = state * 1664525 + 1013904223;
      id = static_cast<std::int32_t>((state >> 16) % kDocuments);
    }
    return ids;
  }
  static std::vector<Index> lengths(Index n) {
    std::vector<Index> found(kDocuments, n / kDocuments);
    found.back() += n % kDocuments;
    return found;
  }
  Mask build() const { return apply(full, document_step); }
};

// Prints name, time(4n) / time(n), and both times in seconds; each is the least of `runs` runs.
template <typename F>
void growth(const char* name, const Case& small, const Case& large, F f, int runs = 200) {
  const int repeats = bench::repeats_for([&] { f(small); });
  const bench::Pair pair = bench::interleave([&] { f(small); }, [&] { f(large); }, runs, repeats);
  std::printf("%s\t%.4f\t%.9f\t%.9f\n", name, pair.b.least() / pair.a.least(), pair.a.least(),
              pair.b.least());
}

Index expected_count(Index n) {
  Index sum = 0;
  for (const Index length : Case::lengths(n)) {
    const Index rising = std::min(length, kWindow);
    sum += rising * (rising + 1) / 2 + (length - rising) * kWindow;
  }
  return sum;
}

}  // namespace

int main() {
  set_threads(1);
  const Case small(Index{1} << 18), large(Index{1} << 20);
  for (const Case* c : {&small, &large}) {
    bench::require(c->mask->count() == expected_count(c->n), "open cells");
    bench::require(complement(c->mask)->count() == c->n * c->n - expected_count(c->n), "not");
  }
  const std::vector<BlockSize> blocks = {{128, 128}};
  growth("build", small, large, [](const Case& c) { bench::keep(c.build()); });
  growth("and", small, large,
         [](const Case& c) { bench::keep(combine(Op::kAnd, c.documents, c.band)); });
  growth("not", small, large, [](const Case& c) { bench::keep(complement(c.mask)); });
  growth("count", small, large, [](const Case& c) { bench::keep(c.mask->count()); });
  growth("classify", small, large,
         [](const Case& c) { bench::keep(tile_map(*c.mask, 128, 128).runs.size()); });
  // "picture" counts cells in a grid of 1024 x 1024 blocks, as a picture does, whatever n is;
  // "interleaved" classifies blocks of 128 x 128 cells, of which a mask of 4n tokens has 16 times
  // as many.
  constexpr int kFewRuns = 5;
  growth(
      "picture", small, large,
      [](const Case& c) { bench::keep(density(*c.interleaved, c.n / 1024, c.n / 1024).total()); },
      kFewRuns);
  growth(
      "interleaved", small, large,
      [](const Case& c) { bench::keep(tile_map(*c.interleaved, 128, 128).runs.size()); }, kFewRuns);
  growth("stats", small, large,
         [&](const Case& c) { bench::keep(mask_stats(Mask(c.mask), blocks).total.open); });
  return 0;
}
