// The backends that can run here.
#pragma once

#include <vector>

#include "maskctl/attention/backends.h"

namespace maskctl::test {

/// All of them, the fastest first.
inline std::vector<attention::Backend> usable_backends() {
  std::vector<attention::Backend> usable;
  for (const attention::BackendRow& row : attention::backends()) {
    if (attention::unavailable(row.backend).empty()) usable.push_back(row.backend);
  }
  return usable;
}
/// Those that the reference judges.
inline std::vector<attention::Backend> judged_backends() {
  std::vector<attention::Backend> judged;
  for (const attention::Backend backend : usable_backends()) {
    if (!attention::backend_row(backend).is_reference) judged.push_back(backend);
  }
  return judged;
}

}  // namespace maskctl::test
