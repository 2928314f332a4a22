// The exceptions that ejkernel raises, by their Python names.
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

/// The Python name: "ValueError" and so on.
std::string_view name(PythonType type);

/// An exception of the same type as in ejkernel. If ejkernel itself raises it, the message is
/// identical; if JAX or numpy raise it, the message is our own.
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
