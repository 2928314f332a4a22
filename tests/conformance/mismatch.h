// What makes a case fail other than an exception of the library.
#pragma once

#include <stdexcept>
#include <string>

namespace conformance {

/// A manifest that says what the program does not know, or a result that is not the expected one.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace conformance
