// The grouped product and its gradients on the GPU.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/problems/grouped_problem.h"

namespace maskctl::attention::cuda {

/// Rows of lhs that a block of threads multiplies together, kTileRows at most.
inline constexpr int kTileRows = 64;
struct RowTile {
  Index matrix = -1;  // -1: rows that no matrix multiplies
  Range range;        // indices into GroupedPlan::rows()
};

/// Every row of lhs, by the matrix that multiplies it.
class GroupedPlan {
 public:
  GroupedPlan(const GroupedProblem& problem, Stream stream);

  /// Rows by matrix; rows that no matrix multiplies come last.
  const Index* rows() const { return device_rows_.data(); }
  /// The range of each matrix in rows().
  const Range* ranges() const { return device_ranges_.data(); }
  const RowTile* tiles() const { return device_tiles_.data(); }
  Index tile_count() const { return static_cast<Index>(tiles_.size()); }

 private:
  void cut_into_tiles(Index matrix, Range range);

  std::vector<Index> rows_;
  std::vector<Range> ranges_;
  std::vector<RowTile> tiles_;
  DeviceArray<Index> device_rows_;
  DeviceArray<Range> device_ranges_;
  DeviceArray<RowTile> device_tiles_;
};

void grouped_forward(Workspace& workspace, const GroupedProblem& problem, const GroupedPlan& plan,
                     const MutableTensorView& out);
void grouped_backward(Workspace& workspace, const GroupedProblem& problem, const GroupedPlan& plan,
                      const TensorView& d_out, const GroupedGradientOutputs& gradients);

}  // namespace maskctl::attention::cuda
