// Recognises the type of a file by its first bytes.
#include <algorithm>
#include <string_view>

#include "maskctl/io/streams/byte_source.h"

namespace maskctl {
namespace {

using namespace std::string_view_literals;

constexpr auto kHdf5Magic = "\x89HDF\r\n\x1a\n"sv;

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return (u >= 0x20 && u != 0x7F) || c == '\n' || c == '\r' || c == '\t';
  });
}

/// Protocols 2 to 5 start with PROTO; older ones have no mark.
bool is_pickle(std::string_view head) {
  return head.size() >= 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

/// A little-endian header length below 100 MB, then JSON.
bool is_safetensors(std::string_view head) {
  return head.size() >= 9 && head[8] == '{' && head.substr(4, 4) == "\0\0\0\0"sv;
}

FileType classify(std::string_view head) {
  if (head.empty()) return FileType::kEmpty;
  if (head.starts_with("\x93NUMPY"sv)) return FileType::kNpy;
  if (head.starts_with("PK\3\4"sv) || head.starts_with("PK\5\6"sv)) return FileType::kZip;
  if (head.starts_with(kHdf5Magic)) return FileType::kHdf5;
  if (head.starts_with("\x89PNG\r\n\x1a\n"sv)) return FileType::kPng;
  if (head.starts_with("\x1f\x8b"sv)) return FileType::kGzip;
  if (is_safetensors(head)) return FileType::kSafetensors;
  if (is_pickle(head)) return FileType::kPickle;
  return is_text(head) ? FileType::kText : FileType::kUnknown;
}

/// HDF5 may follow a block of other data (512 bytes in MATLAB's files) whose size is a power of
/// two.
bool is_hdf5_after_block(ByteSource& source) {
  constexpr std::size_t kSmallest = 512;
  constexpr std::size_t kLargest = std::size_t{64} << 10;
  const auto bytes = source.peek(static_cast<Index>(kLargest + kHdf5Magic.size()));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (std::size_t at = kSmallest; at < text.size(); at *= 2) {
    if (text.substr(at).starts_with(kHdf5Magic)) return true;
  }
  return false;
}

}  // namespace

FileType sniff(ByteSource& source) {
  const auto head = source.peek(16);
  const FileType type = classify({reinterpret_cast<const char*>(head.data()), head.size()});
  const bool opaque = type == FileType::kText || type == FileType::kUnknown;
  return opaque && is_hdf5_after_block(source) ? FileType::kHdf5 : type;
}

bool is_npy(ByteSource& source) { return sniff(source) == FileType::kNpy; }

const char* describe(FileType type) {
  switch (type) {
    case FileType::kEmpty:
      return "an empty file";
    case FileType::kNpy:
      return "a .npy file";
    case FileType::kZip:
      return "a zip archive (.npz)";
    case FileType::kHdf5:
      return "an HDF5 file";
    case FileType::kSafetensors:
      return "a safetensors file";
    case FileType::kPickle:
      return "a Python pickle";
    case FileType::kPng:
      return "a PNG image";
    case FileType::kGzip:
      return "a gzip file";
    case FileType::kText:
      return "text";
    case FileType::kUnknown:
      break;
  }
  return "unknown data";
}

const char* remedy(FileType type) {
  switch (type) {
    case FileType::kPickle:
      return " (pickle.dump, or an old torch.save), which is never executed; in Python, np.save or "
             "safetensors' save_file writes its arrays";
    case FileType::kText:
      return "; np.save(\"m.npy\", np.loadtxt(\"m.csv\", delimiter=\",\")) makes an array of CSV";
    case FileType::kGzip:
      return "; unpack it first (gunzip)";
    default:
      return "";
  }
}

}  // namespace maskctl
