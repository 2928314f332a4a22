// Index lists per query (kind index-lists), against plain loops.
#include "maskctl/mask/arrays/index_lists.h"

#include <algorithm>
#include <set>

#include "io/mask_files.h"
#include "maskctl/base/checked.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/rounds.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

constexpr Index kListBytes = Index{1} << 30;

/// Lists as careless programs write them: -1 anywhere, keys twice and in any order.
Tensor random_lists(std::mt19937& random, std::vector<Index> shape, Index columns) {
  const auto pick = twin::pick_from(random);
  Tensor out(pick(0, 1) ? DType::kInt32 : DType::kInt64, std::move(shape));
  Int64s values;
  const Index style = pick(0, 3), width = out.extent(out.rank() - 1);
  for (Index i = 0; i < out.elements(); ++i) {
    const Index at = i % std::max<Index>(width, 1);
    const bool none = columns == 0 || (style == 0 ? at > width / 2 : pick(0, 3) == 0);
    values.push_back(none ? -1 : style == 1 ? std::min(at, columns - 1) : pick(0, columns - 1));
  }
  return int_tensor(out.shape(), values, out.dtype());
}

/// What plain loops see in lists: the open cells and the facts, in the order of ArrayFact.
struct Seen {
  Cells cells;
  std::array<FactSeen, 3> facts{FactSeen{ArrayFact::kListRepeats, 0, {}},
                                FactSeen{ArrayFact::kListGaps, 0, {}},
                                FactSeen{ArrayFact::kListOrder, 0, {}}};
};

Seen seen_in(const Tensor& lists, std::array<Index, 4> shape, BlockSize block) {
  const auto [batch, heads, queries, keys] = shape;
  const auto values = as_int64(lists, "lists");
  const Index width = lists.extent(lists.rank() - 1), rows = ceil_div(queries, block.q);
  Seen out{Cells(as_size(batch * heads * queries * keys)), {}};
  out.facts = Seen().facts;
  for (Index i = 0; i < batch * heads * rows; ++i) {
    const Cell place{i / rows / heads, i / rows % heads, i % rows * block.q, 0};
    std::array<Index, 3> shown{-1, -1, -1};
    std::set<Index> known;
    bool ended = false;
    Index last = -1;
    for (Index j = 0; j < width; ++j) {
      const Index entry = values[as_size(i * width + j)];
      if (entry < 0) {
        ended = true;
        continue;
      }
      if (!known.insert(entry).second && shown[0] < 0) shown[0] = entry;
      if (ended && shown[1] < 0) shown[1] = entry;
      if (entry < last && shown[2] < 0) shown[2] = entry;
      last = entry;
      for (Index q = place.query; q < std::min(place.query + block.q, queries); ++q)
        for (Index k = entry * block.k; k < std::min((entry + 1) * block.k, keys); ++k)
          out.cells[as_size((i / rows * queries + q) * keys + k)] = 1;
    }
    for (std::size_t f = 0; f < 3; ++f) {
      if (shown[f] < 0) continue;
      if (out.facts[f].count++ > 0) continue;
      out.facts[f].first = place;
      out.facts[f].first.key = shown[f] * block.k;
    }
  }
  return out;
}

std::string refused(const Tensor& lists, std::optional<Index> queries, Index keys,
                    BlockSize block = {1, 1}, Index max_bytes = kListBytes) {
  ArrayFacts facts;
  return error_of([&] { mask_from_index_lists(lists, queries, keys, block, max_bytes, facts); });
}

}  // namespace

TEST_CASE("index lists: 1000 careless arrays mean the cells and the facts that plain loops see") {
  std::mt19937 random(51);
  for (int round = 0; round < rounds(1000); ++round) {
    const auto pick = twin::pick_from(random);
    const BlockSize block{pick(0, 2) ? 1 : pick(1, 5), pick(0, 2) ? 1 : pick(1, 9)};
    const std::array<Index, 4> shape{pick(1, 2), pick(1, 3), pick(0, 40), pick(0, 90)};
    const Index rows = ceil_div(shape[2], block.q), columns = ceil_div(shape[3], block.k);
    const Tensor lists = random_lists(random, {shape[0], shape[1], rows, pick(0, 12)}, columns);
    CAPTURE(round, shape, block.q, block.k, name(lists.dtype()));
    const Seen expected = seen_in(lists, shape, block);
    ArrayFacts facts;
    const Mask mask = mask_from_index_lists(lists, shape[2], shape[3], block, kListBytes, facts);
    REQUIRE(cells_of(mask) == expected.cells);
    for (const FactSeen& fact : expected.facts) {
      const auto found = std::ranges::find(facts, fact.fact, &FactSeen::fact);
      REQUIRE((found != facts.end()) == (fact.count > 0));
      if (fact.count == 0) continue;
      REQUIRE(found->count == fact.count);
      REQUIRE(found->first == fact.first);
    }
  }
}

TEST_CASE("index lists: what is written lists each key once, ascending, then -1") {
  std::mt19937 random(52);
  for (int round = 0; round < rounds(200); ++round) {
    const auto pick = twin::pick_from(random);
    const std::vector<Index> shape{pick(1, 2), pick(1, 2), pick(1, 70), pick(1, 150)};
    const Mask mask = mask_from_dense(bool_tensor(
        shape, random_cells(*checked_product(shape), static_cast<unsigned>(round), 0.3)));
    const Tensor lists = index_lists_from_mask(mask, kListBytes);
    ArrayFacts facts;
    const Mask back = mask_from_index_lists(lists, {}, shape[3], {1, 1}, kListBytes, facts);
    CAPTURE(round, shape);
    REQUIRE(facts.empty());
    REQUIRE(differing_cells(mask, back) == 0);
  }
}

TEST_CASE("index lists: arrays that are no lists are refused in one line") {
  const Tensor lists = i32({2, 2}, {0, 1, 5, -1});
  CHECK(refused(lists, {}, 5) ==
        "batch 0, head 0, list 1: 5 is out of range; expected 0 to 4, or -1 for none");
  CHECK(contains(refused(i32({1, 2}, {0, -2}), {}, 5), "list 0: -2 is out of range"));
  CHECK(contains(refused(i32({4}, {0, 1, 2, 3}), {}, 4), "expected (Q, N), (B, Q, N) or"));
  CHECK(contains(refused(lists, 5, 9), "2 lists of 1 queries each do not make 5 queries"));
  CHECK(contains(refused(lists, {}, 9, {0, 1}), "blocks of 0x1"));
  CHECK(contains(refused(lists, {}, Index{1} << 40), "2147483647"));
  CHECK(contains(refused(Tensor(DType::kInt32, {Index{1} << 31, 0}), {}, 4), "empty rows"));
  CHECK(contains(refused(i32({1, 2}, {0, 7}), {}, 9, {Index{1} << 40, 1}), "so many"));
  const Tensor many(DType::kInt32, {4096, 64});
  CHECK(contains(refused(many, {}, 4096, {1, 1}, 4096), "take more than 4096 bytes"));
}

TEST_CASE("index lists: no shape means as many keys as queries, and is noted") {
  const Tensor lists = i32({2, 2}, {0, -1, 1, 0});
  const NamedView view{"lists", lists};
  const LoadedMask loaded = read_mask("lists", {&view, 1}, as(ArrayKind::kIndexLists));
  CHECK(loaded.mask.keys() == 2);
  CHECK(loaded.rank == 2);
  REQUIRE(loaded.notes.size() == 2);
  CHECK(loaded.notes[0] == "lists: as many keys as queries, for no shape was given");
  CHECK(loaded.notes[1] ==
        "lists: the keys of 1 list do not ascend, first at batch 0, head 0, query 1, key 0");
}
