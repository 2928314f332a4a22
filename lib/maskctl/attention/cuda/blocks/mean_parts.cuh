// Mean keys as two float16 parts, in the order in which a warp's matrix products read them.
//
// A mean is scaled by its RowScale; its parts are the scaled elements rounded to float16, and what
// is left of them, rounded too. Their sum has 22 bits and a sign, an error of at most one unit in
// the last place of a float. In each 32 elements of a row, a lane has 8 that are neighbours: two
// products of depth 16 take the first 4 of each, then the others, so that 16 bytes are the lane's
// right factor of both.
#pragma once

#include "maskctl/attention/cuda/blocks/selection.cuh"

namespace maskctl::attention::cuda {

constexpr int kMeans = 32;  // of a tile

/// Means of one key head, filled up with zeros to kDim dimensions.
template <int kDim>
struct MeanTile {
  // [8 means][part][32 elements][lane]. Part 1 is the mean rounded, part 0 what is left.
  uint4 units[kMeans / 8][2][kDim / 32][32];
  float powers[kMeans];  // RowScale::power()
};

/// All means of a call: tiles [Hkv][tiles_of_head] of the rows [B * C] of each key head.
template <int kDim>
struct MeanParts {
  const MeanTile<kDim>* tiles;
  Index tiles_of_head;
};

/// Splits the `rows` = B * C means of each key head.
template <int kDim>
MeanParts<kDim> split_means(Workspace& workspace, const SelectionCall& c, Index rows);

}  // namespace maskctl::attention::cuda
