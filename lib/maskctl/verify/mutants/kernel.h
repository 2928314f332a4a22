// A kernel as it is simulated: the weights of the attention core for a call, rounded and summed as
// kernels of low precision do; private to mutants.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// One row of a result.
struct RowPlace {
  Index batch = 0, head = 0, query = 0;
};

/// What a kernel does to the softmax of a row: it changes the weights [Tk] and the lse in place.
using RowFault = std::function<void(const RowPlace& row, std::span<float> weights, float& lse)>;

/// The call that a kernel computes, and how. Arrays are f32.
struct KernelCall {
  Mask mask = {};                               // [B or 1, Hq or 1, Tq, Tk]
  Tensor query = {}, key = {}, value = {};      // [B,Tq,Hq,D], [B,Tk,Hkv,D], [B,Tk,Hkv,D]
  std::optional<Tensor> bias = {}, sinks = {};  // [1,Hq,1,Tk], added before the cap; [Hq,n]
  double scale = 1;
  std::optional<double> soft_cap = {};
  bool caps_closed = false;           // the cap comes after the mask: closed logits become -cap
  std::vector<Index> key_heads = {};  // the key head that each query head reads
  RowFault fault = {};
  // Weights, relative to the largest so far, are rounded to `weights`, and results to `results`.
  DType weights = DType::kFloat32, results = DType::kFloat32;
  Index tile = 128;              // keys that are summed before the largest weight is looked up anew
  bool last_tile_first = false;  // the order in which tiles are summed
};

struct KernelResults {
  Tensor out;  // [B,Tq,Hq,D] f32, numbers of the dtype `results`
  Tensor lse;  // [B,Hq,Tq] f32
};

/// How much softmax weight another kernel gives to other keys.
struct MovedWeight {
  double share =
      0;           // the largest share of a row's weight that was taken from keys or given to keys
  RowPlace row;    // the row with that share
  Index rows = 0;  // rows of which a share was moved
};

struct KernelPair {
  KernelResults right, other;
  MovedWeight moved;
};

/// Runs two kernels on calls with the same extents, and compares their weights row by row. Needs
/// memory for some rows of weights at a time, never for all.
KernelPair run_both(const KernelCall& right, const KernelCall& other);

/// Each number rounded to a float dtype.
Tensor rounded(const Tensor& tensor, DType dtype);

}  // namespace maskctl::attention
