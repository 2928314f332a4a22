#include "fuzz/mutate.h"

#include <algorithm>
#include <cctype>

namespace maskctl::fuzz {
namespace {

constexpr std::size_t kMostBytes = 1 << 16, kMostRange = 256;

constexpr std::uint64_t kExtremes[] = {0,
                                       1,
                                       2,
                                       0x7F,
                                       0x80,
                                       0xFF,
                                       0x7FFF,
                                       0x8000,
                                       0xFFFF,
                                       0x7FFFFFFF,
                                       0x80000000,
                                       0xFFFFFFFF,
                                       0x7FFFFFFFFFFFFFFF,
                                       0x8000000000000000,
                                       0xFFFFFFFFFFFFFFFF,
                                       0x100000000,
                                       0x1000000000000};

constexpr const char* kNumbers[] = {"0",          "1",          "-1",
                                    "2147483647", "2147483648", "4294967296",
                                    "1e999",      "nan",        "9223372036854775807",
                                    "1000000",    "65536",      "99999999999999999999999999"};

}  // namespace

Mutator::Mutator(const std::vector<std::string>& corpus, std::uint64_t seed, std::uint64_t number)
    : corpus_(corpus), random_(seed * 0x9E3779B97F4A7C15u + number) {}

std::string Mutator::any_range(const std::string& bytes, std::size_t most) {
  if (bytes.empty()) return {};
  return bytes.substr(below(bytes.size()), 1 + below(std::min(most, bytes.size())));
}

void Mutator::set_extreme(std::string& bytes) {
  if (bytes.empty()) return;
  const std::size_t width = std::size_t{1} << below(4), at = below(bytes.size());
  const bool big_endian = below(4) == 0;
  const std::uint64_t value = kExtremes[below(std::size(kExtremes))];
  for (std::size_t i = 0; i < width && at + i < bytes.size(); ++i) {
    const std::size_t place = big_endian ? width - 1 - i : i;
    bytes[at + i] = static_cast<char>(value >> (8 * place));
  }
}

/// Replaces a decimal number in a text by another one, often out of range.
void Mutator::change_number(std::string& bytes) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const std::size_t start = below(bytes.size());
  const auto first =
      std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(start), bytes.end(), digit);
  if (first == bytes.end()) return set_extreme(bytes);
  const auto last = std::find_if_not(first, bytes.end(), digit);
  bytes.replace(first, last, kNumbers[below(std::size(kNumbers))]);
}

void Mutator::change(std::string& bytes) {
  const std::size_t at = below(bytes.size() + 1);
  switch (below(10)) {
    case 0:
    case 1:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      return;
    case 2:
      if (at < bytes.size()) bytes[at] = static_cast<char>(random_());
      return;
    case 3:
      return set_extreme(bytes);
    case 4:
      return change_number(bytes);
    case 5:
      bytes.resize(at);
      return;
    case 6:
      bytes.erase(at, 1 + below(kMostRange));
      return;
    case 7:
      bytes.insert(at, any_range(bytes, kMostRange));
      return;
    case 8: {
      const std::string part = any_range(any_file(), kMostRange);
      bytes.replace(at, below(2) * part.size(), part);
      return;
    }
    // Joins the start of this input to the end of another file.
    default: {
      const std::string& other = any_file();
      bytes = bytes.substr(0, at) + other.substr(below(other.size() + 1));
    }
  }
}

std::string Mutator::input() {
  std::string bytes = any_file();
  do {
    change(bytes);
  } while (below(2) == 0);
  if (bytes.size() > kMostBytes) bytes.resize(kMostBytes);
  return bytes;
}

}  // namespace maskctl::fuzz
