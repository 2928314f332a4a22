// The one exception of the library.
#pragma once

#include <stdexcept>
#include <string>

namespace maskctl {

enum class Errc {
  kInvalidArgument,
  kShape,
  kFormat,
  kIo,
  kLimit,
  kUnsupported,
  kDevice,
  kCancelled
};

/// Bad input or a failed environment. The message is one lower-case line without a full stop: what
/// was seen, what was expected, how to fix it. A negative answer (two masks differ) is a value,
/// never an Error.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Errc code() const { return code_; }

 private:
  Errc code_;
};

}  // namespace maskctl
