// Arrays by name, caught errors, and equality of chains for the pipeline tests.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "maskctl/mask/bands.h"
#include "maskctl/pipeline/bind.h"
#include "maskctl/pipeline/generate.h"
#include "support/tensors.h"

namespace maskctl::test {

inline const std::map<std::string, Tensor>& arrays() {
  using U = std::uint8_t;
  static const std::map<std::string, Tensor> kArrays = {
      {"ids.npy", i32({2, 4}, {1, 1, 2, -1, 1, 2, 2, 2})},
      {"ids4.npy", i32({1, 1, 2, -1})},
      {"ids6.npy", i32({1, 1, 1, 2, 2, -1})},
      {"lens.npy", i32({3, 4})},
      {"flags.npy", tensor_of<U>(DType::kBool, {4}, {1, 1, 1, 0})},
      {"flags2d.npy", i32({2, 4}, {1, 1, 0, 0, 1, 1, 1, 1})},
      {"map.npy", tensor_of<U>(DType::kUInt8, {2, 2}, {1, 0, 0, 1})},
      {"odd =,|{}'name.npy", i32({1, 2, 2, 1})},
  };
  return kArrays;
}

inline BindContext context() {
  BindContext out;
  out.read_array = [](const std::string& source) {
    const auto found = arrays().find(source);
    if (found == arrays().end()) throw Error(Errc::kIo, source + ": no such file");
    return found->second;
  };
  out.read_mask = [](const std::string& source) {
    if (source != "other.npy") throw Error(Errc::kIo, source + ": no such file");
    return Mask(rectangle(4, 4, {0, 2}, {1, 3}));
  };
  return out;
}

inline Chain bound(const std::string& text) { return bind(parse(text), context()); }

/// The three lines a person sees; "" when nothing is thrown.
template <typename F>
std::string failure_of(const F& f) {
  try {
    f();
  } catch (const PipelineError& error) {
    return std::string(error.what()) + "\n" + error.display();
  }
  return "";
}
inline std::string parse_failure(const std::string& text) {
  return failure_of([&] { parse(text); });
}
inline std::string bind_failure(const std::string& text) {
  return failure_of([&] { bound(text); });
}
inline std::string generate_failure(const std::string& text) {
  return failure_of([&] { generate(text, context()); });
}

/// The message of three lines, with the caret under byte `column` of a one-line ASCII text.
inline std::string at(const std::string& text, std::size_t column, const std::string& message) {
  return message + "\n  " + text + "\n  " + std::string(column, ' ') + "^";
}

inline bool same(const NamedArray& a, const NamedArray& b) {
  return a.text == b.text && a.array.dtype() == b.array.dtype() &&
         a.array.shape() == b.array.shape() && std::ranges::equal(a.array.bytes(), b.array.bytes());
}

inline bool same(const Chain& a, const Chain& b);

inline bool same(const step::Causal& a, const step::Causal& b) {
  return a.align == b.align && same(a.offsets, b.offsets);
}
inline bool same(const step::Window& a, const step::Window& b) {
  return a.left == b.left && a.right == b.right && a.align == b.align && a.offset == b.offset &&
         a.spelling == b.spelling;
}
inline bool same(const step::Chunk& a, const step::Chunk& b) {
  return a.size == b.size && a.offset == b.offset;
}
inline bool same(const step::Document& a, const step::Document& b) {
  return same(a.q, b.q) && same(a.kv, b.kv) && a.shared == b.shared && a.pad_id == b.pad_id;
}
inline bool same(const step::DocumentLengths& a, const step::DocumentLengths& b) {
  return a.lengths == b.lengths;
}
inline bool same(const step::Pad& a, const step::Pad& b) {
  return same(a.valid, b.valid) && a.is_lengths == b.is_lengths && a.left == b.left &&
         a.both == b.both;
}
inline bool same(const step::Dilated& a, const step::Dilated& b) { return a.stride == b.stride; }
inline bool same(const step::Block& a, const step::Block& b) {
  return same(a.map, b.map) && a.q_size == b.q_size && a.k_size == b.k_size;
}
inline bool same(const step::Random& a, const step::Random& b) {
  return a.sparsity == b.sparsity && a.seed == b.seed && a.stream == b.stream;
}
inline bool same(const step::Prefix& a, const step::Prefix& b) { return a.n == b.n; }
inline bool same(const step::Sinks& a, const step::Sinks& b) { return a.n == b.n; }
inline bool same(const step::Global& a, const step::Global& b) { return a.tokens == b.tokens; }
inline bool same(const step::Combine& a, const step::Combine& b) {
  return a.op == b.op && a.text == b.text && a.mask.count() == b.mask.count();
}
inline bool same(const step::Tokens& a, const step::Tokens& b) {
  return same(a.q, b.q) && same(a.kv, b.kv) && a.shared == b.shared && a.join == b.join &&
         a.zero == b.zero;
}
inline bool same(const step::Not&, const step::Not&) { return true; }
inline bool same(const step::Slice& a, const step::Slice& b) {
  return a.b == b.b && a.h == b.h && a.q == b.q && a.k == b.k;
}
inline bool same(const step::KvLengths& a, const step::KvLengths& b) {
  return same(a.lengths, b.lengths) && a.q_len == b.q_len && a.window == b.window &&
         same(a.end, b.end);
}
inline bool same(const step::Scoped& a, const step::Scoped& b) {
  return a.axis == b.axis && a.members == b.members && same(a.chain, b.chain);
}

inline bool same(const Step& a, const Step& b) {
  return std::visit(
      [](const auto& x, const auto& y) {
        if constexpr (std::is_same_v<decltype(x), decltype(y)>) {
          return same(x, y);
        } else {
          return false;
        }
      },
      a.rule, b.rule);
}

inline bool same(const Chain& a, const Chain& b) {
  return std::ranges::equal(a, b, [](const Step& x, const Step& y) { return same(x, y); });
}

}  // namespace maskctl::test
