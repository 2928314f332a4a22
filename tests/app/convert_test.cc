// Tests convert as a process: exit statuses, streams, verdicts, adding arrays to containers.
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const std::string kMakeIdDocuments = "maskctl gen segments:lens=3+2+3 -o seg.npy\n";
const std::string kMakeCausal = "maskctl gen causal:n=4 -o causal.npy\n";

TEST_CASE("convert: says how many cells would be lost, and writes nothing without --lossy") {
  const Sandbox sandbox;
  const Outcome lossy =
      sandbox.run(kMakeCausal + "maskctl convert causal.npy --to padding --lossy -o p.npy");
  CHECK(lossy.status == 0);
  CHECK(lossy.out.empty());
  CHECK(lossy.err ==
        "maskctl: note: padding cannot hold this mask: 6 of 16 cells (37.50 %) changed\n");
  const Outcome refused = sandbox.run("maskctl convert causal.npy --to padding -o refused.npy");
  CHECK(refused.status == 2);
  CHECK(refused.err ==
        "maskctl: error: causal.npy: padding cannot hold this mask: 6 of 16 cells (37.50 %) would "
        "change; nothing is written without --lossy, which takes the nearest\n");
  CHECK_FALSE(fs::exists(sandbox.work() / "refused.npy"));
  const Outcome strict =
      sandbox.run("maskctl convert causal.npy --to padding --lossy --strict -o strict.npy");
  CHECK(strict.status == 2);
  CHECK(strict.err ==
        "maskctl: error: causal.npy: padding cannot hold this mask: 6 of 16 cells (37.50 %) would "
        "change; nothing is written with --strict\n");
  CHECK_FALSE(fs::exists(sandbox.work() / "strict.npy"));
  CHECK(sandbox.run("maskctl convert causal.npy --to bits --strict -o b.npy").status == 0);
}

TEST_CASE("convert: --roundtrip gives a verdict for every kind, with and without a file") {
  const Sandbox sandbox;
  sandbox.run(kMakeIdDocuments + kMakeCausal);
  for (const std::string kind : {"dense", "segments", "cu_seqlens", "bias", "bits", "runs"}) {
    INFO(kind);
    const Outcome same =
        sandbox.run("maskctl convert seg.npy --as segments --roundtrip --to " + kind);
    CHECK(same.status == 0);
    CHECK(same.out == kind + ": lossless: a round trip changes no cell\n");
  }
  for (const std::string kind :
       {"padding", "key-padding", "segments", "cu_seqlens", "pairs", "blockmap --block 2"}) {
    INFO(kind);
    const Outcome other = sandbox.run("maskctl convert causal.npy --roundtrip --to " + kind);
    CHECK(other.status == 1);
    CHECK(contains(other.out, ": lossy: a round trip changes "));
  }
  const Outcome written =
      sandbox.run("maskctl convert causal.npy --to pairs --roundtrip --lossy -o - | wc -c");
  CHECK(contains(written.err, "pairs: lossy: a round trip changes 6 of 16 cells"));
  CHECK(written.out == "136\n");
  CHECK(sandbox.run("maskctl convert causal.npy --to pairs --roundtrip -o - | wc -c").out == "0\n");
}

TEST_CASE("convert: segment ids stay unchanged when only the format changes") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "python3 -c \"import numpy as np; np.save('a.npy', np.array([1, 1, 2, 2, -1, 7]))\"\n"
      "maskctl convert a.npy --as segments --dtype int64 -o b.npy && cmp a.npy b.npy\n"
      "maskctl convert a.npy --as segments --pad-id 2 -o m.safetensors:ids\n"
      "maskctl convert m.safetensors:ids --as segments --dtype int64 -o c.npy && cmp a.npy c.npy\n"
      "maskctl convert a.npy --as segments -t 'doc:lens=2+4' -o d.npy\n"
      "maskctl info d.npy --as segments | grep density");
  CHECK(outcome.err == "");
  CHECK(outcome.out == "  density   25.00 %: 9 of 36 cells open\n");
}

TEST_CASE("convert: a packed batch becomes what variable-length kernels take") {
  const Sandbox sandbox;
  const std::string make =
      "python3 -c \"import numpy as np; s = np.array([[1, 1, 1, 2, 0, 0], [0, 3, 3, 4, 4, 4]]);"
      "np.save('s.npy', s); m = (s[:, :, None] == s[:, None]) & (s[:, :, None] != 0);"
      "np.save('m.npy', (m & np.tri(6, dtype=bool))[:, None])\"\n";
  const Outcome ids =
      sandbox.run(make +
                  "maskctl convert s.npy --as segments --pad-id 0 --to cu_seqlens -o cu.npy\n"
                  "python3 -c \"import numpy as np; print(*np.load('cu.npy'))\"");
  CHECK(ids.out == "0 3 4 6 7 9 12\n");
  CHECK(contains(ids.err, "2 rows are laid end to end"));
  CHECK(contains(ids.err, "4 documents, max_seqlen 3; 3 tokens of padding are segments"));
  const Outcome causal = sandbox.run(
      "maskctl convert m.npy --to cu_seqlens --padding drop -o cu.npz\n"
      "python3 -c \"import numpy as np; c = np.load('cu.npz'); print(c['cu_seqlens'], "
      "c['max_seqlen'], c['indices'])\"");
  CHECK(causal.out == "[0 3 4 6 9] 3 [ 0  1  2  3  7  8  9 10 11]\n");
  CHECK(contains(causal.err, "causal=True"));
  const Outcome window =
      sandbox.run("maskctl convert m.npy -t window:keys=2 --to cu_seqlens -o w.npy");
  CHECK(window.status == 2);
  CHECK(contains(window.err, "nothing is written without --lossy"));
  CHECK_FALSE(fs::exists(sandbox.work() / "w.npy"));
}

TEST_CASE("convert: what is written reads back as the same mask") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      kMakeIdDocuments +
      "maskctl convert seg.npy --as segments --to cu_seqlens -o cu.npy\n"
      "maskctl convert cu.npy --as cu_seqlens --to bits -q -o - |\n"
      "  maskctl convert - --as bits --shape 1+1+8+8 --to runs -o runs.npz\n"
      "maskctl convert runs.npz --to bias --dtype float16 --fill min -o m.safetensors:bias\n"
      "maskctl convert m.safetensors:bias --as bias --to blockmap --block 1 -o map.npy\n"
      "cat m.safetensors | maskctl convert -:bias --as bias --to segments -o back.npy\n"
      "maskctl convert map.npy --as blockmap:1x1 --to segments -o map_back.npy\n"
      "cmp seg.npy back.npy || maskctl show back.npy --as segments --style ascii\n"
      "cmp back.npy map_back.npy");
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
}

TEST_CASE("convert: --append adds to a container and keeps its other arrays") {
  const Sandbox sandbox;
  for (const std::string file : {"m.npz", "m.safetensors"}) {
    INFO(file);
    const Outcome outcome = sandbox.run(
        kMakeIdDocuments + "maskctl convert seg.npy --as segments --to segments -o " + file +
        ":ids\n"
        "maskctl convert seg.npy --as segments -t causal --to dense --append -o " +
        file + ":mask && maskctl stats " + file + ":mask > stats && maskctl stats " + file +
        ":ids --as segments >> stats\n"
        "rm -f seg.npy");
    CHECK(outcome.err.empty());
    const Outcome again =
        sandbox.run("maskctl convert " + file + ":ids --as segments --to bits --append -q -o " +
                    file + ":mask");
    CHECK(again.status == 2);
    CHECK(contains(again.err, "already holds an array 'mask'"));
    const Outcome forced = sandbox.run(
        "maskctl convert " + file + ":ids --as segments --to bits --append -q --force -o " + file +
        ":mask && maskctl stats " + file + ":mask --as bits --shape 1+1+8+8");
    CHECK(forced.status == 0);
  }
}

TEST_CASE("convert: errors about wrong requests say what to do") {
  const Sandbox sandbox;
  sandbox.run(kMakeIdDocuments + kMakeCausal);
  const std::vector<std::pair<std::string, std::string>> table = {
      {"causal.npy --to dense", "no destination"},
      {"causal.npy --to positions -o x.npy", "can only be read"},
      {"causal.npy --to blockmap -o x.npy", "give --block QxK"},
      {"causal.npy --to dense --fill min -o x.npy", "--fill is for --to bias"},
      {"causal.npy --to dense --append -o x.npy", "arrays are added to a container"},
      {"causal.npy --to runs -o x.npy", "an .npy holds one array, these are 4"},
      {"seg.npy --as token-types -o x.npy", "the step tokens:seg.npy"},
      {"seg.npy --as bits -o x.npy", "give --shape B+H+Q+K"},
      {"seg.npy --as blockmap -o x.npy", "give --as blockmap:QxK"},
      {"seg.npy --as bias -o x.npy", "a bias is floats"},
      {"causal.npy --to dense --dtype float8_e5m2 -o x.npy", "no name in .npy, .npz and HDF5"},
      {"causal.npy --to bias --dtype float8_e4m3fn -o x.npy", "no number that closes a cell"},
      {"causal.npy --to dense --dtype float8_e4m3 -o x.npy", "float8_e4m3fn"},
  };
  for (const auto& [line, part] : table) check_refused(sandbox, "maskctl convert " + line, part);
  CHECK_FALSE(fs::exists(sandbox.work() / "x.npy"));
}

TEST_CASE("convert: an unknown kind gives an error that lists those that can be written") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(kMakeCausal + "maskctl convert causal.npy --to foo -o f.npy");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, "--to 'foo': expected one of dense, padding, "));
  CHECK_FALSE(contains(outcome.err, "positions"));
}

}  // namespace
}  // namespace maskctl::test
