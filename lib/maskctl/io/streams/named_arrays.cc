#include "maskctl/io/streams/named_arrays.h"

namespace maskctl {

std::vector<ArrayStream> streams_of(std::span<const ArrayRef> arrays) {
  std::vector<ArrayStream> streams;
  for (const auto& [name, tensor] : arrays) {
    streams.push_back({{name, tensor->dtype(), tensor->shape()},
                       [tensor](const WriteBytes& write) { write(tensor->bytes()); }});
  }
  return streams;
}

}  // namespace maskctl
