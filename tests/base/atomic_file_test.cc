// Tests of AtomicFile, whose file appears whole or not at all, and of ReplaceLock.
#include "maskctl/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

#include "base/scratch.h"
#include "support/catch_compat.h"
#include "support/error_of.h"

using namespace maskctl;
using maskctl::test::error_of;
using maskctl::test::offers;
using maskctl::test::Scratch;
using maskctl::test::slurp;
using maskctl::test::spit;

namespace {

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

void write_file(const std::string& path, std::string_view text, bool force = false) {
  AtomicFile file(path, force);
  file.write(bytes(text));
  file.commit();
}

}  // namespace

TEST_CASE("a file appears with its bytes at commit and not before") {
  const Scratch scratch;
  const std::string path = scratch / "out.npy";
  AtomicFile file(path, false);
  file.write(bytes("hello "));
  file.write(bytes("world"));
  CHECK(::access(path.c_str(), F_OK) != 0);
  file.commit();
  CHECK(slurp(path) == "hello world");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("a file that is not committed leaves the old file and no temporary file") {
  const Scratch scratch;
  spit(scratch / "out.npy", "old");
  {
    AtomicFile file(scratch / "out.npy", true);
    file.write(bytes("new"));
    CHECK(scratch.entries() == 2);
  }
  CHECK(slurp(scratch / "out.npy") == "old");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("an existing file is replaced only with force") {
  const Scratch scratch;
  const std::string path = scratch / "out.npy";
  write_file(path, "one");
  CHECK(error_of([&] { write_file(path, "two"); }) == path + " exists");
  CHECK(offers(Remedy::kOverwrite, [&] { write_file(path, "two"); }));
  CHECK(slurp(path) == "one");
  write_file(path, "two", true);
  CHECK(slurp(path) == "two");
}

TEST_CASE("without force, a file that appears during the write is kept") {
  const Scratch scratch;
  const std::string path = scratch / "out.npy";
  AtomicFile file(path, false);
  spit(path, "theirs");
  CHECK(error_of([&] { file.commit(); }) == path + " exists");
  CHECK(slurp(path) == "theirs");
}

TEST_CASE("the target of a symbolic link is replaced, not the link") {
  const Scratch scratch;
  spit(scratch / "target", "old");
  std::filesystem::create_symlink("target", scratch / "link");
  std::filesystem::create_symlink("link", scratch / "second");
  write_file(scratch / "second", "new", true);
  CHECK(slurp(scratch / "target") == "new");
  CHECK(std::filesystem::is_symlink(scratch / "link"));
  std::filesystem::create_symlink("nowhere", scratch / "dangling");
  write_file(scratch / "dangling", "made");
  CHECK(slurp(scratch / "nowhere") == "made");
  std::filesystem::create_symlink("loop", scratch / "loop");
  CHECK(error_of([&] { write_file(scratch / "loop", "x", true); }).find("symbolic links") !=
        std::string::npos);
}

TEST_CASE("new files honour the umask and replaced files keep their mode") {
  const Scratch scratch;
  const mode_t before = ::umask(027);
  write_file(scratch / "new", "x");
  ::umask(before);
  struct stat info {};
  REQUIRE(::stat((scratch / "new").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
  REQUIRE(::chmod((scratch / "new").c_str(), 0604) == 0);
  write_file(scratch / "new", "y", true);
  REQUIRE(::stat((scratch / "new").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0604);
  if (::geteuid() != 0) return;  // only root may give files away
  REQUIRE(::chown((scratch / "new").c_str(), 1234, 2345) == 0);
  write_file(scratch / "new", "z", true);
  REQUIRE(::stat((scratch / "new").c_str(), &info) == 0);
  CHECK((info.st_uid == 1234 && info.st_gid == 2345 && (info.st_mode & 0777) == 0604));
}

TEST_CASE("targets that are not regular files are written directly") {
  const Scratch scratch;
  CHECK_NOTHROW(write_file("/dev/null", "x"));
  CHECK(error_of([] { write_file("/dev/full", "x"); }) ==
        "cannot write /dev/full: No space left on device");
  const std::string fifo = scratch / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = slurp(fifo); });
  write_file(fifo, "through the pipe");
  reader.join();
  CHECK(got == "through the pipe");
  struct stat info {};
  REQUIRE(::stat(fifo.c_str(), &info) == 0);
  CHECK(S_ISFIFO(info.st_mode));
}

TEST_CASE("a write to /dev/fd/N continues at the position of the descriptor") {
  const Scratch scratch;
  const int fd = ::open((scratch / "log").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, "head ", 5) == 5);
  write_file("/dev/fd/" + std::to_string(fd), "tail");
  ::close(fd);
  CHECK(slurp(scratch / "log") == "head tail");
}

TEST_CASE("the error about a file that cannot be created names it and the reason") {
  const Scratch scratch;
  CHECK(error_of([&] { write_file(scratch / "no/out", "x"); }) ==
        "cannot write " + (scratch / "no/out") + ": No such file or directory");
  CHECK(error_of([&] { write_file(scratch.folder(), "x", true); }) ==
        "cannot write " + scratch.folder() + ": Is a directory");
  CHECK(error_of([&] {
          write_file(scratch / std::string(300, 'x'), "x");
        }).find("File name too long") != std::string::npos);
  CHECK(error_of([&] { write_file("", "x"); }) == "cannot write to an empty file name");
  CHECK(scratch.entries() == 0);
}

TEST_CASE("a file name of the greatest length can be written") {
  const Scratch scratch;
  write_file(scratch / std::string(255, 'x'), "x");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("remove_temporary_files removes the files of unfinished writes only") {
  const Scratch scratch;
  write_file(scratch / "done", "x");
  AtomicFile file(scratch / "open", false);
  CHECK(scratch.entries() == 2);
  remove_temporary_files();
  CHECK(scratch.entries() == 1);
  CHECK(slurp(scratch / "done") == "x");
}

namespace {

/// Starts a file in another process, which then dies as if killed, so that its temporary file
/// stays.
void leave_behind(const std::string& path) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const AtomicFile file(path, true);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
}

}  // namespace

TEST_CASE("the next writer of a name removes the temporary files of killed writers") {
  const Scratch scratch;
  leave_behind(scratch / "out");
  leave_behind(scratch / "other");
  REQUIRE(scratch.entries() == 2);
  write_file(scratch / "out", "x");
  CHECK(scratch.entries() == 2);  // out, and what is left of other
  write_file(scratch / "other", "x");
  CHECK(scratch.entries() == 2);
  leave_behind(scratch / "out");
  { const AtomicFile given_up(scratch / "out", true); }
  CHECK(scratch.entries() == 2);
}

TEST_CASE("a temporary file that is still being written is not removed") {
  const Scratch scratch;
  AtomicFile first(scratch / "out", true);
  first.write(bytes("first"));
  AtomicFile second(scratch / "out", true);
  second.write(bytes("second"));
  write_file(scratch / "out", "third");
  CHECK(slurp(scratch / "out") == "third");
  first.commit();
  CHECK(slurp(scratch / "out") == "first");
  second.commit();
  CHECK(slurp(scratch / "out") == "second");
  CHECK(scratch.entries() == 1);
}

TEST_CASE("several writers of one name can be open at once") {
  const Scratch scratch;
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (int i = 0; i < 40; ++i) {
    files.push_back(std::make_unique<AtomicFile>(scratch / "out", true));
  }
  for (auto& file : files) file->commit();
  CHECK(scratch.entries() == 1);
}

TEST_CASE("more files can be open than the table of temporary files has slots") {
  const Scratch scratch;
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (int i = 0; i < 40; ++i) {
    files.push_back(std::make_unique<AtomicFile>(scratch / std::to_string(i), false));
  }
  for (auto& file : files) file->commit();
  CHECK(scratch.entries() == 40);
}

TEST_CASE("a replace lock makes others wait, also through a link or for a missing file") {
  const Scratch scratch;
  spit(scratch / "there", "x");
  REQUIRE(::symlink("there", (scratch / "link").c_str()) == 0);
  for (const char* name : {"there", "link", "missing"}) {
    CAPTURE(name);
    auto first = std::make_unique<ReplaceLock>(scratch / name);
    std::atomic<bool> entered{false};
    std::thread other([&] {
      const ReplaceLock second(scratch / "there");
      entered = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK_FALSE(entered);
    first.reset();
    other.join();
    CHECK(entered);
  }
  CHECK(scratch.entries() == 2);
  // A missing folder cannot be locked; that is no error here, only the later write fails.
  const ReplaceLock nowhere(scratch / "no folder/file");
}
