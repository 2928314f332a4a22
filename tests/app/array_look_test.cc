// Tests what the command says about arrays that are not 0/1 masks, and which array of a file it
// asks for.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const std::string kMakeLooks = R"(cat >make.py <<'END'
import numpy as np
r = np.random.default_rng(5)
tri = np.tri(7, dtype=bool)
np.save("image.npy", (tri * 255).astype(np.uint8))
np.save("image_bs.npy", (tri[2:5] * 255).astype(np.int64))
np.save("labels.npy", np.array([[-100, -100, 7, 9, 2], [-100, 3, 3, 8, 1]]))
s = np.where(tri, r.standard_normal((2, 3, 7, 7)), -np.inf)
w = np.exp(s - s.max(-1, keepdims=True))
w /= w.sum(-1, keepdims=True)
for kind in (np.float16, np.float32):
    np.save(f"weights_{np.dtype(kind).name}.npy", w.astype(kind))
np.save("penalty.npy", r.random((7, 7)).astype(np.float32))
np.save("swin.npy", np.where(np.arange(9)[:, None] // 4 == np.arange(9) // 4, 0, -100).astype(np.float32))
np.save("t5.npy", np.array([0, -1.5, 2, 3, -4, 5, 6])[np.abs(np.arange(7)[:, None] - np.arange(7))].astype(np.float32))
np.save("tokens.npy", r.permutation(50000)[:64].astype(np.int64)[None])
np.save("documents.npy", np.repeat([3, 9, 4], [20, 30, 14])[None])
np.save("rect.npy", np.tri(5, 9, 4, dtype=bool))
np.savez("six.npz", mask=tri, ids=np.repeat([1, 2], 5)[None], q=np.zeros((1, 2, 3, 4), np.float32),
         valid=np.ones((2, 9), bool), names=np.zeros(3, np.float64), big=np.zeros((1, 1, 1, 1, 1)))
END
python3 make.py)";

TEST_CASE("info and show describe arrays that are not masks of 0 and 1") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeLooks).status == 0);
  const auto info = [&](const std::string& file) {
    return sandbox.run("maskctl info " + file).out;
  };
  const auto refused = [&](const std::string& file) {
    const Outcome outcome = sandbox.run("maskctl show " + file);
    CHECK(outcome.status == 2);
    return outcome.err;
  };
  const std::string image = "0 and 255 are the 0 and 1 of an image: save array != 0";
  CHECK(contains(refused("image.npy"), image));
  CHECK(contains(refused("image_bs.npy"), image + "; give --as segments"));
  CHECK(contains(info("image.npy"), "not a mask: "));
  CHECK(contains(info("image.npy"), image));
  CHECK(contains(refused("labels.npy"), "labels, of which -100 counts for no loss"));
  CHECK(contains(info("labels.npy"), "labels, of which -100 counts for no loss"));
  for (const std::string file : {"weights_float16.npy", "weights_float32.npy"}) {
    CHECK(contains(refused(file),
                   "rows that sum to 1 are attention weights, not a bias: save array > 0"));
    CHECK_FALSE(contains(refused(file), "--as bias"));
    CHECK(contains(info(file), "rows that sum to 1 are attention weights"));
    CHECK_FALSE(contains(info(file), "  adds "));
  }
  CHECK(contains(refused("penalty.npy"), "--as bias"));  // its rows do not sum to 1
}

TEST_CASE("info: a bias of only 0 and -100 is not described as buckets of T5") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeLooks).status == 0);
  const std::string swin = sandbox.run("maskctl info swin.npy").out;
  CHECK(contains(swin, "adds      0 and -100 only: a mask that closes with -100, as Swin's"));
  CHECK_FALSE(contains(swin, "T5"));
  CHECK(contains(sandbox.run("maskctl info t5.npy").out, "as T5's buckets: "));
  CHECK(contains(sandbox.run("maskctl stats swin.npy --closed-below -100").out, "33"));
}

TEST_CASE("token ids that are read as segment ids get a note") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeLooks).status == 0);
  for (const std::string as : {"", " --as segments"}) {
    CHECK(contains(sandbox.run("maskctl stats tokens.npy" + as).err,
                   "64 different segment ids for 64 tokens; token ids are not segment ids"));
    CHECK_FALSE(contains(sandbox.run("maskctl stats documents.npy" + as).err, "token ids"));
  }
}

TEST_CASE("--shape decides how a matrix is read that fits several kinds") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeLooks).status == 0);
  const Outcome asked = sandbox.run("maskctl stats rect.npy");
  CHECK(asked.status == 2);
  CHECK(contains(asked.err, "--as dense, --as padding or --as key-padding"));
  CHECK(sandbox.run("maskctl stats rect.npy --shape 1+1+5+9").out ==
        sandbox.run("maskctl stats rect.npy --as dense").out);
  CHECK(sandbox.run("maskctl stats rect.npy --shape 5+1+1+9").out ==
        sandbox.run("maskctl stats rect.npy --as key-padding --shape 5+1+1+9").out);
  // The matrix may hold padding flags of 5 batch entries, for queries and keys or for keys alone.
  CHECK(contains(sandbox.run("maskctl stats rect.npy --shape 5+1+9+9").err,
                 "give --as padding or --as key-padding"));
  CHECK(sandbox.run("maskctl stats rect.npy --shape 1+1+7+9").status == 2);
}

TEST_CASE("the error about a file of several arrays lists each with the kinds that it fits") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeLooks).status == 0);
  const Outcome asked = sandbox.run("maskctl why six.npz 3 2");
  CHECK(asked.status == 2);
  CHECK(contains(asked.err, "six.npz: 6 arrays: "));
  for (const char* part :
       {"six.npz:mask (bool (7, 7): dense)", "six.npz:ids (int64 (1, 10): segments)",
        "six.npz:q (float32 (1, 2, 3, 4): dense)",
        "six.npz:valid (bool (2, 9): dense or padding or key-padding)",
        "six.npz:names (float64 (3,): padding or key-padding)",
        "six.npz:big (float64 (1, 1, 1, 1, 1))"}) {
    CHECK(contains(asked.err, part));
  }
  CHECK(sandbox.run("maskctl why six.npz:mask 3 2").status == 0);
  CHECK(contains(asked.err, "; choose one\n"));
  CHECK(contains(sandbox.run("cat six.npz | maskctl why - 3 2").err,
                 "named as -:mask; choose one\n"));
}

TEST_CASE("show draws the heads that are listed, in one sheet with a title and a size") {
  const Sandbox sandbox;
  const auto text = [&](const std::string& options) {
    return sandbox.run("maskctl show samples/heads.npy --style ascii " + options);
  };
  const Outcome two = text("--head 0,3");
  CHECK(two.status == 0);
  CHECK(contains(two.out, "head 0"));
  CHECK(contains(two.out, "head 3"));
  CHECK_FALSE(contains(two.out, "head 1"));
  CHECK(text("--head 0+3").out == two.out);
  CHECK(text("--head 0-3").out == text("--head all").out);
  CHECK(contains(text("--head 0,9").err, "--head 9 is out of range: the mask has 0 to 3"));
  CHECK(contains(text("--head 3-1").err,
                 "expected whole numbers from 0 on, as 3, 0,3, 0-3 or 0:4, or all"));
  CHECK(contains(text("--head 1 --title 'our <title>'").out, "our <title>"));
  CHECK_FALSE(contains(text("--head 1 --title ''").out, "heads.npy"));
  const auto width = [&](const std::string& options) {
    return sandbox.run("maskctl show samples/heads.npy --head 0,3 -f -o x.svg " + options +
                       " && head -c 200 x.svg");
  };
  CHECK(contains(width("--title 'a & b'").out, "<svg "));
  CHECK(contains(slurp(sandbox.work() / "x.svg"), "a &amp; b"));
  CHECK(width("--size 1600").out != width("--size 400").out);
  CHECK(contains(width("--size 400 --scale 2").err, "exclude each other"));
  CHECK(contains(text("--size 400").err, "--size goes with -o FILE.png"));
  CHECK(contains(sandbox.run("maskctl show samples/heads.npy -o x.PDF").err,
                 "rsvg-convert -f pdf makes a PDF of an .svg"));
}

}  // namespace
}  // namespace maskctl::test
