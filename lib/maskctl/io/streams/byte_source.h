// Reads bytes from a file, standard input, memory or a stream through one class.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "maskctl/base/index.h"

namespace maskctl {

/// A stream that produces bytes in order, for example by decompressing.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Reads up to out.size() bytes; returns at least 1, or 0 at the end of the stream.
  virtual Index read(std::span<std::byte> out) = 0;
};

/// A named sequence of bytes. Regular files and memory are seekable: their size is known, and
/// several threads may call read_at at once. Pipes, devices and streams are read once, in order.
/// Errors have Errc::kIo: "cannot read x.npy: No such file or directory".
class ByteSource {
 public:
  /// Opens a path. "-" is standard input, which messages call "stdin"; if a regular file is
  /// redirected to it, the source is seekable and starts at the file's current position. Throws
  /// Error, also for a directory.
  explicit ByteSource(const std::string& path);
  /// Reads from `stream`. `size` is the number of bytes that it will produce, if known.
  ByteSource(std::string name, std::unique_ptr<ByteStream> stream,
             std::optional<Index> size = std::nullopt);
  /// Reads from memory; `bytes` must outlive the source.
  static ByteSource from_memory(std::string name, std::span<const std::byte> bytes);

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  const std::string& name() const;
  /// The number of bytes; nothing for pipes and devices.
  std::optional<Index> size() const;
  bool seekable() const;

  /// Reads from `offset` without moving the position. Returns the number of bytes read, which is
  /// less than out.size() only at the end. Thread-safe. Throws Error(kUnsupported) when not
  /// seekable.
  Index read_at(Index offset, std::span<std::byte> out) const;
  /// Reads from the current position and moves it. Returns less than out.size() only at the end.
  Index read(std::span<std::byte> out);
  /// The next `count` bytes (fewer at the end), without moving the position. Valid until the next
  /// call of peek or read.
  std::span<const std::byte> peek(Index count);
  /// Moves the position forward; bytes of a pipe are read and discarded. Returns the number of
  /// bytes skipped, which is less than `count` only at the end.
  Index skip(Index count);
  /// The number of bytes read and skipped so far.
  Index position() const;

 private:
  struct Impl;
  explicit ByteSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
