// Fuzz target: .npy files, from memory and from a pipe.
#include "fuzz/pipe.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/bias_form.h"
#include "maskctl/io/formats/npy/npy.h"

using namespace maskctl;

namespace {

bool read_whole(ByteSource source, bool strict) {
  ReadOptions options = fuzz::read_options();
  options.strict = strict;
  std::vector<std::string> notes;
  try {
    const Tensor tensor = read_npy(std::move(source), options, &notes);
    count_noncanonical_bools(tensor);
    if (is_floating(tensor.dtype()) && tensor.elements() <= 1 << 12) bias_text(bias_form(tensor));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Reads only the header, whatever the element type. True when it could be read.
bool read_outline(ByteSource source) {
  try {
    read_npy_outline(source);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool read_parts(ByteSource source) {
  std::vector<std::string> notes;
  try {
    NpyReader reader(std::move(source), fuzz::read_options(), &notes);
    const NpyHeader& header = reader.header();
    std::vector<std::byte> row(static_cast<std::size_t>(size_bytes(header.dtype)) * 3);
    for (Index at = 0; at + 3 <= std::min<Index>(header.elements(), 3000); at += 3) {
      reader.read_rows(at, row);
    }
    reader.finish(fuzz::read_options(), &notes);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  bool good = read_whole(ByteSource::from_memory("x.npy", bytes), false);
  good = read_whole(fuzz::piped("x.npy", bytes), true) || good;
  good = read_parts(ByteSource::from_memory("x.npy", bytes)) || good;
  good = read_parts(fuzz::piped("x.npy", bytes)) || good;
  good = read_outline(ByteSource::from_memory("x.npy", bytes)) || good;
  return good ? 0 : -1;
}
