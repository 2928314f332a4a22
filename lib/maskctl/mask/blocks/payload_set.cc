#include "maskctl/mask/blocks/payload_set.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"

namespace maskctl {

void PayloadSet::check() const {
  if (intervals_.bytes() + words_.bytes() <= max_bytes_) return;
  throw Error(Errc::kLimit,
              fmt::format("blocks of {} x {} that are partly open take more than {} bytes; take "
                          "larger blocks or raise the limit",
                          rows_, keys_, max_bytes_));
}

}  // namespace maskctl
