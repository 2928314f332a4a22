// Looks up libraries by their names.
#pragma once

#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/translate/conventions.h"

namespace maskctl::test {

inline const Library& lib(std::string_view name) {
  const Library* found = find_library(name);
  if (!found) throw Error(Errc::kInvalidArgument, "no library of this name");
  return *found;
}

}  // namespace maskctl::test
