// Golden masks compared and updated; digests of content.
#include "maskctl/golden/golden.h"

#include <filesystem>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "maskctl/golden/digest.h"
#include "maskctl/golden/text_file.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

namespace fs = std::filesystem;
using Expect = GoldenEntry::Expect;
using Status = GoldenResult::Status;

Mask causal(Index n, Index offset = 0) { return Mask(diagonal_band(n, n, -kUnbounded, offset)); }

/// The same cells read from an array.
Mask stored(const Mask& mask) { return mask_from_dense(dense_from_mask(mask, Index{1} << 20)); }

GoldenContext giving(const Mask& mask) {
  GoldenContext out;
  out.load = [mask](const GoldenEntry&) { return mask; };
  out.load_array = [](const std::string& file) { return read_mask(file).mask; };
  out.write_new = true;
  return out;
}

GoldenEntry entry_of(Expect expect, const std::string& value) {
  GoldenEntry out;
  out.name = "one";
  out.expect = expect;
  out.value = value;
  return out;
}

TEST_CASE("the digest is that of the content, whatever holds it", "[golden]") {
  const Mask mask = causal(70);
  CHECK(content_digest(mask) == content_digest(stored(mask)));
  CHECK(content_digest(mask).size() == 64);
  CHECK(content_digest(mask) != content_digest(causal(70, 1)));
  CHECK(content_digest(mask) != content_digest(causal(71)));
  // Equal planes of two heads are still two heads.
  const PlanePtr plane = mask.plane(0, 0);
  CHECK(content_digest(mask) != content_digest(Mask(1, 2, {plane}, {0, 0})));
  CHECK(content_digest(Mask(1, 2, {plane}, {0, 0})) ==
        content_digest(Mask(1, 2, {plane, stored(mask).plane(0, 0)}, {0, 1})));
}

TEST_CASE("the digest of a small mask is the SHA-256 that its description says", "[golden]") {
  // python3: p = sha256(pack('<iii', 0, 1, -1) + pack('<iii', 0, 2, -1)).digest()
  //          sha256(b'maskctl mask 1\n' + pack('<qqqq', 1, 1, 2, 2) + p).hexdigest()
  CHECK(content_digest(causal(2)) ==
        "074d64bcdf13192d6410b9afe9ec398839c5f806541868a2b1310acd6099ffd2");
}

TEST_CASE("golden files are written by update, and pass then", "[golden]") {
  const auto expect = GENERATE(Expect::kDrawing, Expect::kStats, Expect::kArray);
  const test::Scratch scratch;
  const std::string file = scratch / (expect == Expect::kArray ? "m.npy" : "m.txt");
  const GoldenEntry entry = entry_of(expect, file);
  CHECK(check_golden(entry, giving(causal(20))).status == Status::kDiffers);
  CHECK(update_golden(entry, giving(causal(20))).changed);
  CHECK(check_golden(entry, giving(causal(20))).status == Status::kPassed);
  CHECK_FALSE(update_golden(entry, giving(causal(20))).changed);
  CHECK(check_golden(entry, giving(causal(20, 2))).status == Status::kDiffers);
}

TEST_CASE(
    "an array that differs shows the cause and a drawing, and is written next to the golden file",
    "[golden]") {
  const test::Scratch scratch;
  const std::string file = scratch / "m.npy";
  const GoldenEntry entry = entry_of(Expect::kArray, file);
  update_golden(entry, giving(causal(8)));
  const GoldenResult result = check_golden(entry, giving(causal(8, 1)));
  CHECK(result.message == file + " differs");
  CHECK(result.detail.find("7 cells only in this one") == std::string::npos);
  CHECK(
      result.detail.starts_with("0 cells only in the golden mask (A), 7 only in this one (B)\n"
                                "cause: B = A with causal offset 1 instead of 0\n"));
  CHECK(result.detail.find("##++") != std::string::npos);
  const std::string beside = scratch / "m.new.npy";
  REQUIRE(fs::exists(beside));
  CHECK(content_digest(read_mask(beside).mask) == content_digest(causal(8, 1)));
  GoldenContext quiet = giving(causal(8, 1));
  quiet.write_new = false;
  fs::remove(beside);
  check_golden(entry, quiet);
  CHECK_FALSE(fs::exists(beside));
}

TEST_CASE("a digest that differs gives both", "[golden]") {
  const GoldenResult result = check_golden(entry_of(Expect::kSha256, "00"), giving(causal(4)));
  CHECK(result.status == Status::kDiffers);
  CHECK(result.detail.starts_with("golden 00\nnow    " + content_digest(causal(4)) + "\n"));
  const GoldenUpdate update = update_golden(entry_of(Expect::kSha256, "00"), giving(causal(4)));
  CHECK(update.digest == content_digest(causal(4)));
}

TEST_CASE("what loading throws is the result of the entry", "[golden]") {
  GoldenContext context;
  context.load = [](const GoldenEntry&) -> Mask { throw Error(Errc::kIo, "no such file"); };
  const GoldenResult result = check_golden(entry_of(Expect::kSha256, "00"), context);
  CHECK(result.status == Status::kError);
  CHECK(result.message == "no such file");
}

TEST_CASE("figures are compared as JSON", "[golden]") {
  CHECK(golden_stats(causal(3)) ==
        "{\n  \"shape\": [1, 1, 3, 3],\n  \"open\": 6,\n  \"empty_rows\": 0,\n  \"full_rows\": 1,\n"
        "  \"min_keys\": 1,\n  \"median_keys\": 2,\n  \"max_keys\": 3\n}\n");
}

}  // namespace
}  // namespace maskctl
