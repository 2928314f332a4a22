// Gives access to the rows of an array in memory, in a file (in parallel) or in a pipe (in order).
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

/// A matrix of elements in the order in which they are stored. It is passed on in parts of rows;
/// the whole is never in memory unless it was before.
class ElementRows {
 public:
  virtual ~ElementRows() = default;

  /// Receives elements [column, column + n) of a row. n is a multiple of 64 except at the end of a
  /// row.
  using Part = std::function<void(Index row, Index column, std::span<const std::byte> elements)>;
  /// Passes on the elements of these rows in ascending order. If in_order(), each call must
  /// continue where the previous one ended; otherwise several threads may call it at once.
  virtual void read(Range rows, const Part& part) = 0;
  virtual bool in_order() const = 0;
};

/// The rows of an array in memory, read without a copy if the last axis is contiguous. The array
/// must outlive the result.
std::unique_ptr<ElementRows> view_rows(const TensorView& array);
/// The rows of an open .npy in the order in which they are stored, `columns` elements each.
std::unique_ptr<ElementRows> npy_rows(std::shared_ptr<NpyReader> reader, Index columns);

/// Tells a callback what fraction of a long job is done: rising from 0 to 1, in at most 200 calls,
/// never from two threads at the same time.
class Progress {
 public:
  Progress(std::function<void(double)> callback, Index total);
  void add(Index amount);

 private:
  std::function<void(double)> callback_;
  Index total_;
  std::mutex mutex_;
  Index done_ = 0;
  Index told_ = 0;  // last fraction reported, in 1/200
};

}  // namespace maskctl
