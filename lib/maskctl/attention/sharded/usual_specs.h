// Partition specs for meshes whose axes have the usual names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

/// The specs for mesh axes with the usual names: dp and fsdp split batches (the sequences of paged
/// operations, the rows of grouped_matmul), tp splits heads (the columns of grouped_matmul), and sp
/// splits the axes that the operation splits over a ring. `outlines` has the shapes of arrays that
/// are not in `arguments`. Sets the option that names the sequence axis of the mesh, unless it is
/// given. Throws Error(kInvalidArgument) for a mesh axis of more than one device that splits
/// nothing.
Sharding usual_sharding(const Operation& operation, const Mesh& mesh,
                        const std::map<std::string, std::vector<Index>>& outlines,
                        NamedArguments& arguments);

}  // namespace maskctl::attention
