#include "app/cli/commands/attention/outside_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/work_scope.h"

namespace maskctl::app {
namespace {

constexpr std::chrono::milliseconds kFirstWait{1}, kLongestWait{20};

/// Starts the command in a process group of its own, so that all of it can be ended.
pid_t started(const std::string& command, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::string text = command;
  char shell[] = "sh", option[] = "-c";
  char* const words[] = {shell, option, text.data(), nullptr};
  pid_t child = -1;
  const int failed = posix_spawn(&child, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed == 0) return child;
  throw Error(Errc::kIo, fmt::format("cannot start /bin/sh: {}", std::strerror(failed)));
}

/// Ends what is left of the command, if it has not been waited for.
class Child {
 public:
  Child(const std::string& command, const std::string& log) : id_(started(command, log)) {}
  ~Child() {
    if (id_ < 0) return;
    kill(-id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The status that waitpid() gives; nothing if the command runs longer than `limit`. Throws
  /// Error(kCancelled).
  std::optional<int> wait(const std::optional<std::chrono::seconds>& limit) {
    const auto start = std::chrono::steady_clock::now();
    for (auto pause = kFirstWait;; pause = std::min(2 * pause, kLongestWait)) {
      int status = 0;
      const pid_t ended = waitpid(id_, &status, WNOHANG);
      if (ended == id_) {
        id_ = -1;
        return status;
      }
      if (ended < 0 && errno != EINTR) {
        throw Error(Errc::kIo, fmt::format("cannot wait for /bin/sh: {}", std::strerror(errno)));
      }
      throw_if_stopped();
      if (limit && std::chrono::steady_clock::now() - start > *limit) return std::nullopt;
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  pid_t id_;
};

/// The last line that the command printed, of at most kTail bytes.
std::string last_line(const std::string& path) {
  constexpr std::streamoff kTail = 400;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kTail));
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

std::string with_path(std::string command, std::string_view place, const std::string& path) {
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  word += "'";
  for (std::size_t at = 0; (at = command.find(place, at)) != command.npos; at += word.size()) {
    command.replace(at, place.size(), word);
  }
  return command;
}

ProgramEnd run_program(const std::string& command, const std::string& log,
                       std::optional<std::chrono::seconds> limit) {
  const std::optional<int> ended = Child(command, log).wait(limit);
  if (!ended) return {-1, true, fmt::format("ran longer than {} s", limit->count())};
  const int status = *ended;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const std::string how = WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                                              : fmt::format("exit status {}", code);
  const std::string said = last_line(log);
  return {code, false, said.empty() ? how : fmt::format("{}: {}", how, said)};
}

}  // namespace maskctl::app
