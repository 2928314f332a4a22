// The grouped product (each row times the matrix of its group) and its gradients, on the GPU.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/grouped_problem.h"

namespace maskctl::attention::cuda {

inline constexpr int kTileRows = 64, kLargeTileRows = 128;
/// Rows of lhs that one matrix multiplies: a block of threads takes up to kTileRows, or up to
/// kLargeTileRows on tensor cores.
struct RowTile {
  Index matrix = -1;  // -1: rows that no matrix multiplies
  Range range;        // indices into GroupedPlan::rows()
};

/// The rows of lhs sorted by the matrix that multiplies them, and tiles of these rows.
class GroupedPlan {
 public:
  GroupedPlan(const GroupedProblem& problem, Stream stream);

  /// Row numbers of lhs, sorted by matrix. Rows without a matrix come last, unless the groups give
  /// no order: then rows() is 0, 1, 2, ...
  const Index* rows() const { return device_rows_.data(); }
  /// Whether rows() is 0, 1, 2, ...
  bool is_in_order() const { return is_in_order_; }
  Index row_count() const { return static_cast<Index>(rows_.size()); }
  Index matrices() const { return static_cast<Index>(ranges_.size()); }

  /// For each matrix, its range of indices into rows().
  const Range* ranges() const { return device_ranges_.data(); }
  /// All rows in tiles of up to kTileRows. Tiles whose rows are multiplied by a matrix come first,
  /// then tiles of rows that belong to no matrix.
  const RowTile* tiles() const { return device_tiles_.data(); }
  Index tile_count() const { return static_cast<Index>(tiles_.size()); }
  Index tiles_with_matrix() const { return tiles_with_matrix_; }
  /// Tiles of up to kLargeTileRows rows, only of rows with a matrix. Each matrix has an even number
  /// of tiles, of which the last may be empty.
  const RowTile* large_tiles() const { return device_large_tiles_.data(); }
  Index large_tile_count() const { return static_cast<Index>(large_tiles_.size()); }
  /// One RowTile per matrix with all its rows, in descending order of the number of rows.
  const RowTile* by_size() const { return device_by_size_.data(); }

 private:
  std::vector<Index> rows_;
  std::vector<Range> ranges_;
  std::vector<RowTile> tiles_, large_tiles_, by_size_;
  bool is_in_order_ = false;
  Index tiles_with_matrix_ = 0;
  DeviceArray<Index> device_rows_;
  DeviceArray<Range> device_ranges_;
  DeviceArray<RowTile> device_tiles_, device_large_tiles_, device_by_size_;
};

void grouped_forward(Workspace& workspace, const GroupedProblem& problem, const GroupedPlan& plan,
                     const MutableTensorView& out);
void grouped_backward(Workspace& workspace, const GroupedProblem& problem, const GroupedPlan& plan,
                      const TensorView& d_out, const GroupedGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
