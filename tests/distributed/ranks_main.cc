// Checks calls over ranks. Under mpirun each process is a rank; "threads N" makes N ranks inside
// this process, which take turns on the devices of a backend. Prints one line for each failure,
// then "N ranks: N failed".
// usage: rank_checks threads N [BACKEND]
//        rank_checks [MODULE [PIECE [BYTES]]]   messages are cut into pieces of PIECE bytes;
//                                               with BYTES, only one message of that size is sent
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "distributed/rank_checks.h"
#include "maskctl/attention/ring/on_devices.h"
#include "maskctl/distributed/world.h"

namespace {

int report(const std::vector<std::string>& failed, long ranks) {
  for (const std::string& line : failed) fmt::print("FAILED {}\n", line);
  fmt::print("{} ranks: {} failed\n", ranks, failed.size());
  return failed.empty() ? 0 : 1;
}

using maskctl::attention::Backend;

int run_threads(long ranks, Backend backend) {
  std::vector<std::string> failed;
  maskctl::attention::run_on_devices(backend, ranks, [&](maskctl::attention::Communicator& world) {
    const std::vector<std::string> own = maskctl::rank_test::failures(world, backend);
    if (world.rank() == 0) failed = own;
  });
  return report(failed, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2 && std::string(argv[1]) == "threads") {
      const auto backend = maskctl::attention::backend_from_name(argc > 3 ? argv[3] : "cpu");
      return run_threads(std::atol(argv[2]), backend.value());
    }
    const maskctl::Index piece = argc > 2 ? std::atol(argv[2]) : maskctl::Index{1} << 30;
    maskctl::distributed::World world({}, argc > 1 ? argv[1] : "", piece);
    if (argc > 3) return maskctl::rank_test::messages_arrive(world, std::atol(argv[3])) ? 0 : 1;
    const std::vector<std::string> failed = maskctl::rank_test::failures(world, Backend::kCpu);
    return world.rank() == 0 ? report(failed, world.size()) : 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
