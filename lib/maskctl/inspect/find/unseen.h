// Finds keys that no query sees.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

/// Keys that no query of a batch entry sees, in any head.
struct UnseenKeys {
  Index batch = 0;
  std::vector<Range> keys;  // in ascending order
};

/// One for each batch entry that has such keys. Empty beyond 2^22 keys, and where no cell is open.
std::vector<UnseenKeys> unseen_keys(const Mask& mask);

/// "keys 6-9 (batch 1), keys 0-2 (batches 3, 5), and 2 more batches"; at most four kinds of keys.
std::string unseen_words(std::span<const UnseenKeys> unseen, const Mask& mask);

}  // namespace maskctl
