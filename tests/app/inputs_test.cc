// Tests arrays as other programs write them: what `info` says about each, and which are refused
// with which message.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

std::string python(const std::string& code) {
  return "/usr/bin/python3 -W ignore -c \"import numpy as np\n" + code + "\"\n";
}

TEST_CASE("info: prints the type and shape of any array, also next to bad files") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      python("np.save('complex.npy', np.zeros((2, 3), np.complex64))\n"
             "np.save('free.npy', np.arange(12.).reshape(1, 3, 4) * 0.5 - 2)\n"
             "np.save('five.npy', np.zeros((1, 1, 1, 2, 2)))\n"
             "np.save('records.npy', np.zeros(2, 'i4,f8'))\n"
             "np.savez('mixed.npz', z=np.zeros(3, np.complex64), m=np.zeros((2, 2), bool))\n"
             "open('cut.npy', 'wb').write(open('free.npy', 'rb').read()[:-8])") +
      "maskctl info complex.npy missing.npy free.npy cut.npy five.npy records.npy mixed.npz "
      "samples/heads.npy");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, "maskctl: error: cannot read missing.npy"));
  CHECK(contains(
      outcome.err,
      "maskctl: error: cut.npy: expected 96 bytes of data, got 88; the file is truncated"));
  CHECK(contains(outcome.out, "complex.npy\n  array     <c8 (2, 3)\n  kind      not a mask: "));
  CHECK(contains(outcome.out, "free.npy\n  array     float64 (1, 3, 4)\n"));
  CHECK(contains(outcome.out, "  adds      numbers from -2 to 3.5 that are no multiples"));
  CHECK(contains(outcome.out, "five.npy\n  array     float64 (1, 1, 1, 2, 2)\n"));
  CHECK(contains(outcome.out, "records.npy\n  array     [('f0', '<i4'), ('f1', '<f8')] (2,)\n"));
  CHECK(contains(outcome.out, "mixed.npz\n  z         <c8 (3,)\n  m         bool (2, 2)\n"));
  CHECK(contains(outcome.out, "samples/heads.npy\n  shape     [B 1, H 4, Q 16, K 16]\n"));
  const Outcome json = sandbox.run("maskctl info missing.npy samples/heads.npy --json");
  CHECK(json.status == 2);
  CHECK(contains(json.out, "\"error\": \"cannot read missing.npy"));
  CHECK(contains(json.out, "\"open\": "));
}

TEST_CASE("info: reads additive masks of a bfloat16 model from float32 and from untyped bytes") {
  const Sandbox sandbox;
  // One array is what mask.float().numpy() gives, the other bfloat16 of ml_dtypes as numpy saves
  // it.
  const Outcome outcome = sandbox.run(
      python("least = np.uint32(0xff7f0000).view(np.float32)\n"
             "m = np.where(np.tri(6, dtype=bool), np.float32(0), least)[None, None]\n"
             "np.save('float.npy', m)\n"
             "np.save('void.npy', (m.view(np.uint32) >> 16).astype(np.uint16).view('V2'))") +
      "maskctl info float.npy void.npy && maskctl diff float.npy gen:causal:n=6 && "
      "maskctl diff void.npy gen:causal:n=6 && maskctl show void.npy --as bias --style ascii");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out,
                 "  array     float32 (1, 1, 6, 6)\n  kind      bias\n"
                 "  closed by -3.38953139e+38 (the minimum of bfloat16)\n"));
  CHECK(contains(outcome.out, "  array     bfloat16 (1, 1, 6, 6)\n  kind      bias\n"));
}

TEST_CASE("--closed-below closes all numbers at or below the limit, however many there are") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run(python("m = np.where(np.tri(4, dtype=bool), 0, -5.0)\n"
                         "m[0, 3], m[3, 0] = -7, -1\n"
                         "np.save('penalties.npy', m)") +
                  "maskctl diff penalties.npy gen:causal:n=4 --closed-below -4");
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.err, "closed cells hold numbers from -7 to -5"));
}

TEST_CASE("a key padding mask of shape [B,1,1,K] is broadcast to all queries") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      python("m = np.zeros((2, 1, 1, 4), np.float32); m[1, ..., 3] = -10000\n"
             "np.save('bert.npy', m)\nnp.save('flags.npy', m == 0)") +
      "maskctl show bert.npy >show.txt\n"
      "maskctl apply bert.npy --as key-padding -o a.npy\n"
      "maskctl apply bert.npy --shape 2+1+4+4 -o b.npy && maskctl diff a.npy b.npy\n"
      "maskctl combine --op and gen:full:n=4 bert.npy -o c.npy && maskctl diff a.npy c.npy\n"
      "maskctl gen full:n=4,b=2 -t pad:bert.npy -o d.npy && maskctl diff a.npy d.npy\n"
      "maskctl gen full:n=4,b=2 -t pad:flags.npy -o e.npy && maskctl diff a.npy e.npy");
  CHECK(outcome.err == "");
  CHECK(outcome.out ==
        "equal: 28 cells open in both\nequal: 28 cells open in both\n"
        "equal: 28 cells open in both\nequal: 28 cells open in both\n");
}

TEST_CASE("a file of another program is refused, with a message that says what it is") {
  const Sandbox sandbox;
  sandbox.run(
      python("import zipfile\n"
             "with zipfile.ZipFile('m.pt', 'w') as z: z.writestr('m/data.pkl', b'x')\n"
             "open('old.pt', 'wb').write(bytes([0x80, 2]) + b'}q.')\n"
             "open('m.csv', 'w').write('1,0\\n1,1\\n')\n"
             "with zipfile.ZipFile('none.npz', 'w') as z: z.writestr('a.txt', b'x')"));
  const auto error = [&](const std::string& line) {
    const Outcome outcome = sandbox.run(line);
    CHECK(outcome.status == 2);
    return outcome.err;
  };
  for (const std::string command : {"info", "show", "stats"}) {
    CAPTURE(command);
    CHECK(contains(error("maskctl " + command + " m.pt"), "m.pt: a PyTorch file (torch.save)"));
    CHECK(contains(error("maskctl " + command + " old.pt"), "a Python pickle"));
    CHECK(contains(error("maskctl " + command + " m.csv"), "np.loadtxt"));
    CHECK(contains(error("maskctl " + command + " none.npz"), "none.npz: holds no arrays"));
  }
  for (const std::string name : {"m2.pt", "m2.csv", "m2.pkl", "m2.mat"}) {
    CAPTURE(name);
    CHECK(contains(error("maskctl gen causal:n=4 -o " + name), "name a .npy, .npz, .safetensors"));
    CHECK_FALSE(fs::exists(sandbox.work() / name));
  }
}

TEST_CASE("a dense file that is too large is refused before its first byte") {
  const Sandbox sandbox;
  for (const std::string dest : {"big.npy", "big.npz", "big.safetensors", "big.h5:/m", "- >big.npy",
                                 "- --max-bytes 2TiB >b"}) {
    CAPTURE(dest);
    const Outcome outcome = sandbox.run("maskctl gen causal:n=1000000 -o " + dest);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, "takes 931.3 GiB"));
    CHECK(contains(outcome.err, "--to runs"));
    for (const auto& entry : fs::directory_iterator(sandbox.work())) {
      if (entry.is_regular_file()) CHECK(entry.file_size() == 0);  // created by the shell
    }
  }
  CHECK(contains(sandbox.run("maskctl gen causal:n=100 -o m.npy --max-bytes 9999").err,
                 "takes 9.766 KiB, and the limit is 9.765 KiB"));
  CHECK(sandbox.run("maskctl gen causal:n=100 -o m.npy --max-bytes 10000").status == 0);
  CHECK(sandbox.run("maskctl gen causal:n=1000000 -o m.npz --to runs").status == 0);
}

TEST_CASE("attend: values of native sparse attention may have a width of their own") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      python("np.save('blocks.npy', np.zeros((1, 64, 1, 1), np.int32))") +
      "maskctl attend apply_native_sparse_attention --axes Dv=8+D=16+Hq=2 block_size=16 "
      "block_indices=blocks.npy -o o.npz && maskctl info o.npz:out");
  CHECK(outcome.err == "");
  CHECK(contains(outcome.out, "float32 (1, 64, 2, 8)"));
}

}  // namespace
}  // namespace maskctl::test
