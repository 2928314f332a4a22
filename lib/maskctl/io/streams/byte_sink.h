// Where bytes go: a file that appears whole or not at all, or standard output.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/io/streams/options.h"

namespace maskctl {

/// An array or text on its way to a path or "-", standard output.
class ByteSink {
 public:
  /// `kind` (".npy") names the data when a terminal is refused: "refusing to write .npy to a
  /// terminal; use -o FILE or pipe it". An empty kind is text, which may go to a terminal.
  ByteSink(const std::string& dest, const WriteOptions& options, std::string_view kind);
  ~ByteSink();
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Makes the file visible under its name. Without it the destructor leaves nothing behind.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
