// Finds out which mask a kernel applied, from nothing but its output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Where the axis of heads is: [.., T, H, D] or [.., H, T, D].
enum class Layout : std::uint8_t { kBthd, kBhtd };

struct ProbeShape {
  Index batch = 1, queries = 0, keys = 0;
  Index heads = 1, kv_heads = 1;
  Index dim = 64;  // dimension of queries and keys
  Layout layout = Layout::kBthd;
  Index value_dim = 0;  // dimension of values; 0: dim

  /// How many keys' weights the output of one call shows.
  Index channels() const { return value_dim > 0 ? value_dim : dim; }
  /// How many calls it takes to show the weights of all keys.
  Index passes() const { return ceil_div(keys, channels()); }
};

/// Inputs for which the output is the row of weights itself. All queries are e_0; keys are
/// multiples of sqrt(D) e_0: key 0 by ln(2), key 1 by 0, the others by numbers up to ln(1.5), drawn
/// for each key and key head. Under the usual scale, key 0 thus weighs twice as much as key 1, so
/// that a row that averages all values differs from a row that sees all keys, and the weights of a
/// row show the scale and the key head. With C channels, the value of key j in pass p is e_(j -
/// pC), or 0 outside [pC, pC + C), so that channel c of the output is the weight of key pC + c.
struct Probe {
  Tensor query;  // [B,Q,H,D] or [B,H,Q,D]
  Tensor key;    // [B,K,Hkv,D] or [B,Hkv,K,D]
  Tensor value;  // [passes,1,K,1,C] or [passes,1,1,K,C]: pass p broadcasts over batch and heads
};

/// Throws Error(kInvalidArgument) for a dtype that is not a float, for heads that are no multiple
/// of kv_heads, and for extents below 1.
Probe make_probe(const ProbeShape& shape, DType dtype = DType::kFloat32);

/// The mask that was applied, and the numbers of rows that do not show which of their cells are
/// open.
struct ProbeReading {
  Mask mask;  // [B,H,Q,K]; rows counted by averaged_rows or nan_rows are empty
  /// Cells of weight 0 that may nevertheless be open: their weights may be too small for the dtype
  /// of the array. The outputs of a probe have no such cells.
  Mask untold;
  Index averaged_rows = 0;  // rows without a key that give the mean of V: all weights are equal
  Index nan_rows = 0;
};

/// Reads the outputs of all passes, [passes,B,Q,H,D] or [passes,B,H,Q,D], of any float dtype. A key
/// is open if its weight is more than `threshold` times the largest weight of its row (which is not
/// that of key 0 if another key is open): of a probe, at most 2/3 under the usual scale. Throws
/// Error(kShape) if the passes do not cover `keys` keys, and Error(kInvalidArgument) for a
/// threshold outside [0, 1).
ProbeReading read_probe(const Tensor& outputs, Index keys, Layout layout, double threshold = 0);

/// The queries and keys of a probe, as make_probe() or an older version made them.
struct ProbeInputs {
  const Tensor* query;
  const Tensor* key;
  Layout layout = Layout::kBthd;
  std::optional<double> scale = {};  // what the kernel should use; absent: 1/sqrt(D)
};

/// What the weights of a query head say of its keys.
struct ProbeHead {
  Index declared = 0;           // the key head of its group
  Index fits = 0;               // how many key heads explain the weights, by one scale each
  std::optional<Index> read;    // the declared one if that fits, else another that does
  std::optional<double> scale;  // by which q . k was multiplied; absent: the weights do not tell
  double scale_error = 0;       // how far rounding can have moved it
};

/// What the outputs of a probe say of the call beside its mask.
struct ProbeCall {
  Index kv_heads = 1;
  double scale = 0;  // what it should be
  std::vector<ProbeHead> heads;
  /// Rows with keys whose weights do not sum to 1, as with sinks, and the range of these sums.
  Index rows_off = 0;
  double least_sum = 0, most_sum = 0;
};

/// Reads the key heads, the scale and the sums of the weights from the outputs of a probe. `read`:
/// the mask that read_probe() read from them. Rows of one open key tell no more than their sum.
/// Throws Error(kShape) if the arrays do not fit the outputs, and Error(kInvalidArgument) if the
/// queries differ.
ProbeCall read_probe_call(const Tensor& outputs, const ProbeInputs& inputs, const Mask& read);

/// What a probe shows of the call. `faults`: how it differs from the declared call, as in "query
/// head h reads key head h mod 2 instead of h / 2" or "softmax_scale 1 instead of 0.125". `told`:
/// what the weights confirm, as in "the key heads". `untold`: what they do not show.
struct ProbeCallVerdict {
  std::vector<std::string> faults = {}, told = {}, untold = {};
};
/// The verdict on a call; if `call` is absent, the verdict says that nothing is known of it.
ProbeCallVerdict judge_probe_call(const std::optional<ProbeCall>& call);

/// Reads weights [B,H,Q,K] of any queries and keys. A weight of 0 shows a closed key only if it
/// cannot have underflowed: the least number of the dtype must be eight standard deviations of the
/// row's log weights below their mean. (16-bit floats that were saved as f32 are recognised by
/// their values.) A row of equal weights sees all keys if `declared` (broadcast) opens all of them;
/// otherwise it counts as averaged.
ProbeReading read_weights(const Tensor& weights, double threshold = 0,
                          const Mask* declared = nullptr);

}  // namespace maskctl::attention
