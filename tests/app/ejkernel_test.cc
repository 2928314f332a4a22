// Compares the commands that use ejkernel's MaskInfo with ejkernel's golden data and with numpy.
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const std::string kPacked = " samples/packed.npy --as segments --semantics ejkernel ";

TEST_CASE("the command gives the results of ejkernel's golden chains", "[ejkernel]") {
  const fs::path root = MASKCTL_SOURCE_DIR;
  const Outcome outcome =
      Sandbox().run("/usr/bin/python3 '" + (root / "tests/app/replay_golden.py").string() + "' '" +
                    MASKCTL_COMMAND + "' '" + (root / "tests/data/golden/masks").string() + "'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("a stored MaskInfo loads with all of its fields", "[ejkernel]") {
  const Sandbox sandbox;
  const std::string show = "maskctl info m.npz --semantics ejkernel --json | sed 's/m.npz//'";
  CHECK(sandbox.run("maskctl apply" + kPacked + "-t causal --to mask-info -o m.npz").status == 0);
  const Outcome first = sandbox.run(show);
  CHECK(first.status == 0);
  CHECK(contains(first.out, "\"causal\": true"));
  sandbox.run("maskctl apply m.npz --semantics ejkernel --to mask-info -o n.npz && mv n.npz m.npz");
  CHECK(sandbox.run(show).out == first.out);
  const Outcome piped = sandbox.run(
      "maskctl apply - --as mask-info --semantics ejkernel -o - <m.npz | maskctl info - --json");
  CHECK(piped.status == 0);
  CHECK(contains(piped.out, "\"open\""));
}

TEST_CASE("every command accepts a stored MaskInfo as its SOURCE, also from a pipe", "[ejkernel]") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl apply" + kPacked + "-t causal --to mask-info -o m.npz").status == 0);
  CHECK(sandbox.run("maskctl apply" + kPacked + "-t causal -o m.npy").status == 0);
  for (const std::string command :
       {"stats", "show", "cost --head-dim 64", "check", "recognise", "convert --to runs -o -",
        "diff m.npz", "combine m.npz --op and -o -", "why 3 2", "attend flash_attention --mask"}) {
    INFO(command);
    const auto output = [&](const std::string& source) {
      const std::size_t end = command.find(' ');
      const bool attend = command.starts_with("attend");
      const std::string line = attend ? command + " " + source
                                      : command.substr(0, end) + " " + source +
                                            (end == command.npos ? "" : command.substr(end));
      const Outcome made = sandbox.run("maskctl " + line + " | sed 's/m.npz/m.npy/; s/-:/m.npy/'");
      CHECK(made.err.empty());
      return made.out;
    };
    CHECK(output("m.npz") == output("m.npy"));
    CHECK(output("m.npz --as mask-info") == output("m.npy"));
  }
  const Outcome piped = sandbox.run("maskctl stats - --as mask-info <m.npz");
  CHECK(piped.out == sandbox.run("maskctl stats m.npy").out);
}

TEST_CASE("each kind of SOURCE is made into a MaskInfo by the matching constructor", "[ejkernel]") {
  const Sandbox sandbox;
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as n; "
      "n.save('q.npy', n.int32([0,3,0,5,0,4])); n.save('kv.npy', n.int32([0,6,0,8,0,7]))\"");
  const auto printed = [&](const std::string& words) {
    const Outcome outcome =
        sandbox.run("maskctl info --quiet --semantics ejkernel " + words + " | tr '\\n' ' '");
    CHECK(outcome.err.empty());
    return outcome.out;
  };
  const std::string pairs = "q=q.npy,kv=kv.npy --as pairs --print ";
  CHECK(printed(pairs + "cu_seqlens_q") == "0 3 0 5 0 4 ");
  CHECK(printed(pairs + "cu_seqlens_kv") == "0 6 0 8 0 7 ");
  CHECK(printed(pairs + "kv_segment_ids") == "0 0 0 0 0 0 -1 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 -1 ");
  CHECK(contains(printed("gen:random:sparsity=0.5,seed=42,b=2,q=4,k=6"),
                 "MaskInfo(attention_mask.shape=(2, 1, 4, 6), self_attn=False)"));
  CHECK(contains(printed("gen:full:b=2,n=4"), "q_segment_ids.shape=(2, 4)"));
  CHECK(printed("gen:random:sparsity=0.5,seed=1,n=4 --print q_lens") == "None ");
}

TEST_CASE("info --print prints every array of a MaskInfo", "[ejkernel]") {
  const Sandbox sandbox;
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as n; n.save('ids.npy', n.int32([[1,1,2,2,-1]]))"
      "; m = n.zeros((1,2,3,3), bool); m[0,0,0,0] = m[0,1,:2,:2] = 1; n.save('h.npy', m)\"");
  const auto printed = [&](const std::string& source, const std::string& what) {
    return sandbox.run("maskctl info --semantics ejkernel " + source + " --print " + what).out;
  };
  const std::string ids = "ids.npy --as segments";
  CHECK(printed(ids, "q_segment_ids") == "1 1 2 2 -1\n");
  CHECK(printed(ids + " -t chunk:size=2", "q_segment_ids") == "1 1 2 2 -1\n");
  CHECK(printed(ids, "q_positions") == "0 1 0 1 -1\n");
  CHECK(printed(ids, "kv_positions") == "0 1 0 1 2147483647\n");
  CHECK(printed(ids, "q_attention_mask") == "1 1 1 1 0\n");
  CHECK(printed(ids, "q_position_ids") == "0 1 0 1 -1\n");
  CHECK(printed(ids, "kv_mask") == "1 1 1 1 0\n");
  CHECK(printed(ids, "kv_lens") == "0\n2\n2\n");
  CHECK(printed(ids, "cu_seqlens_q --max-segments 3") == "0\n0\n2\n4\n");
  CHECK(printed("h.npy", "cu_seqlens_q --reduce-heads any") == "0\n2\n");
  CHECK(printed("h.npy", "cu_seqlens_q --reduce-heads first") == "0\n1\n");
  CHECK(printed("h.npy", "q_segment_ids") == "0 0 -1\n");
  CHECK(printed("h.npy", "q_segment_ids --per-head") == "0 -1 -1\n0 0 -1\n");
  CHECK(printed("h.npy", "attention_mask") == "1 0 0\n0 0 0\n0 0 0\n1 1 0\n1 1 0\n0 0 0\n");
  CHECK(printed("h.npy -t causal", "bias").starts_with("0 -3.4028235e+38 -3.4028235e+38\n"));
  CHECK(printed("h.npy", "kv_segment_ids -o ids2.npy").empty());
  CHECK(contains(sandbox.run("maskctl info ids2.npy").out, "int32 (1, 3)"));
  const std::string lens = ids + " --semantics ejkernel --print q_lens";
  for (const std::string& bad :
       std::vector<std::string>{"ids.npy --print q_lens", "ids.npy --as segments -o x.npy",
                                lens + " --per-head", lens + " --max-segments 3"}) {
    INFO(bad);
    const Outcome outcome = sandbox.run("maskctl info " + bad);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, "--print"));
  }
}

TEST_CASE("apply --to bias writes the bias of a MaskInfo", "[ejkernel]") {
  const Sandbox sandbox;
  const std::string apply = "maskctl apply" + kPacked + "-t causal ";
  const Outcome made =
      sandbox.run(apply + "--to bias --dtype float16 -o bias.npy && " + apply + "-o mask.npy && " +
                  "maskctl convert mask.npy --to bias --fill min --dtype float16 -o same.npy && "
                  "cmp bias.npy same.npy");
  INFO(made.err);
  CHECK(made.status == 0);
  const Outcome refused = sandbox.run("maskctl apply mask.npy --to bias -o b.npy");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--to bias goes with --semantics ejkernel"));
}

TEST_CASE("steps of ejkernel accept one number per batch entry", "[ejkernel]") {
  const Sandbox sandbox;
  const Outcome same = sandbox.run(
      "/usr/bin/python3 -c \"import numpy as n; n.save('ids.npy', n.zeros((3, 8), n.int32)); "
      "n.save('offsets.npy', n.array([0, 2, 4]))\"\n"
      "for offset in 0+2+4 offsets.npy; do\n"
      "  maskctl apply ids.npy --as segments --semantics ejkernel -t causal:offset=$offset "
      "-o m.npy -f && maskctl diff m.npy ids.npy --as dense --as-b segments --transform-b "
      "causal:offset=0+2+4 || exit 1\n"
      "done");
  INFO(same.out << same.err);
  CHECK(same.status == 0);
}

TEST_CASE("the debug lines of ejkernel are printed on stderr", "[ejkernel]") {
  const Sandbox sandbox;
  const std::string line = "maskctl apply" + kPacked + "-t causal -o m.npy -f";
  const std::string first = "[MaskInfo Debug] Calling type.from_segments()\n";
  const Outcome traced = sandbox.run(line + " --trace");
  CHECK(traced.status == 0);
  CHECK(traced.err.starts_with("[MaskInfo Debug] Debug mode enabled\n" + first));
  CHECK(contains(traced.err, "[MaskInfo Debug] Calling MaskInfo.apply_causal()\n"));
  CHECK(sandbox.run("EJKERNEL_MASK_DEBUG=1 " + line).err.starts_with(first));
  CHECK(sandbox.run("EJKERNEL_MASK_DEBUG=0 " + line).err.empty());
}

TEST_CASE("without --semantics ejkernel, steps refuse MaskInfo's arguments with a hint",
          "[ejkernel]") {
  for (const std::string step :
       {"window:both=4,mode=decode", "window:both=4,index=3", "tokens:x.npy,update=yes"}) {
    const Outcome outcome =
        Sandbox().run("maskctl apply samples/packed.npy --as segments -t " + step + " -o o.npy");
    INFO(step);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, "it goes with --semantics ejkernel"));
  }
}

TEST_CASE("blockmap gives the same arrays for a lazy mask and its dense copy", "[ejkernel]") {
  const Sandbox sandbox;
  sandbox.run("maskctl apply samples/packed.npy --as segments -t causal -o dense.npy");
  for (const std::string how : {"", "--dkv ", "--no-shrink ", "--q-shards 3 ", "--no-downcast "}) {
    INFO(how);
    const std::string rest = " --block 8x4 " + how + "-f -o ";
    CHECK(sandbox
              .run("maskctl blockmap samples/packed.npy --as segments -t causal" + rest +
                   "lazy.npz && maskctl blockmap dense.npy" + rest +
                   "dense.npz && cmp lazy.npz dense.npz")
              .status == 0);
  }
}

TEST_CASE("seq computes the same numbers as numpy") {
  const Outcome outcome = Sandbox().run(R"(/usr/bin/python3 - <<'END'
import numpy as n, subprocess
lens = n.array([5, 0, 3, 1, 0, 7]); cu = n.concatenate([[0], lens.cumsum()]).astype(n.int32)
n.save('cu.npy', cu)
def seq(*words): return n.array(subprocess.check_output(['maskctl', 'seq', *words], text=True).split(), int)
ids = n.repeat(n.arange(6), lens); full = n.repeat(n.arange((lens > 0).sum()), lens[lens > 0])
pos = n.arange(cu[-1]) - n.repeat(cu[:-1], lens); chunks = -(-lens // 2)
assert (seq('lens', 'cu.npy') == lens).all()
assert (seq('position-ids', 'cu.npy') == pos).all()
assert (seq('sequence-ids', 'cu.npy') == full).all()
assert (seq('sequence-ids', 'cu.npy', '--keep-empty') == ids).all()
assert (seq('token-indices', 'cu.npy', '--keep-empty') == n.stack([ids, pos], 1).ravel()).all()
assert (seq('chunk-offsets', 'cu.npy', '--chunk', '2') == n.concatenate([[0], chunks.cumsum()])).all()
want = [x for s, c in enumerate(chunks) for i in range(c) for x in (s, i)]
assert (seq('chunk-indices', 'cu.npy', '--chunk', '2', '--keep-empty') == want).all()
valid = n.arange(9) < n.array([4, 0, 9])[:, None]; n.save('valid.npy', valid)
assert (seq('lens', 'valid.npy', '--as', 'padding') == [4, 0, 9]).all()
assert (seq('cu-seqlens', 'valid.npy', '--as', 'padding') == [0, 4, 4, 13]).all()
subprocess.check_call(['maskctl', 'seq', 'token-indices', 'cu.npy', '-o', 't.npy'])
made = n.load('t.npy'); assert made.dtype == n.int32 and (made == n.stack([full, pos], 1)).all()
print('equal')
END)");
  INFO(outcome.err);
  CHECK(outcome.out == "equal\n");
}

TEST_CASE("the suffix of a file chooses the format of a picture") {
  const Sandbox sandbox;
  const auto start = [&](const std::string& file) {
    return slurp(sandbox.work() / file).substr(0, 15);
  };
  CHECK(sandbox.run("maskctl show samples/heads.npy -o a.png").status == 0);
  CHECK(start("a.png").substr(1, 3) == "PNG");
  CHECK(sandbox.run("maskctl show samples/heads.npy --tiles 4 -o a.svg").status == 0);
  CHECK(start("a.svg").starts_with("<"));
  CHECK(sandbox.run("maskctl show samples/leaked.npy --overlay gen:causal:n=24 -o a.html").status ==
        0);
  CHECK(start("a.html").starts_with("<!"));
  const Outcome again = sandbox.run("maskctl show samples/heads.npy -o a.png");
  CHECK(again.status == 2);
  CHECK(contains(again.err, "--force"));
  CHECK(contains(sandbox.run("maskctl show samples/heads.npy -o a.gif").err,
                 "pictures are .png, .svg or .html"));
  CHECK(contains(sandbox.run("maskctl show samples/heads.npy --scale 3").err, "-o FILE.png"));
}

}  // namespace
}  // namespace maskctl::test
