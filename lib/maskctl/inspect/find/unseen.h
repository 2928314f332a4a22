// Finds keys that no query sees.
#pragma once

#include <optional>
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

/// The unseen keys of each batch entry that has some; empty if no cell is open. Absent if they were
/// not looked for: in planes of more than 2^34 cells that are not made of bands, if a sample of
/// rows leaves keys unseen.
std::optional<std::vector<UnseenKeys>> unseen_keys(const Mask& mask);

/// "keys 6-9 (batch 1), keys 0-2 (batches 3, 5), and 2 more batches"; at most four kinds of keys.
std::string unseen_words(std::span<const UnseenKeys> unseen, const Mask& mask);

}  // namespace maskctl
