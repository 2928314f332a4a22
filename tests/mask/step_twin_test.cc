// Every step on every small mask, against the dense twin.
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/block_causal.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/positions.h"
#include "maskctl/mask/steps/query_lengths.h"
#include "maskctl/mask/steps/random.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "support/catch_compat.h"
#include "support/rounds.h"
#include "support/step_judge.h"

namespace maskctl::twin {
namespace {

// A batch of `count` q x k masks, numbered from `first` on; cell (i, j) is bit i k + j of the
// number.
Dense numbered_matrices(Index q, Index k, Index first, Index count) {
  return make(count, 1, q, k, [&](Index b, Index, Index i, Index j) {
    return ((first + b) >> (i * k + j) & 1) != 0;
  });
}

const Index kLargest = test::largest_enumerated();

// Calls f(judge, q, k, thin) for all masks of every size to 4 x 4, in batches that stay in the
// cache. `thin` is set from 12 cells on: f then leaves out some parameters, others in each batch.
template <typename F>
void for_all_masks(F&& f) {
  constexpr Index kBatch = 2048;
  std::string first;
  int steps = 0;
  for (Index q = 1; q <= kLargest; ++q) {
    for (Index k = 1; k <= kLargest; ++k) {
      const Index masks = Index{1} << (q * k);
      for (Index begin = 0; begin < masks; begin += kBatch) {
        Judge judge(numbered_matrices(q, k, begin, std::min(kBatch, masks - begin)));
        f(judge, q, k, q * k >= 12);
        steps += judge.steps();
        if (first.empty()) first = judge.first();
      }
    }
  }
  REQUIRE(first == "");
  REQUIRE(steps > 0);
}

TEST_CASE("causal equals the twin on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool) {
    for (Align align : kAligns) {
      judge({step::Causal{align, {}}}, "causal" + text(static_cast<Index>(align)));
      for (Index offset = -5; offset <= 5; ++offset) {
        if (align == Align::kUnset && offset > -4) continue;
        judge({step::Causal{align, ints({offset})}},
              "causal" + text(static_cast<Index>(align)) + text(offset));
      }
    }
  });
}

TEST_CASE("causal with an offset per batch entry equals the twin on all masks to 4x4") {
  std::mt19937 random(1);
  for_all_masks([&](Judge& judge, Index, Index, bool) {
    for (Align align : {Align::kTopLeft, Align::kBottomRight}) {
      judge({step::Causal{align, ints(random_values(judge.batch(), -5, 5, random))}},
            "causal per batch");
    }
  });
}

TEST_CASE("window equals the twin on all masks to 4x4") {
  int turn = 0;
  for_all_masks([&](Judge& judge, Index, Index, bool large) {
    std::vector<std::optional<Index>> sides = {std::nullopt};
    for (Index side = -1; side <= 5; ++side) sides.push_back(side);
    for (Align align : kAligns) {
      for (const auto& left : sides) {
        for (const auto& right : sides) {
          for (Index offset = -1; offset <= 5; ++offset) {
            if (large && turn++ % 37 != 0) continue;
            judge({step::Window{left, right, align, offset}}, "window" + text(left) + text(right) +
                                                                  text(static_cast<Index>(align)) +
                                                                  text(offset));
          }
        }
      }
    }
  });
}

TEST_CASE("chunk equals the twin on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool large) {
    for (Index size = -1; size <= 5; ++size) {
      for (Index offset = -5; offset <= 5; ++offset) {
        if (large && (size + offset) % 2 != 0) continue;
        judge({step::Chunk{size, offset}}, "chunk" + text(size) + text(offset));
      }
    }
  });
}

TEST_CASE("chunk with an alignment and an origin equals the twin on all masks to 4x4") {
  std::mt19937 random(2);
  for_all_masks([&](Judge& judge, Index, Index, bool large) {
    for (Align align : kAligns) {
      for (Index size = 1; size <= 5; ++size) {
        for (Index origin = -5; origin <= 5; ++origin) {
          if (large && (size + origin) % 3 != 0) continue;
          judge({step::Chunk{size, origin % 2, align, ints({origin})}},
                "chunk" + text(static_cast<Index>(align)) + text(size) + text(origin));
        }
        judge({step::Chunk{size, 0, align, ints(random_values(judge.batch(), -5, 5, random))}},
              "chunk, an origin per batch" + text(size));
        step::Chunk chunk{0, 0, align};
        chunk.sizes = ints(random_values(judge.batch(), 1, 5, random));
        chunk.offsets = ints(random_values(judge.batch(), -5, 5, random));
        judge({chunk}, "chunk, a size and an offset per batch");
      }
    }
  });
}

TEST_CASE("windows and prefixes with a number per batch entry equal the twin on all masks to 4x4") {
  std::mt19937 random(3);
  for_all_masks([&](Judge& judge, Index, Index, bool) {
    for (Align align : {Align::kTopLeft, Align::kBottomRight}) {
      step::Window window{1, 0, align};
      window.offsets = ints(random_values(judge.batch(), -5, 5, random));
      judge({window}, "window per batch");
    }
    judge({step::Prefix{0, ints(random_values(judge.batch(), 0, 5, random))}}, "prefix per batch");
    judge({step::Sinks{0, ints(random_values(judge.batch(), 0, 5, random))}}, "sinks per batch");
  });
}

TEST_CASE("positions, causal blocks and query lengths equal the twin on all masks to 4x4") {
  std::mt19937 random(7);
  for_all_masks([&](Judge& judge, Index q, Index k, bool large) {
    const Index b = judge.batch();
    for (Index size = -1; size <= 5; ++size) {
      for (Index offset = -3; offset <= 3; ++offset) {
        step::BlockCausal blocks{.size = size, .offset = offset};
        judge({blocks}, "causal blocks" + text(size) + text(offset));
        blocks.align = Align::kBottomRight;
        judge({blocks}, "causal blocks at the end" + text(size) + text(offset));
      }
      judge({step::QueryLengths{ints({size})}}, "a query length" + text(size));
    }
    judge({step::QueryLengths{ints(random_values(b, 0, q, random))}}, "query lengths");
    std::vector<std::optional<Index>> sides = {std::nullopt};
    for (Index side = -1; side <= 3; ++side) sides.push_back(side);
    for (const auto& left : sides) {
      for (const auto& right : sides) {
        if (large && random() % 4 != 0) continue;
        const std::string what = "positions" + text(left) + text(right);
        judge({step::Positions{ints({b, q}, random_values(b * q, -2, 2, random)),
                               ints(random_values(k, -2, 2, random)), left, right}},
              what);
        judge({step::Positions{ints(random_values(q, -2, 2, random)),
                               ints({b, k}, random_values(b * k, -2, 2, random)), left, right}},
              what);
      }
    }
  });
}

TEST_CASE("steps inside documents equal the twin on all masks to 4x4") {
  std::mt19937 random(4);
  for_all_masks([&](Judge& judge, Index q, Index k, bool large) {
    const step::Causal bottom{Align::kBottomRight, {}}, top{Align::kTopLeft, {}};
    const step::Window window{1, 1, Align::kBottomRight};
    const std::vector<Chain> chains = {{},
                                       {{bottom}},
                                       {{top}, {step::Prefix{1}}},
                                       {{window}},
                                       {{top}, {window}},
                                       {{step::Window{2, {}, Align::kTopLeft, 1}}, {bottom}},
                                       {{step::Causal{Align::kTopLeft, ints({1})}}},
                                       {{step::Chunk{2}}, {bottom}},
                                       {{step::Random{0.5, 3}}}};
    for (const Chain& chain : chains) {
      for (Index round = 0; round < (large ? 2 : 12); ++round) {
        step::Within rule;
        rule.chain = chain;
        for (Index n = round % 4; n > 0; --n) {
          rule.lengths.push_back(static_cast<Index>(random() % 4));
          rule.kv_lengths.push_back(static_cast<Index>(random() % 4));
        }
        judge({rule}, "within lengths" + text(round));
        step::Within ids;
        ids.chain = chain;
        ids.shared = q == k && round % 2 == 0;
        ids.q = ints(random_values(q, -1, 1, random));
        if (!ids.shared) ids.kv = ints(random_values(k, -1, 1, random));
        judge({ids}, "within ids" + text(round));
      }
    }
  });
}

TEST_CASE("lists inside documents have one number per document on all masks to 4x4") {
  using step::Scoped;
  std::mt19937 random(5);
  for_all_masks([&](Judge& judge, Index q, Index k, bool large) {
    const step::Causal bottom{Align::kBottomRight, {}};
    for (Index round = 0; round < (large ? 2 : 12); ++round) {
      const Index count = round % 4;
      const auto numbers = [&](Index low, Index high) {
        return ints(random_values(count + (random() % 8 == 0 ? 1 : 0), low, high, random));
      };
      std::vector<Range> members{
          {static_cast<Index>(random() % 2), 1 + static_cast<Index>(random() % 3)}};
      const step::Window window{
          .left = 2, .right = 0, .align = Align::kTopLeft, .offsets = numbers(-1, 1)};
      const std::vector<Chain> chains = {
          {{bottom}, {step::Prefix{0, numbers(0, 3)}}},
          {{step::Causal{Align::kTopLeft, numbers(-2, 2)}}},
          {{window}},
          {{Scoped{Scoped::Axis::kBatch, members, {{bottom}}}}},
          {{Scoped{Scoped::Axis::kBatch, members, {{step::Prefix{0, numbers(0, 3)}}}}}},
          {{step::Chunk{.size = 1, .sizes = numbers(1, 3)}}, {bottom}},
          {{Scoped{Scoped::Axis::kHeads, {{0, 1}}, {{step::Prefix{0, numbers(0, 3)}}}}}}};
      for (const Chain& chain : chains) {
        step::Within rule;
        rule.chain = chain;
        for (Index n = count; n > 0; --n) {
          rule.lengths.push_back(static_cast<Index>(random() % 4));
          rule.kv_lengths.push_back(static_cast<Index>(random() % 4));
        }
        judge({rule}, "lists within lengths" + text(round));
        step::Within ids;
        ids.chain = chain;
        ids.q = ints(random_values(q, -1, 1, random));
        ids.kv = ints(random_values(k, -1, 1, random));
        ids.shared = false;
        judge({ids}, "lists within ids" + text(round));
      }
    }
  });
}

TEST_CASE("dilated, prefix, sinks and not equal the twin on all masks to 4x4") {
  std::mt19937 random(3);
  for_all_masks([&](Judge& judge, Index, Index, bool) {
    judge({step::Dilated{1, ints(random_values(judge.batch(), 0, 4, random))}},
          "dilated, a stride per batch");
    judge({step::Dilated{1, ints({2, 3, 4, 5, 6})}}, "dilated, strides of other batches");
    for (Index n = -1; n <= 5; ++n) {
      judge({step::Dilated{n}}, "dilated" + text(n));
      judge({step::Prefix{n}}, "prefix" + text(n));
      judge({step::Sinks{n}}, "sinks" + text(n));
    }
    judge({step::Not{}}, "not");
  });
}

TEST_CASE("global tokens equal the twin on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool large) {
    judge({step::Global{}}, "global of nothing");
    for (Index begin = -1; begin <= 4; ++begin) {
      for (Index end = begin - 1; end <= 5; ++end) {
        judge({step::Global{{{begin, end}}}}, "global" + text(begin) + text(end));
        if (large) continue;
        judge({step::Global{{{0, 1}, {begin, end}}}}, "global 0 and" + text(begin) + text(end));
      }
    }
  });
}

TEST_CASE("opened and closed regions equal the twin on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index q, Index k, bool large) {
    for (const bool open : {true, false}) {
      judge({step::Region{open, {}, {}}}, "region of all");
      for (Index begin = -1; begin <= 4; ++begin) {
        for (Index end = begin; end <= 5; ++end) {
          judge({step::Region{open, {{begin, end}}, {}}}, "rows" + text(begin) + text(end));
          judge({step::Region{open, {}, {{begin, end}}}}, "columns" + text(begin) + text(end));
          if (large || q == 0 || k == 0) continue;
          judge({step::Region{open, {{begin, end}}, {{k - 1, k}}}}, "part" + text(begin));
          judge({step::Region{open, {{0, 1}, {q - 1, q}}, {{begin, end}}}}, "two rows");
        }
      }
    }
  });
}

TEST_CASE("slices equal the twin on all masks to 4x4") {
  std::mt19937 random(2);
  for_all_masks([&](Judge& judge, Index q, Index k, bool large) {
    for (Index q0 = -1; q0 <= q; ++q0) {
      for (Index q1 = 0; q1 <= q + 1; ++q1) {
        for (Index k0 = -1; k0 <= k; ++k0) {
          for (Index k1 = 0; k1 <= k + 1; ++k1) {
            if (large && random() % 12 != 0) continue;
            judge({step::Slice{{}, {}, Range{q0, q1}, Range{k0, k1}}},
                  "slice" + text(q0) + text(q1) + text(k0) + text(k1));
          }
        }
      }
    }
    const Index half = judge.batch() / 2;
    judge({step::Slice{Range{0, half}, {}, {}, {}}}, "slice of batches");
    judge({step::Slice{Range{half, judge.batch() + 1}, {}, {}, {}}}, "slice past the batches");
    judge({step::Slice{{}, Range{0, 1}, {}, {}}}, "slice of heads");
    judge({step::Slice{{}, Range{0, 2}, {}, {}}}, "slice past the heads");
  });
}

TEST_CASE("ids that differ between batch entries equal the twin on all masks to 4x4") {
  std::mt19937 random(3);
  for_all_masks([&](Judge& judge, Index q, Index k, bool) {
    const Index b = judge.batch();
    for (std::int32_t pad_id = -1; pad_id <= 1; ++pad_id) {
      const auto ids = [&](Index n) { return ints({b, n}, random_values(b * n, -1, 1, random)); };
      judge({step::Document{ids(q), ids(k), false, pad_id}}, "doc" + text(Index{pad_id}));
      judge({step::Document{ids(q), {}, true, pad_id}}, "doc of one array");
      judge({step::Document{ids(q), ints(random_values(k, -1, 1, random)), false, pad_id}},
            "doc of [S]");
    }
    for (int join = 0; join < 3; ++join) {
      for (int zero = 0; zero < 4; ++zero) {
        judge({step::Tokens{ints({b, q}, random_values(b * q, -1, 1, random)),
                            ints({b, k}, random_values(b * k, -1, 1, random)), false,
                            static_cast<step::Tokens::Join>(join),
                            static_cast<step::Tokens::Zero>(zero)}},
              "tokens" + text(Index{join}) + text(Index{zero}));
      }
    }
  });
}

TEST_CASE("documents of all ids of -1, 0 and 1 equal the twin on all masks to 4x4") {
  std::mt19937 random(4);
  std::string first;
  for (Index q = 1; q <= kLargest; ++q) {
    for (Index k = 1; k <= kLargest; ++k) {
      Index batch = 1;
      for (Index i = 0; i < q + k; ++i) batch *= 3;
      std::vector<Index> a, b;  // a, b: the base-3 digits of n, minus 1
      for (Index n = 0; n < batch; ++n) {
        Index rest = n;
        for (Index i = 0; i < q + k; ++i, rest /= 3) (i < q ? a : b).push_back(rest % 3 - 1);
      }
      const NamedArray q_ids = ints({batch, q}, a), kv_ids = ints({batch, k}, b);
      Judge judge(random_matrices(batch, 1, q, k, random));
      for (std::int32_t pad_id = -2; pad_id <= 1; ++pad_id) {
        judge({step::Document{q_ids, kv_ids, false, pad_id}}, "doc" + text(Index{pad_id}));
      }
      for (int zero = 0; zero < 4; ++zero) {
        judge({step::Tokens{q_ids, kv_ids, false, step::Tokens::Join::kUnion,
                            static_cast<step::Tokens::Zero>(zero)}},
              "tokens" + text(Index{zero}));
      }
      judge({step::Tokens{q_ids, kv_ids, false, step::Tokens::Join::kReplace,
                          step::Tokens::Zero::kNone}},
            "tokens replaced");
      if (first.empty()) first = judge.first();
    }
  }
  REQUIRE(first == "");
}

TEST_CASE("padding by flags and by lengths equals the twin on all masks to 4x4") {
  std::mt19937 random(5);
  for_all_masks([&](Judge& judge, Index q, Index k, bool large) {
    const Index b = judge.batch();
    for (bool both : {false, true}) {
      for (Index flags = 0; flags < 1 << k; flags += large ? 3 : 1) {
        std::vector<Index> valid;
        for (Index i = 0; i < k; ++i) valid.push_back(flags >> i & 1);
        judge({step::Pad{bools({k}, valid), false, false, both}}, "pad of flags" + text(flags));
      }
      judge({step::Pad{bools({b, k}, random_values(b * k, 0, 1, random)), false, false, both}},
            "pad [B,S]");
      judge({step::Pad{ints({b, k}, random_values(b * k, 0, 1, random)), false, false, both}},
            "pad int [B,S]");
      for (bool left : {false, true}) {
        for (Index length = -1; length <= 5; ++length) {
          judge({step::Pad{ints({length}), true, left, both}}, "pad of length" + text(length));
        }
        judge({step::Pad{ints(random_values(b, 0, k, random)), true, left, both}},
              "pad of lengths");
      }
    }
    (void)q;
  });
}

TEST_CASE("document lengths equal the twin on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool large) {
    judge({step::DocumentLengths{}}, "no documents");
    for (Index a = -1; a <= 5; ++a) {
      judge({step::DocumentLengths{{a}}}, "lengths" + text(a));
      for (Index b = -1; b <= 5 && !large; ++b) {
        judge({step::DocumentLengths{{a, b}}}, "lengths" + text(a) + text(b));
        judge({step::DocumentLengths{{a, b, 1}}}, "lengths" + text(a) + text(b) + " 1");
      }
    }
    judge({step::DocumentLengths{{1, 0, 3}}}, "lengths 1 0 3");
    judge({step::DocumentLengths{{2, std::numeric_limits<Index>::max()}}},
          "a length past every number");
  });
}

TEST_CASE("key lengths with query and key windows equal the twin on all masks to 4x4") {
  std::mt19937 random(6);
  for_all_masks([&](Judge& judge, Index q, Index k, bool large) {
    const Index b = judge.batch();
    std::vector<std::optional<Index>> sizes = {std::nullopt};
    for (Index size = -1; size <= 5; ++size) sizes.push_back(size);
    for (const auto& q_len : sizes) {
      for (const auto& window : sizes) {
        if (large && random() % 4 != 0) continue;
        const std::string what = "kv-lengths" + text(q_len) + text(window);
        judge({step::KvLengths{ints(random_values(b, 0, k, random)), q_len, window, {}}}, what);
        judge({step::KvLengths{ints(random_values(b, 0, k, random)), q_len, window,
                               ints(random_values(b, -1, q + 2, random))}},
              what + " with ends");
      }
    }
    for (Index length = -1; length <= 5; ++length) {
      judge({step::KvLengths{ints({length}), {}, {}, {}}}, "kv-lengths" + text(length));
    }
  });
}

TEST_CASE("block maps equal the twin on all masks to 4x4") {
  std::mt19937 random(7);
  for_all_masks([&](Judge& judge, Index q, Index k, bool large) {
    for (Index q_size = -1; q_size <= 5; ++q_size) {
      for (Index k_size = -1; k_size <= 5; ++k_size) {
        if (large && random() % 3 != 0) continue;
        const Index rows = ceil_div(q, std::max<Index>(q_size, 1)),
                    columns = ceil_div(k, std::max<Index>(k_size, 1));
        const std::string what = "block" + text(q_size) + text(k_size);
        const auto map = [&](Index r, Index c) {
          return ints({r, c}, random_values(r * c, 0, 2, random));
        };
        judge({step::Block{map(rows, columns), q_size, k_size}}, what);
        judge({step::Block{map(rows + 1, columns), q_size, k_size}}, what + " and a row too many");
        judge({step::Block{map(rows, columns + 1), q_size, k_size}},
              what + " and a column too many");
        judge({step::Block{map(rows - 1, columns), q_size, k_size}}, what + " and a row too few");
      }
    }
    const Index b = judge.batch();
    judge({step::Block{ints({b, q, k}, random_values(b * q * k, 0, 1, random)), 1, 1}},
          "block [B,Q,K]");
    judge({step::Block{ints({b, 2, q, k}, random_values(b * 2 * q * k, 0, 1, random)), 1, 1}},
          "block [B,2,Q,K]");
    judge({step::Block{ints({b + 1, q, k}, random_values((b + 1) * q * k, 0, 1, random)), 1, 1}},
          "block of B + 1");
  });
}

TEST_CASE("random cells equal the twin on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool large) {
    for (double sparsity :
         {-0.1, 0.0, 0.1, 0.5, 0.9, 1.0, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
      judge({step::Random{sparsity, 0}}, "random " + std::to_string(sparsity));
      if (large) continue;
      judge({step::Random{sparsity, 0x123456789abcdef0}}, "random with a large seed");
    }
  });
}

TEST_CASE("combining with another mask equals the twin on all masks to 3x3") {
  std::mt19937 random(8);
  for (Index q = 1; q <= 3; ++q) {
    for (Index k = 1; k <= 3; ++k) {
      Judge judge(numbered_matrices(q, k, 0, Index{1} << (q * k)));
      const Index b = judge.batch();
      for (int op = 0; op < 4; ++op) {
        const auto with = [&](Index ob, Index oh, Index oq, Index ok, const char* what) {
          const Mask other = mask_of(random_matrices(ob, oh, oq, ok, random));
          judge({step::Combine{static_cast<Op>(op), other, ""}}, what + text(Index{op}));
        };
        with(b, 1, q, k, "combined by batch");
        with(1, 1, q, k, "combined with one");
        with(1, 3, q, k, "combined with heads");
        with(b, 2, q, k, "combined with batches of heads");
        with(b + 1, 1, q, k, "combined with too many batches");
        with(1, 1, q + 1, k, "combined with more queries");
        with(1, 1, q, k + 1, "combined with more keys");
      }
      REQUIRE(judge.first() == "");
    }
  }
}

}  // namespace
}  // namespace maskctl::twin
