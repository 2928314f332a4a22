// Fuzz target: whole .npz archives, and sound archives around one damaged .npy member.
#include "fuzz/pipe.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/formats/npz/npz.h"

using namespace maskctl;

namespace {

/// True when every member of the archive was read.
bool read_all(ByteSource source) {
  bool good = true;
  std::vector<std::string> notes;
  const ReadOptions options = fuzz::read_options();
  try {
    const NpzArchive archive(std::move(source), options);
    for (const std::string& key : archive.keys()) {
      try {
        archive.outline(key);
        archive.read(key, options, &notes);
      } catch (const Error&) {
        good = false;
      }
    }
    return good;
  } catch (const Error&) {
    return false;
  }
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value);
}

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

/// Returns a zip archive with one uncompressed member "a.npy" of these bytes and a valid checksum,
/// so that readers go on to the member itself.
std::string archive_of(std::string_view bytes) {
  const std::string name = "a.npy";
  std::string common;
  // The fields of a zip header: version, flags and method, time and date.
  put(common, 20, 2);
  put(common, 0, 4);
  put(common, 0x21u << 16, 4);
  put(common, crc32(bytes), 4);
  put(common, bytes.size(), 4);
  put(common, bytes.size(), 4);
  put(common, name.size(), 2);
  put(common, 0, 2);
  std::string out = "PK\3\4" + common + name + std::string(bytes);
  const std::size_t directory = out.size();
  out += "PK\1\2";
  put(out, 20, 2);
  out += common;
  put(out, 0, 14);
  out += name;
  const std::size_t size = out.size() - directory;
  out += "PK\5\6";
  put(out, 0, 4);
  put(out, 1, 2);
  put(out, 1, 2);
  put(out, size, 4);
  put(out, directory, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::bytes_of(data, size);
  bool good = read_all(ByteSource::from_memory("x.npz", bytes));
  // Piped archives are copied to a buffer first, which takes most of the time: so only one in 8.
  if (size % 8 == 0) good = read_all(fuzz::piped("x.npz", bytes)) || good;
  if (size > 2 && data[0] == 0x93) {
    const std::string archive = archive_of({reinterpret_cast<const char*>(data), size});
    good = read_all(ByteSource::from_memory("x.npz", std::as_bytes(std::span(archive)))) || good;
  }
  return good ? 0 : -1;
}
