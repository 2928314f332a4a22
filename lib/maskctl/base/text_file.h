// Reads a whole text file.
#pragma once

#include <string>

#include "maskctl/base/index.h"

namespace maskctl {

/// The text of a file or a pipe, without a byte-order mark. `what` names the text in messages, such
/// as "the pipeline". Throws Error(kIo) if it cannot be read and Error(kLimit) if it has more than
/// `most` bytes; it stops reading there.
std::string read_text_file(const std::string& path, Index most, const std::string& what);

}  // namespace maskctl
