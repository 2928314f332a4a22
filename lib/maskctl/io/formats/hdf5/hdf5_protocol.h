// The protocol between the library and its helper program maskctl-hdf5: lines of fields, then raw
// bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace maskctl::hdf5_protocol {

// The helper is started as
//   maskctl-hdf5 --max-bytes N --seconds N [--replace] VERB FILE [DATASET]
// and exits with status 0, or with status 1 and one line of two fields on standard error: a code
// and a message. It reads and writes lines of tab-separated fields, escaped as below.
//
// list FILE: writes one line for each object:
//   group PATH | link PATH soft|external|other | attribute OBJECT NAME VALUE
//   dataset PATH DTYPE SHAPE STORAGE FILTER... | unreadable PATH REASON
// read FILE [DATASET]: writes "array PATH DTYPE SHAPE", then "at OFFSET" if the elements are
//   contiguous in the file from that offset on, else "data" and the elements in C order. Without
//   DATASET, it first writes "datasets PATH..." with all datasets, and chooses one.
// create FILE, append FILE: reads any number of "array PATH DTYPE SHAPE GZIP_LEVEL", each followed
//   by its elements, and of "attribute OBJECT NAME VALUE"; then "end". GZIP_LEVEL 0 means no
//   compression. Before these, "take PATH" replaces all that is at PATH or below it, and fails if
//   there is anything without --replace.
//
// The file to write is kGivenFile, a descriptor, and not a path: with the descriptor the helper
// shares the lock that keeps the file from being swept (base/atomic_file.h).
//
// DTYPE is a numpy descr ("|b1", "<f4", "|V2") or "bfloat16"; in lists also the name of an HDF5
// class that cannot be read. SHAPE is "2,3", "" for a scalar, or "null" for a null dataspace.
inline constexpr std::string_view kHelperName = "maskctl-hdf5";
inline constexpr int kGivenDescriptor = 3;
inline constexpr const char* kGivenFile = "/proc/self/fd/3";

// The codes of failures, the first field on standard error.
inline constexpr const char* kArgument = "argument";
inline constexpr const char* kFormat = "format";
inline constexpr const char* kIo = "io";
inline constexpr const char* kExists = "exists";  // the array exists; no --replace
inline constexpr const char* kLimit = "limit";
inline constexpr const char* kUnsupported = "unsupported";

/// Replaces control characters, DEL and '%' by %XX, so that a field contains no tab or newline.
inline std::string escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u >= 0x20 && u != 0x7F && c != '%') {
      out += c;
      continue;
    }
    out += '%';
    out += kDigits[u >> 4U];
    out += kDigits[u & 15U];
  }
  return out;
}

inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Reverses escaped(); a '%' that is not followed by two hexadecimal digits is kept.
inline std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool pair = text[i] == '%' && text.size() - i > 2;
    const int high = pair ? hex_digit(text[i + 1]) : -1;
    const int low = pair ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

/// The fields as a line, escaped, separated by tabs, with a newline at the end.
inline std::string line(const std::vector<std::string>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : "\t") + escaped(fields[i]);
  return out + "\n";
}

/// The fields of a line that has no newline, unescaped.
inline std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t tab = line.find('\t');
    out.push_back(unescaped(line.substr(0, tab)));
    if (tab == std::string_view::npos) return out;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace maskctl::hdf5_protocol
