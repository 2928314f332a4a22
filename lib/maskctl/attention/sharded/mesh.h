// Meshes of devices, and what each axis of an array is split over; plain data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// The axis of a mesh that an array axis is split over: none, one, or several.
using AxisName = std::variant<std::monostate, std::string, std::vector<std::string>>;
/// The names of an entry; none for an axis that is not split.
std::vector<std::string> names_of(const AxisName& entry);

/// A grid of devices, row-major: device number = position in the grid.
struct Mesh {
  std::vector<std::string> axis_names;
  std::vector<Index> axis_sizes;

  /// Throws Error(kLimit) where their number does not fit.
  Index devices() const;
  /// The index of an axis in the grid; nothing where the mesh has no such axis.
  std::optional<std::size_t> find(std::string_view axis) const;
};
/// "dp=2+tp=4". Throws Error(kInvalidArgument).
Mesh mesh_from_text(std::string_view text);

/// What each array axis is split over. An empty spec splits nothing.
struct PartitionSpec {
  std::vector<AxisName> axes;
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;
};
/// In the way JAX prints it: "('dp', 'fsdp')", "None"; "PartitionSpec(('dp', 'fsdp'), None)".
std::string to_text(const AxisName& entry);
std::string to_text(const PartitionSpec& spec);

}  // namespace maskctl::attention
