// Counts the open cells of a causal window; succeeds when the count is the closed form's.
#include <cstdio>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/bands.h"

int main() {
  const maskctl::Index n = 1'000'000, window = 128;
  const maskctl::Mask mask(maskctl::diagonal_band(n, n, 1 - window, 0));
  const maskctl::Index expected = n * window - window * (window - 1) / 2;
  std::printf("%lld open cells\n", static_cast<long long>(mask.count()));
  return mask.count() == expected ? 0 : 1;
}
