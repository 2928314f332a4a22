// Packs the elements of dense arrays into planes and checks them on the way.
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

/// Which values a mask may have: 0 and 1, or those of a bias.
enum class Values : std::uint8_t { kBinary, kBias };

/// Packs elements and looks for values that are not allowed. Bool bytes that are neither 0 nor 1
/// count as true and are only counted. Thread-safe.
class ValueCheck {
 public:
  /// `shape` is that of the array, in the order in which its elements are stored (last axis
  /// fastest).
  ValueCheck(std::string name, DType dtype, std::vector<Index> shape, bool fortran_order,
             Values values = Values::kBinary, std::optional<double> closed_below = {});
  /// Sets bit i of words when element i is open. Returns false when a value is not allowed; the
  /// first element is number `first` of the array.
  bool pack(Index first, std::span<const std::byte> elements, std::span<std::uint64_t> words);
  /// Records that these elements contain such a value.
  void found(Index first, std::span<const std::byte> elements);
  /// True when no element from `first` on can be the first bad one.
  bool settled(Index first) const { return first > first_bad_; }
  /// Throws Error(kFormat): "m.npy: values other than 0 and 1, the first is 3 at (0, 3); ...".
  void check() const;
  /// Calls check(), and adds notes about odd bytes and about closed cells of two kinds.
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
  ArrayLook look_ = ArrayLook::kOther;  // look of the part with the first bad element
};

/// Throws like ValueCheck, for an array in memory; returns how many bool bytes are neither 0 nor 1.
Index check_binary(const Tensor& array, const std::string& name, std::vector<std::string>& notes);

/// The mask [batch, heads, queries, keys] (`shape`) of rows of elements. Open means nonzero, or
/// zero if `invert`, or what a bias says (`check` knows which). Equal planes are shared.
/// `progress` and `rows_read` are those of MaskReadOptions.
Mask dense_mask(ElementRows& rows, std::span<const Index> shape, bool invert, ValueCheck& check,
                const std::function<void(double)>& progress, const RowsSink& rows_read);

}  // namespace maskctl
