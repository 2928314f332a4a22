// Tests that Ctrl-C and other signals end a command at once.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Returns shell lines that start a command and send it a signal when `started` (a Python
/// expression about the process p) holds; they print its exit status. A Python script does this,
/// since a shell would start the command with SIGINT ignored.
std::string interrupted(const std::string& command, const std::string& signal,
                        const std::string& started) {
  return "cat > stop.py <<'END'\n"
         "import glob, os, signal, subprocess, time\n"
         "p = subprocess.Popen('" +
         command +
         "'.split(), stdin=subprocess.PIPE,\n"
         "                     stdout=subprocess.DEVNULL)\n"
         "begin = time.time()\n"
         "threads = lambda: len(os.listdir(f'/proc/{p.pid}/task'))\n"
         "while p.poll() is None and not (" +
         started +
         "): time.sleep(0.002)\n"
         "p.send_signal(signal." +
         signal +
         ")\n"
         "print(p.wait(30), sorted(glob.glob('out*')))\n"
         "END\n"
         "/usr/bin/python3 stop.py\n";
}

TEST_CASE("Ctrl-C ends long work with status 130, no output and no file") {
  const Sandbox sandbox;
  const std::string command =
      GENERATE("maskctl gen random:sparsity=0.5,n=65536 -o out.npy --max-bytes 8G",
               "maskctl check gen:random:sparsity=0.5,n=32768",
               "maskctl verify gen:causal:n=16384 --axes Hq=16");
  const Outcome outcome =
      sandbox.run(interrupted(command, "SIGINT", "threads() > 1 and time.time() > begin + 0.1"));
  CHECK(outcome.out == "130 []\n");
  CHECK(outcome.err.empty());
}

TEST_CASE("a signal ends a command that waits for its input") {
  const Sandbox sandbox;
  CHECK(sandbox.run(interrupted("maskctl stats -", "SIGTERM", "threads() > 1")).out == "143 []\n");
}

}  // namespace
}  // namespace maskctl::test
