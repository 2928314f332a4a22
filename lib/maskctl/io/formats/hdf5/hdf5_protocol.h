// How the library and its helper program maskctl-hdf5 talk: lines of fields, then raw bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace maskctl::hdf5_protocol {

// The helper is started as
//   maskctl-hdf5 --max-bytes N --seconds N [--replace] VERB FILE [DATASET]
// and ends with status 0, or with status 1 and one line of two fields on standard error: a code and
// a message. It reads and writes lines of tab-separated fields, escaped as below.
//
// list FILE: writes, one line each,
//   group PATH | link PATH soft|external|other | attribute OBJECT NAME VALUE
//   dataset PATH DTYPE SHAPE STORAGE FILTER... | unreadable PATH REASON
// read FILE [DATASET]: writes "array PATH DTYPE SHAPE", then "at OFFSET" when the elements lie
//   unbroken in the file at that offset, or "data" and the elements in C order. Without DATASET it
//   chooses, and writes "datasets PATH..." with all there are before anything else.
// create FILE, append FILE: reads "array PATH DTYPE SHAPE GZIP_LEVEL" and its elements, or
//   "attribute OBJECT NAME VALUE", again and again, then "end". GZIP_LEVEL 0 is no compression.
//
// DTYPE is a numpy descr ("|b1", "<f4", "|V2") or "bfloat16"; in lists also the name of a class
// that is not read. SHAPE is "2,3", "" for a scalar or "null" for a dataspace of no elements.

inline constexpr std::string_view kHelperName = "maskctl-hdf5";

// Codes of failures.
inline constexpr const char* kArgument = "argument";
inline constexpr const char* kFormat = "format";
inline constexpr const char* kIo = "io";
inline constexpr const char* kExists = "exists";  // an array of that name, without --replace
inline constexpr const char* kLimit = "limit";
inline constexpr const char* kUnsupported = "unsupported";

/// Control characters, DEL and '%' become %XX, so that a field holds no tab and no newline.
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

/// Undoes escaped(); a '%' without two digits stays.
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

/// One line, with its newline.
inline std::string line(const std::vector<std::string>& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) out += (i == 0 ? "" : "\t") + escaped(fields[i]);
  return out + "\n";
}

/// The fields of a line without its newline.
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
