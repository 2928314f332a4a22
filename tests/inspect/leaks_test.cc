// Leaks between documents, against loops over every cell.
#include "maskctl/inspect/check/leaks.h"

#include <map>
#include <tuple>

#include "inspect/random_masks.h"
#include "maskctl/base/error.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using test::i32;

struct SlowLeaks {
  Index cross = 0, padding_queries = 0, padding_keys = 0;
  std::optional<Cell> first;
  std::map<std::tuple<Index, int, int>, Index> pairs;
};

SlowLeaks slow_leaks(const twin::Dense& mask, const Documents& documents) {
  SlowLeaks out;
  const Index batch = std::max({mask.b, documents.q.extent(0), documents.kv.extent(0)});
  const auto id = [](const Tensor& ids, Index b, Index i) {
    const Index row = ids.extent(0) == 1 ? 0 : b;
    return ids.as<std::int32_t>()[static_cast<std::size_t>(row * ids.extent(1) + i)];
  };
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < mask.h; ++h) {
      for (Index q = 0; q < mask.q; ++q) {
        for (Index k = 0; k < mask.k; ++k) {
          if (!mask.get(b, h, q, k)) continue;
          const int of_q = id(documents.q, b, q), of_k = id(documents.kv, b, k);
          if (of_q == documents.pad_id) {
            ++out.padding_queries;
          } else if (of_k == documents.pad_id) {
            ++out.padding_keys;
          } else if (of_q != of_k) {
            if (out.cross++ == 0) out.first = Cell{b, h, q, k};
            ++out.pairs[{b, of_q, of_k}];
          }
        }
      }
    }
  }
  return out;
}

void check_leaks(const Leaks& fast, const SlowLeaks& slow) {
  CHECK(fast.cross == slow.cross);
  CHECK(fast.padding_queries == slow.padding_queries);
  CHECK(fast.padding_keys == slow.padding_keys);
  CHECK(fast.first == slow.first);
  CHECK(fast.pairs_complete);
  CHECK(fast.pair_count == std::ssize(slow.pairs));
  CHECK(fast.pairs.size() == slow.pairs.size());
  for (const DocumentPair& pair : fast.pairs) {
    const auto found = slow.pairs.find({pair.batch, pair.q, pair.kv});
    REQUIRE(found != slow.pairs.end());
    CHECK(pair.count == found->second);
  }
}

TEST_CASE("leaks equal loops over every cell", "[leaks]") {
  std::mt19937 random(7);
  Index leaking = 0;
  for (int round = 0; round < 400; ++round) {
    INFO("round " << round);
    const Index queries = 1 + static_cast<Index>(random() % 40);
    const Index keys = random() % 2 ? queries : 1 + static_cast<Index>(random() % 80);
    const test::MaskPair pair = test::random_mask(random, queries, keys);
    const Index batch = random() % 2 ? pair.dense.b : 1;
    Documents documents;
    documents.q = test::random_ids(random, batch, queries);
    documents.kv =
        queries == keys ? documents.q : test::random_ids(random, random() % 2 ? batch : 1, keys);
    const SlowLeaks slow = slow_leaks(pair.dense, documents);
    check_leaks(leaks(pair.mask, documents), slow);
    leaking += slow.cross > 0;
  }
  CHECK(leaking > 100);
}

TEST_CASE("each pair of leaking documents names one of its cells; pairs are sorted by count",
          "[leaks]") {
  const Mask mask = test::made(6, 6, "causal");
  const Leaks found =
      leaks(mask, {i32({1, 6}, {0, 0, 0, 1, 2, 2}), i32({1, 6}, {0, 0, 0, 1, 2, 2})});
  REQUIRE(found.pairs.size() == 3);
  CHECK(found.pairs[0].q == 2);
  CHECK(found.pairs[0].kv == 0);
  CHECK(found.pairs[0].count == 6);
  CHECK(found.pairs[0].first == Cell{0, 0, 4, 0});
  CHECK(found.pairs[1].first == Cell{0, 0, 3, 0});
  CHECK(found.pairs[2].first == Cell{0, 0, 4, 3});
}

TEST_CASE("documents are made from segment ids, positions or cumulative lengths", "[leaks]") {
  const Mask mask = test::made(6, 6, "causal");
  const DocumentSource sources[] = {
      {DocumentForm::kSegments, i32({5, 5, 5, 9, 9, -1}), {}, -1, ""},
      {DocumentForm::kPositions, i32({0, 1, 2, 0, 1, -1}), {}, -1, ""},
      {DocumentForm::kCuSeqlens, i32({0, 3, 5}), {}, -1, ""},
  };
  for (const DocumentSource& source : sources) {
    INFO(name(source.form));
    const Leaks found = leaks(mask, documents_of(source, 6, 6));
    CHECK(found.cross == 6);
    CHECK(found.padding_queries == 6);
    CHECK(found.padding_keys == 0);
    CHECK(found.first == Cell{0, 0, 3, 0});
  }
}

TEST_CASE("documents that do not fit the mask are refused", "[leaks]") {
  const auto of = [](DocumentForm form, Tensor array) {
    return documents_of({form, std::move(array), {}, -1, ""}, 6, 6);
  };
  CHECK_THROWS_AS(of(DocumentForm::kSegments, i32({1, 1})), Error);
  CHECK_THROWS_AS(of(DocumentForm::kSegments, i32({1, 1, 6}, {1, 1, 1, 1, 1, 1})), Error);
  CHECK_THROWS_AS(of(DocumentForm::kCuSeqlens, i32({0, 7})), Error);
  CHECK_THROWS_AS(of(DocumentForm::kCuSeqlens, i32({1, 6})), Error);
  CHECK_THROWS_AS(of(DocumentForm::kCuSeqlens, i32({0, 4, 3})), Error);
  const Documents three{i32({3, 2}, {1, 1, 1, 1, 1, 1}), i32({3, 2}, {1, 1, 1, 1, 1, 1})};
  const PlanePtr plane = full_plane(2, 2);
  const Mask two = Mask::make(2, 1, 2, 2, [&](Index, Index) { return plane; });
  CHECK_THROWS_AS(leaks(two, three), Error);
}

TEST_CASE("totals of leaks are exact if there are too many documents to list pairs", "[leaks]") {
  std::mt19937 random(2);
  const Index n = 1100;  // about n runs of ids have n * n pairs, past the limit
  Documents documents{Tensor(DType::kInt32, {1, n}), {}};
  for (std::int32_t& id : documents.q.as<std::int32_t>()) {
    id = static_cast<std::int32_t>(random() % 5) - 1;
  }
  documents.kv = documents.q;
  for (int round = 0; round < 4; ++round) {
    INFO("round " << round);
    const test::MaskPair pair = test::random_mask(random, n, n);
    const SlowLeaks slow = slow_leaks(pair.dense, documents);
    const Leaks fast = leaks(pair.mask, documents);
    CHECK(fast.cross == slow.cross);
    CHECK(fast.padding_queries == slow.padding_queries);
    CHECK(fast.padding_keys == slow.padding_keys);
    CHECK(fast.first == slow.first);
  }
  Tensor alternating(DType::kInt32, {1, n});
  for (Index i = 0; i < n; ++i) {
    alternating.as<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i % 2);
  }
  const Leaks found = leaks(Mask(full_plane(n, n)), {alternating, alternating});
  CHECK_FALSE(found.pairs_complete);
  CHECK(found.cross == n * n / 2);
}

TEST_CASE("leaks of a million tokens in a thousand documents are counted without dense cells",
          "[leaks]") {
  const Index n = Index{1} << 20;
  const Mask mask = test::made(n, n, "causal");
  Tensor ids(DType::kInt32, {1, n});
  for (Index i = 0; i < n; ++i) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i / 1024);
  }
  const Leaks found = leaks(mask, {ids, ids});
  const Index documents = n / 1024;
  CHECK(found.cross == documents * (documents - 1) / 2 * 1024 * 1024);
  CHECK(found.pairs_complete);
  CHECK(found.pair_count == documents * (documents - 1) / 2);
  REQUIRE(std::ssize(found.pairs) == kMostLeakPairs);
  CHECK(found.pairs.back().count == 1024 * 1024);
}

}  // namespace
}  // namespace maskctl
