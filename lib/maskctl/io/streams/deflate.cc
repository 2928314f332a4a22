#include "maskctl/io/streams/deflate.h"

#include <fmt/format.h>
#include <zlib.h>

#include "maskctl/base/error.h"

namespace maskctl {

std::vector<std::byte> deflated(std::span<const std::byte> bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> out(size);
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 9);
  if (status != Z_OK) throw Error(Errc::kIo, fmt::format("zlib cannot compress: {}", status));
  out.resize(size);
  return out;
}

}  // namespace maskctl
