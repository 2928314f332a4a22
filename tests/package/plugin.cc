// The function that the plugin exports: it counts the open cells of a causal mask.
#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/bands.h"

extern "C" __attribute__((visibility("default"))) long long open_cells(long long n) {
  return maskctl::Mask(maskctl::diagonal_band(n, n, -maskctl::kUnbounded, 0)).count();
}
