// Golden masks: comparing and updating them, and digests of their content.
#include "maskctl/golden/golden.h"

#include <filesystem>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "maskctl/golden/text_file.h"
#include "maskctl/inspect/count/digest.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/pipeline/mask_file.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"

namespace maskctl {
namespace {

namespace fs = std::filesystem;
using Expect = GoldenEntry::Expect;
using Status = GoldenResult::Status;

Mask causal(Index n, Index offset = 0) { return Mask(diagonal_band(n, n, -kUnbounded, offset)); }

/// The mask with its cells stored as an array.
Mask stored(const Mask& mask) { return mask_from_dense(dense_from_mask(mask, Index{1} << 20)); }

GoldenContext giving(const Mask& mask) {
  GoldenContext out;
  out.load = [mask](const GoldenEntry&) { return mask; };
  out.load_array = [](const std::string& file) {
    return read_mask(file, {.objects = {&kMaskFile}}).mask;
  };
  out.write_new = true;
  return out;
}

GoldenEntry entry_of(Expect expect, const std::string& value) {
  GoldenEntry out;
  out.name = "one";
  out.expected = {{.expect = expect, .value = value, .holds = {}, .region = {}}};
  return out;
}

TEST_CASE("the digest depends on the cells only, not on how they are stored", "[golden]") {
  const Mask mask = causal(70);
  CHECK(content_digest(mask) == content_digest(stored(mask)));
  CHECK(content_digest(mask).size() == 64);
  CHECK(content_digest(mask) != content_digest(causal(70, 1)));
  CHECK(content_digest(mask) != content_digest(causal(71)));
  // Two heads with equal planes differ from one head.
  const PlanePtr plane = mask.plane(0, 0);
  CHECK(content_digest(mask) != content_digest(Mask(1, 2, {plane}, {0, 0})));
  CHECK(content_digest(Mask(1, 2, {plane}, {0, 0})) ==
        content_digest(Mask(1, 2, {plane, stored(mask).plane(0, 0)}, {0, 1})));
}

TEST_CASE("the digest of a small mask is the SHA-256 of its documented description", "[golden]") {
  // The digest as Python computes it:
  //   p = sha256(pack('<iii', 0, 1, -1) + pack('<iii', 0, 2, -1)).digest()
  //   sha256(b'maskctl mask 1\n' + pack('<qqqq', 1, 1, 2, 2) + p).hexdigest()
  CHECK(content_digest(causal(2)) ==
        "074d64bcdf13192d6410b9afe9ec398839c5f806541868a2b1310acd6099ffd2");
}

TEST_CASE("update writes golden files, which the check then passes", "[golden]") {
  const auto expect = GENERATE(Expect::kDrawing, Expect::kStats, Expect::kArray);
  const test::Scratch scratch;
  const std::string file = scratch / (expect == Expect::kArray ? "m.npy" : "m.txt");
  const GoldenEntry entry = entry_of(expect, file);
  CHECK(check_golden(entry, giving(causal(20))).status == Status::kDiffers);
  CHECK(is_outdated(entry, giving(causal(20))));
  CHECK_FALSE(update_golden(entry, giving(causal(20))));
  CHECK(check_golden(entry, giving(causal(20))).status == Status::kPassed);
  CHECK_FALSE(is_outdated(entry, giving(causal(20))));
  CHECK(check_golden(entry, giving(causal(20, 2))).status == Status::kDiffers);
}

TEST_CASE("a golden file of steps stays one", "[golden]") {
  const test::Scratch scratch;
  const std::string file = scratch / "m.safetensors";
  write_mask_file(file, causal(8));
  const GoldenEntry entry = entry_of(Expect::kArray, file);
  CHECK(check_golden(entry, giving(causal(8))).status == Status::kPassed);
  CHECK(check_golden(entry, giving(causal(8, 1))).status == Status::kDiffers);
  CHECK(differing_cells(read_mask_file(scratch / "m.new.safetensors").mask, causal(8, 1)) == 0);
  update_golden(entry, giving(causal(8, 1)));
  CHECK(differing_cells(read_mask_file(file).mask, causal(8, 1)) == 0);
}

TEST_CASE("if an array differs, the cause and a drawing are shown, and the new array is written",
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
                                "first: batch 0, head 0, query 0, key 1: open in B only\n"
                                "cause: B = A with causal offset 1 instead of 0\n"));
  CHECK(result.detail.find("##++") != std::string::npos);
  const std::string beside = scratch / "m.new.npy";
  REQUIRE(fs::exists(beside));
  CHECK(content_digest(read_mask(beside).mask) == content_digest(causal(8, 1)));
  GoldenContext quiet = giving(causal(8, 1));
  quiet.write_new = false;
  CHECK(check_golden(entry, quiet).status == Status::kDiffers);
  GoldenContext right = giving(causal(8));
  right.write_new = false;
  CHECK(check_golden(entry, right).status == Status::kPassed);
  CHECK(fs::exists(beside));
  CHECK(check_golden(entry, giving(causal(8))).status == Status::kPassed);
  CHECK_FALSE(fs::exists(beside));  // a pass removes the file that the failure left
  CHECK(check_golden(entry, quiet).status == Status::kDiffers);
  CHECK_FALSE(fs::exists(beside));
}

TEST_CASE("if a digest without a record differs, both digests are shown", "[golden]") {
  const GoldenResult result = check_golden(entry_of(Expect::kSha256, "00"), giving(causal(4)));
  CHECK(result.status == Status::kDiffers);
  CHECK(result.detail.starts_with("golden 00\nnow    " + content_digest(causal(4)) + "\n"));
  const auto update = update_golden(entry_of(Expect::kSha256, "00"), giving(causal(4)));
  REQUIRE(update);
  CHECK(update->digest == content_digest(causal(4)));
  CHECK(update->was == record_of(causal(4)));
}

/// The manifest entry of a mask, as `maskctl golden init` writes it.
GoldenEntry recorded_entry(const Mask& mask) {
  GoldenEntry out = entry_of(Expect::kSha256, content_digest(mask));
  out.was = record_of(mask);
  return out;
}

TEST_CASE("if a digest with a record differs, counts, the first cell and the cause are shown",
          "[golden]") {
  for (const Mask& was : {causal(8), stored(causal(8))}) {
    const GoldenEntry entry = recorded_entry(was);
    CHECK(check_golden(entry, giving(causal(8))).status == Status::kPassed);
    const GoldenResult result = check_golden(entry, giving(causal(8, 1)));
    CHECK(result.status == Status::kDiffers);
    CHECK(result.cause ==
          "0 cells only in the golden mask (A), 7 only in this one (B); first: batch 0, head 0, "
          "query 0, key 1: open in B only; cause: B = A with causal offset 1 instead of 0");
  }
  CHECK(check_golden(recorded_entry(causal(8)), giving(causal(9))).detail ==
        "golden [B 1, H 1, Q 8, K 8]\nnow    [B 1, H 1, Q 9, K 9]\n");
}

TEST_CASE("a record that does not belong to the digest is reported and not used", "[golden]") {
  GoldenEntry entry = recorded_entry(causal(8));
  entry.was = record_of(causal(8, 2));
  const GoldenResult result = check_golden(entry, giving(causal(8, 1)));
  CHECK(result.detail.starts_with(
      "key 'was' is of another mask; golden update writes it anew\ngolden "));
  CHECK(is_outdated(entry, giving(causal(8))));
  entry.was = record_of(causal(8));
  CHECK_FALSE(is_outdated(entry, giving(causal(8))));
  entry.was.reset();
  CHECK(is_outdated(entry, giving(causal(8))));
}

TEST_CASE("an entry passes only if all of its expectations hold", "[golden]") {
  const test::Scratch scratch;
  GoldenEntry entry = recorded_entry(causal(8));
  entry.expected.push_back(
      {.expect = Expect::kStats, .value = scratch / "m.json", .holds = {}, .region = {}});
  update_golden(entry, giving(causal(8)));
  CHECK(check_golden(entry, giving(causal(8))).status == Status::kPassed);
  const GoldenResult result = check_golden(entry, giving(causal(8, 1)));
  CHECK(result.status == Status::kDiffers);
  CHECK(result.message ==
        "the content differs from its sha256; " + (scratch / "m.json") + " differs");
  entry.expected[1].value = scratch / "absent.json";
  CHECK(check_golden(entry, giving(causal(8))).message ==
        (scratch / "absent.json") + " is missing; `maskctl golden update` writes it");
}

TEST_CASE("an exception from loading becomes the result of the entry", "[golden]") {
  GoldenContext context;
  context.load = [](const GoldenEntry&) -> Mask { throw Error(Errc::kIo, "no such file"); };
  const GoldenResult result = check_golden(entry_of(Expect::kSha256, "00"), context);
  CHECK(result.status == Status::kError);
  CHECK(result.message == "no such file");
}

TEST_CASE("golden files are only written below the folder of the manifest", "[golden]") {
  const test::Scratch scratch;
  fs::create_directories(scratch / "in/sub");
  fs::create_directory_symlink(scratch.folder(), scratch / "in/up");
  fs::create_symlink(scratch / "new.txt", scratch / "in/link.txt");
  GoldenContext context = giving(causal(6));
  context.folder = scratch / "in";
  for (const char* file : {"out.txt", "in/../out.txt", "in/up/out.txt", "in/link.txt", "in"}) {
    INFO(file);
    const GoldenEntry entry = entry_of(Expect::kDrawing, scratch / file);
    CHECK(test::contains(test::error_of([&] { is_outdated(entry, context); }), "nowhere else"));
    CHECK(test::contains(test::error_of([&] { update_golden(entry, context); }), "nowhere else"));
  }
  test::spit(scratch / "out.txt", "other");
  CHECK(check_golden(entry_of(Expect::kDrawing, scratch / "out.txt"), context).status ==
        Status::kDiffers);
  CHECK(scratch.entries() == 2);  // in and out.txt
  for (const char* file : {"in/a.txt", "in/sub/b.txt", "in/new/c.txt"}) {
    update_golden(entry_of(Expect::kDrawing, scratch / file), context);
    CHECK(fs::exists(scratch / file));
  }
}

TEST_CASE("several golden arrays may be kept in one container", "[golden]") {
  const test::Scratch scratch;
  for (const Index n : {6, 7}) {
    const GoldenContext context = giving(causal(n));
    const GoldenEntry entry =
        entry_of(Expect::kArray, (scratch / "all.npz") + ":m" + std::to_string(n));
    update_golden(entry, context);
    CHECK(check_golden(entry, context).status == Status::kPassed);
  }
  CHECK(dest_content(scratch / "all.npz")->arrays.size() == 2);
}

TEST_CASE("golden statistics are compared as JSON text", "[golden]") {
  CHECK(golden_stats(causal(3)) ==
        "{\n  \"shape\": [1, 1, 3, 3],\n  \"open\": 6,\n  \"empty_rows\": 0,\n  \"full_rows\": 1,\n"
        "  \"min_keys\": 1,\n  \"median_keys\": 2,\n  \"max_keys\": 3\n}\n");
}

}  // namespace
}  // namespace maskctl
