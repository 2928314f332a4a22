// Meshes of devices, partition specs, and how they split a MaskInfo; plain data.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/info/mask_info.h"

namespace maskctl {

/// A grid of devices, row-major: device number = position in the grid.
struct Mesh {
  std::vector<std::string> axis_names;
  std::vector<Index> axis_sizes;

  Index devices() const;
};
/// "dp=2+tp=4". Throws Error(kInvalidArgument).
Mesh mesh_from_text(std::string_view text);

/// What each array axis is split over; None means not split. An empty spec splits nothing.
struct PartitionSpec {
  std::vector<AxisName> axes;
  friend bool operator==(const PartitionSpec&, const PartitionSpec&) = default;
};
/// In the way JAX prints it: "PartitionSpec(('dp', 'fsdp'), None)".
std::string to_text(const PartitionSpec& spec);

/// The spec cut or extended with None to the rank of the array. An entry becomes None when the mesh
/// lacks one of its axes or when their sizes do not divide the extent. A tuple of one name becomes
/// that name; a spec of only None becomes the empty spec. Throws PythonError(ValueError) for an
/// axis that two entries keep.
/// Source: ejkernel.xla_utils.get_corrected_named_sharding.
PartitionSpec get_corrected_named_sharding(std::span<const Index> shape, const PartitionSpec& spec,
                                           const Mesh& mesh);

struct MaskSharding {
  std::optional<PartitionSpec> attention_mask, q_segment_ids, kv_segment_ids;
  std::optional<PartitionSpec> cu_seqlens_q, cu_seqlens_kv;  // always None
  std::optional<PartitionSpec> q_positions, kv_positions;
};
MaskSharding get_empty_sharding();
/// Splits only arrays that are stored. Throws PythonError(ValueError) with ejkernel's text for an
/// axis that the mesh lacks and for a stored mask that is not 4D.
MaskSharding get_shardings(const MaskInfo& info, const Mesh& mesh, bool sequence_parallel = false);

/// The part of an array that a device holds: one range for each axis.
std::vector<Range> shard_of_device(std::span<const Index> shape, const PartitionSpec& spec,
                                   const Mesh& mesh, Index device);

}  // namespace maskctl
