// How a mesh of devices splits a MaskInfo.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/attention/sharded/mesh.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl {

using attention::Mesh, attention::PartitionSpec, attention::mesh_from_text;

/// The spec, truncated or extended with None to the rank of the array. An entry becomes None if the
/// mesh lacks one of its axes, or if their sizes do not divide the extent. A tuple of one name
/// becomes that name; a spec of None only becomes the empty spec. Throws PythonError(ValueError) if
/// two entries keep the same axis. Source: ejkernel.xla_utils.get_corrected_named_sharding.
PartitionSpec get_corrected_named_sharding(std::span<const Index> shape, const PartitionSpec& spec,
                                           const Mesh& mesh);

struct MaskSharding {
  std::optional<PartitionSpec> attention_mask, q_segment_ids, kv_segment_ids;
  std::optional<PartitionSpec> cu_seqlens_q, cu_seqlens_kv;  // always None
  std::optional<PartitionSpec> q_positions, kv_positions;
};
MaskSharding get_empty_sharding();
/// The specs of the arrays that are stored. Throws PythonError(ValueError) with ejkernel's message
/// if the mesh lacks an axis, or if a stored mask is not 4D.
MaskSharding get_shardings(const MaskInfo& info, const Mesh& mesh, bool sequence_parallel = false);

/// The part of an array that a device has: one range per axis.
std::vector<Range> shard_of_device(std::span<const Index> shape, const PartitionSpec& spec,
                                   const Mesh& mesh, Index device);

}  // namespace maskctl
