#include "maskctl/mask/steps/bits.h"

#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

Index count_runs(const auto& values) {
  Index runs = 1;
  for (std::size_t i = 1; i < values.size(); ++i) runs += values[i] != values[i - 1];
  return runs;
}

/// Counts the bits that the value of one argument takes.
struct ValueBits {
  const ArgumentBits& bits;
  const Field& field;

  Index operator()(std::monostate) const { return 0; }
  Index operator()(Index value) const {
    if (field.type == FieldType::kChoice) {
      return !field.fallback.empty() && value_text(field, value) != field.fallback;
    }
    const bool is_index = field.required && field.min >= 0;
    return is_index ? bits.number() : bits.signed_number(value);
  }
  Index operator()(double) const { return 64; }
  Index operator()(std::uint64_t) const { return 64; }
  Index operator()(const std::vector<Index>& values) const {
    return std::ssize(values) * bits.number();
  }
  Index operator()(const std::vector<Range>& values) const { return bits.ranges(values); }
  Index operator()(const Range&) const { return 2 * bits.number(); }
  Index operator()(const BlockSize&) const { return 2 * bits.number(); }
  Index operator()(const NamedArray& array) const {
    return field.type == FieldType::kSource ? bits.runs(array) : bits.list(array);
  }
  Index operator()(const NamedMask& mask) const { return mask.mask.cells(); }
};

}  // namespace

Index ArgumentBits::list(const NamedArray& values) const {
  const Tensor& array = values.array;
  if (array.elements() == 0) return 0;
  if (array.elements() != 1) return array.elements() * (number_ + 1);
  return signed_number(as_int64(array, "values").front());
}

Index ArgumentBits::ranges(const std::vector<Range>& ranges) const {
  Index bits = 0;
  for (const Range& range : ranges) bits += range.size() == 1 ? number_ : 2 * number_;
  return bits;
}

Index ArgumentBits::runs(const NamedArray& ids) const {
  if (ids.empty()) return 0;
  const Index runs = ids.array.dtype() == DType::kInt32 ? count_runs(ids.array.as<std::int32_t>())
                                                        : count_runs(as_int64(ids.array, "ids"));
  return kName + runs * (number_ + 3);
}

Index ArgumentBits::arguments() const {
  Index bits = 0;
  for (const Field& field : info_of(step_).args) {
    bits += std::visit(ValueBits{*this, field}, field.get(step_));
  }
  return bits;
}

}  // namespace maskctl
