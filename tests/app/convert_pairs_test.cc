// Tests convert --roundtrip and --strict for every pair of kinds of arrays.
#include <set>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const std::vector<std::string> kKinds = {"dense",      "padding", "key-padding", "segments",
                                         "cu_seqlens", "pairs",   "bias",        "blockmap",
                                         "bits",       "runs"};

struct Case {
  // `make` is the start of a command that writes a dense mask of 8 x 8.
  std::string name, make;
  std::set<std::string> exact;  // the kinds that can hold this mask without loss
};

const std::vector<Case> kCases = {
    {"full", "maskctl gen full:n=8", {kKinds.begin(), kKinds.end()}},
    {"documents",
     "maskctl gen full:n=8 -t doc:lens=3+2+3",
     {"dense", "segments", "cu_seqlens", "bias", "blockmap", "bits", "runs"}},
    {"causal", "maskctl gen causal:n=8", {"dense", "bias", "blockmap", "bits", "runs"}},
    {"key padding",
     "/usr/bin/python3 -c 'import numpy as np\n"
     "np.save(\"mask.npy\", np.arange(8) < 5 + np.zeros((8, 1)))' #",
     {"dense", "key-padding", "segments", "cu_seqlens", "pairs", "bias", "blockmap", "bits",
      "runs"}},
};

/// from() is the argument that reads in.npz as a kind; to() makes convert write that kind.
std::string from(const std::string& kind) {
  return kind == "blockmap" ? "in.npz --as blockmap:1x1 --shape 1+1+8+8"
                            : "in.npz --as " + kind + " --shape 1+1+8+8";
}
std::string to(const std::string& kind) {
  return kind == "blockmap" ? "--to blockmap --block 1" : "--to " + kind;
}

TEST_CASE("convert: roundtrip and strict agree for every pair of kinds", "[slow]") {
  const Sandbox sandbox;
  for (const auto& [name, make, exact] : kCases) {
    REQUIRE(sandbox.run(make + " -f -o mask.npy").status == 0);
    for (const std::string& source : exact) {
      const Outcome made =
          sandbox.run("maskctl convert mask.npy --as dense -q --strict -f -o in.npz " + to(source));
      INFO(name << " as " << source << "\n" << made.err);
      REQUIRE(made.status == 0);
      for (const std::string& kind : kKinds) {
        const bool lossless = exact.contains(kind);
        const Outcome verdict =
            sandbox.run("maskctl convert " + from(source) + " --roundtrip " + to(kind));
        INFO(name << " from " << source << " to " << kind << "\n" << verdict.out << verdict.err);
        CHECK(verdict.status == (lossless ? 0 : 1));
        CHECK(verdict.out.starts_with(kind + (lossless ? ": lossless" : ": lossy")));
        const Outcome strict = sandbox.run("rm -f out.npz; maskctl convert " + from(source) +
                                           " --strict -q -o out.npz " + to(kind));
        CHECK(strict.status == (lossless ? 0 : 2));
        CHECK(fs::exists(sandbox.work() / "out.npz") == lossless);
        CHECK((lossless || strict.err.find("with --strict") != std::string::npos));
      }
    }
  }
}

}  // namespace
}  // namespace maskctl::test
