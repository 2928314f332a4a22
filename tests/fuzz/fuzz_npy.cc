// .npy files, as memory and as a pipe.
#include "fuzz/pipe.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/npy.h"

using namespace maskctl;

namespace {

void read_whole(ByteSource source, bool strict) {
  ReadOptions options = fuzz::read_options();
  options.strict = strict;
  options.as_bf16 = strict;
  std::vector<std::string> notes;
  try {
    const Tensor tensor = read_npy(std::move(source), options, &notes);
    count_noncanonical_bools(tensor);
  } catch (const Error&) {
  }
}

void read_parts(ByteSource source) {
  std::vector<std::string> notes;
  try {
    NpyReader reader(std::move(source), fuzz::read_options(), &notes);
    const NpyHeader& header = reader.header();
    std::vector<std::byte> row(static_cast<std::size_t>(size_bytes(header.dtype)) * 3);
    for (Index at = 0; at + 3 <= std::min<Index>(header.elements(), 3000); at += 3) {
      reader.read_rows(at, row);
    }
    reader.finish(fuzz::read_options(), &notes);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  read_whole(ByteSource::from_memory("x.npy", bytes), false);
  read_whole(fuzz::piped("x.npy", bytes), true);
  read_parts(ByteSource::from_memory("x.npy", bytes));
  read_parts(fuzz::piped("x.npy", bytes));
  return 0;
}
