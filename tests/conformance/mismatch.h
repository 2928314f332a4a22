// The exception that makes a case fail, apart from those of the library.
#pragma once

#include <stdexcept>
#include <string>

namespace conformance {

/// Thrown when a manifest has something unknown, or a result is not the expected one.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace conformance
