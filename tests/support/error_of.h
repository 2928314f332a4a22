// Returns the message or the remedies of the Error that a call throws.
#pragma once

#include <algorithm>
#include <concepts>
#include <string>
#include <vector>

#include "maskctl/base/error.h"

namespace maskctl::test {

/// The message of the Error that f throws, or "no error".
template <std::invocable F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// The remedies of the Error that a call throws.
template <std::invocable F>
std::vector<Remedy> remedies_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return {error.remedies().begin(), error.remedies().end()};
  }
  return {};
}

template <std::invocable F>
bool offers(Remedy::Kind kind, F&& f) {
  return std::ranges::count(remedies_of(f), kind, &Remedy::kind) == 1;
}

}  // namespace maskctl::test
