// Masks that combine other masks: and, or, and one mask per head.
#include "maskctl/ejkernel/lazy/lazy_mask.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/ejkernel/lazy/lazy_shape.h"
#include "maskctl/ejkernel/lazy/subscript.h"
#include "maskctl/ejkernel/mask_info/python_error.h"

namespace maskctl::lazy {
namespace {

/// A LogicalAnd or LogicalOr.
class LogicalMask final : public LazyMask {
 public:
  LogicalMask(Op op, MaskPtr left, MaskPtr right)
      : op_(op), left_(std::move(left)), right_(std::move(right)) {
    if (left_->shape() != right_->shape()) {
      throw PythonError(PythonType::kValueError, "Masks must have the same shape");
    }
  }
  std::vector<Index> shape() const override { return left_->shape(); }
  Attributes attributes() const override {
    if (op_ == Op::kAnd) return attributes::LogicalAnd{left_, right_};
    return attributes::LogicalOr{left_, right_};
  }

  Tensor at(std::span<const Subscript> index) const override {
    Tensor out = left_->at(index);
    const Tensor other = right_->at(index);
    if (out.shape() != other.shape()) {
      throw PythonError(PythonType::kValueError,
                        fmt::format("operands could not be broadcast together with shapes {} {}",
                                    shape_text(out.shape()), shape_text(other.shape())));
    }
    const auto cells = out.as<std::uint8_t>();
    const auto others = other.as<std::uint8_t>();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = op_ == Op::kAnd ? cells[i] & others[i] : cells[i] | others[i];
    }
    return out;
  }
  bool equals(const LazyMask& other) const override {
    const auto* same = dynamic_cast<const LogicalMask*>(&other);
    return same && same->op_ == op_ && left_->equals(*same->left_) && right_->equals(*same->right_);
  }
  std::size_t hash() const override {
    return hash_of(op_ == Op::kAnd ? 6 : 7, left_->hash(), right_->hash());
  }
  Mask mask() const override { return zip(op_, left_->mask(), right_->mask()); }

  /// Applies the operation to the masks of each head; a mask of one head is used for all heads.
  std::vector<MaskPtr> heads() const {
    std::vector<MaskPtr> out = heads_of(left_);
    const std::vector<MaskPtr> others = heads_of(right_);
    for (std::size_t h = 0; h < out.size(); ++h) {
      out[h] = std::make_shared<LogicalMask>(op_, out[h], others[h]);
    }
    return out;
  }

 private:
  Op op_;
  MaskPtr left_, right_;
};

class MultiHeadMask final : public LazyMask {
 public:
  explicit MultiHeadMask(std::vector<MaskPtr> masks) : masks_(std::move(masks)) {
    if (masks_.empty()) {
      throw PythonError(PythonType::kValueError, "Unsupported empty tuple of masks");
    }
    const std::vector<Index> first = masks_.front()->shape();
    for (const MaskPtr& mask : masks_) {
      if (mask->shape() == first) continue;
      throw PythonError(PythonType::kValueError,
                        fmt::format("Unexpected mask shape, got: {}, expected: {}",
                                    shape_text(mask->shape()), shape_text(first)));
    }
    if (first.size() != 2) {
      throw PythonError(PythonType::kValueError, "Nesting MultiHeadMasks is not supported");
    }
  }
  std::vector<Index> shape() const override {
    std::vector<Index> out = masks_.front()->shape();
    out.insert(out.begin(), static_cast<Index>(masks_.size()));
    return out;
  }
  Attributes attributes() const override { return attributes::MultiHeadMask{masks_}; }

  Tensor at(std::span<const Subscript> index) const override {
    if (index.size() != 3) {
      throw PythonError(PythonType::kNotImplementedError,
                        "Unsupported slice: " + python_text(index));
    }
    const auto heads = static_cast<Index>(masks_.size());
    const auto block = index.subspan(1);
    if (const auto* head = std::get_if<Index>(&index[0])) {
      // head == heads passes ejkernel's assertion, then fails when it indexes the list.
      if (*head < 0 || *head > heads) throw PythonError(PythonType::kAssertionError, "");
      if (*head == heads) throw PythonError(PythonType::kIndexError, "list index out of range");
      return masks_[static_cast<std::size_t>(*head)]->at(block);
    }
    const auto* slice = std::get_if<Slice>(&index[0]);
    if (!slice) {
      throw PythonError(PythonType::kTypeError, "list indices must be integers or slices");
    }
    return stacked(resolve(*slice, heads), block);
  }

  bool equals(const LazyMask& other) const override {
    const auto* same = dynamic_cast<const MultiHeadMask*>(&other);
    return same &&
           std::equal(masks_.begin(), masks_.end(), same->masks_.begin(), same->masks_.end(),
                      [](const MaskPtr& a, const MaskPtr& b) { return a->equals(*b); });
  }
  std::size_t hash() const override {
    std::size_t seed = 8;
    for (const MaskPtr& mask : masks_) seed = hash_of(seed, mask->hash());
    return seed;
  }
  Mask mask() const override {
    const std::vector<Index> extents = masks_.front()->shape();
    std::vector<PlanePtr> planes;
    for (std::size_t h = 0; h < masks_.size(); ++h) planes.push_back(plane_of(h, planes));
    return Mask::make(1, static_cast<Index>(masks_.size()), extents[0], extents[1],
                      [&](Index, Index h) { return planes[static_cast<std::size_t>(h)]; });
  }

  const std::vector<MaskPtr>& masks() const { return masks_; }

 private:
  /// The plane of a head; heads with equal masks share one plane.
  PlanePtr plane_of(std::size_t head, const std::vector<PlanePtr>& before) const {
    for (std::size_t h = 0; h < head; ++h) {
      if (masks_[h] == masks_[head] || masks_[h]->equals(*masks_[head])) return before[h];
    }
    return masks_[head]->mask().plane(0, 0);
  }
  Tensor stacked(const Positions& heads, std::span<const Subscript> block) const {
    if (heads.count == 0) {
      throw PythonError(PythonType::kValueError, "need at least one array to stack");
    }
    std::vector<Tensor> parts;
    for (Index i = 0; i < heads.count; ++i) {
      parts.push_back(masks_[static_cast<std::size_t>(heads.start + i * heads.step)]->at(block));
      if (parts.back().shape() != parts.front().shape()) {
        throw PythonError(PythonType::kValueError, "all input arrays must have the same shape");
      }
    }
    std::vector<Index> shape = parts.front().shape();
    shape.insert(shape.begin(), heads.count);
    Tensor out(DType::kBool, std::move(shape));
    auto next = out.bytes().begin();
    for (const Tensor& part : parts) {
      next = std::copy(part.bytes().begin(), part.bytes().end(), next);
    }
    return out;
  }

  std::vector<MaskPtr> masks_;
};

MaskPtr operated(Op op, const MaskPtr& left, const MaskPtr& right) {
  if (left->shape() != right->shape()) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Invalid shape for other: {}, expected: {}",
                                  shape_text(right->shape()), shape_text(left->shape())));
  }
  return std::make_shared<LogicalMask>(op, left, right);
}

}  // namespace

void LazyMask::to_bool() const {
  throw PythonError(PythonType::kNotImplementedError,
                    "Conversion to bool is unsupported. Could be caused by using logical instead "
                    "of bitwise operations on masks.");
}

MaskPtr logical_and(MaskPtr left, MaskPtr right) {
  return std::make_shared<LogicalMask>(Op::kAnd, std::move(left), std::move(right));
}

MaskPtr logical_or(MaskPtr left, MaskPtr right) {
  return std::make_shared<LogicalMask>(Op::kOr, std::move(left), std::move(right));
}

MaskPtr operator&(const MaskPtr& left, const MaskPtr& right) {
  return operated(Op::kAnd, left, right);
}

MaskPtr operator|(const MaskPtr& left, const MaskPtr& right) {
  return operated(Op::kOr, left, right);
}

MaskPtr multi_head_mask(std::vector<MaskPtr> masks) {
  return std::make_shared<MultiHeadMask>(std::move(masks));
}

std::vector<MaskPtr> heads_of(const MaskPtr& mask) {
  if (const auto* heads = dynamic_cast<const MultiHeadMask*>(mask.get())) return heads->masks();
  if (const auto* logical = dynamic_cast<const LogicalMask*>(mask.get());
      logical && mask->shape().size() == 3) {
    return logical->heads();
  }
  return {mask};
}

}  // namespace maskctl::lazy
