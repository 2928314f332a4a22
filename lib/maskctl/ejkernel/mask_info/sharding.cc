// Partition specs: correcting one for a shape and mesh, the specs of a MaskInfo, and the part of an
// array that a device has.
#include "maskctl/ejkernel/mask_info/sharding.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/checked.h"
#include "maskctl/base/text.h"
#include "maskctl/ejkernel/mask_info/debug_trace.h"
#include "maskctl/ejkernel/mask_info/python_error.h"

namespace maskctl {
namespace {

using attention::to_text;
using Names = std::vector<std::string>;

/// Returns an entry of a partition spec as JAX normalizes it: a tuple of one name becomes the name,
/// an empty tuple None.
AxisName canonical(const AxisName& entry) {
  const Names names = names_of(entry);
  if (names.empty()) return std::monostate();
  return names.size() == 1 ? AxisName(names[0]) : AxisName(names);
}

/// Returns the number of parts into which the mesh axes with these names split an extent; nullopt
/// if the mesh lacks one of the names.
std::optional<Index> parts_of(const Mesh& mesh, const Names& names) {
  std::vector<Index> sizes;
  for (const std::string& name : names) {
    const auto axis = mesh.find(name);
    if (!axis) return std::nullopt;
    sizes.push_back(mesh.axis_sizes[*axis]);
  }
  return checked_product(sizes);
}

bool splits(const Mesh& mesh, const AxisName& entry, Index extent) {
  const auto parts = parts_of(mesh, names_of(entry));
  return parts && *parts > 0 && extent % *parts == 0;
}

/// Throws if an axis is used twice, as JAX's NamedSharding does.
void check_unique(const PartitionSpec& spec) {
  Names seen;
  for (const AxisName& entry : spec.axes) {
    for (const std::string& name : names_of(entry)) {
      if (std::ranges::find(seen, name) != seen.end()) {
        throw PythonError(PythonType::kValueError,
                          fmt::format("{} uses mesh axis '{}' twice; expected each axis at most "
                                      "once",
                                      to_text(spec), name));
      }
      seen.push_back(name);
    }
  }
}

void check_names(const AxisName& entry, std::string_view label, const Mesh& mesh) {
  for (const std::string& name : names_of(entry)) {
    if (mesh.find(name)) continue;
    Names available;
    for (const std::string& axis : mesh.axis_names) available.push_back("'" + axis + "'");
    std::ranges::sort(available);
    throw PythonError(
        PythonType::kValueError,
        fmt::format("Invalid axis name configuration. Axis '{}' (from {}) is not present in the "
                    "mesh. Available mesh axes: [{}]. Please ensure all configured axis names "
                    "match the mesh definition.",
                    name, label, joined(available, ", ")));
  }
}

/// The coordinates of a device in the mesh.
std::vector<Index> coordinates_of(const Mesh& mesh, Index device) {
  std::vector<Index> coordinates(mesh.axis_sizes.size());
  for (std::size_t axis = coordinates.size(); axis-- > 0;) {
    coordinates[axis] = device % mesh.axis_sizes[axis];
    device /= mesh.axis_sizes[axis];
  }
  return coordinates;
}

/// The part of an extent for the device at these coordinates; the first name of the entry varies
/// slowest.
Range part_at(const Mesh& mesh, const std::vector<Index>& coordinates, const AxisName& entry,
              Index extent) {
  if (!splits(mesh, entry, extent)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("cannot split {} elements over {}; expected axes of the mesh whose "
                            "sizes divide it",
                            extent, to_text(entry)));
  }
  Index number = 0, parts = 1;
  for (const std::string& name : names_of(entry)) {
    const std::size_t axis = *mesh.find(name);
    number = number * mesh.axis_sizes[axis] + coordinates[axis];
    parts *= mesh.axis_sizes[axis];
  }
  const Index size = extent / parts;
  return {number * size, (number + 1) * size};
}

}  // namespace

PartitionSpec get_corrected_named_sharding(std::span<const Index> shape, const PartitionSpec& spec,
                                           const Mesh& mesh) {
  PartitionSpec corrected;
  bool split = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const AxisName entry = axis < spec.axes.size() ? canonical(spec.axes[axis]) : AxisName();
    const bool keep = !names_of(entry).empty() && splits(mesh, entry, shape[axis]);
    corrected.axes.push_back(keep ? entry : AxisName());
    split = split || keep;
  }
  if (!split) return {};
  check_unique(corrected);
  return corrected;
}

MaskSharding get_empty_sharding() { return {}; }

MaskSharding get_shardings(const MaskInfo& info, const Mesh& mesh, bool sequence_parallel) {
  trace_call("MaskInfo.get_shardings");
  const MaskInfoFields& fields = info.fields();
  const AxisName sequence = sequence_parallel ? fields.axes.sequence : AxisName();
  check_names(fields.axes.qheads, "qheads_axis_name", mesh);
  check_names(fields.axes.batch, "batch_axis_name", mesh);
  check_names(sequence, "sequence_axis_name", mesh);
  MaskSharding out;
  if (fields.attention_mask) {
    const std::vector<Index>& shape = fields.attention_mask->shape();
    if (shape.size() != 4) {
      throw PythonError(
          PythonType::kValueError,
          fmt::format("Attention mask must be a 4D array with shape (batch, num_heads_or_1, q_len, "
                      "kv_len) for sharding computation, but got {}D array with shape {}. Use "
                      "from_attention_mask() to construct MaskInfo from lower-dimensional masks.",
                      shape.size(), shape_text(shape)));
    }
    const PartitionSpec spec{{fields.axes.batch, fields.axes.qheads, sequence, AxisName()}};
    out.attention_mask = get_corrected_named_sharding(shape, spec, mesh);
  }
  const auto of_tokens = [&](const Array& array) -> std::optional<PartitionSpec> {
    if (!array) return std::nullopt;
    return get_corrected_named_sharding(array->shape(), {{fields.axes.batch, sequence}}, mesh);
  };
  out.q_segment_ids = of_tokens(fields.q_segment_ids);
  out.kv_segment_ids = of_tokens(fields.kv_segment_ids);
  out.q_positions = of_tokens(fields.q_positions);
  out.kv_positions = of_tokens(fields.kv_positions);
  return out;
}

std::vector<Range> shard_of_device(std::span<const Index> shape, const PartitionSpec& spec,
                                   const Mesh& mesh, Index device) {
  if (device < 0 || device >= mesh.devices()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("device {} is not in a mesh of {} devices", device, mesh.devices()));
  }
  if (spec.axes.size() > shape.size()) {
    throw Error(Errc::kShape, fmt::format("{} has more entries than shape {} has axes",
                                          to_text(spec), shape_text(shape)));
  }
  const std::vector<Index> coordinates = coordinates_of(mesh, device);
  std::vector<Range> parts;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const AxisName entry = axis < spec.axes.size() ? spec.axes[axis] : AxisName();
    parts.push_back(part_at(mesh, coordinates, entry, shape[axis]));
  }
  return parts;
}

}  // namespace maskctl
