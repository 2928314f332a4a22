// Tests verify-merge as a process, on merges that numpy makes.
#include <string>
#include <utility>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Returns shell lines that write a merge of three parts of the keys to FILE. `change` runs on the
/// arrays before they are saved: o and l are the parts, out and lse the right merge.
std::string merge_in(const std::string& file, const std::string& change) {
  return "/usr/bin/python3 - <<'END'\n"
         "import numpy as np\n"
         "r = np.random.default_rng(3)\n"
         "q, k, v = (r.standard_normal((2, 24, 3, 16)).astype('f4') for _ in range(3))\n"
         "s = np.einsum('bqhd,bkhd->bhqk', q, k).astype('f8') / 4\n"
         "s[..., np.triu(np.ones((24, 24), bool), 1)] = -np.inf\n"
         "def part(keys):\n"
         "    x = s[..., keys]\n"
         "    with np.errstate(all='ignore'):\n"
         "        l = np.log(np.exp(x).sum(-1))\n"
         "        w = np.where(np.isinf(l)[..., None], 0, np.exp(x - l[..., None]))\n"
         "    return np.einsum('bhqk,bkhd->bqhd', w, v[:, keys]).astype('f4'), l.astype('f4')\n"
         "o, l = zip(*[part(slice(n, n + 8)) for n in (0, 8, 16)])\n"
         "out, lse = part(slice(0, 24))\n"
         "def weighed(w): return np.einsum('pbhq,pbqhd->bqhd', w, np.stack(o)).astype('f4')\n" +
         change +
         "\narrays = {f'part{n}_out': o[n] for n in range(3)}\n"
         "arrays.update({f'part{n}_lse': l[n] for n in range(3)})\n"
         "np.savez('" +
         file +
         "', out=out, lse=lse, **arrays)\n"
         "END\n";
}

TEST_CASE("verify-merge: accepts a right merge, and names the mistake of a wrong one") {
  struct Case {
    std::string change, out, lse;
  };
  const std::vector<Case> table = {
      {"w = 2.0 ** np.stack(l); out = weighed(w / w.sum(0))",
       "wrong: weights that are powers of 2 of an lse to base e; 96 rows off",
       "that of the right merge"},
      {"lse = lse / np.log(2).astype('f4')", "that of the right merge",
       "wrong: the lse to base 2; 144 rows off"},
      {"out = weighed(np.full((3,) + lse.shape, 1 / 3))", "wrong: equal weights; ",
       "that of the right merge"},
      {"out[:, :, 1] = o[0][:, :, 1]", "wrong: part 0 alone; ", "that of the right merge"},
      {"out[1, 20, 2, 5] = 9", "not that of the right merge, and none of ",
       "that of the right merge"},
  };
  const Sandbox sandbox;
  REQUIRE(sandbox.run(merge_in("right.npz", "")).err.empty());
  const Outcome right = sandbox.run("maskctl verify-merge right.npz");
  INFO(right.out << right.err);
  CHECK(right.status == 0);
  CHECK(contains(right.out, "rows      144 rows; in 96 a part has no keys, in 0 none has\n"));
  CHECK(contains(right.out, "verdict   the merge is right, up to rounding\n"));
  for (const Case& one : table) {
    REQUIRE(sandbox.run(merge_in("wrong.npz", one.change)).err.empty());
    const Outcome wrong = sandbox.run("maskctl verify-merge wrong.npz");
    INFO(one.change << '\n' << wrong.out << wrong.err);
    CHECK(wrong.status == 1);
    CHECK(contains(wrong.out, "out       " + one.out));
    CHECK(contains(wrong.out, "lse       " + one.lse));
  }
}

TEST_CASE("verify-merge: accepts an lse to base 2, and axes in the order of other libraries") {
  const Sandbox sandbox;
  const std::string other =
      "l = [x / np.log(2).astype('f4') for x in l]; lse = lse / np.log(2).astype('f4')\n"
      "l = [x.swapaxes(1, 2) for x in l]; lse = lse.swapaxes(1, 2)";
  REQUIRE(sandbox.run(merge_in("two.npz", other)).err.empty());
  const Outcome as_e = sandbox.run("maskctl verify-merge two.npz");
  CHECK(as_e.status == 1);
  CHECK(contains(as_e.out, "lse to base e, of axes [B,T,H]"));
  CHECK(contains(as_e.out, "right if they are to base 2 (--lse-base 2)"));
  CHECK(sandbox.run("maskctl verify-merge two.npz --lse-base 2").status == 0);
  const std::string first =
      "o = [x.swapaxes(1, 2)[0] for x in o]; l = [x[0] for x in l]\n"
      "out = out.swapaxes(1, 2)[0]; lse = lse[0]";
  REQUIRE(sandbox.run(merge_in("first.npz", first)).err.empty());
  CHECK(sandbox.run("maskctl verify-merge first.npz --layout bhtd").status == 0);
}

TEST_CASE("verify-merge: arrays can be given one by one by name; wrong names are refused") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(merge_in("m.npz", "")).err.empty());
  const std::string parts =
      "maskctl verify-merge part0_out=m.npz:part0_out part0_lse=m.npz:part0_lse "
      "part1_out=m.npz:part1_out ";
  const Outcome two =
      sandbox.run(parts + "part1_lse=m.npz:part1_lse out=m.npz:out lse=m.npz:lse --json");
  CHECK(two.status == 1);
  CHECK(contains(two.out, "\"verdict\": \"none\""));
  const std::vector<std::pair<std::string, std::string>> table = {
      {parts + "out=m.npz:out", "no part1_lse; give part1_lse=SOURCE"},
      {"maskctl verify-merge m.npz part4_out=m.npz:out", "no part3_out"},
      {"maskctl verify-merge m.npz part99_out=m.npz:out", "part99_out: expected part0_out"},
      {"maskctl verify-merge m.npz out=m.npz:out out=m.npz:out", "out: given more than once"},
      {"maskctl verify-merge m.npz query=m.npz:out", "query=m.npz:out: expected part0_out"},
      {"maskctl verify-merge none.npz", "none.npz is no file: expected part0_out"},
      {"maskctl verify-merge m.npz out=m.npz:lse",
       "the merged out is (2, 3, 24), out of part 0 is"},
      {"maskctl verify-merge m.npz lse=m.npz:out", "the merged lse is (2, 24, 3, 16), expected"},
      {"maskctl verify-merge m.npz --lse-base 10", "--lse-base"},
      {"maskctl verify-merge", "no NAME=SOURCE"},
  };
  for (const auto& [line, part] : table) check_refused(sandbox, line, part);
}

}  // namespace
}  // namespace maskctl::test
