// The rows of an array, from memory, from a file in parallel, or from a pipe in order.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "maskctl/base/index.h"
#include "maskctl/io/formats/npy/npy.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl {

/// A matrix of elements in stored order, handed out in parts of rows; never held whole unless it
/// already was.
class ElementRows {
 public:
  virtual ~ElementRows() = default;

  /// Receives elements [column, column + n) of a row; n is a multiple of 64 unless the row ends
  /// there.
  using Part = std::function<void(Index row, Index column, std::span<const std::byte> elements)>;
  /// Hands out these rows in ascending order. When in_order(), each call must start where the
  /// previous one ended; otherwise several threads may call at once.
  virtual void read(Range rows, const Part& part) = 0;
  virtual bool in_order() const = 0;
};

/// The rows of an array in memory that outlives the result, read where they lie.
std::unique_ptr<ElementRows> view_rows(const TensorView& array);
/// The rows of an open .npy, `columns` elements each, in stored order.
std::unique_ptr<ElementRows> npy_rows(std::shared_ptr<NpyReader> reader, Index columns);

/// Reports to a callback how much of a long job is done: rising fractions of 1, at most 200 calls,
/// never two at once.
class Progress {
 public:
  Progress(std::function<void(double)> callback, Index total);
  void add(Index amount);

 private:
  std::function<void(double)> callback_;
  Index total_;
  std::mutex mutex_;
  Index done_ = 0;
  Index told_ = 0;  // last reported, in 1/200
};

}  // namespace maskctl
