// Runs shell commands with the built program in a temporary folder, and keeps what they print.
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/scratch.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl::test {

namespace fs = std::filesystem;

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

/// Returns the path of the command under test: that of MASKCTL_TEST_COMMAND, or of this build.
inline std::string command() {
  const char* other = std::getenv("MASKCTL_TEST_COMMAND");
  return other ? other : MASKCTL_COMMAND;
}

/// A temporary folder that contains samples/, with the program on PATH and a fixed environment.
class Sandbox {
 public:
  Sandbox() {
    fs::create_directory(work());
    fs::create_directory_symlink(fs::path(MASKCTL_SOURCE_DIR) / "samples", work() / "samples");
  }

  fs::path work() const { return root_ / "work"; }

  /// Runs a line with /bin/sh; stdin is empty unless the line redirects it.
  Outcome run(const std::string& line) const {
    const std::string script = prologue() + line + "\n";
    spit(root_ / "script", script);
    const std::string command = "/bin/sh '" + (root_ / "script").string() + "' </dev/null >'" +
                                (root_ / "out").string() + "' 2>'" + (root_ / "err").string() + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), slurp(root_ / "out"),
            slurp(root_ / "err")};
  }

  /// Runs a line with stdin, stdout and stderr on a terminal of 24 x 100; `out` is all that appears
  /// there.
  Outcome run_on_terminal(const std::string& line) const {
    spit(root_ / "script", prologue() + "unset COLUMNS\nTERM=xterm-256color\n" + line + "\n");
    const std::string script = (root_ / "script").string();
    winsize size{24, 100, 0, 0};
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
    if (child < 0) throw std::runtime_error("no terminal");
    if (child == 0) {
      execl("/bin/sh", "sh", script.c_str(), nullptr);
      _exit(127);
    }
    Outcome outcome;
    char buffer[4096];
    for (ssize_t n; (n = read(terminal, buffer, sizeof buffer)) > 0;) {
      outcome.out.append(buffer, static_cast<std::size_t>(n));
    }
    close(terminal);
    int status = 0;
    waitpid(child, &status, 0);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
  }

 private:
  std::string prologue() const {
    const std::string folder = fs::path(command()).parent_path().string();
    return "cd '" + work().string() + "' || exit 99\n" +
           "unset CI GITHUB_ACTIONS NO_COLOR CLICOLOR_FORCE TERM MASKCTL_COLOR MASKCTL_THREADS "
           "MASKCTL_MAX_BYTES "
           "EJKERNEL_MASK_DEBUG EJKERNEL_AUTOTUNE_POLICY EJKERNEL_LOG_AUTOTUNE "
           "EJKERNEL_OPS_RECORD EJKERNEL_OPS_STAMP EJKERNEL_OPS_PREFIX\n"
           "export LC_ALL=C.UTF-8 COLUMNS=80 PATH='" +
           folder + "':/usr/bin:/bin\n";
  }

  Scratch scratch_;
  fs::path root_ = scratch_.folder();
};

/// True if the command was built without ejkernel. Test cases that need ejkernel have the tag
/// [ejkernel]; others leave out what such a build refuses.
inline bool without_ejkernel() {
  static const bool without =
      contains(Sandbox().run("maskctl show gen:full:n=1 --style ejkernel").err, "MASKCTL_EJKERNEL");
  return without;
}

/// True if the command was built without a part, "hdf5", "curses" or "eigen", as `--version` says.
inline bool was_built_without(const std::string& part) {
  static const std::string version = Sandbox().run("maskctl --version").out;
  return contains(version, part + " absent");
}

/// Checks that a line ends with status 2, prints nothing to stdout and an error containing `part`
/// to stderr. The error has one line, or three if it shows a place in a pipeline.
inline void check_refused(const Sandbox& sandbox, const std::string& line, const std::string& part,
                          std::ptrdiff_t lines = 1) {
  const Outcome outcome = sandbox.run(line);
  INFO(line << "\n" << outcome.err);
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("maskctl: error: "));
  CHECK(contains(outcome.err, part));
  CHECK(std::ranges::count(outcome.err, '\n') == lines);
  CHECK(outcome.err.ends_with('\n'));
}

}  // namespace maskctl::test
