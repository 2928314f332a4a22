// Compares grouped matrix products with float64 loops, values computed by hand and finite
// differences.
#include "maskctl/kernels/grouped_matmul/grouped_matmul.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "maskctl/base/threads.h"
#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/finite_differences.h"
#include "support/tensors.h"

namespace grouped_matmul_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

struct Problem {
  Tensor lhs, rhs, d_out;
  std::optional<Tensor> sizes, ids, offset, existing;
  GroupedMatmulOptions options;

  GroupedMatmulInputs inputs() const {
    const auto at = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
    return {&lhs, &rhs, at(sizes), at(ids), at(offset), at(existing)};
  }
  Tensor forward(Backend backend) const {
    GroupedMatmulOptions o = options;
    o.context.backend = backend;
    return grouped_matmul(inputs(), o);
  }
  GroupedMatmulGradients backward(Backend backend) const {
    GroupedMatmulOptions o = options;
    o.context.backend = backend;
    return grouped_matmul_backward(inputs(), d_out, o);
  }
};

Tensor sizes_of(RandomTensors& r, Index groups, Index rows) {
  const Tensor ends = r.cu_seqlens(groups, rows);
  Tensor sizes(DType::kInt32, {groups});
  for (std::size_t g = 0; g < as_size(groups); ++g) {
    sizes.as<std::int32_t>()[g] = ends.as<std::int32_t>()[g + 1] - ends.as<std::int32_t>()[g];
  }
  return sizes;
}

Tensor ids_of(RandomTensors& r, Index groups, Index rows) {
  Tensor ids(DType::kInt32, {rows});
  for (auto& id : ids.as<std::int32_t>()) id = static_cast<std::int32_t>(r.below(groups));
  return ids;
}

Problem problem(unsigned seed, DType dtype = DType::kFloat32) {
  RandomTensors r(seed);
  const Index all = 1 + r.below(6), rows = r.below(r.chance(0.2) ? 900 : 60);
  const Index inner = 1 + r.below(r.chance(0.2) ? 600 : 40);
  const Index columns = 1 + r.below(r.chance(0.2) ? 300 : 40);
  Problem p;
  Index held = all;
  if (r.chance(0.3)) {
    held = 1 + r.below(all);
    p.offset = i32({static_cast<std::int32_t>(r.below(all - held + 1))});
  }
  p.options.transpose_rhs = r.chance(0.5);
  p.lhs = r.normal({rows, inner}, dtype);
  p.rhs = p.options.transpose_rhs ? r.normal({held, columns, inner}, dtype)
                                  : r.normal({held, inner, columns}, dtype);
  p.d_out = r.normal({rows, columns}, dtype);
  if (r.chance(0.5)) {
    p.sizes = sizes_of(r, all, r.chance(0.5) ? rows : rows / 2);
  } else {
    p.ids = ids_of(r, all, rows);
  }
  if (r.chance(0.4)) p.existing = r.normal({rows, columns}, dtype);
  if (r.chance(0.5)) p.options.existing_out_mode = ExistingOutMode::kKeepUnprocessed;
  return p;
}

void compare_backends(const Problem& p, double tolerance) {
  const Tensor out = p.forward(Backend::kReference);
  const GroupedMatmulGradients expected = p.backward(Backend::kReference);
  for (const Backend backend : judged_backends()) {
    INFO(name(backend));
    check_close(p.forward(backend), out, tolerance, "out");
    const GroupedMatmulGradients seen = p.backward(backend);
    check_close(seen.lhs, expected.lhs, tolerance, "d_lhs");
    check_close(seen.rhs, expected.rhs, tolerance, "d_rhs");
    REQUIRE(seen.existing_out.has_value() == p.existing.has_value());
    if (p.existing) check_close(*seen.existing_out, *expected.existing_out, 0, "d_existing_out");
  }
}

/// A product with m = 4, k = 1, n = 2: row i of lhs is i + 1, and matrix g of rhs is (10^g, -10^g).
Problem small() {
  Problem p;
  p.lhs = f32({4, 1}, {1, 2, 3, 4});
  p.rhs = f32({3, 1, 2}, {1, -1, 10, -10, 100, -100});
  p.d_out = f32({4, 2}, {1, 0, 1, 0, 1, 0, 1, 0});
  return p;
}

void check_small(const Problem& p, const Tensor& out) {
  for (const Backend backend : usable_backends()) {
    check_close(p.forward(backend), out, 0, "out");
  }
}

}  // namespace

TEST_CASE("each group of rows is multiplied by its matrix") {
  Problem p = small();
  p.sizes = i32({2, 0, 1});
  check_small(p, f32({4, 2}, {1, -1, 2, -2, 300, -300, 0, 0}));
  for (const Backend backend : usable_backends()) {
    const GroupedMatmulGradients g = p.backward(backend);
    check_close(g.lhs, f32({4, 1}, {1, 1, 100, 0}), 0, "d_lhs");
    check_close(g.rhs, f32({3, 1, 2}, {3, 0, 0, 0, 3, 0}), 0, "d_rhs");
  }
}

TEST_CASE("group ids choose the matrix of each row, in any order") {
  Problem p = small();
  p.ids = i32({1, 0, 1, 2});
  check_small(p, f32({4, 2}, {10, -10, 2, -2, 30, -30, 400, -400}));
}

TEST_CASE("rhs may hold only some of the groups; the other rows of the result are 0") {
  Problem p = small();
  p.sizes = i32({1, 1, 1, 1});
  p.offset = i32({1});
  check_small(p, f32({4, 2}, {0, 0, 2, -2, 30, -30, 400, -400}));
  p.sizes.reset();
  p.ids = i32({3, 0, 7, 1});
  check_small(p, f32({4, 2}, {100, -100, 0, 0, 0, 0, 4, -4}));
}

TEST_CASE("an existing output is added to, or kept for rows without a group") {
  Problem p = small();
  p.sizes = i32({1, 1, 0});
  p.existing = f32({4, 2}, {5, 5, 5, 5, 5, 5, 5, 5});
  check_small(p, f32({4, 2}, {6, 4, 25, -15, 5, 5, 5, 5}));
  check_close(*p.backward(Backend::kCpu).existing_out, p.d_out, 0, "d_existing_out");
  p.options.existing_out_mode = ExistingOutMode::kKeepUnprocessed;
  check_small(p, f32({4, 2}, {1, -1, 20, -20, 5, 5, 5, 5}));
  check_close(*p.backward(Backend::kCpu).existing_out, f32({4, 2}, {0, 0, 0, 0, 1, 0, 1, 0}), 0,
              "d_existing_out");
}

TEST_CASE("the grouped product equals the float64 loops, forward and backward") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    INFO("seed " << seed);
    compare_backends(problem(seed), 1e-5);
  }
}

TEST_CASE("half precision groups differ from float64 loops only by rounding") {
  for (unsigned seed = 200; seed < 210; ++seed) {
    INFO("seed " << seed);
    compare_backends(problem(seed, DType::kFloat16), 1e-3);
    compare_backends(problem(seed, DType::kBFloat16), 8e-3);
  }
  Problem p = problem(3, DType::kBFloat16);
  p.existing.reset();
  p.options.preferred_element_type = DType::kFloat32;
  for (const Backend backend : usable_backends()) {
    CHECK(p.forward(backend).dtype() == DType::kFloat32);
  }
  compare_backends(p, 8e-3);
}

TEST_CASE("the gradients of the grouped product agree with finite differences") {
  for (unsigned seed = 300; seed < 320; ++seed) {
    INFO("seed " << seed);
    Problem p = problem(seed);
    const GroupedMatmulGradients g = p.backward(Backend::kReference);
    // The product is linear in each factor, so finite differences of any step give its gradient.
    const auto check = [&](Tensor& array, const Tensor& gradient, const char* what) {
      check_finite_differences(array, gradient,
                               [&] { return dot(p.forward(Backend::kReference), p.d_out); }, what,
                               {.step = 16, .epsilon = 0.001, .elements = 3});
    };
    check(p.lhs, g.lhs, "lhs");
    check(p.rhs, g.rhs, "rhs");
    if (p.existing) check(*p.existing, *g.existing_out, "existing_out");
  }
}

TEST_CASE("rows without a group are not read") {
  Problem p = small();
  p.sizes = i32({1, 1, 1});
  p.lhs.as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  check_small(p, f32({4, 2}, {1, -1, 20, -20, 300, -300, 0, 0}));
}

TEST_CASE("the bits of the grouped product do not depend on the number of threads") {
  RandomTensors r(21);
  Problem p;
  p.lhs = r.normal({1000, 300}), p.rhs = r.normal({5, 300, 200}), p.d_out = r.normal({1000, 200});
  p.ids = ids_of(r, 5, 1000);
  set_threads(1);
  const Tensor out = p.forward(Backend::kCpu);
  const GroupedMatmulGradients gradients = p.backward(Backend::kCpu);
  set_threads(3);
  CHECK(std::ranges::equal(p.forward(Backend::kCpu).bytes(), out.bytes()));
  CHECK(std::ranges::equal(p.backward(Backend::kCpu).rhs.bytes(), gradients.rhs.bytes()));
  set_threads(0);
}

TEST_CASE("the grouped product refuses wrong shapes before any work") {
  const auto message = [](auto change) {
    Problem p = small();
    p.sizes = i32({2, 0, 1});
    change(p);
    return error_of([&] { p.forward(Backend::kCpu); });
  };
  using P = Problem;
  CHECK(message([](P&) {}) == "no error");
  CHECK(message([](P& p) { p.lhs = p.rhs; }) == "lhs is (3, 1, 2), expected 2 axes");
  CHECK(message([](P& p) { p.options.transpose_rhs = true; }) ==
        "lhs is (4, 1) and rhs (3, 1, 2), transposed: the inner extents differ");
  CHECK(message([](P& p) { p.rhs = astype(p.rhs, DType::kFloat16); }) ==
        "lhs is float32 and rhs is float16; convert one");
  CHECK(message([](P& p) { p.lhs = astype(p.lhs, DType::kInt32); }) ==
        "lhs is int32, expected float32, float16 or bfloat16");
  CHECK(message([](P& p) { p.sizes.reset(); }) ==
        "neither of group_sizes and group_ids given, expected one");
  CHECK(message([](P& p) {
          p.ids = i32({0, 0, 0, 0});
        }) == "both of group_sizes and group_ids given, expected one");
  CHECK(message([](P& p) {
          p.sizes = i32({2, -1, 1});
        }) == "group_sizes[1] is -1, expected at least 0");
  CHECK(message([](P& p) { p.sizes = i32({2, 2, 1}); }) == "group_sizes sum to 5, lhs has 4 rows");
  CHECK(message([](P& p) { p.sizes = astype(*p.sizes, DType::kInt64); }) ==
        "group_sizes is int64, expected int32");
  CHECK(message([](P& p) {
          p.sizes = i32({1, 1, 1, 1});
        }) == "group_sizes has 4 groups and rhs 3; give group_offset when rhs holds a part");
  CHECK(message([](P& p) { p.offset = i32({1}); }) ==
        "group_sizes has 3 groups and rhs 3 from group 1 on");
  CHECK(message([](P& p) { p.offset = i32({-1}); }) == "group_offset -1 is below 0");
  CHECK(message([](P& p) {
          p.offset = i32({0, 1});
        }) == "group_offset is (2,), expected one integer");
  const auto with_ids = [&](Tensor ids) {
    return message([&](P& p) {
      p.sizes.reset();
      p.ids = ids;
    });
  };
  CHECK(with_ids(i32({0, 1, 2, 3})) == "group_ids[3] is 3, expected 0 to 2");
  CHECK(with_ids(i32({0, -1, 2, 2})) == "group_ids[1] is -1, expected 0 to 2");
  CHECK(with_ids(i32({0, 1, 2})) == "group_ids is (3,), expected (4,)");
  CHECK(message([](P& p) {
          p.existing = f32({1, 2}, {0, 0});
        }) == "existing_out is (1, 2), expected (4, 2)");
  CHECK(message([](P& p) {
          p.existing = Tensor(DType::kFloat16, {4, 2});
        }) == "existing_out is float16 and the result float32; convert one");
  CHECK(message([](P& p) { p.options.preferred_element_type = DType::kInt32; }) ==
        "preferred_element_type is int32, expected a float");
  const Problem p = small();
  CHECK(error_of([&] { grouped_matmul({}); }) == "lhs is missing");
  GroupedMatmulInputs in{&p.lhs, &p.rhs};
  const Tensor sizes = i32({1, 1, 1});
  in.group_sizes = &sizes;
  CHECK(error_of([&] { grouped_matmul_backward(in, p.lhs); }) ==
        "d_out is (4, 1), expected (4, 2)");
}

}  // namespace grouped_matmul_cases
