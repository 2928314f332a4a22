// Finding out which mask a kernel applied, from nothing but its output.
#pragma once

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Where the axis of heads lies: [.., T, H, D] or [.., H, T, D].
enum class Layout : std::uint8_t { kBthd, kBhtd };

struct ProbeShape {
  Index batch = 1, queries = 0, keys = 0;
  Index heads = 1, kv_heads = 1;
  Index dim = 64;  // dimension of queries and keys
  Layout layout = Layout::kBthd;
  Index value_dim = 0;  // dimension of values; 0: dim

  /// Keys that one call of the kernel shows.
  Index channels() const { return value_dim > 0 ? value_dim : dim; }
  /// Calls that show every key once.
  Index passes() const { return ceil_div(keys, channels()); }
};

/// Inputs whose output is the row of weights itself. All queries are e_0; key 0 is
/// ln(2) sqrt(D) e_0 and the other keys are 0, so under the usual scale key 0 weighs twice what any
/// other open key of its row weighs, and a row that averages all values can be told from one that
/// sees all keys. In pass p the value of key j is e_(j - pC), C the channels, or 0 outside
/// [pC, pC + C), so that channel c of the output is the weight of key pC + c.
struct Probe {
  Tensor query;  // [B,Q,H,D] or [B,H,Q,D]
  Tensor key;    // [B,K,Hkv,D] or [B,Hkv,K,D]
  Tensor value;  // [passes,1,K,1,C] or [passes,1,1,K,C]: pass p broadcasts over batch and heads
};

/// Throws Error(kInvalidArgument) for a dtype that is not a float, heads that kv_heads does not
/// divide, extents below 1.
Probe make_probe(const ProbeShape& shape, DType dtype = DType::kFloat32);

/// The mask that was applied, and rows that show none.
struct ProbeReading {
  Mask mask;  // [B,H,Q,K]; rows of the two kinds below are empty in it
  /// Cells that weigh 0 where that proves nothing: they may be closed, or so unlikely that their
  /// weight is below the least number of the array. A probe has none.
  Mask untold;
  Index averaged_rows = 0;  // all keys weigh the same: the mean of V stands for no key
  Index nan_rows = 0;
};

/// Reads the outputs of all passes, [passes,B,Q,H,D] or [passes,B,H,Q,D]. A key is open when its
/// weight is more than `threshold` times the largest weight of its row (key 0 is not taken for the
/// largest when another key is open). Any float dtype.
/// Throws Error(kShape) when the passes do not hold `keys` keys, kInvalidArgument for a threshold
/// outside [0, 1).
ProbeReading read_probe(const Tensor& outputs, Index keys, Layout layout, double threshold = 0);

/// The same from weights [B,H,Q,K] of any queries and keys. A weight of 0 says that a key is closed
/// only where the other weights exclude that it is too small to be stored: where the least number
/// that the array has (16-bit floats that were saved as f32 are known by their values) is eight
/// standard deviations of the logarithms below their mean in its row. A row of equal weights sees
/// all keys where `declared` (broadcast) opens all of them, else it averages.
ProbeReading read_weights(const Tensor& weights, double threshold = 0,
                          const Mask* declared = nullptr);

}  // namespace maskctl::attention
