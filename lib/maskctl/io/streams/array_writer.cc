#include "maskctl/io/streams/array_writer.h"

#include <fmt/format.h>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"

namespace maskctl {

ArrayWriter::ArrayWriter(const ArraySpec& array) {
  const auto elements = checked_product(array.shape);
  const auto bytes = elements ? checked_mul(*elements, size_bytes(array.dtype)) : std::nullopt;
  if (!bytes) {
    throw Error(Errc::kShape,
                fmt::format("shape {} is too large to write", shape_text(array.shape)));
  }
  remaining_ = *bytes;
}

void ArrayWriter::write(std::span<const std::byte> bytes) {
  if (std::ssize(bytes) > remaining_) {
    throw Error(Errc::kInvalidArgument, fmt::format("{} bytes written where the shape leaves {}",
                                                    bytes.size(), remaining_));
  }
  put(bytes);
  remaining_ -= std::ssize(bytes);
}

void ArrayWriter::commit() {
  if (remaining_ != 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} bytes fewer written than the shape needs", remaining_));
  }
  finish();
}

}  // namespace maskctl
