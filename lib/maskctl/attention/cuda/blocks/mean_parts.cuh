// Mean keys as two float16 parts, in the order in which a warp's matrix products read them.
//
// A mean is first multiplied by a power of two (RowScale). One part has the scaled elements rounded
// to float16; the other has the rounding errors of the first part, also rounded to float16. The sum
// of both parts has 22 bits and a sign: its error is at most one unit in the last place of a float.
//
// Of every 32 elements of a row, each lane holds 8 neighbours (16 bytes). Two products of depth 16
// use them: one takes the first 4 elements of each lane, the other the last 4.
#pragma once

#include "maskctl/attention/cuda/blocks/selection.cuh"

namespace maskctl::attention::cuda {

constexpr int kMeans = 32;  // means in a tile

/// A tile of kMeans mean keys of one key head. Rows are padded with zeros to kDim elements.
template <int kDim>
struct MeanTile {
  // [group of 8 means][part][group of 32 elements][lane]. Part 1 has the rounded means, part 0
  // their rounding errors.
  uint4 units[kMeans / 8][2][kDim / 32][32];
  float powers[kMeans];  // RowScale::power() of each mean; 1 if it is not finite
};

/// The mean keys of a call in tiles, [Hkv,tiles_of_head]: for each key head, all B * C means.
template <int kDim>
struct MeanParts {
  const MeanTile<kDim>* tiles;
  Index tiles_of_head;
};

/// Splits all mean keys into float16 parts: `rows` = B * C for each key head.
template <int kDim>
MeanParts<kDim> split_means(Workspace& workspace, const SelectionCall& c, Index rows);

}  // namespace maskctl::attention::cuda
