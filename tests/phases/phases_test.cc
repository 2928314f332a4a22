// Phases against a twin that goes through every step, row and slot.
#include "maskctl/phases/phases.h"

#include <fmt/format.h>

#include <functional>
#include <random>
#include <string>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/phases/caches/cache_rows.h"
#include "phases/plain_cache.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using test::Cells;
using Random = std::mt19937_64;
using Kind = PhaseFault::Kind;

Index draw(Random& random, Index low, Index high) {
  return std::uniform_int_distribution<Index>(low, high)(random);
}

Mask mask_of(const Cells& cells) {
  const Index n = std::ssize(cells);
  Tensor dense(DType::kBool, {1, 1, n, n});
  const auto out = dense.as<std::uint8_t>();
  for (Index q = 0; q < n; ++q) {
    for (Index k = 0; k < n; ++k) out[as_size(q * n + k)] = cells[as_size(q)][as_size(k)];
  }
  return mask_from_dense(dense);
}

Cells cells_of(Index n, const std::function<bool(Index q, Index k)>& open) {
  Cells out(as_size(n), std::vector<bool>(as_size(n)));
  for (Index q = 0; q < n; ++q) {
    for (Index k = 0; k < n; ++k) out[as_size(q)][as_size(k)] = open(q, k);
  }
  return out;
}

/// Causal, windows with and without sinks, chunks, documents, or anything.
Cells drawn_mask(Random& random, Index n) {
  const Index window = draw(random, 1, n), sinks = draw(random, 0, 3);
  switch (draw(random, 0, 5)) {
    case 0:
      return cells_of(n, [](Index q, Index k) { return k <= q; });
    case 1:
      return cells_of(n, [=](Index q, Index k) { return k <= q && q - k < window; });
    case 2:
      return cells_of(n, [=](Index q, Index k) { return k <= q && (q - k < window || k < sinks); });
    case 3:
      return cells_of(n, [=](Index q, Index k) { return k <= q && q / window == k / window; });
    case 4:
      return cells_of(n, [=](Index q, Index k) { return k <= q || (q < window && k < window); });
    default:
      return cells_of(n, [&](Index, Index) { return random() % 2 == 0; });
  }
}

SlotMask drawn_slot_mask(Random& random, Index n) {
  SlotMask out;
  out.rule = static_cast<SlotMask::Rule>(draw(random, 0, 3));
  if (out.rule != SlotMask::Rule::kOpen && draw(random, 0, 1) == 0) {
    out.of = static_cast<SlotMask::Of>(draw(random, 0, 3));
  }
  if (out.rule == SlotMask::Rule::kWindow) out.window = draw(random, 1, n);
  return out;
}

Cache drawn_cache(Random& random, Index n) {
  Cache out;
  if (draw(random, 0, 3) > 0) out.last = draw(random, 1, n);
  if (draw(random, 0, 1) == 0) out.sinks = draw(random, 0, 3);
  if (draw(random, 0, 2) == 0) out.page = draw(random, 1, 4);
  out.reads = static_cast<Cache::Reads>(draw(random, 0, 1));
  out.order = static_cast<Cache::Order>(draw(random, 0, 2));
  if (out.order == Cache::Order::kRing && (out.page > 1 || out.last >= Cache::kAll)) {
    out.order = Cache::Order::kTime;
  }
  if (draw(random, 0, 2) == 0) out.slots = draw(random, out.last >= Cache::kAll ? n : 1, n + 2);
  out.several = drawn_slot_mask(random, n);
  out.one = draw(random, 0, 1) == 0 ? out.several : drawn_slot_mask(random, n);
  if (draw(random, 0, 2) > 0) {  // more often right than by chance
    if (draw(random, 0, 1) == 0) out.several = out.one = {};
    if (draw(random, 0, 1) == 0) out.last = n;
  }
  out.rollback = static_cast<Cache::Rollback>(draw(random, 0, 1));
  out.drafts = static_cast<Cache::Drafts>(draw(random, 0, 1));
  return out;
}

/// Whether the rows of a step are those of the mask.
bool same_rows(const Cache& cache, const Cells& mask, const PhaseStep& step) {
  for (Index i = 0; i < step.queries; ++i) {
    if (test::plain_row(cache, mask, step, i) != test::plain_keys(mask, step.cached + i)) {
      return false;
    }
  }
  return true;
}

bool prefill_holds(const Cache& cache, const Cells& mask, const std::string& covered) {
  const Index n = std::ssize(mask);
  const Index least = test::contains(covered, "prompts of 1 to") ? 1 : n;
  for (Index length = least; length <= n; ++length) {
    if (!same_rows(cache, mask, {0, length, 0})) return false;
  }
  return true;
}

bool chunks_hold(const Cache& cache, const Cells& mask, const PhasesQuery& query,
                 const std::string& covered) {
  const Index n = std::ssize(mask);
  if (!test::contains(covered, "from any token")) {
    for (const Index chunk : query.chunks) {
      for (Index cached = 0; cached < n; cached += chunk) {
        if (!same_rows(cache, mask, {cached, std::min(chunk, n - cached), 0})) return false;
      }
    }
    return true;
  }
  Index largest = 0;
  for (Index size = 2; size <= n; ++size) {
    const bool two = test::contains(covered, fmt::format("chunks of {} tokens", size));
    const bool more = test::contains(covered, fmt::format("chunks of 2 to {} tokens", size));
    if (two || more) largest = size;
  }
  REQUIRE(largest >= 2);
  for (Index size = 2; size <= largest; ++size) {
    for (Index cached = 0; cached + size <= n; ++cached) {
      if (!same_rows(cache, mask, {cached, size, 0})) return false;
    }
  }
  return true;
}

bool decode_holds(const Cache& cache, const Cells& mask) {
  for (Index q = 1; q < std::ssize(mask); ++q) {
    if (!same_rows(cache, mask, {q, 1, 0})) return false;
  }
  return true;
}

bool rollback_holds(const Cache& cache, const Cells& mask, Index most, const std::string& covered) {
  const Index n = std::ssize(mask);
  const bool all =
      test::contains(covered, "after 1 to") || test::contains(covered, "after 1 token taken back");
  for (Index q = 1; q < n; ++q) {
    const Index here = std::min(most, n - q);
    for (Index back = all ? 1 : here; back <= here; ++back) {
      if (!same_rows(cache, mask, {q, 1, back})) return false;
    }
  }
  return true;
}

/// Whether drafts see what the tokens of their path would see, of those that there are.
bool tree_holds(const Cache& cache, const Cells& mask, const std::vector<Index>& parents) {
  const Index n = std::ssize(mask), drafts = std::ssize(parents);
  for (Index cached = 0; cached + drafts <= n; ++cached) {
    const PhaseStep step{cached, drafts, 0};
    const auto slots = test::plain_slots(cache, step);
    std::set<Index> tokens;
    for (const auto& [slot, token] : slots) tokens.insert(token);
    const auto depth = [&](Index draft) {
      Index out = 0;
      for (Index at = draft; parents[as_size(at)] >= 0; at = parents[as_size(at)]) ++out;
      return out;
    };
    const SlotMask& rule = drafts == 1 ? cache.one : cache.several;
    const bool by_depth =
        cache.drafts == Cache::Drafts::kDepth && rule.of == SlotMask::Of::kPositions;
    for (Index draft = 0; draft < drafts; ++draft) {
      const auto row = test::plain_row(cache, mask, step, by_depth ? depth(draft) : draft);
      if (row.contains(-1)) return false;
      const auto want = test::plain_keys(mask, cached + depth(draft));
      for (Index key = 0; key < cached; ++key) {
        if (row.contains(key) != want.contains(key)) return false;
      }
      for (Index at = draft; at >= 0; at = parents[as_size(at)]) {
        const Index token = cached + at, place = cached + depth(at);
        const bool open = tokens.contains(token) && row.contains(by_depth ? place : token);
        if (open != want.contains(place)) return false;
      }
    }
  }
  return true;
}

/// Checks what a fault says: that its row is what it says, and no earlier row of its step differs
/// at an earlier key.
void check_fault(const Cache& cache, const Cells& mask, const PhaseFault& fault) {
  const auto slots = test::plain_slots(cache, fault.step);
  const auto row = test::plain_row(cache, mask, fault.step, fault.row);
  CHECK(fault.query == fault.step.cached + fault.row);
  const auto want = test::plain_keys(mask, fault.query);
  const std::string& why = fault.why;
  if (fault.slot >= 0 && fault.kind != Kind::kEmpty) {
    REQUIRE(slots.contains(fault.slot));
    CHECK(slots.at(fault.slot) == fault.key);
    CHECK(test::contains(why, fmt::format("slot {}", fault.slot)));
  }
  switch (fault.kind) {
    case Kind::kDropped:
      CHECK(want.contains(fault.key));
      for (const auto& [slot, token] : slots) CHECK(token != fault.key);
      CHECK(test::contains(why, fault.key >= fault.step.cached + fault.step.queries
                                    ? "comes after the step"
                                    : "is in no slot"));
      break;
    case Kind::kClosed:
      CHECK(want.contains(fault.key));
      CHECK_FALSE(row.contains(fault.key));
      CHECK(test::contains(why, "is closed"));
      break;
    case Kind::kExtra:
      CHECK_FALSE(want.contains(fault.key));
      CHECK(row.contains(fault.key));
      CHECK(test::contains(why, "which the mask closes, is open"));
      break;
    case Kind::kEmpty:
      CHECK(row.contains(-1));
      CHECK_FALSE(slots.contains(fault.slot));
      CHECK(test::contains(why, "holds no token and is open"));
      break;
    case Kind::kTwice:
      FAIL("a slot of a row holds one token");
  }
  for (const Index key : row) {
    if (key >= 0 && key < fault.key) CHECK(want.contains(key));
  }
  for (const Index key : want) {
    if (key < fault.key) CHECK(row.contains(key));
  }
}

TEST_CASE("phases of any cache and mask are what a twin finds in all their steps", "[phases]") {
  Random random(66);
  int held = 0, failed = 0;
  for (int i = 0; i < test::rounds(4000); ++i) {
    const Index n = draw(random, 1, 12);
    const Cells cells = drawn_mask(random, n);
    const Cache cache = drawn_cache(random, n);
    PhasesQuery query;
    for (Index chunks = draw(random, 0, 2); chunks > 0; --chunks) {
      query.chunks.push_back(draw(random, 2, 6));
    }
    query.taken_back = draw(random, 0, 4);
    for (Index drafts = draw(random, 0, std::min<Index>(4, n)); drafts > 0; --drafts) {
      query.tree.push_back(draw(random, -1, std::ssize(query.tree) - 1));
    }
    CAPTURE(i, n, cache_text(cache));
    const PhasesVerdict got = judge_phases(mask_of(cells), cache, query);
    for (const PhaseResult& phase : got.phases) {
      CAPTURE(name_of(phase.phase), phase.covered);
      if (!phase.judged) continue;
      bool want = true;
      switch (phase.phase) {
        case Phase::kPrefill:
          want = prefill_holds(cache, cells, phase.covered);
          break;
        case Phase::kChunks:
          want = chunks_hold(cache, cells, query, phase.covered);
          break;
        case Phase::kDecode:
          want = decode_holds(cache, cells);
          break;
        case Phase::kRollback:
          want = rollback_holds(cache, cells, query.taken_back, phase.covered);
          break;
        case Phase::kTree:
          want = tree_holds(cache, cells, query.tree);
          break;
        case Phase::kRanks:
        case Phase::kGiven:
          break;
      }
      CHECK(phase.holds() == want);
      CHECK(phase.first.has_value() == !want);
      (want ? held : failed) += 1;
      if (phase.first && phase.phase != Phase::kTree) check_fault(cache, cells, *phase.first);
    }
  }
  CHECK(held > 1000);
  CHECK(failed > 1000);
}

TEST_CASE("a million tokens of a window with sinks are proven in a rotating cache", "[phases]") {
  const Index n = Index{1} << 20;
  const PlanePtr window = diagonal_band(n, n, -4095, 0),
                 causal = diagonal_band(n, n, -kUnbounded, 0);
  const PlanePtr sinks = combine(Op::kAnd, causal, rectangle(n, n, {0, n}, {0, 4}));
  const Mask mask(combine(Op::kOr, window, sinks));
  CacheSizes sizes;
  sizes.window = 4096;
  sizes.sinks = 4;
  const Cache cache = cache_of(*rows_named("rotating", LayerKind::kSliding).front(), sizes);
  PhasesQuery query;
  query.chunks = {8192};
  const PhasesVerdict proof = judge_phases(mask, cache, query);
  CHECK(proof.holds());
  Cache small = cache;
  small.last = 4094;
  const PhasesVerdict wrong = judge_phases(mask, small, query);
  REQUIRE_FALSE(wrong.holds());
  REQUIRE(wrong.phases.size() == 3);
  const PhaseFault& fault = wrong.phases[2].first.value();
  CHECK(fault.step == PhaseStep{4099, 1, 0});
  CHECK(fault.key == 4);
  CHECK(fault.why ==
        "key 4 is in no slot: but for the first 4, of 4099 tokens the cache keeps those from 5 on");
}

TEST_CASE("ranks hold each pair of a mask once", "[phases]") {
  const Mask mask(diagonal_band(64, 64, -7, 0));
  PhasesQuery query;
  query.ranks = 4;
  const PhasesVerdict got = judge_phases(mask, Cache{}, query);
  REQUIRE(got.phases.back().phase == Phase::kRanks);
  CHECK(got.holds());
}

TEST_CASE("phases refuse what makes no sense", "[phases]") {
  const Mask mask(diagonal_band(8, 8, -kUnbounded, 0));
  Cache ring;
  ring.order = Cache::Order::kRing;
  CHECK_THROWS_AS(judge_phases(mask, ring, {}), Error);
  ring.last = 4;
  CHECK_NOTHROW(judge_phases(mask, ring, {}));
  ring.page = 2;
  CHECK_THROWS_AS(judge_phases(mask, ring, {}), Error);
  CHECK_THROWS_AS(judge_phases(Mask(full_plane(4, 8)), Cache{}, {}), Error);
  PhasesQuery query;
  query.chunks = {1};
  CHECK_THROWS_AS(judge_phases(mask, Cache{}, query), Error);
  query.chunks = {};
  query.tree = {-1, 1};
  CHECK_THROWS_AS(judge_phases(mask, Cache{}, query), Error);
  query.tree = std::vector<Index>(9, -1);
  CHECK_THROWS_AS(judge_phases(mask, Cache{}, query), Error);
}

}  // namespace
}  // namespace maskctl
