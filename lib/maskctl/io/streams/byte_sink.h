// Writes bytes to standard output, or to a file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/io/streams/options.h"

namespace maskctl {

/// Writes an array or text to a path, or to standard output if the path is "-".
class ByteSink {
 public:
  /// `kind` names the data in the message that refuses a terminal: "refusing to write .npy to a
  /// terminal; use -o FILE or pipe it". If it is empty, the data is text, which may go to a
  /// terminal.
  ByteSink(const std::string& dest, const WriteOptions& options, std::string_view kind);
  ~ByteSink();
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Puts the file in place. If it is not called, the destructor removes what was written.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
