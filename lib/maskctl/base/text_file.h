// The whole of a text file.
#pragma once

#include <string>

#include "maskctl/base/index.h"

namespace maskctl {

/// The text of a file or a pipe, without a byte-order mark. `what` stands in messages, such as "the
/// pipeline". Throws Error(kIo) for what cannot be read, Error(kLimit) for more bytes than `most`,
/// of which it reads no more.
std::string read_text_file(const std::string& path, Index most, const std::string& what);

}  // namespace maskctl
