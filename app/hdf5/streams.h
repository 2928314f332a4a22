// Reads and writes lines and raw bytes on standard input and output.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace maskctl::hdf5 {

/// Throws Failure(io).
void write_output(std::span<const char> bytes);

/// Buffered standard input.
class Input {
 public:
  Input();
  /// Reads a line and returns it without its newline. Throws Failure(io) if the input ends first or
  /// the line is too long.
  std::string line();
  /// Fills `out`. Throws Failure(io) if the input ends first.
  void read(std::span<char> out);

 private:
  void fill();
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace maskctl::hdf5
