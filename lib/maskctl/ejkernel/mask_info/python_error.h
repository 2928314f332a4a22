// The exceptions of ejkernel, by their Python names.
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

/// An exception as ejkernel raises it: its type and, if ejkernel itself raises it, its exact text.
/// Exceptions that JAX or numpy raise underneath have a text of ours.
class PythonError : public Error {
 public:
  PythonError(PythonType type, const std::string& message)
      : Error(Errc::kInvalidArgument, message), type_(type) {}
  PythonType type() const { return type_; }

 private:
  PythonType type_;
};

[[noreturn]] inline void value_error(const std::string& message) {
  throw PythonError(PythonType::kValueError, message);
}

}  // namespace maskctl
