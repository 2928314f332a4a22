// The exceptions of the seed, by their Python names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"

namespace maskctl {

enum class PythonType : std::uint8_t {
  kValueError,
  kIndexError,
  kTypeError,
  kNotImplementedError,
  kAssertionError,
};

/// "ValueError", ...
std::string_view name(PythonType type);

/// What ejkernel raises: its type and, where ejkernel itself raises it, its exact text. What JAX or
/// numpy raise underneath has our text.
class PythonError : public Error {
 public:
  PythonError(PythonType type, const std::string& message)
      : Error(Errc::kInvalidArgument, message), type_(type) {}
  PythonType type() const { return type_; }

 private:
  PythonType type_;
};

}  // namespace maskctl
