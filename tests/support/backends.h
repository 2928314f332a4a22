// The attention backends that can run on this machine.
#pragma once

#include <vector>

#include "maskctl/attention/problems/backends.h"

namespace maskctl::test {

/// All backends that can run here, the fastest first.
inline std::vector<attention::Backend> usable_backends() {
  std::vector<attention::Backend> usable;
  for (const attention::BackendRow& row : attention::backends()) {
    if (attention::unavailable(row.backend).empty()) usable.push_back(row.backend);
  }
  return usable;
}
/// The backends that tests compare with the reference backend: all that can run here but itself.
inline std::vector<attention::Backend> judged_backends() {
  std::vector<attention::Backend> judged;
  for (const attention::Backend backend : usable_backends()) {
    if (!attention::backend_row(backend).is_reference) judged.push_back(backend);
  }
  return judged;
}

}  // namespace maskctl::test
