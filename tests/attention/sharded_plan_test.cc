// Tests which part of each array a device works on under given partition specs, and which specs are
// refused.
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/sharded/plan.h"
#include "maskctl/attention/sharded/shard_map.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/tensors.h"

namespace sharded_plan_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using maskctl::test::error_of;
using Shape = std::vector<Index>;

PartitionSpec spec(std::vector<AxisName> axes) { return {std::move(axes)}; }
const AxisName kWhole;

/// Returns the shards of all devices except those that would repeat the work of another one.
std::vector<Shard> shards_of(const ShardPlan& plan) {
  std::vector<Shard> shards;
  for (Index device = 0; device < plan.devices(); ++device) {
    if (!plan.repeats(device)) shards.push_back(plan.shard_of(device));
  }
  return shards;
}

TEST_CASE("plan: ejkernel's example splits batches over dp and heads over tp", "[attention]") {
  ShardPlan plan("op", mesh_from_text("dp=2+tp=4"), "B Hq Hkv");
  const PartitionSpec p = spec({"dp", kWhole, "tp", kWhole});
  plan.add_input("query", Shape{4, 6, 8, 5}, "B Tq Hq D", &p);
  plan.add_input("key", Shape{4, 7, 4, 5}, "B Tk Hkv D", &p);
  plan.add_input("bias", Shape{1, 8, 6, 7}, "B Hq Tq Tk", nullptr);
  plan.add_output("out", "B Tq Hq D", p);
  const std::vector<Shard> shards = shards_of(plan);
  REQUIRE(shards.size() == 8);
  CHECK(shards[0].part(Shape{4, 6, 8, 5}, "B Tq Hq D") ==
        std::vector<Range>{{0, 2}, {0, 6}, {0, 2}, {0, 5}});
  CHECK(shards[7].part(Shape{4, 7, 4, 5}, "B Tk Hkv D") ==
        std::vector<Range>{{2, 4}, {0, 7}, {3, 4}, {0, 5}});
  CHECK(shards[6].part(Shape{1, 8, 6, 7}, "B Hq Tq Tk") ==
        std::vector<Range>{{0, 1}, {4, 6}, {0, 6}, {0, 7}});
  CHECK(shards[6].part(Shape{4, 3}, "Hq/Hkv S") == std::vector<Range>{{2, 3}, {0, 3}});
  CHECK(shards[6].part(Shape{8, 3}, "Hq/Hkv S") == std::vector<Range>{{4, 6}, {0, 3}});
  CHECK(shards[6].part(Shape{9, 2, 8, 4}, "pages S 2Hkv D") ==
        std::vector<Range>{{0, 9}, {0, 2}, {4, 6}, {0, 4}});
  CHECK(shards[7].part(Shape{5}, "B+1") == std::vector<Range>{{2, 5}});
  CHECK(shards[7].whole(Shape{2, 6, 2, 5}, "B Tq Hq D") == Shape{4, 6, 8, 5});
}

TEST_CASE("plan: along a mesh axis that splits nothing, only one device works", "[attention]") {
  ShardPlan plan("op", mesh_from_text("dp=2+pp=3+tp=2"), "B Hq Hkv");
  const PartitionSpec p = spec({std::vector<std::string>{"dp", "tp"}});
  plan.add_input("query", Shape{8, 6, 8, 5}, "B Tq Hq D", &p);
  plan.add_output("out", "B Tq Hq D", p);
  const std::vector<Shard> shards = shards_of(plan);
  REQUIRE(shards.size() == 4);
  for (Index i = 0; i < 4; ++i) CHECK(shards[as_size(i)].range("B") == Range{2 * i, 2 * i + 2});
  CHECK(shards[0].range("Hq") == Range{0, 8});
  CHECK(plan.working_mesh().axis_sizes == std::vector<Index>{2, 1, 2});
}

TEST_CASE("plan: unsplit key heads are sliced to those of the device's query heads",
          "[attention]") {
  const PartitionSpec p = spec({kWhole, kWhole, "tp", kWhole});
  ShardPlan plan("op", mesh_from_text("tp=4"), "B Hq Hkv");
  plan.add_input("query", Shape{1, 6, 8, 5}, "B Tq Hq D", &p);
  plan.add_input("key", Shape{1, 7, 2, 5}, "B Tk Hkv D", nullptr);
  plan.add_output("out", "B Tq Hq D", p);
  const std::vector<Shard> shards = shards_of(plan);
  CHECK(shards[0].range("Hkv") == Range{0, 1});
  CHECK(shards[1].range("Hkv") == Range{0, 1});
  CHECK(shards[3].range("Hkv") == Range{1, 2});
  ShardPlan crossing("op", mesh_from_text("tp=2"), "B Hq Hkv");
  crossing.add_input("query", Shape{1, 6, 6, 5}, "B Tq Hq D", &p);
  crossing.add_input("key", Shape{1, 7, 3, 5}, "B Tk Hkv D", nullptr);
  CHECK(error_of([&] { shards_of(crossing); }) ==
        "sharded op: 3 query heads a device do not fit 2 query heads of a key head");
}

TEST_CASE("plan: invalid partition specs are refused with a reason", "[attention]") {
  const Mesh mesh = mesh_from_text("dp=2+tp=4+sp=3");
  const Shape shape{4, 6, 8, 5};
  const auto first = [&](const PartitionSpec& p, const Shape& s) {
    return error_of(
        [&] { ShardPlan("op", mesh, "B Hq Hkv").add_input("query", s, "B Tq Hq D", &p); });
  };
  CHECK(
      first(spec({kWhole, "sp"}), shape) ==
      "sharded op: query splits axis Tq over 'sp'; a shard on its own can split (B, Hkv, Hq) only");
  CHECK(first(spec({"xx"}), shape) ==
        "sharded op: query is split over 'xx', which is no axis of the mesh (dp, tp, sp)");
  CHECK(first(spec({"sp"}), shape) ==
        "sharded op: query has extent 4 along axis B, which 3 devices do not divide");
  CHECK(first(spec({"dp", kWhole, "dp"}), shape) ==
        "sharded op: query splits axis Hq over 'dp', which splits axis B of query");
  CHECK(
      first(spec({"dp", kWhole, kWhole, kWhole, kWhole}), shape) ==
      "sharded op: PartitionSpec('dp', None, None, None, None) of query has more entries than its "
      "shape (4, 6, 8, 5)");
  CHECK(first(spec({"dp"}), Shape{1, 6, 8, 5}) ==
        "sharded op: query has one element along axis B, which cannot be split");

  const PartitionSpec p = spec({"dp", kWhole, "tp"}), other = spec({"tp", kWhole, "dp"}), none;
  const auto second = [&](const PartitionSpec& of_key, const Shape& key, const PartitionSpec& out) {
    return error_of([&] {
      ShardPlan plan("op", mesh, "B Hq Hkv");
      plan.add_input("query", shape, "B Tq Hq D", &p);
      plan.add_input("key", key, "B Tk Hkv D", &of_key);
      plan.add_output("out", "B Tq Hq D", out);
      shards_of(plan);
    });
  };
  CHECK(second(p, {4, 7, 4, 5}, p) == "no error");
  CHECK(second(other, {4, 7, 4, 5}, p) ==
        "sharded op: key splits axis B over (tp), but query over (dp)");
  CHECK(second(p, {2, 7, 4, 5}, p) == "sharded op: key has extent 2 along axis B, expected 4");
  CHECK(second(p, {4, 7, 4, 5}, none) ==
        "sharded op: out has axis B over (), but the inputs split it over (dp)");
  CHECK(second(p, {4, 7, 4, 5}, spec({"dp", "sp", "tp"})) ==
        "sharded op: out has axis Tq over (sp), but the inputs split it over ()");
}

TEST_CASE("slices: parts taken from an array and put back give the array", "[attention]") {
  test::RandomTensors random(3);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Tensor whole = random.normal({4, 3, 6}, dtype);
    Tensor copy(dtype, whole.shape());
    for (Index b = 0; b < 2; ++b) {
      for (Index h = 0; h < 3; ++h) {
        const std::vector<Range> part = {{2 * b, 2 * b + 2}, {0, 3}, {2 * h, 2 * h + 2}};
        put(take(whole, part), part, copy);
      }
    }
    test::check_close(copy, whole, 0, "copy");
  }
  const Tensor whole = random.normal({2, 3});
  const std::vector<Range> none = {{1, 1}, {0, 3}};
  CHECK(take(whole, none).shape() == Shape{0, 3});
  const Tensor scalar(DType::kFloat32, {});
  CHECK(take(scalar, std::vector<Range>{}).elements() == 1);
  Tensor sum(DType::kFloat32, {2, 3});
  const std::vector<Range> row = {{1, 2}, {0, 3}};
  add(take(whole, row), row, sum);
  add(take(whole, row), row, sum);
  CHECK(sum.as<float>()[0] == 0);
  CHECK(sum.as<float>()[4] == 2 * whole.as<float>()[4]);
}

TEST_CASE("slices: cumulative lengths count from 0 in each part", "[attention]") {
  Shard shard{{{"B", {1, 3}}}, {{"B", 4}}};
  const Tensor part = shard_of(test::i32({0, 2, 5, 5, 9}), "B+1", shard);
  CHECK(part.dtype() == DType::kInt32);
  CHECK(part.shape() == Shape{3});
  CHECK(part.as<std::int32_t>()[0] == 0);
  CHECK(part.as<std::int32_t>()[1] == 3);
  CHECK(part.as<std::int32_t>()[2] == 3);
}

}  // namespace

}  // namespace sharded_plan_cases
