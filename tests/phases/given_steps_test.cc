// Steps that are given as arrays, against a twin that looks at each key of each row.
#include "maskctl/phases/given_steps.h"

#include <fmt/format.h>

#include <map>
#include <random>
#include <set>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using Kind = PhaseFault::Kind;

Index drawn(std::mt19937_64& random, Index low, Index high) {
  return std::uniform_int_distribution<Index>(low, high)(random);
}

/// Steps as plain arrays: slots[s][l], queries[s][i], open[s][h][i][l].
struct PlainSteps {
  std::vector<std::vector<Index>> slots, queries;
  std::vector<std::vector<std::vector<std::vector<bool>>>> open;
};

GivenSteps arrays_of(const PlainSteps& plain, bool with_queries, bool with_open) {
  const Index steps = std::ssize(plain.slots), length = std::ssize(plain.slots[0]);
  const Index each = std::ssize(plain.queries[0]), heads = std::ssize(plain.open[0]);
  GivenSteps out;
  out.positions = Tensor(DType::kInt32, {steps, length});
  const auto positions = out.positions.as<std::int32_t>();
  out.queries = Tensor(DType::kInt32, {steps, each});
  const auto queries = out.queries->as<std::int32_t>();
  Tensor open(DType::kBool, {steps, heads, each, length});
  const auto cells = open.as<std::uint8_t>();
  std::size_t at = 0;
  for (std::size_t s = 0; s < plain.slots.size(); ++s) {
    for (std::size_t l = 0; l < plain.slots[s].size(); ++l) {
      positions[s * plain.slots[s].size() + l] = static_cast<std::int32_t>(plain.slots[s][l]);
    }
    for (std::size_t i = 0; i < plain.queries[s].size(); ++i) {
      queries[s * plain.queries[s].size() + i] = static_cast<std::int32_t>(plain.queries[s][i]);
    }
    for (const auto& head : plain.open[s]) {
      for (const auto& row : head) {
        for (const bool cell : row) cells[at++] = cell;
      }
    }
  }
  if (with_open) out.open = mask_from_dense(open);
  if (!with_queries) out.queries.reset();
  return out;
}

TEST_CASE("given steps are judged as a twin judges their keys", "[phases]") {
  std::mt19937_64 random(67);
  int held = 0, failed = 0;
  std::map<Kind, int> kinds;
  for (int i = 0; i < test::rounds(3000); ++i) {
    const Index n = drawn(random, 2, 8), steps = drawn(random, 1, 3), length = drawn(random, 1, 7);
    const Index each = drawn(random, 1, 2), heads = drawn(random, 1, 2);
    const bool with_open = drawn(random, 0, 2) > 0, with_queries = drawn(random, 0, 1) == 0;
    const Index window = drawn(random, 1, n);
    const auto wants = [&](Index q, Index k) { return k <= q && q - k < window; };
    PlainSteps plain;
    for (Index s = 0; s < steps; ++s) {
      auto& slots = plain.slots.emplace_back();
      for (Index l = 0; l < length; ++l) {
        slots.push_back(drawn(random, 0, 3) == 0 ? drawn(random, -1, n - 1) : l < n ? l : -1);
      }
      auto& queries = plain.queries.emplace_back();
      const Index newest = *std::max_element(slots.begin(), slots.end());
      for (Index q = 0; q < (with_queries ? each : 1); ++q) {
        queries.push_back(with_queries ? drawn(random, -1, n - 1) : newest);
      }
      auto& open = plain.open.emplace_back();
      for (Index h = 0; h < heads; ++h) {
        auto& head = open.emplace_back();
        for (const Index query : queries) {
          auto& row = head.emplace_back();
          for (const Index token : slots) {
            row.push_back(query >= 0 && token >= 0 && wants(query, token));
          }
          if (drawn(random, 0, 5) == 0) {
            const auto cell = as_size(drawn(random, 0, length - 1));
            row[cell] = !row[cell];
          }
        }
      }
    }
    const Mask declared(diagonal_band(n, n, 1 - window, 0));
    const PhasesVerdict got = judge_given(declared, arrays_of(plain, with_queries, with_open));
    const PhaseResult& result = got.phases.at(0);
    bool holds = true;
    for (std::size_t s = 0; s < plain.slots.size() && holds; ++s) {
      for (std::size_t h = 0; h < (with_open ? as_size(heads) : 1); ++h) {
        for (std::size_t q = 0; q < plain.queries[s].size(); ++q) {
          const Index query = plain.queries[s][q];
          if (query < 0) continue;
          std::multiset<Index> seen;
          for (std::size_t l = 0; l < plain.slots[s].size(); ++l) {
            const Index token = plain.slots[s][l];
            const bool open =
                with_open ? plain.open[s][h][q][l] : token >= 0 && wants(query, token);
            if (open) seen.insert(token);
          }
          std::multiset<Index> want;
          for (Index k = 0; k < n; ++k) {
            if (wants(query, k)) want.insert(k);
          }
          holds = holds && seen == want;
        }
      }
    }
    CAPTURE(i);
    REQUIRE(result.holds() == holds);
    (holds ? held : failed) += 1;
    if (holds) continue;
    const PhaseFault& fault = result.first.value();
    ++kinds[fault.kind];
    const auto s = as_size(fault.number), q = as_size(fault.row), h = as_size(fault.head);
    const auto& slots = plain.slots[s];
    CHECK(plain.queries[s][q] == fault.query);
    std::vector<Index> opened, held_by;
    for (std::size_t l = 0; l < slots.size(); ++l) {
      if (slots[l] != fault.key || fault.key < 0) continue;
      held_by.push_back(static_cast<Index>(l));
      const bool open = with_open ? plain.open[s][h][q][l] : wants(fault.query, slots[l]);
      if (open) opened.push_back(static_cast<Index>(l));
    }
    switch (fault.kind) {
      case Kind::kDropped:
        CHECK(held_by.empty());
        CHECK(wants(fault.query, fault.key));
        CHECK(fault.why == fmt::format("key {} is in no slot", fault.key));
        break;
      case Kind::kClosed:
        CHECK(opened.empty());
        CHECK(held_by.at(0) == fault.slot);
        CHECK(wants(fault.query, fault.key));
        CHECK(fault.why ==
              fmt::format("key {} is in slot {}, which is closed", fault.key, fault.slot));
        break;
      case Kind::kExtra:
        CHECK(opened.at(0) == fault.slot);
        CHECK_FALSE(wants(fault.query, fault.key));
        CHECK(fault.why == fmt::format("key {}, which the mask closes, is open in slot {}",
                                       fault.key, fault.slot));
        break;
      case Kind::kTwice:
        CHECK(fault.why == fmt::format("key {} is open in slots {} and {}", fault.key, opened.at(0),
                                       opened.at(1)));
        break;
      case Kind::kEmpty:
        CHECK(slots[as_size(fault.slot)] == -1);
        CHECK(plain.open[s][h][q][as_size(fault.slot)]);
        CHECK(fault.why == fmt::format("slot {} holds no token and is open", fault.slot));
        break;
    }
  }
  CHECK(held > 200);
  CHECK(failed > 200);
  CHECK(kinds.size() == 5);
}

TEST_CASE("given steps that do not fit are refused", "[phases]") {
  const Mask declared(diagonal_band(4, 4, -kUnbounded, 0));
  const auto positions = [](std::vector<Index> shape, std::int32_t value) {
    Tensor out(DType::kInt32, std::move(shape));
    for (std::int32_t& one : out.as<std::int32_t>()) one = value;
    return out;
  };
  CHECK_NOTHROW(judge_given(declared, {positions({2, 3}, 0), {}, {}}));
  CHECK_THROWS_AS(judge_given(declared, {positions({6}, 0), {}, {}}), Error);
  CHECK_THROWS_AS(judge_given(declared, {positions({2, 3}, 4), {}, {}}), Error);
  CHECK_THROWS_AS(judge_given(declared, {positions({2, 3}, -2), {}, {}}), Error);
  CHECK_THROWS_AS(judge_given(declared, {positions({2, 3}, 0), positions({3, 1}, 0), {}}), Error);
  CHECK_THROWS_AS(judge_given(declared, {positions({2, 3}, 0), {}, full_mask(2, 1, 1, 4)}), Error);
  CHECK_NOTHROW(judge_given(declared, {positions({2, 3}, 0), {}, full_mask(2, 1, 1, 3)}));
}

}  // namespace
}  // namespace maskctl
