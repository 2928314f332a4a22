// Tests sharding of MaskInfo: meshes, partition specs, and what each device holds.
#include "maskctl/ejkernel/mask_info/sharding.h"

#include <algorithm>
#include <functional>

#include "maskctl/ejkernel/mask_info/python_error.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

using attention::to_text;
using Names = std::vector<std::string>;
const AxisName kWhole = std::monostate();

Mesh mesh_2_2_4() { return {{"dp", "fsdp", "tp"}, {2, 2, 4}}; }

std::string corrected(const std::vector<Index>& shape, const PartitionSpec& spec) {
  return to_text(get_corrected_named_sharding(shape, spec, mesh_2_2_4()));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const PythonError& error) {
    CHECK(error.type() == PythonType::kValueError);
    return error.what();
  }
  FAIL("nothing was thrown");
  return "";
}

Array ids(std::vector<Index> shape) {
  return std::make_shared<const Tensor>(DType::kInt32, std::move(shape));
}

MaskInfo info_of_ids(std::vector<Index> q, std::vector<Index> kv) {
  MaskInfoFields fields;
  fields.q_segment_ids = ids(std::move(q));
  fields.kv_segment_ids = ids(std::move(kv));
  return MaskInfo(fields);
}

// Returns the coordinates of a device in the mesh (the last axis runs fastest), by counting up.
std::vector<Index> place_of(const Mesh& mesh, Index device) {
  std::vector<Index> place(mesh.axis_sizes.size(), 0);
  for (Index i = 0; i < device; ++i) {
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < mesh.axis_sizes[axis]) break;
      place[axis] = 0;
    }
  }
  return place;
}

Index coordinate(const Mesh& mesh, Index device, const std::string& name) {
  for (std::size_t axis = 0; axis < mesh.axis_names.size(); ++axis) {
    if (mesh.axis_names[axis] == name) return place_of(mesh, device)[axis];
  }
  FAIL("no axis " << name);
  return -1;
}

}  // namespace

TEST_CASE("meshes are read from text", "[sharding]") {
  const Mesh mesh = mesh_from_text("dp=2+tp=4");
  CHECK(mesh.axis_names == Names{"dp", "tp"});
  CHECK(mesh.axis_sizes == std::vector<Index>{2, 4});
  CHECK(mesh.devices() == 8);
  CHECK(mesh_from_text("x=1").devices() == 1);
  for (const char* text : {"", "dp", "dp=", "=2", "dp=0", "dp=-1", "dp=2x", "dp=2+", "dp=2+dp=3",
                           "dp=99999999999999999999", "a=4294967296+b=4294967296"}) {
    INFO(text);
    CHECK_THROWS_AS(mesh_from_text(text), Error);
  }
}

TEST_CASE("partition specs are printed as in JAX", "[sharding]") {
  CHECK(to_text(PartitionSpec{}) == "PartitionSpec()");
  CHECK(to_text(PartitionSpec{{kWhole}}) == "PartitionSpec(None,)");
  CHECK(to_text(PartitionSpec{{AxisName("dp")}}) == "PartitionSpec('dp',)");
  CHECK(to_text(PartitionSpec{{AxisName(Names{"dp", "fsdp"}), kWhole}}) ==
        "PartitionSpec(('dp', 'fsdp'), None)");
  CHECK(to_text(PartitionSpec{{AxisName(Names{"dp"}), kWhole}}) == "PartitionSpec('dp', None)");
}

TEST_CASE("specs are cut or filled up to the rank of the array", "[sharding]") {
  CHECK(corrected({4, 4, 4}, {{"dp"}}) == "PartitionSpec('dp', None, None)");
  CHECK(corrected({4}, {{"dp", "tp"}}) == "PartitionSpec('dp',)");
  CHECK(corrected({}, {{"dp"}}) == "PartitionSpec()");
}

TEST_CASE("entries of specs that do not fit the shape or the mesh are dropped", "[sharding]") {
  CHECK(corrected({8, 8}, {{Names{"dp", "tp"}, "fsdp"}}) == "PartitionSpec(('dp', 'tp'), 'fsdp')");
  CHECK(corrected({4, 8}, {{Names{"dp", "tp"}, "fsdp"}}) == "PartitionSpec(None, 'fsdp')");
  CHECK(corrected({8, 8}, {{Names{"dp", "zz"}, "fsdp"}}) == "PartitionSpec(None, 'fsdp')");
  CHECK(corrected({0, 8}, {{"dp", kWhole}}) == "PartitionSpec('dp', None)");
  CHECK(corrected({8, 8}, {{Names{"dp"}, Names{}}}) == "PartitionSpec('dp', None)");
}

TEST_CASE("a spec that splits no axis is empty", "[sharding]") {
  CHECK(corrected({3, 3}, {{"dp", "tp"}}) == "PartitionSpec()");
  CHECK(corrected({4, 4}, {{kWhole, kWhole}}) == "PartitionSpec()");
  CHECK(corrected({4, 4}, {}) == "PartitionSpec()");
}

TEST_CASE("a mesh axis that would split two axes of an array is refused", "[sharding]") {
  CHECK_THROWS_AS(corrected({8, 8}, {{"dp", "dp"}}), PythonError);
  CHECK(corrected({3, 8}, {{"dp", "dp"}}) == "PartitionSpec(None, 'dp')");
}

TEST_CASE("only stored arrays have shardings", "[sharding]") {
  const MaskSharding sharding = get_shardings(info_of_ids({4, 8}, {4, 6}), mesh_2_2_4());
  REQUIRE(sharding.q_segment_ids);
  CHECK(to_text(*sharding.q_segment_ids) == "PartitionSpec(('dp', 'fsdp'), None)");
  CHECK(sharding.kv_segment_ids == sharding.q_segment_ids);
  CHECK_FALSE(sharding.attention_mask);
  CHECK_FALSE(sharding.cu_seqlens_q);
  CHECK_FALSE(sharding.q_positions);
  CHECK_FALSE(get_empty_sharding().q_segment_ids);
}

TEST_CASE("the sequence axis is split only on request", "[sharding]") {
  const Mesh mesh{{"dp", "fsdp", "tp", "sp"}, {1, 2, 2, 2}};
  const MaskInfo info = info_of_ids({4, 8}, {4, 5});
  CHECK(to_text(*get_shardings(info, mesh, true).q_segment_ids) ==
        "PartitionSpec(('dp', 'fsdp'), 'sp')");
  CHECK(to_text(*get_shardings(info, mesh, true).kv_segment_ids) ==
        "PartitionSpec(('dp', 'fsdp'), None)");
  CHECK(to_text(*get_shardings(info, mesh).q_segment_ids) == "PartitionSpec(('dp', 'fsdp'), None)");
}

TEST_CASE("mesh axes that are missing are reported in ejkernel's order", "[sharding]") {
  const std::string tail =
      " is not present in the mesh. Available mesh axes: ['dp', 'zz']. Please ensure all "
      "configured axis names match the mesh definition.";
  MaskInfoFields fields;
  const Mesh mesh{{"zz", "dp"}, {2, 2}};
  CHECK(message_of([&] { get_shardings(MaskInfo(fields), mesh); }) ==
        "Invalid axis name configuration. Axis 'tp' (from qheads_axis_name)" + tail);
  fields.axes.qheads = std::monostate();
  CHECK(message_of([&] { get_shardings(MaskInfo(fields), mesh); }) ==
        "Invalid axis name configuration. Axis 'fsdp' (from batch_axis_name)" + tail);
  fields.axes.batch = "dp";
  CHECK_NOTHROW(get_shardings(MaskInfo(fields), mesh));
  CHECK(message_of([&] { get_shardings(MaskInfo(fields), mesh, true); }) ==
        "Invalid axis name configuration. Axis 'sp' (from sequence_axis_name)" + tail);
}

TEST_CASE("a stored mask that is not 4D is refused", "[sharding]") {
  MaskInfoFields fields;
  fields.attention_mask = MaskArray(Tensor(DType::kInt32, {5, 5, 4}));
  CHECK(message_of([&] { get_shardings(MaskInfo(fields), mesh_2_2_4()); }) ==
        "Attention mask must be a 4D array with shape (batch, num_heads_or_1, q_len, kv_len) for "
        "sharding computation, but got 3D array with shape (5, 5, 4). Use from_attention_mask() "
        "to construct MaskInfo from lower-dimensional masks.");
}

TEST_CASE("the shards of all devices together cover the array", "[sharding]") {
  const Mesh mesh = mesh_2_2_4();
  const std::vector<Index> shape{8, 6, 5};
  const PartitionSpec spec{{Names{"tp", "dp"}, "fsdp"}};
  std::vector<int> holders(8 * 6 * 5, 0);
  for (Index device = 0; device < mesh.devices(); ++device) {
    const std::vector<Range> part = shard_of_device(shape, spec, mesh, device);
    REQUIRE(part.size() == 3);
    const Index first = coordinate(mesh, device, "tp") * 2 + coordinate(mesh, device, "dp");
    CHECK(part[0] == Range{first, first + 1});
    CHECK(part[1].begin == coordinate(mesh, device, "fsdp") * 3);
    CHECK(part[2] == Range{0, 5});
    for (Index i = part[0].begin; i < part[0].end; ++i) {
      for (Index j = part[1].begin; j < part[1].end; ++j) {
        for (Index k = 0; k < 5; ++k) ++holders[static_cast<std::size_t>((i * 6 + j) * 5 + k)];
      }
    }
  }
  CHECK(std::ranges::count(holders, 1) == static_cast<std::ptrdiff_t>(holders.size()));
}

TEST_CASE("an array that no mesh axis splits is whole on every device", "[sharding]") {
  for (Index device = 0; device < 16; ++device) {
    CHECK(shard_of_device(std::vector<Index>{3, 2}, {}, mesh_2_2_4(), device) ==
          std::vector<Range>{{0, 3}, {0, 2}});
  }
}

TEST_CASE("shards of arrays that do not fit are refused", "[sharding]") {
  const Mesh mesh = mesh_2_2_4();
  const std::vector<Index> shape{8, 6};
  CHECK_THROWS_AS(shard_of_device(shape, {}, mesh, 16), Error);
  CHECK_THROWS_AS(shard_of_device(shape, {}, mesh, -1), Error);
  CHECK_THROWS_AS(shard_of_device(shape, {{"zz"}}, mesh, 0), Error);
  CHECK_THROWS_AS(shard_of_device(shape, {{kWhole, "tp"}}, mesh, 0), Error);
  CHECK_THROWS_AS(shard_of_device(shape, {{kWhole, kWhole, "tp"}}, mesh, 0), Error);
}
