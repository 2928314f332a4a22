// Chains of random steps on masks of every kind of plane, and steps that do not fit a mask, against
// the dense twin.
#include <rapidcheck.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/steps/block.h"
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
#include "maskctl/mask/steps/random.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"
#include "support/rounds.h"
#include "support/step_judge.h"

namespace maskctl::twin {
namespace {

// Rules are the types whose headers declare row().
static_assert(step::Rule<step::Slice> && step::Rule<step::Scoped>);
static_assert(!step::Rule<Step> && !step::Rule<NamedArray> && !step::Rule<int>);

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
      return {step::DocumentLengths{lengths}};  // document lengths are refused where Q != K
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

// Applies a random chain of steps to a random mask and its twin. Returns what differs at the end,
// or ""; counts steps that both must refuse.
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
      if (!thrown) return "step " + std::to_string(rule_index(step)) + " not refused";
    }
  }
  std::string rules;
  for (const Step& step : chain) rules += " " + std::to_string(rule_index(step));
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

TEST_CASE("chains of steps on small masks equal the twin under every operation") {
  std::mt19937 random(9);
  const Pick pick = pick_from(random);
  std::string error;
  Index refused = 0;
  int i = 0;
  for (; i < test::rounds(3000) && error.empty(); ++i)
    error = check_chain(pick, i % 10 == 0 ? 40 : 10, refused);
  INFO("chain " << i - 1);
  REQUIRE(error == "");
  REQUIRE(refused > 0);  // such as document lengths where Q != K
}

TEST_CASE("chains of steps on masks of several stored parts equal the twin") {
  std::mt19937 random(10);
  const Pick pick = pick_from(random);
  set_threads(3);  // from 128 rows on, threads decide how many parts are stored
  std::string error;
  Index refused = 0;
  int i = 0;
  for (; i < test::rounds(60) && error.empty(); ++i) error = check_chain(pick, 300, refused);
  set_threads(0);
  INFO("chain " << i - 1);
  REQUIRE(error == "");
}

TEST_CASE("chains of steps to 300 keys equal the twin under every operation") {
  const bool passed = rc::check("chains of steps", [] {
    const Pick pick = [](Index low, Index high) {
      return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Index>(low, high + 1));
    };
    Index refused = 0;
    const std::string error = check_chain(pick, *rc::gen::element<Index>(8, 70, 300), refused);
    if (!error.empty()) RC_FAIL(error);
  });
  REQUIRE(passed);
}
// --- Steps that do not fit their mask ---

struct Misfit {
  const char* what;
  Step step;
};

std::vector<Misfit> misfits() {
  using namespace step;
  const Mask other(full_plane(4, 3));
  const Step cut{Slice{{}, {}, Range{0, 2}, {}}};
  const Step more_batches{
      Combine{Op::kOr, Mask::make(2, 1, 3, 4, [](Index, Index) { return full_plane(3, 4); }), ""}};
  const auto scoped = [](Scoped::Axis axis, std::vector<Range> members, Chain chain) {
    return Step{Scoped{axis, std::move(members), std::move(chain)}};
  };
  return {
      {"causal without align", {Causal{}}},
      {"causal with too many offsets", {Causal{Align::kTopLeft, ints({0, 1, 2, 3})}}},
      {"causal with offsets of a wrong shape",
       {Causal{Align::kTopLeft, ints({3, 2}, {0, 1, 2, 3, 4, 5})}}},
      {"window without align", {Window{1, 1}}},
      {"unbounded window without align", {Window{}}},
      {"window with a negative left side", {Window{-1, 1, Align::kTopLeft}}},
      {"window with a negative right side", {Window{1, -1, Align::kTopLeft}}},
      {"chunk of nothing", {Chunk{0, 0}}},
      {"chunk of negative size", {Chunk{-1, 0}}},
      {"dilated by nothing", {Dilated{0}}},
      {"dilated backwards", {Dilated{-2}}},
      {"negative prefix", {Prefix{-1}}},
      {"negative sinks", {Sinks{-1}}},
      {"ids of queries too short", {Document{ints({0, 0}), ints({0, 0, 0, 0})}}},
      {"ids of keys too long", {Document{ints({0, 0, 0}), ints({0, 0, 0, 0, 0})}}},
      {"one array for two lengths", {Document{ints({0, 0, 0}), {}, true}}},
      {"ids of another batch", {Document{ints({2, 3}, {0, 0, 0, 0, 0, 0}), ints({0, 0, 0, 0})}}},
      {"ids of rank 3", {Document{ints({1, 1, 3}, {0, 0, 0}), ints({0, 0, 0, 0})}}},
      {"types of another batch",
       {Tokens{ints({2, 3}, {0, 0, 0, 0, 0, 0}), ints({0, 0, 0, 0}), false}}},
      {"types too short", {Tokens{ints({0, 0}), ints({0, 0, 0, 0}), false}}},
      {"lengths of documents on a mask that is not square", {DocumentLengths{{1, 2}}}},
      {"flags too short", {Pad{ints({1, 3}, {1, 1, 1})}}},
      {"flags of another batch", {Pad{ints({2, 4}, {1, 1, 1, 1, 1, 1, 1, 1})}}},
      {"length past the keys", {Pad{ints({5}), true}}},
      {"negative length", {Pad{ints({-1}), true}}},
      {"padding of both sides of a mask that is not square", {Pad{ints({1}), true, false, true}}},
      {"key lengths past the keys", {KvLengths{ints({5}), {}, {}, {}}}},
      {"key lengths of another batch", {KvLengths{ints({1, 1}), {}, {}, {}}}},
      {"more queries than there are", {KvLengths{ints({4}), 4, {}, {}}}},
      {"a negative number of queries", {KvLengths{ints({4}), -1, {}, {}}}},
      {"a negative window of keys", {KvLengths{ints({4}), {}, -1, {}}}},
      {"ends of another batch", {KvLengths{ints({4}), 1, {}, ints({1, 2})}}},
      {"block map of rank 1", {Block{ints({1, 1, 1, 1}), 1, 1}}},
      {"block map of rank 5", {Block{ints({1, 1, 1, 1, 1}, {1}), 4, 4}}},
      {"blocks of no size", {Block{ints({3, 4}, std::vector<Index>(12, 1)), 0, 1}}},
      {"too few rows of blocks", {Block{ints({2, 4}, std::vector<Index>(8, 1)), 1, 1}}},
      {"too many columns of blocks", {Block{ints({3, 5}, std::vector<Index>(15, 1)), 1, 1}}},
      {"sparsity above one", {Random{1.5, 0}}},
      {"negative sparsity", {Random{-0.5, 0}}},
      {"global tokens past the mask", {Global{{{3, 5}}}}},
      {"negative global tokens", {Global{{{-1, 1}}}}},
      {"another mask of other extents", {Combine{Op::kAnd, other, ""}}},
      {"slice past the queries", {Slice{{}, {}, Range{0, 4}, {}}}},
      {"slice before the keys", {Slice{{}, {}, {}, Range{-1, 2}}}},
      {"slice that ends before it begins", {Slice{{}, {}, Range{2, 1}, {}}}},
      {"slice past the batches", {Slice{Range{0, 4}, {}, {}, {}}}},
      {"slice past the heads", {Slice{{}, Range{2, 3}, {}, {}}}},
      {"heads past the last", scoped(Scoped::Axis::kHeads, {{0, 3}}, {{Not{}}})},
      {"a negative head", scoped(Scoped::Axis::kHeads, {{-1, 1}}, {{Not{}}})},
      {"batches past the last", scoped(Scoped::Axis::kBatch, {{0, 1}, {3, 4}}, {{Not{}}})},
      {"a chain for some heads that cuts queries", scoped(Scoped::Axis::kHeads, {{0, 1}}, {cut})},
      {"a chain for some batches that cuts queries",
       scoped(Scoped::Axis::kBatch, {{0, 1}}, {{Not{}}, cut})},
      {"a chain for one batch that makes two",
       scoped(Scoped::Axis::kBatch, {{0, 1}}, {more_batches})},
      {"a step for some heads that does not fit",
       scoped(Scoped::Axis::kHeads, {{0, 1}}, {{Prefix{-1}}})},
  };
}

TEST_CASE("the error about a step that does not fit is one line that names the step") {
  const Mask mask = Mask::make(3, 2, 3, 4, [](Index, Index) { return full_plane(3, 4); });
  const Dense dense(3, 2, 3, 4, true);
  for (const Misfit& misfit : misfits()) {
    INFO(misfit.what);
    CHECK_THROWS_AS(run_step(dense, misfit.step), Refused);
    try {
      maskctl::apply(mask, misfit.step);
      FAIL_CHECK("not refused");
    } catch (const Error& error) {
      const std::string message = error.what();
      INFO(message);
      CHECK((error.code() == Errc::kInvalidArgument || error.code() == Errc::kShape));
      CHECK(!message.empty());
      CHECK(message.find('\n') == std::string::npos);
      CHECK(message.back() != '.');
    }
  }
}

TEST_CASE("steps at the limit of what fits are applied") {
  using namespace step;
  Judge judge(Dense(3, 2, 3, 4, true));
  judge(Causal{Align::kTopLeft, ints({0, 1, -1})}, "offsets of three batches");
  judge(Causal{Align::kBottomRight, ints({1}, {2})}, "one offset");
  judge(Prefix{99}, "prefix past the keys");
  judge(
      Window{std::numeric_limits<Index>::max(), std::numeric_limits<Index>::max(), Align::kTopLeft},
      "vast window");
  judge(Chunk{Index{1} << 50, -1}, "vast chunk");
  judge(Dilated{Index{1} << 50}, "vast stride");
  judge(Global{{{3, 4}}}, "a token that only the keys have");
  judge(Slice{{}, {}, Range{1, 1}, {}}, "slice of nothing");
  judge(KvLengths{ints({0, 2, 4}), 3, 9, ints({-7})}, "ends before the mask");
  judge(Pad{ints({0, 2, 4}), true}, "lengths 0 to all");
  judge(Scoped{Scoped::Axis::kHeads, {{0, 2}}, {Not{}}}, "all heads");
  judge(Scoped{Scoped::Axis::kBatch, {{2, 3}, {0, 1}}, {Causal{Align::kTopLeft, ints({1, -1})}}},
        "offsets of the batches named, in the order named");
  judge(Scoped{Scoped::Axis::kHeads, {{1, 2}}, {Random{0.5, 3}}}, "random cells of one head");
  judge(Scoped{Scoped::Axis::kHeads, {}, {Not{}}}, "no heads");
  REQUIRE(judge.first() == "");
}

}  // namespace
}  // namespace maskctl::twin
