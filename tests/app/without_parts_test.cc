// Tests builds without optional parts: what needs a missing part is refused in one line that names
// the build option, and other builds have the part.
#include "app/process.h"

namespace maskctl::test {
namespace {

struct Part {
  std::string name;  // as --version has it
  std::string line;  // what needs the part
  std::string refusal;
};

TEST_CASE("parts: a command that needs a missing part is refused, others work") {
  const Sandbox sandbox;
  const std::string arrays =
      " query=samples/bugs/kernel_q.npy key=samples/bugs/kernel_k.npy "
      "value=samples/bugs/kernel_v.npy --given samples/bugs/kernel_out.npy";
  const auto [name, line, refusal] = GENERATE_COPY(values<Part>({
      {"hdf5", "maskctl gen causal:n=4 -o a.h5", "-DMASKCTL_HDF5=ON"},
      {"curses", "setsid -w maskctl tui gen:causal:n=4",
       "built without curses; maskctl show, and tui --dump FILE, draw without one; build it with "
       "-DMASKCTL_TUI=ON"},
      {"eigen", "maskctl verify gen:window:keys=32,n=64 --solve" + arrays,
       "no mask can be solved: this maskctl was built without Eigen; build it with "
       "-DMASKCTL_SOLVE=ON"},
      {"eigen", "maskctl verify absent.npy --solve", "-DMASKCTL_SOLVE=ON"},  // before it is read
  }));
  if (was_built_without(name)) {
    check_refused(sandbox, line, refusal);
  } else {
    CHECK_FALSE(contains(sandbox.run(line).err, refusal));
  }
}

TEST_CASE("parts: without curses the inspector draws into files", "[tui]") {
  const Outcome drawn = Sandbox().run("maskctl tui gen:causal:n=4 --dump -");
  CHECK(drawn.status == 0);
  CHECK(contains(drawn.out, "causal"));
}

TEST_CASE("parts: verify solves the wrong rows only in a build with Eigen") {
  const Outcome verified = Sandbox().run(
      "maskctl verify gen:causal:n=64 query=samples/bugs/kernel_q.npy "
      "key=samples/bugs/kernel_k.npy "
      "value=samples/bugs/kernel_v.npy --given samples/bugs/kernel_out.npy");
  CHECK(contains(verified.out, "undecided  ") == !was_built_without("eigen"));
}

}  // namespace
}  // namespace maskctl::test
