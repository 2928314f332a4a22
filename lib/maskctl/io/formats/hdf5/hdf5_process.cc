#include "maskctl/io/formats/hdf5/hdf5_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/base/helper_file.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/wait.h"
#include "maskctl/io/formats/hdf5/hdf5_helper.h"
#include "maskctl/io/formats/hdf5/hdf5_protocol.h"

namespace maskctl {
namespace {

constexpr Index kDefaultSeconds = 60;
constexpr int kPipeBytes = 1 << 20;  // the most that Linux allows without privileges

struct Settings {
  std::string path;
  Index seconds = kDefaultSeconds;
};
std::mutex settings_mutex;
Settings& settings() {
  static Settings value;
  return value;
}

Settings current_settings() {
  const std::lock_guard lock(settings_mutex);
  return settings();
}

std::string find_helper(const std::string& file) {
  const std::string given = current_settings().path;
  if (!given.empty()) return given;
  const std::string name(hdf5_protocol::kHelperName);
  if (const auto path = find_helper_file(name)) return *path;
  throw Error(Errc::kUnsupported,
              fmt::format("{}: HDF5 needs the program {}, which is neither beside this one nor in "
                          "{}; build and install it with -DMASKCTL_HDF5=ON; a program that has it "
                          "elsewhere names it "
                          "with set_hdf5_helper",
                          file, name, helper_folder()));
}

[[noreturn]] void fail_to_start(const std::string& path, int code) {
  throw Error(Errc::kIo,
              fmt::format("cannot start {}: {}", path, std::generic_category().message(code)));
}

Errc errc_of(std::string_view code) {
  if (code == hdf5_protocol::kArgument) return Errc::kInvalidArgument;
  if (code == hdf5_protocol::kIo || code == hdf5_protocol::kExists) return Errc::kIo;
  if (code == hdf5_protocol::kLimit) return Errc::kLimit;
  if (code == hdf5_protocol::kUnsupported) return Errc::kUnsupported;
  return Errc::kFormat;
}

/// A connection to the helper. It is a pipe if this process reads and a socket if it writes: after
/// the helper has ended, writing to a socket returns an error, while writing to a pipe raises a
/// signal.
struct Channel {
  OwnedFd near_end, far_end;
};

Channel make_channel(bool write_near) {
  int ends[2];
  const int made = write_near ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                              : ::pipe2(ends, O_CLOEXEC);
  if (made != 0) fail_to_start(std::string(hdf5_protocol::kHelperName), errno);
  return {OwnedFd(ends[0]), OwnedFd(ends[1])};
}

/// Builds the arguments of posix_spawn and frees them at the end.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    // If this program ignores or blocks signals, the helper must not inherit that: SIGXCPU has to
    // end it.
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    sigemptyset(&all);
    posix_spawnattr_setsigmask(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void give(int fd, int as) { posix_spawn_file_actions_adddup2(&actions_, fd, as); }
  void give_nothing(int as) {
    posix_spawn_file_actions_addopen(&actions_, as, "/dev/null", O_RDONLY, 0);
  }
  pid_t spawn(const std::string& path, std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t pid = -1;
    const int code =
        posix_spawn(&pid, path.c_str(), &actions_, &attributes_, arguments.data(), environ);
    if (code != 0) fail_to_start(path, code);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

void set_hdf5_helper(std::string path, Index seconds) {
  const std::lock_guard lock(settings_mutex);
  settings() = {std::move(path), seconds > 0 ? seconds : kDefaultSeconds};
}

OwnedFd::OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
OwnedFd::~OwnedFd() {
  if (fd_ >= 0) ::close(fd_);
}

Hdf5Process::Hdf5Process(Plan plan) : plan_(std::move(plan)), seconds_(current_settings().seconds) {
  start();
}

Hdf5Process::~Hdf5Process() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Hdf5Process::start() {
  const std::string path = find_helper(plan_.name);
  std::vector<std::string> words{path, "--max-bytes", std::to_string(plan_.max_bytes), "--seconds",
                                 std::to_string(seconds_)};
  if (plan_.replace) words.emplace_back("--replace");
  words.insert(words.end(), plan_.words.begin(), plan_.words.end());
  // The channels must live until the spawn. The far ends are closed when this function returns.
  std::optional<Channel> input;
  Channel output = make_channel(false);
  Channel errors = make_channel(false);
  SpawnPlan spawn;
  if (plan_.writing) {
    input = make_channel(true);
    spawn.give(input->far_end.get(), STDIN_FILENO);
  } else if (plan_.input >= 0) {
    spawn.give(plan_.input, STDIN_FILENO);
  } else {
    spawn.give_nothing(STDIN_FILENO);
  }
  (void)::fcntl(output.near_end.get(), F_SETPIPE_SZ, kPipeBytes);
  spawn.give(output.far_end.get(), STDOUT_FILENO);
  spawn.give(errors.far_end.get(), STDERR_FILENO);
  OwnedFd target;  // a copy: the descriptor itself may have the number that the helper sees
  if (plan_.target >= 0) {
    target = OwnedFd(::fcntl(plan_.target, F_DUPFD_CLOEXEC, hdf5_protocol::kGivenDescriptor + 1));
    if (target.get() < 0) fail_to_start(path, errno);
    spawn.give(target.get(), hdf5_protocol::kGivenDescriptor);  // last: it may close one of these
  }
  pid_ = spawn.spawn(path, std::move(words));
  if (input) input_ = std::move(input->near_end);
  output_ = std::move(output.near_end);
  errors_ = std::move(errors.near_end);
}

void Hdf5Process::await(int fd, short events) {
  if (!wait_ready(fd, events, std::min<Index>(seconds_, 1'000'000) * 1000)) stop_for_time();
}

void Hdf5Process::stop_for_time() {
  throw Error(Errc::kLimit, fmt::format("{}: the HDF5 library made no progress for {} s while "
                                        "{} it (corrupt or hostile file, or a stalled disk)",
                                        plan_.name, seconds_, doing()));
}

Index Hdf5Process::read(std::span<std::byte> out) {
  if (ahead_used_ == ahead_.size()) return read_pipe(out);
  const std::size_t count = std::min(out.size(), ahead_.size() - ahead_used_);
  std::memcpy(out.data(), ahead_.data() + ahead_used_, count);
  ahead_used_ += count;
  return static_cast<Index>(count);
}

std::optional<std::string> Hdf5Process::read_line() {
  constexpr std::size_t kMaxLine = std::size_t{16} << 20;
  constexpr std::size_t kStep = std::size_t{4} << 10;
  ahead_.erase(0, std::exchange(ahead_used_, 0));
  std::size_t searched = 0;
  while (ahead_.size() < kMaxLine) {
    const std::size_t newline = ahead_.find('\n', searched);
    if (newline != std::string::npos) {
      ahead_used_ = newline + 1;
      return ahead_.substr(0, newline);
    }
    searched = ahead_.size();
    ahead_.resize(searched + kStep);
    const Index got = read_pipe(std::as_writable_bytes(std::span(ahead_).subspan(searched)));
    ahead_.resize(searched + static_cast<std::size_t>(got));
    if (got == 0) break;
  }
  return std::nullopt;
}

Index Hdf5Process::read_pipe(std::span<std::byte> out) {
  if (pid_ < 0 || out.empty()) return 0;
  while (true) {
    await(output_.get(), POLLIN);
    const ssize_t got = ::read(output_.get(), out.data(), out.size());
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) return static_cast<Index>(got);
    finish();
    return 0;
  }
}

void Hdf5Process::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    await(input_.get(), POLLOUT);
    const ssize_t sent =
        ::send(input_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent < 0) {
      finish();
      throw Error(Errc::kIo, fmt::format("{}: the HDF5 program ended early", plan_.name));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void Hdf5Process::finish() {
  if (pid_ < 0) return;
  input_ = OwnedFd();
  // Reads standard error to its end, which is when the helper ends.
  constexpr std::size_t kMaxMessage = 64 << 10;
  std::string message;
  std::array<char, 4096> part{};
  while (true) {
    await(errors_.get(), POLLIN);
    const ssize_t got = ::read(errors_.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    message.append(part.data(),
                   std::min(static_cast<std::size_t>(got), kMaxMessage - message.size()));
  }
  int status = 0;
  pid_t ended = 0;
  do {
    ended = ::waitpid(pid_, &status, 0);
  } while (ended < 0 && errno == EINTR);
  pid_ = -1;
  check_end(ended < 0 ? 0 : status, message);
}

void Hdf5Process::check_end(int status, const std::string& message) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    throw Error(Errc::kLimit,
                fmt::format("{}: the HDF5 library computed for {} s while {} it (corrupt or "
                            "hostile file)",
                            plan_.name, seconds_, doing()));
  }
  if (WIFSIGNALED(status)) {
    throw Error(Errc::kFormat,
                fmt::format("{}: the HDF5 library crashed while {} it, by signal {} (corrupt or "
                            "hostile file)",
                            plan_.name, doing(), WTERMSIG(status)));
  }
  const auto fields = hdf5_protocol::fields(message.substr(0, message.find('\n')));
  if (fields.size() != 2) {
    throw Error(Errc::kIo, fmt::format("{}: the HDF5 program failed with status {}: {}", plan_.name,
                                       WEXITSTATUS(status), printable(message, 200)));
  }
  std::vector<Remedy> remedies;
  if (fields[0] == hdf5_protocol::kExists) remedies.push_back({Remedy::kOverwrite});
  throw Error(errc_of(fields[0]), fmt::format("{}: {}", plan_.name, printable(fields[1], 1000)),
              std::move(remedies));
}

}  // namespace maskctl
