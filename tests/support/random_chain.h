// Random chains of mask steps that `recognise` knows, for property tests and for measuring how
// often it succeeds.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/tokens.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl::twin {

/// Draws steps for masks of `queries` x `keys`. Arrays are named after their content, so that
/// chains can be printed.
class ChainMaker {
 public:
  ChainMaker(std::mt19937_64& random, Index queries, Index keys)
      : random_(random), queries_(queries), keys_(keys) {}

  Chain chain(Index steps) {
    Chain out;
    for (Index i = 0; i < steps; ++i) out.push_back(rule());
    return out;
  }
  /// Draws a chain of steps that take numbers only, no arrays.
  Chain plain_chain(Index steps) {
    Chain out;
    while (std::ssize(out) < steps) {
      Step step = rule();
      const bool arrays =
          step.is<step::Document>() || step.is<step::Block>() || step.is<step::Tokens>();
      const auto* pad = step.get_if<step::Pad>();
      if (!arrays && !(pad && !pad->is_lengths)) out.push_back(std::move(step));
    }
    return out;
  }

 private:
  Index draw(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, std::max(low, high))(random_);
  }
  bool coin() { return draw(0, 1) == 1; }
  bool square() const { return queries_ == keys_; }
  Index longest() const { return std::max(queries_, keys_); }
  Align align() {
    if (square() && coin()) return Align::kUnset;
    return coin() ? Align::kTopLeft : Align::kBottomRight;
  }
  static NamedArray array(const std::vector<Index>& values, DType dtype, const char* name) {
    Tensor tensor(dtype, {static_cast<Index>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (dtype == DType::kInt64) tensor.as<std::int64_t>()[i] = values[i];
      if (dtype == DType::kInt32) {
        tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(values[i]);
      }
      if (dtype == DType::kBool) tensor.as<std::uint8_t>()[i] = values[i] != 0;
    }
    return {std::move(tensor), name};
  }

  /// Splits `size` into a few random lengths.
  std::vector<Index> lengths(Index size) {
    std::vector<Index> out;
    for (Index left = size, parts = draw(1, 6); left > 0; --parts) {
      const Index length = parts > 1 ? draw(1, std::max<Index>(left * 2 / 3, 1)) : left;
      out.push_back(length);
      left -= length;
    }
    return out;
  }
  /// Draws ids `first` to `first + count - 1`, for each token if `scattered`, otherwise for runs of
  /// tokens.
  std::vector<Index> ids(Index size, bool scattered, Index first, Index count) {
    std::vector<Index> out;
    if (scattered) {
      for (Index i = 0; i < size; ++i) out.push_back(first + draw(0, count - 1));
      return out;
    }
    for (const Index length : lengths(size)) {
      out.insert(out.end(), static_cast<std::size_t>(length), first + draw(0, count - 1));
    }
    return out;
  }

  Step rule() {
    switch (draw(0, 10)) {
      case 0:
        return causal();
      case 1:
        return window();
      case 2:
        return step::Chunk{draw(1, longest()), coin() ? 0 : draw(-longest(), longest())};
      case 3:
        return document();
      case 4:
        return pad();
      case 5:
        return step::Prefix{draw(0, keys_)};
      case 6:
        return step::Sinks{draw(0, 8)};
      case 7:
        return global();
      case 8:
        return step::Dilated{draw(1, 12)};
      case 9:
        return block();
      default:
        return tokens();
    }
  }
  step::Causal causal() {
    step::Causal rule;
    rule.align = align();
    if (coin()) {
      rule.offsets = array({draw(-longest() / 2, longest() / 2)}, DType::kInt64, "");
    }
    return rule;
  }
  step::Window window() {
    step::Window rule;
    rule.align = align();
    const auto side = [&]() -> std::optional<Index> {
      if (draw(0, 3) == 0) return std::nullopt;
      return coin() ? draw(0, 16) : draw(0, longest());
    };
    rule.left = side();
    rule.right = coin() ? std::optional<Index>(0) : side();
    if (!rule.left && !rule.right) rule.left = draw(0, longest());
    if (draw(0, 3) == 0) rule.offset = draw(-8, 8);
    return rule;
  }
  Step document() {
    if (square() && coin()) return step::DocumentLengths{lengths(keys_)};
    step::Document rule;
    const bool scattered = coin();
    const Index first = draw(-1, 0), count = draw(1, 6);
    rule.shared = square() && coin();
    rule.q = array(ids(queries_, scattered, first, count), DType::kInt32, "q.npy");
    if (!rule.shared) rule.kv = array(ids(keys_, scattered, first, count), DType::kInt32, "k.npy");
    return rule;
  }
  step::Pad pad() {
    step::Pad rule;
    rule.both = square() && coin();
    rule.is_lengths = draw(0, 3) > 0;
    rule.left = rule.is_lengths && coin();
    rule.valid = rule.is_lengths ? array({draw(0, keys_)}, DType::kInt64, "")
                                 : array(ids(keys_, coin(), 0, 2), DType::kBool, "valid.npy");
    return rule;
  }
  step::Global global() {
    step::Global rule;
    for (Index n = draw(1, 3); n > 0; --n) {
      const Index begin = draw(0, longest() - 1);
      rule.tokens.push_back({begin, std::min(begin + draw(1, 4), longest())});
    }
    return rule;
  }
  step::Block block() {
    step::Block rule;
    rule.q_size = draw(2, 64);
    rule.k_size = coin() ? rule.q_size : draw(2, 64);
    const Index rows = ceil_div(queries_, rule.q_size), columns = ceil_div(keys_, rule.k_size);
    rule.map.array = Tensor(DType::kBool, {rows, columns});
    rule.map.text = "map.npy";
    const Index open = draw(1, 4);
    for (std::uint8_t& flag : rule.map.array.as<std::uint8_t>()) flag = draw(0, 4) < open;
    return rule;
  }
  step::Tokens tokens() {
    step::Tokens rule;
    const bool scattered = coin();
    const Index count = draw(2, 4);
    rule.shared = square() && draw(0, 3) > 0;
    rule.q = array(ids(queries_, scattered, 0, count), DType::kInt32, "types.npy");
    if (!rule.shared) {
      rule.kv = array(ids(keys_, scattered, 0, count), DType::kInt32, "key_types.npy");
    }
    rule.join = draw(0, 3) == 0 ? step::Tokens::Join::kIntersect : step::Tokens::Join::kUnion;
    rule.zero = static_cast<step::Tokens::Zero>(draw(0, 3));
    return rule;
  }

  std::mt19937_64& random_;
  Index queries_, keys_;
};

}  // namespace maskctl::twin
