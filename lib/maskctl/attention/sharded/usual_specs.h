// How a call is split over a mesh whose axes have their usual names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "maskctl/attention/by_name.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// The specs that the usual names of mesh axes stand for: dp and fsdp split batches (sequences of
/// paged operations, rows of grouped_matmul), tp splits heads (columns of grouped_matmul), and sp
/// what the operation splits by a ring. `outlines` are shapes of arrays that are not among those of
/// the arguments. Options that name the axis of the sequence are set unless they are given. Throws
/// Error(kInvalidArgument) for an axis of the mesh of more than one device that splits nothing.
Sharding usual_sharding(const Operation& operation, const Mesh& mesh,
                        const std::map<std::string, std::vector<Index>>& outlines,
                        NamedArguments& arguments);

}  // namespace maskctl::attention
