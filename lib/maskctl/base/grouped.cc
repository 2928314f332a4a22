#include "maskctl/base/grouped.h"

namespace maskctl {

std::string grouped(Index n) {
  std::string out = std::to_string(n);
  const std::size_t first = n < 0 ? 1 : 0;
  if (out.size() - first <= 4) return out;
  for (std::size_t at = out.size() - 3; at > first; at = at > 3 ? at - 3 : 0) {
    out.insert(at, 1, ',');
  }
  return out;
}

}  // namespace maskctl
