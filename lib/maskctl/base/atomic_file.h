// Files that appear whole or not at all, and checked writing.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace maskctl {

/// Writes all bytes to a descriptor, through interruptions and short writes. `what` names the
/// target in the message: "cannot write out.npy: No space left on device". Throws Error(kIo).
void write_all(int fd, std::span<const std::byte> bytes, const std::string& what);

/// Bytes go to a temporary file beside the target; commit() gives it the target's name. A symbolic
/// link is followed and what it points to is replaced. Targets that are not regular files
/// (/dev/null, FIFOs) and /dev/stdout, /dev/stderr, /dev/fd/N are written directly.
class AtomicFile {
 public:
  /// Throws Error(kIo): "out.npy exists; use --force to overwrite" without `force`, and for a
  /// target that cannot be created.
  AtomicFile(const std::string& path, bool force);
  /// Removes the temporary file unless committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Flushes to disk, closes, renames; every error is checked. Without `force` a file that appeared
  /// meanwhile is kept and an Error is thrown. Call once, last.
  void commit();
  /// The file that gets the target's name, for another program to write to instead of write();
  /// empty when the target is written directly.
  const std::string& temporary() const { return temporary_; }
  /// True when the bytes end on a terminal.
  bool is_terminal() const;

 private:
  void open_direct();
  void open_temporary();
  void publish();

  std::string name_;       // as given, for messages
  std::string target_;     // links resolved
  std::string temporary_;  // empty when written directly
  bool force_;
  int fd_ = -1;
  int slot_ = -1;  // in the table of remove_temporary_files
};

/// Held while a file is read and replaced by what was made of it; whoever else wants to do so
/// waits. It locks the folder of the file (symbolic links followed), so the file need not exist yet
/// and no lock file is left behind. Folders that cannot be locked, on some network file systems,
/// are not.
class ReplaceLock {
 public:
  explicit ReplaceLock(const std::string& path);
  ~ReplaceLock();
  ReplaceLock(const ReplaceLock&) = delete;
  ReplaceLock& operator=(const ReplaceLock&) = delete;

 private:
  int folder_ = -1;
};

/// Removes the temporary files of all open AtomicFiles (at most 16 are known). For signal
/// handlers: async-signal-safe.
void remove_temporary_files() noexcept;

}  // namespace maskctl
