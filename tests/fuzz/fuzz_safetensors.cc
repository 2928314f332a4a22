// Fuzz target: safetensors files, from memory and from a pipe.
#include "fuzz/pipe.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/safetensors/safetensors.h"

using namespace maskctl;

namespace {

/// True when every tensor of the file was read.
bool read_all(ByteSource source) {
  bool good = true;
  const ReadOptions options = fuzz::read_options();
  try {
    SafetensorsFile file(std::move(source), options);
    for (const std::string& key : file.keys()) {
      try {
        file.read(key, options);
      } catch (const Error&) {
        good = false;
      }
    }
    return good;
  } catch (const Error&) {
    return false;
  }
}

/// Returns a file with this text as its header and a correct length in front, so that a wrong
/// length does not keep the text from being read.
std::string with_length(std::string_view text) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(text.size() >> (8 * i));
  return out.append(text) + std::string(64, '\1');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  bool good = read_all(ByteSource::from_memory("x.safetensors", bytes));
  good = read_all(fuzz::piped("x.safetensors", bytes)) || good;
  if (size > 8) {
    const std::string whole = with_length({reinterpret_cast<const char*>(data) + 8, size - 8});
    good =
        read_all(ByteSource::from_memory("x.safetensors", std::as_bytes(std::span(whole)))) || good;
  }
  return good ? 0 : -1;
}
