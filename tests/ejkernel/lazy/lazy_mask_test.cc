// Tests ejkernel's lazy masks: their rules, operators, indexing and equality.
#include "maskctl/ejkernel/lazy/lazy_mask.h"

#include <functional>
#include <random>

#include "maskctl/ejkernel/mask_info/python_error.h"
#include "support/catch_compat.h"
#include "support/twin.h"

using namespace maskctl;
using namespace maskctl::lazy;
using twin::Dense;

namespace {

using Rule = std::function<bool(Index q, Index k)>;

Dense dense_of(const Tensor& matrix) {
  Dense out(1, 1, matrix.extent(0), matrix.extent(1));
  std::copy(matrix.as<std::uint8_t>().begin(), matrix.as<std::uint8_t>().end(), out.cells.begin());
  return out;
}

Tensor dense_tensor(const Dense& dense) {
  Tensor out(DType::kBool, {dense.q, dense.k});
  std::copy(dense.cells.begin(), dense.cells.end(), out.as<std::uint8_t>().begin());
  return out;
}

Tensor at(const MaskPtr& mask, const std::vector<Subscript>& index) { return mask->at(index); }

/// Compares the whole matrix, random blocks of it, and its conversion to a Mask with the rule.
void check_matrix(const MaskPtr& mask, Index queries, Index keys, const Rule& rule,
                  std::mt19937& random) {
  REQUIRE(mask->shape() == std::vector<Index>{queries, keys});
  const Dense want = twin::matrix(queries, keys, rule);
  REQUIRE(dense_of(at(mask, {Slice{}, Slice{}})) == want);
  REQUIRE(twin::dense_of(mask->mask()) == want);
  REQUIRE(mask->mask().heads() == 1);
  for (int i = 0; i < 4; ++i) {
    const auto range = [&](Index extent) {
      const Index begin = static_cast<Index>(random() % static_cast<std::uint64_t>(extent + 1));
      return Range{begin, begin + static_cast<Index>(
                                      random() % static_cast<std::uint64_t>(extent + 1 - begin))};
    };
    const Range q = range(queries), k = range(keys);
    const Tensor block = at(mask, {Slice{q.begin, q.end, {}}, Slice{k.begin, k.end, 1}});
    REQUIRE(dense_of(block) == twin::sliced(want, q, k));
  }
}

std::string raised_type(const std::function<void()>& f) {
  try {
    f();
  } catch (const PythonError& e) {
    return std::string(name(e.type())) + ": " + e.what();
  } catch (const Error& e) {
    return "Error";
  }
  return "nothing";
}

}  // namespace

TEST_CASE("computed masks equal their formulas", "[lazy_mask]") {
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    const Index q = static_cast<Index>(random() % 20), k = static_cast<Index>(random() % 20);
    const Index offset = static_cast<Index>(random() % 41) - 20;
    const Index chunk = 1 + static_cast<Index>(random() % 12);
    const auto side = [&]() -> std::optional<Index> {
      if (random() % 4 == 0) return std::nullopt;
      return static_cast<Index>(random() % 24) - 3;
    };
    const auto left = side(), right = side();
    check_matrix(
        causal_mask({q, k}, offset), q, k, [&](Index i, Index j) { return i + offset >= j; },
        random);
    check_matrix(
        local_mask({q, k}, {left, right}, offset), q, k,
        [&](Index i, Index j) {
          return (!left || i + offset - *left <= j) && (!right || j <= i + offset + *right);
        },
        random);
    check_matrix(
        chunked_causal_mask({q, k}, chunk), q, k,
        [&](Index i, Index j) { return i / chunk == j / chunk && i >= j; }, random);
    check_matrix(
        full_mask({q, k}), q, k, [](Index, Index) { return true; }, random);
    const Dense cells = twin::matrix(q, k, [&](Index, Index) { return random() % 2 == 0; });
    const Rule stored = [&](Index i, Index j) { return cells.get(i, j); };
    check_matrix(numpy_mask(dense_tensor(cells)), q, k, stored, random);
    const MaskPtr causal = causal_mask({q, k}, offset), array = numpy_mask(dense_tensor(cells));
    check_matrix(
        causal & array, q, k, [&](Index i, Index j) { return i + offset >= j && stored(i, j); },
        random);
    check_matrix(
        logical_or(array, causal), q, k,
        [&](Index i, Index j) { return i + offset >= j || stored(i, j); }, random);
    REQUIRE(dense_of(make_causal_mask(q, k, offset)) == twin::dense_of(causal->mask()));
    REQUIRE(dense_of(make_local_attention_mask(q, k, {left, right}, offset)) ==
            twin::dense_of(local_mask({q, k}, {left, right}, offset)->mask()));
    REQUIRE(dense_of(make_chunk_attention_mask(q, k, chunk)) ==
            twin::dense_of(chunked_causal_mask({q, k}, chunk)->mask()));
  }
}

TEST_CASE("offsets beyond all extents neither overflow nor fail", "[lazy_mask]") {
  std::mt19937 random(6);
  constexpr Index kFar = std::numeric_limits<Index>::max();
  for (const Index offset : {kFar, -kFar, Index{1} << 31, -(Index{1} << 31)}) {
    check_matrix(
        causal_mask({5, 7}, offset), 5, 7, [&](Index, Index) { return offset > 0; }, random);
    check_matrix(
        local_mask({5, 7}, {std::nullopt, 3}, offset), 5, 7,
        [&](Index, Index) { return offset > 0; }, random);
    check_matrix(
        local_mask({5, 7}, {kFar, kFar}, 0), 5, 7, [](Index, Index) { return true; }, random);
  }
}

TEST_CASE("a mask of a million tokens stays lazy", "[lazy_mask]") {
  constexpr Index kLarge = Index{1} << 20;
  const MaskPtr mask = causal_mask({kLarge, kLarge}) & local_mask({kLarge, kLarge}, {4095, 0}, 0);
  REQUIRE(mask->mask().count() == 4096 * kLarge - 4096 * 4095 / 2);
  const Tensor block = at(mask, {Slice{kLarge - 2, {}, {}}, Slice{kLarge - 3, {}, {}}});
  REQUIRE(dense_of(block) == twin::matrix(2, 3, [](Index q, Index k) { return k <= q + 1; }));
}

TEST_CASE("masks without a dense array can only be indexed by two forward slices inside the mask",
          "[lazy_mask]") {
  const std::string unsupported = "NotImplementedError: Unsupported slice: ";
  for (const MaskPtr& mask : {causal_mask({6, 5}), full_mask({6, 5}), local_mask({6, 5}, {1, 1}, 0),
                              chunked_causal_mask({6, 5}, 2)}) {
    const auto text = [&](const std::vector<Subscript>& index) {
      return raised_type([&] { mask->at(index); });
    };
    Tensor rows(DType::kInt32, {2});
    rows.as<std::int32_t>()[1] = 12;
    REQUIRE(text({Index{0}, Slice{}}) == unsupported + "(0, slice(None, None, None))");
    REQUIRE(text({Slice{1, -2, 3}}) == unsupported + "(slice(1, -2, 3),)");
    REQUIRE(text({}) == unsupported + "()");
    REQUIRE(text({Slice{}, rows}) ==
            unsupported + "(slice(None, None, None), array([ 0, 12], dtype=int32))");
    REQUIRE(text({Slice{{}, {}, 2}, Slice{}}) == "AssertionError: ");
    REQUIRE(text({Slice{-1, {}, {}}, Slice{}}) == "AssertionError: ");
    REQUIRE(text({Slice{}, Slice{{}, 6, {}}}) == "AssertionError: ");
    REQUIRE(at(mask, {Slice{2, 2, {}}, Slice{}}).shape() == std::vector<Index>{0, 5});
  }
  // If a stop is before the start, a mask with a rule gives an empty array, a full mask an invalid
  // shape.
  REQUIRE(at(causal_mask({6, 5}), {Slice{4, 2, {}}, Slice{3, 1, {}}}).shape() ==
          std::vector<Index>{0, 0});
  REQUIRE(raised_type([] {
            at(full_mask({6, 5}), {Slice{4, 2, {}}, Slice{}});
          }).starts_with("ValueError"));
  // A negative stop counts from the end for queries; for keys it is a plain bound with no key below
  // it.
  REQUIRE(at(causal_mask({6, 5}), {Slice{{}, -1, {}}, Slice{}}).shape() ==
          std::vector<Index>{5, 5});
  REQUIRE(at(causal_mask({6, 5}), {Slice{}, Slice{{}, -1, {}}}).shape() ==
          std::vector<Index>{6, 0});
}

TEST_CASE("a multi-head mask is indexed by heads as a Python list is", "[lazy_mask]") {
  const MaskPtr heads =
      multi_head_mask({causal_mask({4, 4}), full_mask({4, 4}), causal_mask({4, 4}, 1)});
  REQUIRE(heads->shape() == std::vector<Index>{3, 4, 4});
  const auto text = [&](const std::vector<Subscript>& index) {
    return raised_type([&] { heads->at(index); });
  };
  REQUIRE(at(heads, {Index{2}, Slice{}, Slice{}}).shape() == std::vector<Index>{4, 4});
  const Tensor last = at(heads, {Slice{{}, {}, -2}, Slice{0, 1, {}}, Slice{}});
  REQUIRE(last.shape() == std::vector<Index>{2, 1, 4});
  const std::vector<std::uint8_t> want = {1, 1, 0, 0, 1, 0, 0, 0};
  REQUIRE(std::equal(want.begin(), want.end(), last.as<std::uint8_t>().begin()));
  REQUIRE(text({Index{3}, Slice{}, Slice{}}) == "IndexError: list index out of range");
  REQUIRE(text({Index{4}, Slice{}, Slice{}}) == "AssertionError: ");
  REQUIRE(text({Index{-1}, Slice{}, Slice{}}) == "AssertionError: ");
  REQUIRE(text({Slice{3, {}, {}}, Slice{}, Slice{}}).starts_with("ValueError"));
  REQUIRE(text({Slice{}, Slice{}}) ==
          "NotImplementedError: Unsupported slice: (slice(None, None, None), slice(None, None, "
          "None))");
  REQUIRE(text({Index{0}, Index{0}, Slice{}}) ==
          "NotImplementedError: Unsupported slice: (0, slice(None, None, None))");
  const Mask mask = heads->mask();
  REQUIRE(mask.heads() == 3);
  REQUIRE(twin::dense_of(*mask.plane(0, 2)) ==
          twin::matrix(4, 4, [](Index q, Index k) { return k <= q + 1; }));
  REQUIRE(multi_head_mask({causal_mask({4, 4}), causal_mask({4, 4})})->mask().distinct().size() ==
          1);
  REQUIRE(heads_of(heads).size() == 3);
  REQUIRE(heads_of(full_mask({4, 4})).size() == 1);
  const MaskPtr both =
      heads & multi_head_mask({full_mask({4, 4}), causal_mask({4, 4}), full_mask({4, 4})});
  REQUIRE(heads_of(both).size() == 3);
  REQUIRE(heads_of(both)[1]->equals(*logical_and(full_mask({4, 4}), causal_mask({4, 4}))));
  REQUIRE(twin::dense_of(*both->mask().plane(0, 1)) ==
          twin::matrix(4, 4, [](Index q, Index k) { return k <= q; }));
}

TEST_CASE("masks are equal when class, shape and parameters are", "[lazy_mask]") {
  Tensor cells(DType::kBool, {4, 4}), other = cells, truthy = cells;
  other.as<std::uint8_t>()[5] = 1;
  truthy.as<std::uint8_t>()[5] = 7;
  const std::vector<MaskPtr> masks = {causal_mask({4, 4}),
                                      causal_mask({4, 4}, 1),
                                      causal_mask({4, 8}),
                                      local_mask({4, 4}, {std::nullopt, 0}, 0),
                                      local_mask({4, 4}, {0, std::nullopt}, 0),
                                      local_mask({4, 4}, {std::nullopt, 0}, 2),
                                      chunked_causal_mask({4, 4}, 4),
                                      chunked_causal_mask({4, 4}, 5),
                                      full_mask({4, 4}),
                                      full_mask({8, 4}),
                                      numpy_mask(cells),
                                      numpy_mask(other),
                                      logical_and(causal_mask({4, 4}), full_mask({4, 4})),
                                      logical_and(full_mask({4, 4}), causal_mask({4, 4})),
                                      logical_or(causal_mask({4, 4}), full_mask({4, 4})),
                                      multi_head_mask({full_mask({4, 4})}),
                                      multi_head_mask({full_mask({4, 4}), full_mask({4, 4})}),
                                      multi_head_mask({numpy_mask(cells)})};
  for (std::size_t i = 0; i < masks.size(); ++i) {
    for (std::size_t j = 0; j < masks.size(); ++j) {
      REQUIRE(masks[i]->equals(*masks[j]) == (i == j));
      REQUIRE((masks[i]->hash() == masks[j]->hash()) == (i == j));
    }
  }
  const auto same = [](const MaskPtr& a, const MaskPtr& b) {
    return a->equals(*b) && a->hash() == b->hash();
  };
  REQUIRE(same(causal_mask({4, 4}), causal_mask({4, 4}, 0, 2)));  // shard counts do not matter
  REQUIRE(same(causal_mask({4, 4}) & full_mask({4, 4}), masks[12]));
  REQUIRE(same(numpy_mask(other), numpy_mask(truthy)));
  REQUIRE(causal_mask({4, 4})->is_computable());
  REQUIRE(local_mask({4, 4}, {1, 1}, 0)->is_computable());
  REQUIRE(chunked_causal_mask({4, 4}, 2)->is_computable());
  REQUIRE_FALSE(full_mask({4, 4})->is_computable());
  REQUIRE_FALSE(masks[12]->is_computable());
}

TEST_CASE("errors about masks that cannot be built give the reason", "[lazy_mask]") {
  const auto bad = [](const std::function<MaskPtr()>& f) { return raised_type([&] { f(); }); };
  const MaskPtr small = full_mask({4, 4}), wide = full_mask({4, 5});
  REQUIRE(bad([&] { return small & wide; }) ==
          "ValueError: Invalid shape for other: (4, 5), expected: (4, 4)");
  REQUIRE(bad([&] { return wide | small; }) ==
          "ValueError: Invalid shape for other: (4, 4), expected: (4, 5)");
  REQUIRE(bad([&] { return logical_and(small, wide); }) ==
          "ValueError: Masks must have the same shape");
  REQUIRE(bad([&] { return logical_or(small, wide); }) ==
          "ValueError: Masks must have the same shape");
  REQUIRE(bad([&] { return multi_head_mask({}); }) ==
          "ValueError: Unsupported empty tuple of masks");
  REQUIRE(bad([&] {
            return multi_head_mask({small, wide});
          }) == "ValueError: Unexpected mask shape, got: (4, 5), expected: (4, 4)");
  REQUIRE(bad([&] { return multi_head_mask({multi_head_mask({small})}); }) ==
          "ValueError: Nesting MultiHeadMasks is not supported");
  REQUIRE(bad([&] {
            return causal_mask({9, 4}, 0, 2);
          }) == "ValueError: Shard count squared (4) must divide Q seq_len (9) evenly.");
  REQUIRE(bad([&] {
            return chunked_causal_mask({4, 4}, 0);
          }) == "ValueError: chunk_size must be positive");
  REQUIRE(bad([&] {
            return numpy_mask(Tensor(DType::kInt32, {2, 2}));
          }) == "ValueError: Mask must be a boolean array");
  REQUIRE(bad([&] { return numpy_mask(Tensor(DType::kInt32, {2})); }) ==
          "ValueError: Expected a 2-dim array");
  REQUIRE(bad([&] { return causal_mask({4, 4}, 0, 0); }) == "Error");
  REQUIRE(bad([&] { return full_mask({4}); }) == "Error");
  REQUIRE(bad([&] { return causal_mask({4, -1}); }) == "Error");
  REQUIRE(raised_type([&] { make_chunk_attention_mask(2, 2, -1); }) ==
          "ValueError: chunk_size must be positive");
  REQUIRE(raised_type([&] { make_random_mask(2, 2, 0.5, -1); }).starts_with("ValueError"));
  REQUIRE(raised_type([&] { make_random_mask(2, 2, 1.5, 1); }).starts_with("ValueError"));
  REQUIRE(raised_type([&] { make_causal_mask(-2, 2); }) == "Error");
  REQUIRE(raised_type([&] { small->to_bool(); }) ==
          "NotImplementedError: Conversion to bool is unsupported. Could be caused by using "
          "logical instead of bitwise operations on masks.");
}

TEST_CASE("a mask prints its class and its parameters", "[lazy_mask]") {
  const MaskPtr causal = causal_mask({4, 6}, -2), local = local_mask({4, 6}, {3, std::nullopt}, 1);
  CHECK(std::get<attributes::CausalMask>(causal->attributes()).offset == -2);
  const auto window = std::get<attributes::LocalMask>(local->attributes());
  CHECK(window.window_size.first == 3);
  CHECK(!window.window_size.second);
  CHECK(window.offset == 1);
  const MaskPtr chunked = chunked_causal_mask({4, 6}, 3);
  CHECK(std::get<attributes::ChunkedCausalMask>(chunked->attributes()).chunk_size == 3);
  CHECK(std::holds_alternative<attributes::FullMask>(full_mask({4, 6})->attributes()));
  const Tensor array = make_causal_mask(4, 6, 1);
  const auto numpy = std::get<attributes::NumpyMask>(numpy_mask(array)->attributes());
  CHECK(dense_of(numpy.array) == dense_of(array));
  const auto both = std::get<attributes::LogicalAnd>((causal & local)->attributes());
  CHECK(both.left == causal);
  CHECK(both.right == local);
  CHECK(std::get<attributes::LogicalOr>((local | causal)->attributes()).right == causal);
  const auto heads =
      std::get<attributes::MultiHeadMask>(multi_head_mask({local, chunked})->attributes());
  CHECK(heads.masks == std::vector<MaskPtr>{local, chunked});
}
