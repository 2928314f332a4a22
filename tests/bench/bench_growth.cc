// How time grows from n to 4n tokens when the number of documents stays.
#include <vector>

#include "bench.h"
#include "maskctl/base/threads.h"
#include "maskctl/inspect/stats.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/block_map.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/step.h"

namespace {

using namespace maskctl;

constexpr Index kDocuments = 52, kWindow = 4096;

struct Case {
  Index n;
  Mask full;
  Step document_step;
  PlanePtr documents, band, mask;

  explicit Case(Index size)
      : n(size), full(full_plane(size, size)), document_step{step::DocumentLengths{lengths(size)}} {
    documents = build().plane(0, 0);
    band = diagonal_band(n, n, 1 - kWindow, 0);
    mask = combine(Op::kAnd, documents, band);
  }
  static std::vector<Index> lengths(Index n) {
    std::vector<Index> found(kDocuments, n / kDocuments);
    found.back() += n % kDocuments;
    return found;
  }
  Mask build() const { return apply(full, document_step); }
};

// Prints name, time(4n) / time(n) of the least of 200 runs, and both times in seconds.
template <typename F>
void growth(const char* name, const Case& small, const Case& large, F f) {
  const int repeats = bench::repeats_for([&] { f(small); });
  const bench::Pair pair = bench::interleave([&] { f(small); }, [&] { f(large); }, 200, repeats);
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
  growth("stats", small, large,
         [&](const Case& c) { bench::keep(mask_stats(Mask(c.mask), blocks).total.open); });
  return 0;
}
