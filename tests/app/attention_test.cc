// Tests the commands that run attention, as processes: attend, verify, probe, bench, backends.
#include <algorithm>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Returns shell lines that run a kernel written in numpy on the arrays of probe.npz. The kernel is
/// causal and has a window of `keys` keys.
std::string foreign_kernel(const std::string& keys, const std::string& output) {
  return "/usr/bin/python3 - <<'END'\n"
         "import numpy as np\n"
         "z = np.load('probe.npz'); q, k, v = z['q'], z['k'], z['v']\n"
         "i, j = np.arange(q.shape[1])[:, None], np.arange(k.shape[1])\n"
         "s = np.einsum('bqhd,bkhd->bhqk', q, k) / np.sqrt(q.shape[-1])\n"
         "s = np.where((j <= i) & (j > i - " +
         keys +
         "), s, -1e30)\n"
         "w = np.exp(s - s.max(-1, keepdims=True)); w /= w.sum(-1, keepdims=True)\n"
         "out = [np.einsum('bhqk,bkhd->bqhd', w, np.broadcast_to(x, k.shape)) for x in v]\n"
         "np.save('" +
         output +
         "', np.stack(out)); np.save('w.npy', w)\n"
         "END\n";
}

TEST_CASE("probe finds a window that is off by one, from outputs and from weights") {
  const Sandbox sandbox;
  const std::string mask = " gen:window:keys=8,n=30 ";
  const Outcome made = sandbox.run("maskctl probe make" + mask + "--head-dim 16 -o probe.npz");
  CHECK(made.status == 0);
  CHECK(made.out.empty());
  CHECK(contains(made.err, "call the kernel 2 times"));
  CHECK(contains(made.err, "maskctl probe read gen:window:keys=8,n=30 OUT.npy --probe probe.npz"));
  CHECK(sandbox.run(foreign_kernel("8", "right.npy") + foreign_kernel("9", "wrong.npy")).err == "");
  const Outcome right = sandbox.run("maskctl probe read" + mask + "right.npy");
  CHECK(right.status == 0);
  CHECK(contains(right.out, "differ    in no cell\n"));
  const Outcome titled =
      sandbox.run("maskctl probe read gen:causal:n=30 -t window:keys=8 right.npy");
  CHECK(contains(titled.out, "declared  gen:causal:n=30 | window:keys=8: "));
  const Outcome wrong = sandbox.run("maskctl probe read" + mask + "wrong.npy -o seen.npy");
  CHECK(wrong.status == 1);
  CHECK(
      contains(wrong.out, "in 22 cells: 0 declared open are closed, 22 declared closed are open"));
  CHECK(contains(wrong.out, "window left 8 instead of 7"));
  CHECK(sandbox.run("maskctl diff seen.npy gen:window:keys=9,n=30").status == 0);
  const Outcome weights = sandbox.run("maskctl probe read" + mask + "w.npy --weights --json");
  CHECK(weights.status == 1);
  CHECK(contains(weights.out, "\"opened_by_kernel\": 22"));
}

/// Returns shell lines that run a causal kernel in float16 on the arrays of probe.npz, with 2 query
/// heads for each of 2 key heads. `heads` says in Python which key head each query head reads, and
/// `scale` by what q . k is multiplied.
std::string kernel_of_heads(const std::string& heads, const std::string& scale) {
  return "/usr/bin/python3 - <<'END'\n"
         "import numpy as np\n"
         "z = np.load('probe.npz'); q, k, v = z['q'], z['k'], z['v']\n"
         "d = q.shape[-1]; heads = " +
         heads + "; scale = " + scale +
         "\n"
         "s = np.einsum('bqhd,bkhd->bhqk', q.astype('f4'), k[:, :, heads].astype('f4')) * scale\n"
         "s = np.where(np.tri(q.shape[1], dtype=bool), s, -np.inf)\n"
         "w = np.exp(s - s.max(-1, keepdims=True))\n"
         "w, total = w.astype('f2').astype('f4'), w.sum(-1)\n"
         "out = [np.einsum('bhqk,bkhd->bqhd', w, np.broadcast_to(x, k.shape)[:, :, heads])\n"
         "       / total.transpose(0, 2, 1)[..., None] for x in v.astype('f4')]\n"
         "np.save('out.npy', np.stack(out).astype('f2'))\n"
         "END\n";
}

TEST_CASE("probe names key heads that are read in turn, and a wrong scale") {
  const Sandbox sandbox;
  const std::string mask = " gen:causal:n=30 ";
  const Outcome made =
      sandbox.run("maskctl probe make" + mask +
                  "--heads 4 --kv-heads 2 --head-dim 16 --dtype float16 -o probe.npz");
  CHECK(contains(made.err, "maskctl probe read gen:causal:n=30 OUT.npy --probe probe.npz\n"));
  const std::string read = "maskctl probe read" + mask + "out.npy --probe probe.npz";
  REQUIRE(sandbox.run(kernel_of_heads("[0, 0, 1, 1]", "0.25")).err.empty());
  const Outcome right = sandbox.run(read);
  CHECK(right.status == 0);
  CHECK(contains(right.out, "differ    in no cell\nright     key heads, softmax_scale 0.25\n"));
  CHECK(contains(right.out, "not seen  a bias or soft cap weaker than rounding, "));
  const Outcome other = sandbox.run(read + " --softmax-scale 0.125");
  CHECK(other.status == 1);
  CHECK(contains(other.out, "wrong     softmax_scale 0.25 instead of 0.125\n"));
  REQUIRE(sandbox.run(kernel_of_heads("[0, 1, 0, 1]", "0.25")).err.empty());
  const Outcome turned = sandbox.run(read);
  CHECK(turned.status == 1);
  CHECK(contains(turned.out,
                 "differ    in no cell\n"
                 "wrong     query head h reads key head h mod 2 instead of h / 2\n"));
  REQUIRE(sandbox.run(kernel_of_heads("[0, 0, 1, 1]", "1")).err.empty());
  const Outcome scaled = sandbox.run(read + " --json");
  CHECK(scaled.status == 1);
  CHECK(contains(scaled.out, "\"faults\": [\"softmax_scale 1 instead of 0.25\"]"));
  const Outcome cells = sandbox.run("maskctl probe read" + mask + "out.npy");
  CHECK(cells.status == 0);
  CHECK(
      contains(cells.out, "not seen  key heads, softmax_scale, bias, sinks, soft cap, dropout, "));
  check_refused(sandbox, read + " --layout bhtd", "with heads first");
  check_refused(sandbox, "maskctl probe read" + mask + "out.npy --softmax-scale 1", "--probe");
}

TEST_CASE("probe refuses wrong requests with an error that says why") {
  const Sandbox sandbox;
  const std::vector<std::pair<std::string, std::string>> table = {
      {"mke gen:causal:n=4", "did you mean 'make'?"},
      {"make gen:causal:n=4", "no destination"},
      {"make gen:causal:b=1,h=2,n=4 --heads 4 -o p.npz", "the mask has 2 heads"},
      {"make gen:causal:n=4 --heads 4 --kv-heads 3 -o p.npz", "no multiple of 3 key heads"},
      {"read gen:causal:n=4", "no output of the kernel"},
      {"read gen:causal:n=4 gen:causal:n=4", "gen:"},
      {"read", "no SOURCE"},
  };
  for (const auto& [line, part] : table) check_refused(sandbox, "maskctl probe " + line, part);
}

TEST_CASE("attend writes what it computes, and equal seeds give equal bytes") {
  const Sandbox sandbox;
  const std::string call =
      "maskctl attend flash_attention --mask gen:causal:n=12 --axes Hq=4+Hkv=2+D=8 --gradients ";
  const Outcome first = sandbox.run(call + "-o a.npz");
  CHECK(first.status == 0);
  CHECK(first.err.empty());
  for (const std::string name : {"grad_key", "grad_query", "grad_value", "lse", "out"}) {
    CHECK(contains(first.out, "\n" + name));
  }
  CHECK(contains(first.out, "(1, 12, 4, 8)"));
  CHECK(sandbox.run(call + "-q -o b.npz && cmp a.npz b.npz").status == 0);
  CHECK(sandbox.run(call + "--seed 1 -o c.npz").status == 0);
  CHECK(sandbox.run("cmp a.npz c.npz").status == 1);
  CHECK(sandbox.run(call + "--backend reference -o r.npz").status == 0);
}

TEST_CASE("verify judges an output and its gradients from the inputs and cotangents of the call") {
  const Sandbox sandbox;
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as np; r = np.random.default_rng(4); "
      "[np.save(n, r.standard_normal((1, 12, h, 8)).astype('f4')) "
      "for n, h in zip('qkvde', (4, 2, 2, 4, 4))]\"");
  const std::string inputs = " query=q.npy key=k.npy value=v.npy cotangent_out=";
  const std::string call = "maskctl attend flash_attention --mask gen:causal:n=12 --gradients";
  REQUIRE(sandbox.run(call + inputs + "d.npy -o a.npz").status == 0);
  REQUIRE(sandbox.run(call + inputs + "e.npy -o c.npz").status == 0);
  const Outcome found = sandbox.run("maskctl verify gen:window:keys=11,n=12" + inputs +
                                    "d.npy --given a.npz:out -o obeyed.npy");
  CHECK(found.status == 1);
  CHECK(sandbox.run("maskctl diff obeyed.npy gen:causal:n=12").status == 0);
  const Outcome none = sandbox.run("maskctl verify gen:full:n=12" + inputs +
                                   "e.npy --given grad_key=a.npz:grad_key -o nothing.npy");
  CHECK(contains(none.err, "nothing.npy is not written"));
  CHECK(sandbox.run("test -e nothing.npy").status == 1);
  CHECK(sandbox
            .run("maskctl verify gen:causal:n=12" + inputs + "d.npy --given a.npz:out && ! " +
                 "maskctl verify gen:full:n=12" + inputs + "d.npy --given a.npz:out")
            .status == 0);
  const std::string given =
      "maskctl verify gen:causal:n=12" + inputs + "d.npy --given a.npz:out --given ";
  const Outcome both = sandbox.run(given + "grad_key=a.npz:grad_key");
  CHECK(both.status == 0);
  CHECK(contains(both.out, "gradients         ok"));
  const Outcome wrong = sandbox.run(given + "grad_key=c.npz:grad_key");
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.out, "forward           ok"));
  CHECK(contains(wrong.out, "gradients         FAILED"));
  check_refused(sandbox, given + "grad_bias=a.npz:grad_key", "no result 'grad_bias'");
}

TEST_CASE("verify reads all arrays of a call from one container, by their names in kernels") {
  const Sandbox sandbox;
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as np; r = np.random.default_rng(4); "
      "[np.save(n, r.standard_normal((1, 12, 2, 8)).astype('f4')) for n in 'qkvd']\"");
  REQUIRE(sandbox
              .run("maskctl attend flash_attention --mask gen:causal:n=12 --gradients q=q.npy "
                   "k=k.npy v=v.npy d_out=d.npy -o a.npz")
              .status == 0);
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as np; a = np.load('a.npz'); "
      "x = {n: np.load(n + '.npy') for n in 'qkv'}; "
      "np.savez('call.npz', **x, out=a['out'], step=np.arange(3)); "
      "np.savez('all.npz', **x, d_out=np.load('d.npy'), o=a['out'], dq=a['grad_query'], "
      "d_key=a['grad_key'], grad_value=a['grad_value'])\"");
  for (const char* file : {"call.npz", "all.npz"}) {
    const std::string verify = std::string(" ") + file;
    const Outcome right = sandbox.run("maskctl verify gen:causal:n=12" + verify);
    CHECK(right.status == 0);
    CHECK(contains(right.out, "forward           ok"));
    CHECK(contains(right.out, "gradients         ok") == (file == std::string("all.npz")));
    const Outcome wrong = sandbox.run("maskctl verify gen:window:keys=6,n=12" + verify);
    CHECK(wrong.status == 1);
    CHECK(contains(wrong.out, "obeys another mask: window open to the left"));
  }
  // An array named on the command line wins over that in the file.
  const Outcome other = sandbox.run("maskctl verify gen:causal:n=12 call.npz v=k.npy");
  CHECK(other.status == 1);
  CHECK(sandbox.run("maskctl verify gen:causal:n=12 call.npz --given out=a.npz:out").status == 0);
  check_refused(sandbox, "maskctl verify gen:causal:n=12 a.npz", "give the inputs of the kernel");
  check_refused(sandbox, "maskctl verify gen:causal:n=12 d.npy", "no array has the name");
  check_refused(sandbox, "maskctl verify gen:causal:n=12 absent.npz",
                "cannot read absent.npz: No such file");
}

TEST_CASE("values have the head dimension of the queries unless --axes gives another") {
  const Sandbox sandbox;
  const std::string call = "maskctl attend flash_attention --axes Tq=6+Tk=6+D=8";
  CHECK(contains(sandbox.run(call).out, "(1, 6, 4, 8)"));
  CHECK(!contains(sandbox.run(call).out, ", 64)"));
  CHECK(contains(sandbox.run(call + "+Dv=5").out, "(1, 6, 4, 5)"));
  CHECK(contains(sandbox.run(call + "+Hq=3").out, "(1, 6, 3, 8)"));
  check_refused(sandbox, "maskctl attend flash_attention --axes T=6",
                "--axes T=6: no array of flash_attention has this axis");
}

TEST_CASE("attend lists operations and arguments, and its errors name mistakes") {
  const Sandbox sandbox;
  CHECK(contains(sandbox.run("maskctl attend --list").out, "\nring_attention "));
  const Outcome list = sandbox.run("maskctl attend page_attention --list");
  CHECK(contains(list.out, "kv_layout"));
  CHECK(contains(list.out, "block_tables"));
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "no operation"},
      {"flash_atention", "did you mean 'flash_attention'?"},
      {"flash_attention causal=yes", "causal: 'yes' is not true or false"},
      {"flash_attention casual=true", "no argument 'casual'"},
      {"flash_attention causal", "'causal' is not NAME=SOURCE or NAME=VALUE"},
      {"flash_attention query=none.npy", "none.npy"},
      {"blocksparse_attention block_size=0", "block_size: no effect without block_mask"},
      {"flash_attention --axes X=3", "--axes: 'X=3'"},
      {"flash_attention sliding_window=-1", "sliding_window"},
      {"page_attention", "give context_lens=SOURCE"},
      {"page_attention --gradients", "page_attention has no gradients"},
      {"gla_attention --mask gen:causal:n=8", "gla_attention takes no mask"},
      {"flash_attention causal=true causal=false", "causal: given more than once"},
      {"flash_attention --mask gen:causal:n=8 --axes Tq=9", "--axes Tq=9: the mask has Tq=8"},
      {"flash_attention --mask gen:causal:b=3,n=8 --axes B=2", "the mask has B=3"},
      {"flash_attention --mask gen:causal:h=3,n=8 --axes Hq=4", "the mask has Hq=3"},
      {"flash_attention --dtype int8 -o a.npz", "--dtype is a floating-point type, not int8"},
      {"flash_attention sliding_window=3,0,1", "sliding_window: '3,0,1' is not a window"},
  };
  for (const auto& [line, part] : table) check_refused(sandbox, "maskctl attend " + line, part);
}

TEST_CASE("the two sides of a window may be separated by a comma") {
  const Sandbox sandbox;
  const std::string attend = "maskctl attend flash_attention --axes Tq=8+Tk=8 sliding_window=";
  const Outcome plus = sandbox.run(attend + "3+0"), comma = sandbox.run(attend + "3,0");
  CHECK(plus.status == 0);
  CHECK(comma.out == plus.out);
}

TEST_CASE("a mask of one batch entry is used for as many entries as --axes asks for") {
  const Sandbox sandbox;
  CHECK(contains(sandbox.run("maskctl attend flash_attention --mask gen:causal:n=8 --axes B=3").out,
                 "(3, 8, 4, 64)"));
  CHECK(sandbox.run("maskctl verify gen:causal:n=8 --axes B=2+D=8").status == 0);
}

TEST_CASE("attend tunes a call once and stores the config, as options and variables ask",
          "[ejkernel]") {
  const Sandbox sandbox;
  const std::string call = "maskctl attend flash_attention --axes Tq=8+Tk=8+D=8 -q ";
  const std::string log = "EJKERNEL_LOG_AUTOTUNE=1 ";
  const Outcome first = sandbox.run(log + call + "--cache tuned");
  CHECK(first.status == 0);
  CHECK(contains(first.err, "autotune_finish flash_attention@v0"));
  const Outcome second = sandbox.run(log + call + "--cache tuned");
  CHECK_FALSE(contains(second.err, "autotune_finish"));
  CHECK(contains(second.err, "cache_hit"));
  CHECK(second.out == first.out);
  sandbox.run("for f in tuned/*; do echo nonsense > $f; done");
  CHECK(sandbox.run(call + "--cache tuned").status == 0);  // a corrupt cache is survived
  const Outcome heuristics = sandbox.run(log +
                                         "EJKERNEL_AUTOTUNE_POLICY=heuristics "
                                         "EJKERNEL_OPS_RECORD=1 EJKERNEL_OPS_STAMP=hash " +
                                         call);
  CHECK(contains(heuristics.err, "heuristics flash_attention@v0"));
  CHECK(contains(heuristics.err, "ejkernel_ops#flash_attention@v0:"));
  CHECK(contains(heuristics.err, "recorded flash_attention@v0"));
  const Outcome plain = sandbox.run(log + call);
  CHECK(plain.err.empty());
  CHECK(plain.out == heuristics.out);
  CHECK(sandbox.run("EJKERNEL_AUTOTUNE_POLICY=often " + call).status == 2);
}

TEST_CASE("attend over a mesh without mpirun gives the results of one process") {
  const Sandbox sandbox;
  const std::string call =
      "maskctl attend ring_attention --axes B=2+Tq=24+Tk=24 causal=true --gradients ";
  CHECK(sandbox.run(call + "-o one.npz").status == 0);
  for (const std::string mesh : {"dp=2", "sp=4 --assign zigzag", "dp=2+sp=3+tp=2"}) {
    const Outcome outcome = sandbox.run(
        call + "--mesh " + mesh +
        " -o mesh.npz -f && /usr/bin/python3 -c \"import numpy as np\n"
        "one, mesh = np.load('one.npz'), np.load('mesh.npz')\n"
        "assert set(one.files) == set(mesh.files)\n"
        "assert all(np.allclose(mesh[key], one[key], rtol=1e-4, atol=2e-5) for key in one)\"");
    INFO(mesh << ": " << outcome.err);
    CHECK(outcome.status == 0);
  }
  const Outcome many = sandbox.run("maskctl attend flash_attention --mesh dp=2000 --axes B=2000");
  CHECK(many.status == 2);
  CHECK(contains(many.err, "threads of one process are at most 1024"));
}

TEST_CASE("the exit status of verify says if the output obeys, does not, or is undecided") {
  const Sandbox sandbox;
  const Outcome good = sandbox.run("maskctl verify gen:window:keys=5,n=20 --axes D=8");
  INFO(good.out << good.err);
  CHECK(good.status == 0);
  for (const std::string name : {"forward", "gradients", "declared mask", "weights",
                                 "gradient support", "unseen keys", "closed keys"}) {
    CHECK(contains(good.out, name));
  }
  CHECK_FALSE(contains(good.out, "FAILED"));
  for (const std::string operation : {"scaled_dot_product_attention", "attention",
                                      "blocksparse_attention", "ring_attention ring_size=2"}) {
    const Outcome other = sandbox.run(
        "maskctl verify gen:full:n=16 -t doc:lens=5+11 -t causal --axes D=8 --op " + operation);
    INFO(operation << other.out << other.err);
    CHECK(other.status == 0);
  }
  for (const std::string operation :
       // These operations take a mask for each head.
       {"blocksparse_attention", "flash_attention"}) {
    CHECK(sandbox
              .run("maskctl verify gen:full:b=1,h=2,n=12 -t 'heads:0{causal}' --axes D=8 --op " +
                   operation)
              .status == 0);
  }
  CHECK(sandbox.run("maskctl verify none --op recurrent_attention --axes T=20+K=8+V=8").status ==
        0);
  CHECK(contains(sandbox.run("maskctl verify none --op mean_pooling --json").out, "\"ok\": true"));
  CHECK(sandbox.run("maskctl verify gen:causal:n=8 --op nonsense").status == 2);
  CHECK(sandbox.run("maskctl verify").status == 2);
}

TEST_CASE("verify finds the mask of an output, and requires the inputs of the kernel") {
  const Sandbox sandbox;
  const std::string bugs = std::string(MASKCTL_SOURCE_DIR) + "/samples/bugs/";
  const std::string inputs = " query=" + bugs + "kernel_q.npy key=" + bugs +
                             "kernel_k.npy value=" + bugs + "kernel_v.npy --given " + bugs +
                             "kernel_out.npy";
  const Outcome wrong = sandbox.run("maskctl verify gen:window:keys=32,n=64" + inputs);
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.out,
                 "obeys another mask: window left 32 instead of 31 (heads 0-1, queries 32-63)"));
  const Outcome right = sandbox.run("maskctl verify gen:window:keys=33,n=64 --json" + inputs);
  CHECK(right.status == 0);
  CHECK(contains(right.out, "\"verdict\": \"obeys\""));
  const Outcome words = sandbox.run("maskctl verify none causal=true sliding_window=31+0" + inputs);
  CHECK(contains(words.out, "window left 32 instead of 31"));
  const Outcome missing =
      sandbox.run("maskctl verify gen:causal:n=64 --given " + bugs + "kernel_out.npy");
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "query=SOURCE key=SOURCE value=SOURCE"));
  const Outcome turned = sandbox.run("maskctl verify gen:full:q=2,k=64" + inputs);
  CHECK(turned.status == 2);
  CHECK(contains(turned.err, "--layout bhtd"));
}

TEST_CASE("verify reads arrays with heads before time, and says if an output fits several masks") {
  const Sandbox sandbox;
  const std::string make =
      "maskctl attend flash_attention query=q.npy key=k.npy value=v.npy --layout bhtd "
      "--mask gen:window:keys=5,n=16 -o out.npy > /dev/null";
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as np; r = np.random.default_rng(3); "
      "[np.save(n, r.standard_normal((1, 2, 16, 8)).astype('f4')) for n in 'qkv']; "
      "np.save('ones', np.ones((1, 2, 16, 8), 'f4'))\"");
  REQUIRE(sandbox.run(make).status == 0);
  const std::string arrays = " query=q.npy key=k.npy --layout bhtd ";
  CHECK(
      sandbox.run("maskctl verify gen:window:keys=5,n=16" + arrays + "value=v.npy --given out.npy")
          .status == 0);
  const Outcome wrong =
      sandbox.run("maskctl verify gen:window:keys=6,n=16" + arrays + "value=v.npy --given out.npy");
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.out, "window left 4 instead of 5"));
  const Outcome unclear = sandbox.run("maskctl verify gen:window:keys=5,n=16" + arrays +
                                      "value=ones.npy --given ones.npy");
  CHECK(unclear.status == 2);
  CHECK(contains(unclear.out, "undecided at this precision, as these fit as well: window"));
}

/// Shell lines that run a causal kernel in numpy on values of the size 2^-`exponent`. It opens a
/// cell of the future, query 5 and key 20.
std::string leaking_kernel(int exponent) {
  return "/usr/bin/python3 - <<'END'\n"
         "import numpy as np\n"
         "draw = np.random.default_rng(1).standard_normal\n"
         "q, k, v = (draw((1, 32, 2, 32)).astype('f4') for _ in range(3))\n"
         "v = (v.astype('f8') * 2.0 ** -" +
         std::to_string(exponent) +
         ").astype('f4')\n"
         "mask = np.tri(32, dtype=bool); mask[5, 20] = True\n"
         "s = np.einsum('bqhd,bkhd->bhqk', q, k, dtype='f8') / np.sqrt(32)\n"
         "w = np.exp(np.where(mask, s, -np.inf)); w /= w.sum(-1, keepdims=True)\n"
         "out = np.einsum('bhqk,bkhd->bqhd', w, v.astype('f8')).astype('f4')\n"
         "for name in 'q', 'k', 'v', 'out': np.save(name + '.npy', locals()[name])\n"
         "END\n";
}

TEST_CASE("verify finds a leak among tiny values, and does not pass what it cannot judge") {
  const Sandbox sandbox;
  const std::string verify =
      "maskctl verify gen:causal:n=32 query=q.npy key=k.npy value=v.npy --given out.npy";
  for (const int exponent : {0, 100, 118}) {
    INFO("2^-" << exponent);
    CHECK(sandbox.run(leaking_kernel(exponent)).err == "");
    CHECK(sandbox.run(verify).status == 1);
    if (was_built_without("eigen")) continue;
    const Outcome solved = sandbox.run(verify + " --solve");
    CHECK(solved.status == 1);
    CHECK(contains(solved.out, "query 5, key 20: opened by the kernel"));
  }
  for (const int exponent : {126, 1000}) {  // the values are nearly 0, and 0
    INFO("2^-" << exponent);
    CHECK(sandbox.run(leaking_kernel(exponent)).err == "");
    const Outcome tried = sandbox.run(verify);
    CHECK(tried.status == 2);
    CHECK(contains(tried.out, "undecided at this precision"));
    if (was_built_without("eigen")) continue;
    const Outcome solved = sandbox.run(verify + " --solve");
    CHECK(solved.status == 2);
    CHECK(contains(solved.out, "undecided: no cell of 32 of 32 rows could be told"));
    CHECK(contains(sandbox.run(verify + " --solve --json").out, "\"untold_rows\": 32"));
  }
}

TEST_CASE("verify passes calls with dropout, and each policy for rows without a key") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl verify gen:causal:n=32 dropout_prob=0.3").status == 0);
  for (const std::string policy : {"zero", "mean", "nan"}) {
    INFO(policy);
    CHECK(sandbox
              .run("maskctl verify gen:full:n=24 -t pad:lens=10,side=left,of=both empty_row=" +
                   policy)
              .status == 0);
  }
}

TEST_CASE("probe read does not count weights that underflow as evidence") {
  const Sandbox sandbox;
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as np; r = np.random.default_rng(3); "
      "s = np.where(np.tri(64, dtype=bool), 12 * r.standard_normal((1, 1, 64, 64)), -np.inf); "
      "w = np.exp(s - s.max(-1, keepdims=True)); w /= w.sum(-1, keepdims=True); "
      "np.save('sharp', w.astype('f2')); w[0, 0, 9, 40] = 0.1; np.save('leak', w.astype('f2'))\"");
  const Outcome sharp = sandbox.run("maskctl probe read gen:causal:n=64 sharp.npy --weights");
  CHECK(sharp.status == 2);
  CHECK(contains(sharp.out, "cells declared open weigh 0"));
  const Outcome leak = sandbox.run("maskctl probe read gen:causal:n=64 leak.npy --weights");
  CHECK(leak.status == 1);
  CHECK(contains(leak.out, "in 1 cell: 0 declared open are closed, 1 declared closed are open"));
}

TEST_CASE("attend accepts the arguments of ejkernel's modules", "[ejkernel]") {
  const Sandbox sandbox;
  const auto out = [&](const std::string& line) {
    const Outcome outcome = sandbox.run("maskctl attend " + line);
    INFO(line << outcome.err);
    CHECK(outcome.status == 0);
    return outcome.out;
  };
  CHECK(out("flash_attention platform=xla") == out("flash_attention"));
  CHECK(out("ring_attention axis_name=sp ring_size=4") == out("ring_attention ring_size=4"));
  CHECK(out("lightning_attention decay=-0.1") != out("lightning_attention decay=-0.2"));
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as n; n.save('x.npy', n.ones((1,6,4), 'f4'))"
      "; n.save('s.npy', n.int32([2,4])); n.save('m.npy', n.ones((6,4), 'f4'))\"");
  CHECK(out("mean_pooling hidden_states=x.npy") == out("mean_pooling x=x.npy"));
  CHECK(out("grouped_matmul inputs=m.npy group_sizes=s.npy --axes G=2") ==
        out("grouped_matmul lhs=m.npy group_sizes=s.npy --axes G=2"));
  CHECK(out("grouped_matmul inputs=m.npy group_sizes=s.npy group_offset=1 --axes G=1") !=
        out("grouped_matmul inputs=m.npy group_sizes=s.npy group_offset=0 --axes G=1"));
  const auto said = [&](const std::string& line) {
    return sandbox.run("maskctl attend " + line).err;
  };
  CHECK(contains(said("lightning_attention decay=0.9"), "note: decay: 0.9 is above 0"));
  CHECK(said("lightning_attention decay=-0.9").empty());
  CHECK(contains(said("flash_attention platform=triton"), "expected auto, xla or cuda"));
  CHECK(contains(said("flash_attention platform=tpu"), "'tpu' is not auto, xla or cuda"));
  CHECK(contains(said("mean_pooling hidden_states=x.npy x=x.npy"), "x: given more than once"));
}

TEST_CASE("bench times every operation") {
  const Outcome bench = Sandbox().run(
      "maskctl bench $(maskctl attend --list | cut -d' ' -f1) --size 32 --repeat 1 --mask causal "
      "--backward --json");
  INFO(bench.err);
  CHECK(bench.status == 0);
  CHECK(bench.err.empty());
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = bench.out.find("\"pass\": \"forward\"", at)) != bench.out.npos;
       ++at) {
    ++lines;
  }
  CHECK(lines == 19);
}

TEST_CASE("bench and backends report on this machine") {
  const Sandbox sandbox;
  const Outcome bench = sandbox.run(
      "maskctl bench flash_attention gla_attention --size 64 --repeat 1 --backend reference+cpu "
      "--mask full --mask causal --axes Hq=1+Hkv=1+H=1+D=8+K=8+V=8 --backward --json");
  INFO(bench.err);
  CHECK(bench.status == 0);
  std::size_t runs = 0;
  for (std::size_t at = 0; (at = bench.out.find("\"median_s\"", at)) != std::string::npos; ++at) {
    ++runs;
  }
  // One operation has 2 masks, 2 backends and 2 passes; the other takes no mask.
  CHECK(runs == 2 * 2 * 2 + 2 * 2);
  CHECK(contains(bench.out, "\"pass\": \"backward\""));
  const std::string turned = "maskctl bench --size 64 --repeat 1 --backward --layout bhtd";
  CHECK(sandbox.run(turned).status == 0);
}

TEST_CASE("bench prints the ratio of each line to the first, as text and as Markdown") {
  const Sandbox sandbox;
  const std::string bench =
      "maskctl bench flash_attention gla_attention --size 64 --repeat 3 --backward --mask full "
      "--mask 'causal | window:keys=8' --axes Hq=1+Hkv=1+H=1+D=8+K=8+V=8";
  const std::string json = sandbox.run(bench + " --json").out;
  std::size_t first_lines = 0;
  constexpr std::string_view kOne = R"("ratio": {"median": 1.0, "min": 1.0, "max": 1.0})";
  for (std::size_t at = 0; (at = json.find(kOne, at)) != json.npos; ++at) ++first_lines;
  CHECK(first_lines == 4);  // two operations, two passes
  const std::string table = sandbox.run(bench + " --markdown").out;
  CHECK(contains(table, "| operation | mask | size | backend | pass | ms | ratio |"));
  CHECK(contains(table, "| flash_attention | causal \\| window:keys=8 | 64 | cpu | backward | "));
  CHECK(contains(table, "| gla_attention | - | 64 | cpu | forward | "));
  const Outcome both = sandbox.run(bench + " --markdown --json");
  CHECK(both.status == 2);
  CHECK(contains(both.err, "bench: --markdown cannot be combined with --json"));
  CHECK(contains(sandbox.run("maskctl bench --markdown --mesh sp=2").err,
                 "--markdown cannot be combined with --mesh"));
}

TEST_CASE("backends lists ejkernel's platforms for an operation", "[ejkernel]") {
  const Sandbox sandbox;
  const Outcome backends = sandbox.run("maskctl backends gla_attention");
  CHECK(backends.status == 0);
  CHECK(contains(backends.out, "xla     cpu   cpu"));
  CHECK(contains(backends.out, "cuda"));
  CHECK(sandbox.run("maskctl backends --json").status == 0);
  CHECK(sandbox.run("maskctl backends nonsense").status == 2);
  CHECK(contains(sandbox.run("maskctl backends short_convolution").out,
                 "cuda    gpu   -          it has no such kernel"));
}

TEST_CASE("a backend that cannot run is refused in one line, before anything is read or written") {
  const Sandbox sandbox;
  const bool has_gpu = contains(sandbox.run("maskctl backends gla_attention").out, "gpu   cuda");
  if (has_gpu) return;
  for (const std::string line :
       {"attend flash_attention query=absent.npy --backend cuda -o out.npz",
        "attend flash_attention --backend cuda --policy autotune -o out.npz",
        "verify absent.npy --backend cuda", "bench --backend cpu+cuda"}) {
    INFO(line);
    const Outcome refused = sandbox.run("maskctl " + line);
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err.starts_with("maskctl: error: --backend cuda cannot run here: "));
    CHECK(refused.err.ends_with("; use --backend cpu\n"));
    CHECK(std::ranges::count(refused.err, '\n') == 1);
  }
  CHECK(sandbox.run("maskctl verify absent.npy --against cuda").err.ends_with("--against cpu\n"));
  CHECK_FALSE(fs::exists(sandbox.work() / "out.npz"));
}

TEST_CASE("an axis given to bench overrides the size") {
  const Sandbox sandbox;
  const std::string decode = "maskctl bench --size 64 --axes Tq=1 --repeat 1 --mask causal";
  const Outcome unclear = sandbox.run(decode);
  CHECK(unclear.status == 2);
  CHECK(contains(unclear.err, "1 query and 64 keys"));
  CHECK(sandbox.run(decode + ":align=bottom-right").status == 0);
}

}  // namespace
}  // namespace maskctl::test
