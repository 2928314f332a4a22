// Meshes of devices, and partition specs that split array axes over them; plain data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// The mesh axis over which an array axis is split: none, one or several.
using AxisName = std::variant<std::monostate, std::string, std::vector<std::string>>;
/// The mesh axes in an entry of a partition spec; empty for an array axis that is not split.
std::vector<std::string> names_of(const AxisName& entry);

/// A grid of devices in row-major order: the device number is the index in the grid.
struct Mesh {
  std::vector<std::string> axis_names;
  std::vector<Index> axis_sizes;

  /// The number of devices. Throws Error(kLimit) if it does not fit in an Index.
  Index devices() const;
  /// The index of the mesh axis with this name; nullopt if there is none.
  std::optional<std::size_t> find(std::string_view axis) const;
};
/// Parses a mesh such as "dp=2+tp=4". Throws Error(kInvalidArgument).
Mesh mesh_from_text(std::string_view text);

/// The mesh axes over which each axis of an array is split. An empty spec splits nothing.
struct PartitionSpec {
  std::vector<AxisName> axes;
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;
};
/// The text of an entry or a spec as JAX prints it: "('dp', 'fsdp')" or "None";
/// "PartitionSpec(('dp', 'fsdp'), None)".
std::string to_text(const AxisName& entry);
std::string to_text(const PartitionSpec& spec);

}  // namespace maskctl::attention
