// Helpers of the pipeline tests: arrays by name, error texts, and equality of chains.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/generate.h"
#include "support/tensors.h"

namespace maskctl::test {

inline const std::map<std::string, Tensor>& arrays() {
  using U = std::uint8_t;
  static const std::map<std::string, Tensor> kArrays = {
      {"ids.npy", i32({2, 4}, {1, 1, 2, -1, 1, 2, 2, 2})},
      {"ids4.npy", i32({1, 1, 2, -1})},
      {"ids6.npy", i32({1, 1, 1, 2, 2, -1})},
      {"lens.npy", i32({3, 4})},
      {"images.npy", i32({0, 0, 0, 1, 1, 1, 1, 2, 2})},
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

/// The three lines of the error that f throws, as a user sees them; "" when it throws none.
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

/// The three lines of an error whose caret stands under byte `column` of a one-line ASCII text.
inline std::string at(const std::string& text, std::size_t column, const std::string& message) {
  return message + "\n  " + text + "\n  " + std::string(column, ' ') + "^";
}

}  // namespace maskctl::test
