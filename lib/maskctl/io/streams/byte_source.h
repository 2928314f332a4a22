// Bytes to read: a file, standard input, memory or a decoder, behind one class.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "maskctl/base/index.h"

namespace maskctl {

/// Produces bytes in order for ByteSource, for example a decompressor.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Reads up to out.size() bytes: at least one, or 0 at the end of the stream.
  virtual Index read(std::span<std::byte> out) = 0;
};

/// A named sequence of bytes. Regular files and memory are seekable: they have a size, and several
/// threads may call read_at at once. Pipes, devices and streams are read once, in order. Errors
/// carry Errc::kIo: "cannot read x.npy: No such file or directory".
class ByteSource {
 public:
  /// Opens a path; "-" is standard input, called "stdin" in messages. A regular file on standard
  /// input is seekable and starts at its current position. A directory is an Error too.
  explicit ByteSource(const std::string& path);
  /// Reads from `stream`; `size`, if known, is the number of bytes that it will give.
  ByteSource(std::string name, std::unique_ptr<ByteStream> stream,
             std::optional<Index> size = std::nullopt);
  /// `bytes` must outlive the source.
  static ByteSource from_memory(std::string name, std::span<const std::byte> bytes);

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  const std::string& name() const;
  /// Nothing for pipes and devices.
  std::optional<Index> size() const;
  bool seekable() const;

  /// Fills `out` from `offset` without moving the position; returns the bytes read, which are fewer
  /// than requested only at the end. Thread-safe. Throws Error(kUnsupported) when not seekable.
  Index read_at(Index offset, std::span<std::byte> out) const;
  /// Fills `out` from the position and moves it; fewer bytes only at the end.
  Index read(std::span<std::byte> out);
  /// The next `count` bytes (fewer at the end) without moving the position. Valid until the next
  /// call of peek or read.
  std::span<const std::byte> peek(Index count);
  /// Moves the position forward and drops what a pipe gives on the way. Returns the bytes skipped,
  /// fewer than requested only at the end.
  Index skip(Index count);
  /// Bytes read and skipped so far.
  Index position() const;

 private:
  struct Impl;
  explicit ByteSource(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace maskctl
