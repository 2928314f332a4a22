#include "maskctl/inspect/recognise/description.h"

#include <algorithm>
#include <bit>

#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
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
  /// One argument.
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
  Index of_arguments(const Step& step) const {
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
           signed_number(rule.offset) + list(rule.offsets) + list(rule.lefts) + list(rule.rights);
  }
  Index operator()(const step::Chunk& rule) const {
    return number + 2 + signed_number(rule.offset) + list(rule.origins) + list(rule.sizes) +
           list(rule.offsets);  // a single chunk is a padding
  }
  Index operator()(const step::Document& rule) const { return runs(rule.q) + runs(rule.kv); }
  Index operator()(const step::DocumentLengths& rule) const {
    return std::ssize(rule.lengths) * number + 3;  // a single document is a padding
  }
  Index operator()(const step::Pad& rule) const {
    return (rule.is_lengths ? list(rule.valid) : runs(rule.valid)) + rule.left + rule.both;
  }
  Index operator()(const step::Dilated& rule) const { return number + list(rule.strides); }
  Index operator()(const step::Block& rule) const {
    return kArrayName + rule.map.array.elements() + 2 * number;
  }
  Index operator()(const step::Prefix& rule) const { return number + list(rule.each); }
  Index operator()(const step::Sinks& rule) const { return number + list(rule.each); }
  /// Each range costs its numbers and a few bits more, so that a chain that needs no further range
  /// is shorter. Tokens that see each other have equal ranges, which are written once.
  Index operator()(const step::Region& rule) const {
    const Index q = ranges(rule.q) + 4 * std::ssize(rule.q);
    return rule.q == rule.k ? q : q + ranges(rule.k) + 4 * std::ssize(rule.k);
  }
  Index operator()(const step::Tokens& rule) const { return runs(rule.q) + runs(rule.kv); }
  Index operator()(const step::Not&) const { return -4; }  // worth half a step, having no arguments
  Index operator()(const step::KvLengths& rule) const {
    return list(rule.lengths) + list(rule.end) + 2 * number;
  }
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
  const RuleBits bits_of{number_};
  Index bits = 0;
  const bool is_special =
      visit_rule<step::Causal, step::Window, step::Chunk, step::Document, step::DocumentLengths,
                 step::Pad, step::Dilated, step::Block, step::Prefix, step::Sinks, step::Region,
                 step::Tokens, step::Not, step::KvLengths, step::Within>(
          one, [&](const auto& rule) { bits = bits_of(rule); });
  if (!is_special) bits = bits_of.of_arguments(one);
  if (const Chain* inner = chain_of(one)) bits += of(*inner);
  return step() + bits;
}

Index Description::of(const Chain& chain) const {
  Index bits = 0;
  for (const Step& one : chain) bits += of(one);
  return bits;
}

}  // namespace maskctl::recognition
