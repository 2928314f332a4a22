// Masks on positions that the caller gives, where indices would not do.
#pragma once

#include <optional>
#include <span>

#include "maskctl/mask/plane.h"

namespace maskctl::attention {

/// Key j of query i open where -left <= kv[j] - q[i] <= right; nullopt: no limit on that side.
/// Positions are int32 values.
/// Computed when read: each row costs O(ascents * log K), `ascents` the number of stretches in
/// which kv does not fall (one for each packed sequence).
PlanePtr position_plane(std::span<const Index> q, std::span<const Index> kv,
                        std::optional<Index> left, std::optional<Index> right);

}  // namespace maskctl::attention
