// Packs the elements of dense arrays into planes and checks them at the same time.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/io/kinds/array_look.h"
#include "maskctl/io/masks/element_rows.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// The values that are allowed: 0 and 1, or those of a bias.
enum class Values : std::uint8_t { kBinary, kBias };

/// Packs elements and looks for values that are not allowed. A bool byte other than 0 and 1 is
/// true; such bytes are counted, not refused. Thread-safe.
class ValueCheck {
 public:
  /// `shape` is the shape of the array. `fortran_order`: its elements are stored and numbered with
  /// the first axis fastest, else with the last.
  ValueCheck(std::string name, DType dtype, std::vector<Index> shape, bool fortran_order,
             Values values = Values::kBinary, std::optional<double> closed_below = {});
  /// Sets bit i of `words` when element i is open. `first` is the number of the first of these
  /// elements in the array. Returns false if any value is not allowed.
  bool pack(Index first, std::span<const std::byte> elements, std::span<std::uint64_t> words);
  /// Records that some of these elements are not allowed.
  void found(Index first, std::span<const std::byte> elements);
  /// True when a bad element before `first` is known, so that elements from there on need no check.
  bool settled(Index first) const { return first > first_bad_; }
  /// Throws Error(kFormat) if a bad element was found: "m.npy: values other than 0 and 1, the first
  /// is 3 at (0, 3); ...".
  void check() const;
  /// Calls check(). Then adds notes if bool bytes were neither 0 nor 1, and if different values
  /// closed cells.
  void finish(std::vector<std::string>& notes) const;
  Index odd_bools() const { return odd_bools_; }
  const BiasSeen& bias_seen() const { return seen_; }

 private:
  std::vector<Index> position(Index element) const;
  std::optional<Index> first_bad(std::span<const std::byte> elements) const;

  std::string name_;
  DType dtype_;
  std::vector<Index> shape_;
  bool fortran_order_;
  Values values_;
  BiasRule rule_;
  BiasSeen seen_;
  std::atomic<Index> first_bad_;
  std::atomic<Index> odd_bools_{0};
  std::mutex mutex_;
  std::string bad_text_;
  ArrayLook look_ = ArrayLook::kOther;  // what the elements around the first bad one look like
};

/// Throws Error(kFormat) if an array in memory has elements other than 0 and 1. In bool arrays
/// other bytes count as true: returns their number, and adds a note.
Index check_binary(const Tensor& array, const std::string& name, std::vector<std::string>& notes);

/// The mask of rows of elements; `shape` is [batch, heads, queries, keys]. A cell is open where the
/// element is nonzero, or with `invert` where it is zero; for a bias, `check` decides. Equal planes
/// are stored once. `progress` and `rows_read` are explained in MaskReadOptions.
Mask dense_mask(ElementRows& rows, std::span<const Index> shape, bool invert, ValueCheck& check,
                const std::function<void(double)>& progress, const RowsSink& rows_read);

}  // namespace maskctl
