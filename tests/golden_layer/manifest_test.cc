// Manifests: what they may say, and what a mistake is called.
#include "maskctl/golden/manifest.h"

#include "maskctl/base/error.h"
#include "support/catch_compat.h"
#include "support/error_of.h"

namespace maskctl {
namespace {

constexpr const char* kGood = R"(# comment
[[golden]]
name = "packed"
source = "packed.npy"
as = "segments"
transforms = ["causal", "window:keys=4"]
pad_id = 0
expect = { sha256 = "00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff" }  # kept

[[golden]]
name = "drawn"
source = "gen:causal:n=4"
transforms = "not"
expect.drawing = "drawn.txt"
)";

TEST_CASE("a manifest gives its entries", "[golden]") {
  const Manifest manifest = parse_manifest("m.toml", kGood);
  REQUIRE(manifest.entries.size() == 2);
  const GoldenEntry& first = manifest.entries[0];
  CHECK(first.name == "packed");
  CHECK(first.as == "segments");
  CHECK(first.transforms == std::vector<std::string>{"causal", "window:keys=4"});
  CHECK(first.pad_id == 0);
  CHECK(first.expect == GoldenEntry::Expect::kSha256);
  CHECK(first.value.substr(0, 8) == "00ff00ff");
  CHECK(first.as_line == 5);
  CHECK(first.transforms_line == 6);
  CHECK(first.line == 2);
  CHECK(first.value_line == 8);
  const GoldenEntry& second = manifest.entries[1];
  CHECK(second.transforms == std::vector<std::string>{"not"});
  CHECK(second.expect == GoldenEntry::Expect::kDrawing);
  CHECK(second.value == "drawn.txt");
}

TEST_CASE("a digest is replaced where it stands and nothing else changes", "[golden]") {
  const Manifest manifest = parse_manifest("m.toml", kGood);
  std::string want = kGood;
  want.replace(want.find("00ff"), 64, "abcdef");
  CHECK(with_digests(manifest, {{"packed", "abcdef"}, {"drawn", "no"}}) == want);
  CHECK(with_digests(manifest, {}) == kGood);
}

TEST_CASE("a mistake in a manifest names file, line and key", "[golden]") {
  const auto [text, message] = GENERATE(table<std::string, std::string>({
      {"[[golden]]\nname = 'a'\nsorce = 'x'\n",
       "m.toml:3: key 'sorce' is unknown; did you mean "
       "'source'?"},
      {"[[golden]]\nname = 'a'\n", "m.toml:1: key 'source' is missing"},
      {"[[golden]]\nsource = 'a'\n", "m.toml:1: key 'name' is missing"},
      {"[[golden]]\nname = 'a'\nsource = 3\n", "m.toml:3: key 'source': expected a text"},
      {"[[golden]]\nname = 'a'\nsource = 's'\n", "m.toml:1: key 'expect' is missing"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = 'x'\n",
       "m.toml:4: key 'expect': expected a table, as { sha256 = \"\" }"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = { sha256 = '', array = 'x' }\n",
       "m.toml:4: key 'expect': expected exactly one of drawing, sha256, stats, array"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = { array = '' }\n",
       "m.toml:4: key 'array': expected a file name"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = { sha256 = '00FF' }\n",
       "m.toml:4: key 'sha256': expected 64 hexadecimal digits in lower case, or \"\" for golden "
       "update to fill in"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nhead = -1\nexpect = { sha256 = '' }\n",
       "m.toml:4: key 'head': expected an integer from 0 to 2147483647"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = { sha256 = '' }\n"
       "[[golden]]\nname = 'a'\nsource = 's'\nexpect = { sha256 = '' }\n",
       "m.toml:5: key 'name': 'a' comes twice"},
      {"", "m.toml: no golden masks; start each with a line [[golden]]"},
  }));
  CHECK_THROWS_WITH(parse_manifest("m.toml", text), message);
}

TEST_CASE("text that is no TOML names its line", "[golden]") {
  CHECK(test::error_of([] {
          parse_manifest("m.toml", "[[golden]]\nname = \n");
        }).starts_with("m.toml:2: "));
}

TEST_CASE("a manifest that is not there is an error", "[golden]") {
  CHECK_THROWS_AS(read_manifest("/nonexistent/m.toml"), Error);
}

}  // namespace
}  // namespace maskctl
