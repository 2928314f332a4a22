// One array of a SOURCE, opened but not yet read, and what the kinds make of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/io/array_io.h"
#include "maskctl/io/mask_io.h"

namespace maskctl {

/// An array behind its header. The data of an .npy waits in `reader`, others are in `tensor`.
struct OpenArray {
  std::string name;  // for messages
  DType dtype = DType::kBool;
  std::vector<Index> shape;
  bool fortran_order = false;
  std::shared_ptr<NpyReader> reader;
  std::optional<Tensor> tensor;

  /// The array in memory, read at the first call.
  const Tensor& load(const ReadOptions& options, std::vector<std::string>& notes);
};

OpenArray open_array(std::shared_ptr<NpyReader> reader);
OpenArray open_array(std::string name, Tensor tensor);

/// The kind asked for, or the only one that fits. Throws Error(kInvalidArgument) naming the kinds
/// when several do, Error(kShape) when none does.
Kind choose_kind(OpenArray& array, const MaskReadOptions& options, std::vector<std::string>& notes);

/// The mask of one array of any kind but runs; q and kv may be the same array.
LoadedMask load_dense(OpenArray& array, const MaskReadOptions& options);
LoadedMask load_padding(OpenArray& array, Kind kind, const MaskReadOptions& options);
LoadedMask load_sequences(OpenArray& q, OpenArray& kv, Kind kind, const MaskReadOptions& options);

}  // namespace maskctl
