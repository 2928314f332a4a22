// Every step on every small mask, and chains of steps on larger ones, against the dense twin.
#include <rapidcheck.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"
#include "support/twin_steps.h"

namespace maskctl::twin {
namespace {

// A batch of all 2^(q k) matrices, or of random ones.
Dense all_matrices(Index q, Index k) {
  return make(Index{1} << (q * k), 1, q, k,
              [&](Index b, Index, Index i, Index j) { return (b >> (i * k + j) & 1) != 0; });
}

Dense random_matrices(Index b, Index h, Index q, Index k, std::mt19937& random) {
  return make(b, h, q, k, [&](Index, Index, Index, Index) { return random() % 3 != 0; });
}

std::vector<Index> random_values(Index n, Index low, Index high, std::mt19937& random) {
  std::vector<Index> out(static_cast<std::size_t>(n));
  for (Index& value : out)
    value = low + static_cast<Index>(random() % static_cast<unsigned>(high - low + 1));
  return out;
}

// "" when the library and the twin agree on the result, or both refuse.
std::string differs(const Mask& mask, const Dense& dense, const Step& step) {
  bool refused = false, thrown = false;
  Dense want;
  try {
    want = run_step(dense, step);
  } catch (const Refused&) {
    refused = true;
  }
  Mask got;
  std::string message;
  try {
    got = maskctl::apply(mask, step);
  } catch (const Error& error) {
    thrown = true;
    message = error.what();
  }
  if (refused != thrown) return thrown ? "refused: " + message : "not refused";
  if (thrown) return message.empty() || message.find('\n') != std::string::npos ? "message" : "";
  if (got.batch() != want.b || got.heads() != want.h || got.queries() != want.q ||
      got.keys() != want.k) {
    return "shape " + shape_text(got);
  }
  const Dense have = dense_of(got);
  if (have == want) return "";
  std::size_t at = 0;
  while (have.cells[at] == want.cells[at]) ++at;
  const Index plane = want.q * want.k, cell = static_cast<Index>(at);
  return "batch " + std::to_string(cell / plane / want.h) + " head " +
         std::to_string(cell / plane % want.h) + " query " + std::to_string(cell % plane / want.k) +
         " key " + std::to_string(cell % want.k);
}

// Applies many steps to one mask and keeps the first difference.
class Judge {
 public:
  explicit Judge(Dense dense) : dense_(std::move(dense)), mask_(mask_of(dense_)) {}
  void operator()(const Step& step, const std::string& what) {
    ++steps_;
    if (!first_.empty()) return;
    const std::string error = differs(mask_, dense_, step);
    if (error.empty()) return;
    first_ =
        what + " on " + std::to_string(dense_.q) + " x " + std::to_string(dense_.k) + ": " + error;
  }
  Index batch() const { return dense_.b; }
  const std::string& first() const { return first_; }
  int steps() const { return steps_; }

 private:
  Dense dense_;
  Mask mask_;
  std::string first_;
  int steps_ = 0;
};

std::string text(Index a) { return " " + std::to_string(a); }
std::string text(std::optional<Index> a) { return a ? text(*a) : " none"; }

constexpr Align kAligns[] = {Align::kUnset, Align::kTopLeft, Align::kBottomRight};

// Every size to 4x4, all masks of it as one batch; sizes from 12 cells on take about a third of the
// parameters of those that have two.
template <typename F>
void for_all_masks(F&& f) {
  std::string first;
  int steps = 0;
  for (Index q = 1; q <= 4; ++q) {
    for (Index k = 1; k <= 4; ++k) {
      Judge judge(all_matrices(q, k));
      f(judge, q, k, q * k >= 12);
      steps += judge.steps();
      if (first.empty()) first = judge.first();
    }
  }
  REQUIRE(first == "");
  REQUIRE(steps > 0);
}

TEST_CASE("causal on all masks to 4x4") {
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

TEST_CASE("causal with an offset for each batch on all masks to 4x4") {
  std::mt19937 random(1);
  for_all_masks([&](Judge& judge, Index, Index, bool) {
    for (Align align : {Align::kTopLeft, Align::kBottomRight}) {
      judge({step::Causal{align, ints(random_values(judge.batch(), -5, 5, random))}},
            "causal per batch");
    }
  });
}

TEST_CASE("window on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool large) {
    std::vector<std::optional<Index>> sides = {std::nullopt};
    for (Index side = -1; side <= 5; ++side) sides.push_back(side);
    int turn = 0;
    for (Align align : kAligns) {
      for (const auto& left : sides) {
        for (const auto& right : sides) {
          for (Index offset = -1; offset <= 5; ++offset) {
            if (large && turn++ % 17 != 0) continue;
            judge({step::Window{left, right, align, offset}}, "window" + text(left) + text(right) +
                                                                  text(static_cast<Index>(align)) +
                                                                  text(offset));
          }
        }
      }
    }
  });
}

TEST_CASE("chunk on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool large) {
    for (Index size = -1; size <= 5; ++size) {
      for (Index offset = -5; offset <= 5; ++offset) {
        if (large && (size + offset) % 2 != 0) continue;
        judge({step::Chunk{size, offset}}, "chunk" + text(size) + text(offset));
      }
    }
  });
}

TEST_CASE("dilated, prefix, sinks, not on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool) {
    for (Index n = -1; n <= 5; ++n) {
      judge({step::Dilated{n}}, "dilated" + text(n));
      judge({step::Prefix{n}}, "prefix" + text(n));
      judge({step::Sinks{n}}, "sinks" + text(n));
    }
    judge({step::Not{}}, "not");
  });
}

TEST_CASE("global tokens on all masks to 4x4") {
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

TEST_CASE("slices of all masks to 4x4") {
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

TEST_CASE("ids that differ between batches on all masks to 4x4") {
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

TEST_CASE("all ids of -1, 0, 1 to 4x4") {
  std::mt19937 random(4);
  std::string first;
  for (Index q = 1; q <= 4; ++q) {
    for (Index k = 1; k <= 4; ++k) {
      Index batch = 1;
      for (Index i = 0; i < q + k; ++i) batch *= 3;
      std::vector<Index> a, b;  // the digits of the batch number, base 3
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

TEST_CASE("padding by flags and by lengths on all masks to 4x4") {
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

TEST_CASE("document lengths on all masks to 4x4") {
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

TEST_CASE("key lengths with query and key windows on all masks to 4x4") {
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

TEST_CASE("block maps on all masks to 4x4") {
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

TEST_CASE("random cells on all masks to 4x4") {
  for_all_masks([](Judge& judge, Index, Index, bool large) {
    for (double sparsity :
         {-0.1, 0.0, 0.1, 0.5, 0.9, 1.0, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
      judge({step::Random{sparsity, 0}}, "random " + std::to_string(sparsity));
      if (large) continue;
      judge({step::Random{sparsity, 0x123456789abcdef0}}, "random with a large seed");
    }
  });
}

TEST_CASE("combining with another mask on all masks to 3x3") {
  std::mt19937 random(8);
  for (Index q = 1; q <= 3; ++q) {
    for (Index k = 1; k <= 3; ++k) {
      Judge judge(all_matrices(q, k));
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

// --- chains ---

Step random_step(const Pick& pick, const Dense& m, int depth);

NamedArray random_ids(const Pick& pick, const Dense& m, Index length, Index low, Index high,
                      std::mt19937& random) {
  const Index lasts = pick(1, 12);
  const Index rows = pick(0, 2) == 0 ? 0 : pick(0, 1) == 0 ? 1 : m.b;
  std::vector<Index> values = random_values(std::max<Index>(rows, 1) * length, low, high, random);
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (random() % static_cast<unsigned>(lasts) != 0) values[i] = values[i - 1];
  }
  return rows == 0 ? ints({length}, values) : ints({rows, length}, values);
}

NamedArray random_per_batch(const Pick& pick, const Dense& m, Index low, Index high,
                            std::mt19937& random) {
  return ints(random_values(pick(0, 1) == 0 ? 1 : m.b, low, high, random));
}

Range random_range(const Pick& pick, Index extent) {
  const Index begin = pick(0, extent - 1);
  return {begin, pick(begin + 1, extent)};
}

Step random_keep_step(const Pick& pick, const Dense& m, std::mt19937& random) {
  const Align align = m.q == m.k ? kAligns[pick(0, 2)] : kAligns[pick(1, 2)];
  switch (pick(0, 8)) {
    case 0:
      return {step::Causal{align, random_per_batch(pick, m, -m.q, m.k, random)}};
    case 1: {
      const auto side = [&] { return pick(0, 2) == 0 ? std::optional<Index>() : pick(0, m.k); };
      return {step::Window{side(), side(), align, pick(-3, 3)}};
    }
    case 2:
      return {step::Chunk{pick(1, m.k + 1), pick(-m.q, m.q)}};
    case 3:
      return {step::Document{random_ids(pick, m, m.q, -1, 3, random),
                             random_ids(pick, m, m.k, -1, 3, random), false,
                             static_cast<std::int32_t>(pick(-1, 1))}};
    case 4: {
      if (pick(0, 1) == 0) {
        return {step::Pad{random_per_batch(pick, m, 0, m.k, random), true, pick(0, 1) == 1,
                          m.q == m.k && pick(0, 1) == 1}};
      }
      return {step::Pad{random_ids(pick, m, m.k, 0, 1, random), false, false,
                        m.q == m.k && pick(0, 1) == 1}};
    }
    case 5:
      return {step::Dilated{pick(1, 5)}};
    case 6: {
      const Index q_size = pick(1, m.q), k_size = pick(1, m.k);
      const Index rows = ceil_div(m.q, q_size), columns = ceil_div(m.k, k_size);
      const Index batch = pick(0, 1) == 0 ? 1 : m.b;
      return {step::Block{
          ints({batch, rows, columns}, random_values(batch * rows * columns, 0, 2, random)), q_size,
          k_size}};
    }
    case 7:
      return {step::Random{static_cast<double>(pick(0, 4)) / 4,
                           static_cast<std::uint64_t>(pick(0, 99))}};
    default: {
      std::vector<Index> lengths;
      for (Index left = m.k; left > 0 && pick(0, 3) != 0; left -= lengths.back())
        lengths.push_back(pick(0, left));
      return {step::DocumentLengths{lengths}};  // refused where Q != K
    }
  }
}

Step random_other_step(const Pick& pick, const Dense& m, int depth, std::mt19937& random) {
  switch (pick(0, depth > 0 ? 8 : 7)) {
    case 0:
      return {step::Prefix{pick(0, m.k + 1)}};
    case 1:
      return {step::Sinks{pick(0, 4)}};
    case 2:
      return {step::Global{
          {random_range(pick, std::max(m.q, m.k)), random_range(pick, std::max(m.q, m.k))}}};
    case 3: {
      std::vector<PlanePtr> planes;
      const Index b = pick(0, 1) == 0 ? 1 : m.b, h = pick(0, 1) == 0 ? 1 : m.h;
      for (Index i = 0; i < b * h; ++i) {
        planes.push_back(make_leaf(static_cast<Leaf>(pick(0, kLeaves - 1)), pick, m.q, m.k).plane);
      }
      const Mask mask = Mask::make(b, h, m.q, m.k, [&](Index ib, Index ih) {
        return planes[static_cast<std::size_t>(ib * h + ih)];
      });
      return {step::Combine{static_cast<Op>(pick(0, 3)), mask, ""}};
    }
    case 4:
      return {step::Tokens{random_ids(pick, m, m.q, 0, 3, random),
                           random_ids(pick, m, m.k, 0, 3, random), false,
                           static_cast<step::Tokens::Join>(pick(0, 2)),
                           static_cast<step::Tokens::Zero>(pick(0, 3))}};
    case 5:
      return {step::Not{}};
    case 6: {
      step::Slice slice;
      if (pick(0, 2) == 0) slice.b = random_range(pick, m.b);
      if (pick(0, 2) == 0) slice.h = random_range(pick, m.h);
      if (pick(0, 1) == 0) slice.q = random_range(pick, m.q);
      if (pick(0, 1) == 0) slice.k = random_range(pick, m.k);
      return {slice};
    }
    case 7: {
      step::KvLengths lengths{random_per_batch(pick, m, 0, m.k, random), {}, {}, {}};
      if (pick(0, 1) == 0) lengths.q_len = pick(1, m.q);
      if (pick(0, 1) == 0) lengths.window = pick(1, m.k);
      if (pick(0, 1) == 0) lengths.end = random_per_batch(pick, m, 0, m.q, random);
      return {lengths};
    }
    default: {
      step::Scoped scoped;
      scoped.axis = static_cast<step::Scoped::Axis>(pick(0, 1));
      const Index extent = scoped.axis == step::Scoped::Axis::kHeads ? m.h : m.b;
      scoped.members = {random_range(pick, extent)};
      if (pick(0, 2) == 0) scoped.members.push_back(random_range(pick, extent));
      Dense part(1, 1, m.q, m.k);
      for (Index n = pick(1, 3); n > 0; --n)
        scoped.chain.push_back(random_step(pick, part, depth - 1));
      return {scoped};
    }
  }
}

Step random_step(const Pick& pick, const Dense& m, int depth) {
  std::mt19937 random(static_cast<unsigned>(pick(0, 1 << 20)));
  return pick(0, 2) == 0 ? random_other_step(pick, m, depth, random)
                         : random_keep_step(pick, m, random);
}

// A chain that grows while the twin takes its steps; "" or what differs at its end.
std::string check_chain(const Pick& pick, Index largest, Index& refused) {
  const Index b = pick(1, 3), h = pick(1, 3), q = pick(1, largest),
              k = pick(0, 1) == 0 ? q : pick(1, largest);
  Dense dense(b, h, q, k);
  const Mask start = Mask::make(b, h, q, k, [&](Index ib, Index ih) {
    const Pair leaf = make_leaf(static_cast<Leaf>(pick(0, kLeaves - 1)), pick, q, k);
    for (Index i = 0; i < q; ++i) {
      for (Index j = 0; j < k; ++j) dense.set(ib, ih, i, j, leaf.dense.get(i, j));
    }
    return leaf.plane;
  });
  Chain chain;
  for (Index n = pick(1, 6); n > 0 && dense.q > 0 && dense.k > 0; --n) {
    const Step step = random_step(pick, dense, 1);
    try {
      dense = run_step(dense, step);
      chain.push_back(step);
    } catch (const Refused&) {
      ++refused;
      bool thrown = false;
      try {
        maskctl::apply(maskctl::apply(start, std::span<const Step>(chain)), step);
      } catch (const Error&) {
        thrown = true;
      }
      if (!thrown) return "step " + std::to_string(step.rule.index()) + " not refused";
    }
  }
  std::string rules;
  for (const Step& step : chain) rules += " " + std::to_string(step.rule.index());
  const Mask got = maskctl::apply(start, std::span<const Step>(chain));
  if (got.batch() != dense.b || got.heads() != dense.h)
    return "shape " + shape_text(got) + " after rules" + rules;
  std::mt19937 random(static_cast<unsigned>(pick(0, 1000)));
  for (Index ib = 0; ib < dense.b; ++ib) {
    for (Index ih = 0; ih < dense.h; ++ih) {
      const std::string error = check_plane(got.plane(ib, ih), plane_of(dense, ib, ih), random, 3);
      if (!error.empty()) return error + " after rules" + rules;
    }
  }
  if (got.count() != std::count(dense.cells.begin(), dense.cells.end(), 1))
    return "count after rules" + rules;
  return "";
}

TEST_CASE("chains of steps on small masks hold under every primitive") {
  std::mt19937 random(9);
  const Pick pick = pick_from(random);
  std::string error;
  Index refused = 0;
  int i = 0;
  for (; i < 3000 && error.empty(); ++i) error = check_chain(pick, i % 10 == 0 ? 40 : 10, refused);
  INFO("chain " << i - 1);
  REQUIRE(error == "");
  REQUIRE(refused > 0);  // documents of a mask that is not square
}

TEST_CASE("chains of steps to 300 keys hold under every primitive") {
  const bool passed = rc::check("chains of steps", [] {
    const Pick pick = [](Index low, Index high) { return *rc::gen::inRange<Index>(low, high + 1); };
    Index refused = 0;
    const std::string error = check_chain(pick, *rc::gen::element<Index>(8, 70, 300), refused);
    if (!error.empty()) RC_FAIL(error);
  });
  REQUIRE(passed);
}

}  // namespace
}  // namespace maskctl::twin
