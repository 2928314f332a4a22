// The rows of caches: their names, what they keep, and how a description of one reads.
#include "maskctl/phases/caches/cache_rows.h"

#include <set>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/phases/phases.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl {
namespace {

CacheSizes sizes_for(const CacheRow& row) {
  CacheSizes out;
  if (row.sliding && !row.full) out.window = 12;
  if (row.chunked && !row.sliding) out.chunk = 12;
  out.page = 4;
  return out;
}

/// The mask of a layer of these sizes, over 80 tokens.
Mask declared(const CacheSizes& sizes) {
  const Index n = 80;
  if (sizes.window) return Mask(diagonal_band(n, n, 1 - *sizes.window, 0));
  if (!sizes.chunk) return Mask(diagonal_band(n, n, -kUnbounded, 0));
  std::vector<Slab> slabs;
  for (Index begin = 0; begin < n; begin += *sizes.chunk) {
    slabs.push_back({{begin, std::min(begin + *sizes.chunk, n)}, {{begin, 1, 0, 1}}});
  }
  return Mask(bands(n, n, slabs));
}

TEST_CASE("every cache that was read serves its layers in all phases, and says what was read",
          "[phases]") {
  std::set<std::string_view> names;
  for (const CacheRow* row : cache_rows()) {
    CAPTURE(row->name);
    CHECK(names.insert(row->name).second);
    CHECK((row->full || row->sliding || row->chunked));
    CHECK((row->library.empty() || !row->source.empty()));
    if (row->make == nullptr) {
      CHECK(test::contains(row->note, "not read"));
      CHECK_THROWS_AS(cache_of(*row, sizes_for(*row)), Error);
      continue;
    }
    PhasesQuery query;
    query.chunks = {5, 16};
    query.taken_back = 3;
    const CacheSizes sizes = sizes_for(*row);
    Cache cache = cache_of(*row, sizes);
    // A ring that drafts overwrite loses keys, and so it is said to.
    if (row->name == "rotating") cache.rollback = Cache::Rollback::kExact;
    // Its prompts see all tokens, as its documentation says.
    const bool dense = row->name == "tensorrt-llm-streaming";
    const PhasesVerdict verdict = judge_phases(declared(sizes), cache, query);
    CHECK(verdict.holds() == !dense);
  }
  CHECK(names.size() > 15);
}

TEST_CASE("chunked layers keep their chunk in the caches of sliding ones", "[phases]") {
  CacheSizes sizes;
  sizes.chunk = 12;
  for (const CacheRow* row : cache_rows()) {
    if (!row->chunked || row->make == nullptr) continue;
    CAPTURE(row->name);
    Cache cache = cache_of(*row, sizes);
    cache.rollback = Cache::Rollback::kExact;
    CHECK(judge_phases(declared(sizes), cache, {}).holds());
  }
}

TEST_CASE("caches of full layers serve a layer with a window when they are named", "[phases]") {
  CacheSizes sizes;
  sizes.window = 12;
  sizes.page = 4;
  for (const CacheRow* row : cache_rows()) {
    if (!row->full || row->make == nullptr) continue;
    CAPTURE(row->name);
    CHECK(judge_phases(declared(sizes), cache_of(*row, sizes), {}).holds());
  }
}

TEST_CASE("caches are known by the class that holds them, for layers that it holds", "[phases]") {
  CacheSizes window;
  window.window = 12;
  CHECK(read_caches("DynamicCache", window).front().name == "DynamicSlidingWindowLayer");
  CHECK(read_caches("DynamicCache", {}).front().name == "DynamicLayer");
  CHECK(read_caches("offloaded_static", {}).front().name == "StaticLayer-offloaded");
  CHECK(read_caches("MtpCache", window).front().last == 11);
  CHECK(read_caches("MtpCache", {}).front().last == Cache::kAll);
  CHECK_THROWS_WITH(read_caches("QuantizedCache", window),
                    "QuantizedCache has no cache for a layer with a window: name another");
  CHECK_THROWS_AS(read_caches("DFlashCache", {}), Error);
}

TEST_CASE("a cache that keeps all tokens has room for them", "[phases]") {
  const Mask mask = declared({});
  CHECK(judge_phases(mask, read_caches("StaticLayer:slots=80", {}).front(), {}).holds());
  CHECK_THROWS_WITH(judge_phases(mask, read_caches("StaticLayer:slots=79", {}).front(), {}),
                    "StaticLayer keeps all tokens in 79 slots, which have no room for 80 tokens: "
                    "expected no more tokens, or more slots");
}

TEST_CASE("sinks of mlx-lm's rotating cache are lost in chunks of a prompt, and not in decoding",
          "[phases]") {
  const Index n = 64;
  CacheSizes sizes;
  sizes.window = 16;
  sizes.sinks = 4;
  // Of 16 slots 4 are sinks: 12 keys are the query's own and those before it.
  const PlanePtr recent = diagonal_band(n, n, -11, 0);
  const PlanePtr first =
      combine(Op::kAnd, diagonal_band(n, n, -kUnbounded, 0), rectangle(n, n, {0, n}, {0, 4}));
  const Mask mask(combine(Op::kOr, recent, first));
  PhasesQuery query;
  query.chunks = {8};
  const Cache cache = read_caches("RotatingKVCache", sizes).front();
  const PhasesVerdict verdict = judge_phases(mask, cache, query);
  for (const PhaseResult& phase : verdict.phases) {
    CAPTURE(name_of(phase.phase));
    CHECK(phase.holds() == (phase.phase == Phase::kDecode));
  }
}

TEST_CASE("the description of a cache changes its row", "[phases]") {
  CacheSizes sizes;
  sizes.window = 8;
  const auto one = [&](std::string_view text) { return read_caches(text, sizes).front(); };
  CHECK(one("rotating").last == 7);
  CHECK(one("rotating:window=32").last == 31);
  CHECK(one("rotating:last=9,reads=written").reads == Cache::Reads::kWritten);
  CHECK(one("rotating:last=9").last == 9);
  CHECK(one("sliding:order=position").order == Cache::Order::kPosition);
  CHECK(one("dynamic:mask=window/5@mixed").one ==
        SlotMask{SlotMask::Rule::kWindow, SlotMask::Of::kMixed, 5});
  CHECK(one("dynamic:one=window@slots").one.window == 8);
  CHECK(one("dynamic:one=open").several == SlotMask{});
  CHECK(one("paged:page=32").page == 32);
  CHECK(one("rotating:drafts=slot,rollback=never").drafts == Cache::Drafts::kSlot);
  CHECK(read_caches("transformers-dynamic", sizes).front().name == "DynamicSlidingWindowLayer");
  CHECK(read_caches("transformers-dynamic", {}).front().name == "DynamicLayer");
  for (const char* wrong : {"nothing", "rotating:", "rotating:window", "rotating:window=0",
                            "rotating:window=8,window=9", "rotating:size=8", "rotating:mask=round",
                            "rotating:mask=causal/3", "rotating:reads=now",
                            "rotating:mask=causal@here", "RotatingKVCache:sinks=9"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read_caches(wrong, sizes), Error);
  }
  CHECK_THROWS_AS(read_caches("rotating", {}), Error);
  CHECK_THROWS_AS(read_caches("transformers-quantised", sizes), Error);
  CHECK_THROWS_AS(read_caches("dynamic:mask=window", {}), Error);
}

TEST_CASE("the sizes of a cache are those of the steps", "[phases]") {
  const CacheSizes sizes = sizes_of({step::Causal{}, step::Window{.left = 7}});
  CHECK(sizes.window == Index{8});
  CHECK(kind_of(sizes) == LayerKind::kSliding);
  CHECK(kind_of(sizes_of({step::Causal{}})) == LayerKind::kFull);
}

}  // namespace
}  // namespace maskctl
