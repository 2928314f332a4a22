// Files that appear whole or not at all: written to a temporary file in the same folder, which is
// then renamed to the target.
#include "maskctl/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/base/wait.h"
#include "maskctl/base/work_scope.h"

namespace maskctl {
namespace {

[[noreturn]] void fail(const std::string& what, int code) {
  throw Error(Errc::kIo,
              fmt::format("cannot write {}: {}", what, std::generic_category().message(code)));
}

[[noreturn]] void fail_exists(const std::string& what) {
  throw Error(Errc::kIo, what + " exists", {{Remedy::kOverwrite}});
}

/// The paths that remove_temporary_files() deletes, in a table without locks. A slot is free, busy
/// (one thread is filling or emptying it) or listed.
enum SlotState : int { kFree, kBusy, kListed };
struct Slot {
  std::atomic<int> state{kFree};
  char path[PATH_MAX];
};
std::array<Slot, 16> slots;
static_assert(std::atomic<int>::is_always_lock_free, "the signal handler reads it");

/// Returns the slot, or -1 when the table is full or the path too long: then signal handlers do not
/// know the file and cannot remove it.
int list_temporary(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    int expected = kFree;
    if (!slots[i].state.compare_exchange_strong(expected, kBusy)) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].state = kListed;
    return static_cast<int>(i);
  }
  return -1;
}

void unlist_temporary(int slot) {
  if (slot >= 0) slots[static_cast<std::size_t>(slot)].state = kFree;
}

/// The descriptor that /dev/stdout, /dev/stderr or /dev/fd/N names, nothing for other paths.
/// Opening such a path would overwrite a redirected file from its beginning, and a rename would
/// replace the file while the descriptor still points to the old one.
std::optional<int> descriptor_of(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const auto fd = number_from<int>(path.substr(folder.size()));
    if (fd && *fd >= 0) return fd;
  }
  return std::nullopt;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

/// Resolves symbolic links in the last component of the path. The target need not exist yet.
std::string follow_links(std::string path, const std::string& what) {
  constexpr int kMaxLinks = 40;  // the limit of Linux
  for (int i = 0; i < kMaxLinks; ++i) {
    char link[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), link, sizeof link);
    if (length < 0) return path;
    const std::string next(link, static_cast<std::size_t>(length));
    path = next.starts_with('/') ? next : folder_of(path) + next;
  }
  fail(what, ELOOP);
}

/// How many names of temporary files each writer checks for leftovers of killed writers.
constexpr int kSwept = 16;

/// The name of a temporary file for `target`, in the same folder. The names of a target are
/// numbered, so that leftovers can be found without reading the folder. The hash is FNV-1a.
std::string temporary_beside(const std::string& target, int slot) {
  const std::string folder = folder_of(target);
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : std::string_view(target).substr(folder.size())) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return fmt::format("{}.maskctl-{:016x}-{}.tmp", folder, hash, slot);
}

/// Locks a whole file for writing until its last descriptor is closed. These are locks of the open
/// file (OFD), which programs that get the descriptor share, and which flock() and so HDF5 does not
/// see. Returns false if another writer holds it, or if the file system has no locks.
bool lock_whole(int fd, bool wait) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  int result = 0;
  do {
    result = ::fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &whole);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool is_at(int fd, const std::string& path) {
  struct stat open_file {
  }, there{};
  return ::fstat(fd, &open_file) == 0 && ::lstat(path.c_str(), &there) == 0 &&
         open_file.st_dev == there.st_dev && open_file.st_ino == there.st_ino;
}

/// Creates a temporary file and locks it. Returns -1 with errno EEXIST if there is one already.
int create_locked(const std::string& path) {
  while (true) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    // Another writer may have taken the file for a leftover before the lock was taken.
    if (!lock_whole(fd, true) || is_at(fd, path)) return fd;
    ::close(fd);
  }
}

/// Removes a temporary file whose writer was killed: one whose lock can be taken.
void sweep(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  if (lock_whole(fd, false) && is_at(fd, path)) ::unlink(path.c_str());
  ::close(fd);
}

}  // namespace

void write_all(int fd, std::span<const std::byte> bytes, const std::string& what) {
  constexpr std::size_t kMaxWrite = std::size_t{4} << 20;  // bytes between two stop checks
  while (!bytes.empty()) {
    wait_ready(fd, POLLOUT);
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), kMaxWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(what, errno);
    if (written == 0) fail(what, EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

AtomicFile::AtomicFile(const std::string& path, bool force)
    : name_(path), target_(path), force_(force) {
  if (path.empty()) throw Error(Errc::kIo, "cannot write to an empty file name");
  if (const auto fd = descriptor_of(path)) {
    fd_ = ::fcntl(*fd, F_DUPFD_CLOEXEC, 0);
    if (fd_ < 0) fail(name_, errno);
    return;
  }
  target_ = follow_links(path, name_);
  struct stat info {};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (!exists && errno != ENOENT) fail(name_, errno);
  if (exists && S_ISDIR(info.st_mode)) fail(name_, EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    open_direct();
    return;
  }
  if (exists && !force) fail_exists(name_);
  open_temporary();
  if (!exists) return;
  // A replaced file keeps its group, and its owner where this process may set it (root may). Both
  // are set before the permissions, since chown clears some of these.
  if (::fchown(fd_, info.st_uid, info.st_gid) != 0) (void)!::fchown(fd_, uid_t(-1), info.st_gid);
  // A replaced file keeps its permissions too. Until commit() the owner may write to the temporary
  // file too, as a sweep needs. If fchmod fails, the file has those that open() gave it.
  mode_ = info.st_mode & 0777;
  (void)!::fchmod(fd_, *mode_ | S_IRUSR | S_IWUSR);
}

AtomicFile::~AtomicFile() {
  // While the file is open it is locked, so that no other writer takes its name.
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  unlist_temporary(slot_);
  if (fd_ >= 0) ::close(fd_);
}

void AtomicFile::open_direct() {
  fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd_ < 0) fail(name_, errno);
}

void AtomicFile::open_temporary() {
  for (int slot = 0; slot < kSwept || fd_ < 0; ++slot) {
    const std::string path = temporary_beside(target_, slot);
    sweep(path);
    if (fd_ >= 0) continue;
    fd_ = create_locked(path);
    if (fd_ >= 0) {
      temporary_ = path;
      slot_ = list_temporary(path);
    } else if (errno != EEXIST) {
      fail(name_, errno);
    }
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) { write_all(fd_, bytes, name_); }

/// Flushes in pieces of 8 MiB with checks for a stop request in between: an fsync of the whole file
/// could not be stopped.
void AtomicFile::flush() {
  constexpr off_t kPiece = off_t{8} << 20;
  constexpr unsigned kAndWait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  const off_t size = ::lseek(fd_, 0, SEEK_END);
  for (off_t at = 0; at < size; at += kPiece) {
    throw_if_stopped();
    // Errors are ignored: the fsync below writes whatever is left.
    (void)::sync_file_range(fd_, at, kPiece, kAndWait);
  }
  if (::fsync(fd_) != 0) fail(name_, errno);
}

void AtomicFile::commit() {
  const int fd = fd_;
  if (temporary_.empty()) {
    fd_ = -1;
    if (::close(fd) != 0 && errno != EINTR) fail(name_, errno);
    return;
  }
  flush();
  if (mode_) (void)!::fchmod(fd, *mode_);
  // The errors of close() must be known before the rename, and the lock must be held until after
  // it: a copy of the descriptor holds it.
  fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (::close(fd) != 0 && errno != EINTR) fail(name_, errno);
  publish();
}

void AtomicFile::publish() {
  int code = 0;
  if (!force_) {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0)
      code = errno;
    if (code == EEXIST) fail_exists(name_);
  }
  // Some file systems lack RENAME_NOREPLACE; there, only the check in the constructor protects an
  // existing file.
  const bool plain = force_ || code == EINVAL || code == ENOSYS;
  if (plain) code = ::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  if (code != 0) fail(name_, code);
  temporary_.clear();
  unlist_temporary(slot_);
  slot_ = -1;
  ::close(fd_);
  fd_ = -1;
}

bool AtomicFile::is_terminal() const { return temporary_.empty() && ::isatty(fd_) == 1; }

ReplaceLock::ReplaceLock(const std::string& path) {
  const std::string folder = folder_of(follow_links(path, path));
  folder_ = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  while (folder_ >= 0 && ::flock(folder_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

ReplaceLock::~ReplaceLock() {
  if (folder_ >= 0) ::close(folder_);
}

void remove_temporary_files() noexcept {
  for (Slot& slot : slots) {
    if (slot.state == kListed) ::unlink(slot.path);
  }
}

}  // namespace maskctl
