// Makes the arrays of tests/cases, and compares what `info`, `check`, `recognise` and `diff` say
// about them with info.txt, check.txt and causes.txt there. MASKCTL_UPDATE_GOLDEN=1 rewrites these
// files.
#include <cstdlib>
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const fs::path kCaseFolder = fs::path(MASKCTL_SOURCE_DIR) / "tests" / "cases";

/// Returns shell lines that run each script of tests/cases that makes arrays; each writes its
/// arrays into a folder with the name of the script.
std::string make_cases() {
  std::string lines;
  for (const char* maker : {"real_masks", "mask_pairs", "user_arrays"}) {
    lines +=
        "/usr/bin/python3 -W ignore '" + (kCaseFolder / maker).string() + ".py' " + maker + "\n";
  }
  return lines;
}

TEST_CASE("cases: info says what every array is") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run(make_cases() +
                  "export LC_ALL=C\n"
                  "maskctl info real_masks/*.npy mask_pairs/*.npy user_arrays/*.np[yz] "
                  "user_arrays/batch.h5 2>&1");
  CHECK(outcome.status == 0);
  CHECK_FALSE(contains(outcome.out, "error"));
  if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) spit(kCaseFolder / "info.txt", outcome.out);
  CHECK(outcome.out == slurp(kCaseFolder / "info.txt"));
}

/// Shell lines that run `maskctl check` on each array. An array that fits several kinds is read as
/// the kind that the function kind() prints.
constexpr const char* kRealKinds = R"sh(
kind() {
  case $1 in
    */cu.npy) echo cu_seqlens ;;
    */position_ids.npy) echo positions ;;
    */hf_attention_mask.npy | */mha_kpm.npy | */attention_mask_2d.npy) echo key-padding ;;
    */flex_012.npy) echo segments ;;
    *) echo dense ;;
  esac
}
for file in real_masks/*.npy mask_pairs/*.npy user_arrays/*.npy; do
  as=''
  status=0
  maskctl check $file > out.txt 2> err.txt || status=$?
  if grep -q 'fits several kinds\|looks like position\|ids need' err.txt; then
    as=" --as $(kind $file)"
    status=0
    maskctl check $file$as > out.txt 2> err.txt || status=$?
  fi
  echo "== $file$as: $status"
  grep -hv '^      why\|^      fix\|^not looked at' out.txt err.txt || true
done
)sh";

TEST_CASE("cases: check finds what is wrong with every array, and nothing else") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(make_cases() + "export LC_ALL=C" + kRealKinds);
  INFO(outcome.err);
  if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) spit(kCaseFolder / "check.txt", outcome.out);
  CHECK(outcome.out == slurp(kCaseFolder / "check.txt"));
}

TEST_CASE("cases: recognise and diff say what a mask is, or that they do not know") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(make_cases() + "export LC_ALL=C" + R"sh(
for file in real_masks/*.npy; do
  echo "== $file"
  maskctl -q recognise $file > out.txt 2> /dev/null
  [ $? -lt 2 ] || maskctl -q recognise $file --as dense > out.txt 2> /dev/null
  grep '^pipeline\|^unexplained' out.txt || echo 'not a mask'
done
for a in mask_pairs/*_a.npy; do
  echo "== ${a%_a.npy}"
  maskctl -q diff $a ${a%_a.npy}_b.npy | grep '^cause\|^A is\|^B is\|^edit'
done
)sh");
  INFO(outcome.err);
  if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr)
    spit(kCaseFolder / "causes.txt", outcome.out);
  CHECK(outcome.out == slurp(kCaseFolder / "causes.txt"));
}

}  // namespace
}  // namespace maskctl::test
