// Parts of tensors, masks and MaskInfo, and putting parts together.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "maskctl/attention/sharded/plan.h"
#include "maskctl/mask/info/mask_info.h"
#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// A copy of the elements in one range for each axis.
Tensor take(const Tensor& whole, std::span<const Range> part);
/// Copies `part` into its place. Dtypes must be equal.
void put(const Tensor& part, std::span<const Range> place, Tensor& whole);
/// Adds `part` to its place, both f32.
void add(const Tensor& part, std::span<const Range> place, Tensor& whole);

/// The part of an array that a shard works on; cumulative lengths are counted from 0 again.
Tensor shard_of(const Tensor& whole, std::string_view labels, const Shard& shard);
/// Of [B or 1, 1 or Hkv or Hq, Q, K]: batches and heads.
Mask shard_of(const Mask& whole, const Shard& shard);
/// Mask, ids and positions that are stored; a MaskInfo with neither mask nor ids gets its mask.
MaskInfo shard_of(const MaskInfo& whole, const Shard& shard);

}  // namespace maskctl::attention
