// Files that appear whole or not at all, and writes whose errors are checked.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace maskctl {

/// Writes all bytes to a descriptor, retrying after interruptions and short writes. `what` names
/// the target in messages: "cannot write out.npy: No space left on device". Throws Error(kIo).
void write_all(int fd, std::span<const std::byte> bytes, const std::string& what);

/// Writes to a temporary file in the folder of the target; commit() renames it to the target. If
/// the target is a symbolic link, the file it points to is replaced. A replaced file keeps its
/// permissions, and its owner and group where the process may set them. /dev/stdout, /dev/stderr,
/// /dev/fd/N and targets that are not regular files (/dev/null, FIFOs) are written directly. A
/// temporary file is locked while its writer lives; what a killed writer has left is removed by the
/// next one of the same target.
class AtomicFile {
 public:
  /// Throws Error(kIo) for an existing file without `force` ("out.npy exists"), and for a target
  /// that cannot be created.
  AtomicFile(const std::string& path, bool force);
  /// Removes the temporary file unless committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  /// Flushes to disk, closes and renames, checking every error. Without `force`, throws an Error if
  /// the target has been created since the constructor, and leaves it alone. Must be the last call,
  /// made once.
  void commit();
  /// True when the target itself is written, without a temporary file.
  bool is_direct() const { return temporary_.empty(); }
  /// The open file, to be given to a program that writes to it instead of calling write().
  int descriptor() const { return fd_; }
  /// True when the target is a terminal.
  bool is_terminal() const;

 private:
  void open_direct();
  void open_temporary();
  void flush();
  void publish();

  std::string name_;       // as given, for messages
  std::string target_;     // links resolved
  std::string temporary_;  // empty when written directly
  bool force_;
  std::optional<mode_t> mode_;  // of the file that is replaced
  int fd_ = -1;
  int slot_ = -1;  // in the table of remove_temporary_files
};

/// A lock to hold while a file is read and then replaced by a new version, so that two writers do
/// not lose each other's changes: the constructor waits until no other ReplaceLock holds it. It
/// locks the folder that contains the file (symbolic links are followed), so the file need not
/// exist yet and no lock file is left behind. Where folders cannot be locked, as on some network
/// file systems, nothing is locked.
class ReplaceLock {
 public:
  explicit ReplaceLock(const std::string& path);
  ~ReplaceLock();
  ReplaceLock(const ReplaceLock&) = delete;
  ReplaceLock& operator=(const ReplaceLock&) = delete;

 private:
  int folder_ = -1;
};

/// Removes the temporary files of all open AtomicFiles (at most 16 are known). Async-signal-safe,
/// for signal handlers.
void remove_temporary_files() noexcept;

}  // namespace maskctl
