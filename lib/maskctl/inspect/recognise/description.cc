#include "maskctl/inspect/recognise/description.h"

#include <algorithm>
#include <bit>

#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::recognition {
namespace {

constexpr Index kArrayName = 4;

/// How many bits the numbers of a rule take.
struct RuleBits {
  Index number;

  Index signed_number(Index value) const { return value == 0 ? 0 : number + 1; }
  /// A list of numbers; a list without effect costs nothing.
  Index list(const NamedArray& values) const {
    const Tensor& array = values.array;
    if (array.elements() == 0) return 0;
    if (array.elements() != 1) return array.elements() * (number + 1);
    return signed_number(as_int64(array, "values").front());
  }
  Index ranges(const std::vector<Range>& ranges) const {
    Index bits = 0;
    for (const Range& range : ranges) bits += range.size() == 1 ? number : 2 * number;
    return bits;
  }
  /// Each run of equal values: its length, and which value.
  Index runs(const NamedArray& ids) const {
    if (ids.array.elements() == 0) return 0;
    const Index runs = ids.array.dtype() == DType::kInt32 ? count_runs(ids.array.as<std::int32_t>())
                                                          : count_runs(as_int64(ids.array, "ids"));
    return kArrayName + runs * (number + 3);
  }
  /// One argument of a rule that is not below.
  struct ValueBits {
    const RuleBits& bits;
    Index operator()(std::monostate) const { return 0; }
    Index operator()(Index value) const { return bits.signed_number(value); }
    Index operator()(double) const { return 64; }
    Index operator()(std::uint64_t) const { return 64; }
    Index operator()(const std::vector<Index>& values) const {
      return std::ssize(values) * bits.number;
    }
    Index operator()(const std::vector<Range>& values) const { return bits.ranges(values); }
    Index operator()(const Range&) const { return 2 * bits.number; }
    Index operator()(const BlockSize&) const { return 2 * bits.number; }
    Index operator()(const NamedArray& array) const { return bits.runs(array); }
    Index operator()(const NamedMask& mask) const { return mask.mask.cells(); }
  };
  template <typename Rule>
  Index operator()(const Rule& rule) const {
    const Step step{rule};
    Index bits = 0;
    for (const Field& field : info_of(step).args) {
      bits += std::visit(ValueBits{*this}, field.get(step));
    }
    return bits;
  }
  static Index count_runs(const auto& values) {
    Index runs = 1;
    for (std::size_t i = 1; i < values.size(); ++i) runs += values[i] != values[i - 1];
    return runs;
  }

  Index operator()(const step::Causal& rule) const { return list(rule.offsets); }
  Index operator()(const step::Window& rule) const {
    return (rule.left ? std::max<Index>(signed_number(*rule.left), 1) : 0) +
           (rule.right ? std::max<Index>(signed_number(*rule.right), 1) : 0) +
           signed_number(rule.offset) + list(rule.offsets);
  }
  Index operator()(const step::Chunk& rule) const {
    return number + 2 + signed_number(rule.offset) +
           list(rule.origins);  // a single chunk is a padding
  }
  Index operator()(const step::Document& rule) const { return runs(rule.q) + runs(rule.kv); }
  Index operator()(const step::DocumentLengths& rule) const {
    return std::ssize(rule.lengths) * number + 3;  // a single document is a padding
  }
  Index operator()(const step::Pad& rule) const {
    return (rule.is_lengths ? list(rule.valid) : runs(rule.valid)) + rule.left + rule.both;
  }
  Index operator()(const step::Dilated&) const { return number; }
  Index operator()(const step::Block& rule) const {
    return kArrayName + rule.map.array.elements() + 2 * number;
  }
  Index operator()(const step::Random&) const { return 64; }
  Index operator()(const step::Prefix& rule) const { return number + list(rule.each); }
  Index operator()(const step::Sinks& rule) const { return number + list(rule.each); }
  Index operator()(const step::Global& rule) const { return ranges(rule.tokens); }
  /// Each range costs its numbers and a few bits for being there, so moving a number is shorter.
  /// Tokens that see each other are named once.
  Index operator()(const step::Region& rule) const {
    const Index q = ranges(rule.q) + 4 * std::ssize(rule.q);
    return rule.q == rule.k ? q : q + ranges(rule.k) + 4 * std::ssize(rule.k);
  }
  Index operator()(const step::Combine& rule) const { return rule.mask.cells(); }
  Index operator()(const step::Tokens& rule) const { return runs(rule.q) + runs(rule.kv); }
  Index operator()(const step::Not&) const { return -4; }  // worth half a step, having no arguments
  Index operator()(const step::Slice&) const { return 4 * number; }
  Index operator()(const step::KvLengths& rule) const {
    return list(rule.lengths) + list(rule.end) + 2 * number;
  }
  Index operator()(const step::Scoped& rule) const { return ranges(rule.members); }
  Index operator()(const step::Within& rule) const {
    // Where documents alone say it, they do.
    return std::ssize(rule.lengths) * number + std::ssize(rule.kv_lengths) * number + kArrayName +
           runs(rule.q) + runs(rule.kv);
  }
};

}  // namespace

Description::Description(const Extent& extent)
    : number_(static_cast<Index>(
          std::bit_width(static_cast<std::uint64_t>(std::max(extent.queries, extent.keys))))) {}

Index Description::of(const Step& one) const {
  Index bits = step() + std::visit(RuleBits{number_}, one.rule);
  if (const auto* scoped = std::get_if<step::Scoped>(&one.rule)) bits += of(scoped->chain);
  if (const auto* within = std::get_if<step::Within>(&one.rule)) bits += of(within->chain);
  return bits;
}

Index Description::of(const Chain& chain) const {
  Index bits = 0;
  for (const Step& one : chain) bits += of(one);
  return bits;
}

}  // namespace maskctl::recognition
