// The message of the Error that a call throws.
#pragma once

#include <concepts>
#include <string>

#include "maskctl/base/error.h"

namespace maskctl::test {

/// "no error" when it throws none.
template <std::invocable F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace maskctl::test
