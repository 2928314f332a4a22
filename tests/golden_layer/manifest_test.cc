// Manifests of golden masks: what they may say, and the message for each mistake.
#include "maskctl/golden/manifest.h"

#include <map>

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

TEST_CASE("the entries of a manifest are read", "[golden]") {
  const Manifest manifest = parse_manifest("m.toml", kGood);
  REQUIRE(manifest.entries.size() == 2);
  const GoldenEntry& first = manifest.entries[0];
  CHECK(first.name == "packed");
  CHECK(first.as == "segments");
  CHECK(first.transforms == std::vector<std::string>{"causal", "window:keys=4"});
  CHECK(first.pad_id == 0);
  REQUIRE(first.expected.size() == 1);
  CHECK(first.expected[0].expect == GoldenEntry::Expect::kSha256);
  CHECK(first.expected[0].value.substr(0, 8) == "00ff00ff");
  CHECK_FALSE(first.was);
  CHECK(first.as_line == 5);
  CHECK(first.transforms_line == 6);
  CHECK(first.line == 2);
  CHECK(first.expected[0].region.begin_line == 8);
  const GoldenEntry& second = manifest.entries[1];
  CHECK(second.transforms == std::vector<std::string>{"not"});
  REQUIRE(second.expected.size() == 1);
  CHECK(second.expected[0].expect == GoldenEntry::Expect::kDrawing);
  CHECK(second.expected[0].value == "drawn.txt");
}

TEST_CASE("an entry can say how its source is read, what must hold, and what a kernel gave",
          "[golden]") {
  const Manifest manifest = parse_manifest("m.toml", R"([[golden]]
name = "bert"
source = "bert.npy"
shape = [3, 1, 64, 64]
closed_below = -1e4
keep_value = 0
expect.holds = ["no-empty-rows", "causal"]

[[golden]]
name = "kernel"
source = "gen:causal:n=8"
kernel = { q = "run.npz:q", out = "run.npz:out", softmax_scale = 0.5, causal = true, ring_size = 2 }
expect = { verdict = "obeys" }
)");
  const GoldenEntry& first = manifest.entries[0];
  CHECK(first.shape == std::vector<Index>{3, 1, 64, 64});
  CHECK(first.closed_below == -1e4);
  CHECK(first.keep_value_is_zero);
  REQUIRE(first.find(GoldenEntry::Expect::kHolds));
  CHECK(first.expected[0].holds == std::vector<std::string>{"no-empty-rows", "causal"});
  const GoldenEntry& second = manifest.entries[1];
  CHECK(second.find(GoldenEntry::Expect::kVerdict));
  std::map<std::string, std::string> kernel(second.kernel.begin(), second.kernel.end());
  CHECK(kernel == std::map<std::string, std::string>{{"q", "run.npz:q"},
                                                     {"out", "run.npz:out"},
                                                     {"softmax_scale", "0.5"},
                                                     {"causal", "true"},
                                                     {"ring_size", "2"}});
  const auto mistake = [](const std::string& lines) {
    return test::error_of(
        [&] { parse_manifest("m.toml", "[[golden]]\nname = \"a\"\nsource = \"b\"\n" + lines); });
  };
  CHECK(mistake("shape = [1, 2]\nexpect.sha256 = \"\"") ==
        "m.toml:4: key 'shape': expected [B, H, Q, K], as [2, 1, 512, 512]");
  CHECK(mistake("closed_below = 3\nexpect.sha256 = \"\"") ==
        "m.toml:4: key 'closed_below': expected a number below 0");
  CHECK(mistake("expect.verdict = \"another\"") == "m.toml:4: key 'verdict': expected \"obeys\"");
  CHECK(mistake("expect.verdict = \"obeys\"") ==
        "m.toml:1: a kernel and expect = { verdict = \"obeys\" } go together");
  CHECK(mistake("kernel = { q = [1] }\nexpect.verdict = \"obeys\"") ==
        "m.toml:4: key 'q': expected a text or a number");
  CHECK(mistake("expect.holds = []") ==
        "m.toml:4: key 'holds': expected expectations, as [\"causal\"]");
}

TEST_CASE("an entry may have several expectations", "[golden]") {
  const Manifest manifest = parse_manifest("m.toml", R"([[golden]]
name = "a"
source = "a.npy"
expect = { sha256 = "", holds = ["causal"], stats = "a.json" }
)");
  REQUIRE(manifest.entries[0].expected.size() == 3);
  CHECK(manifest.entries[0].find(GoldenEntry::Expect::kStats)->value == "a.json");
  CHECK(manifest.entries[0].find(GoldenEntry::Expect::kHolds)->holds.size() == 1);
  CHECK_FALSE(manifest.entries[0].find(GoldenEntry::Expect::kArray));
}

const GoldenValue kPipeline{"abcdef", {{1, 1, 4, 4}, 10, "causal", {}}};
const std::string kDigest(64, 'b');
const GoldenValue kRows{kDigest, {{1, 2, 2, 4}, 3, {}, {"batch 0, head 0", "0: 0+2-3"}}};

TEST_CASE("a new digest and record replace the old ones in place; all other text is kept",
          "[golden]") {
  const Manifest manifest = parse_manifest("m.toml", kGood);
  std::string want = kGood;
  want.replace(want.find("00ff"), 64, "abcdef");
  want.insert(want.find("  # kept") + 8,
              "\nwas = { shape = [1, 1, 4, 4], open = 10, pipeline = \"causal\" }");
  CHECK(with_values(manifest, {{"packed", kPipeline}, {"drawn", kPipeline}}) == want);
  CHECK(with_values(manifest, {}) == kGood);
}

TEST_CASE("a record is replaced in place in whatever form it was written", "[golden]") {
  const std::string start = "# größe\n[[golden]]\nname = \"größe\"\nsource = 's'\n";
  const std::string rows =
      "{ shape = [1, 2, 2, 4], open = 3, rows = [\n  \"batch 0, head 0\",\n  \"0: 0+2-3\",\n] }";
  const auto changed = [&](const std::string& text) {
    const std::string out = with_values(parse_manifest("m.toml", start + text), {{"größe", kRows}});
    CHECK(parse_manifest("m.toml", out).entries[0].was == kRows.was);
    return out.substr(start.size());
  };
  const auto digest = std::string(64, 'a');
  CHECK(changed("was = { shape = [1, 1, 4, 4], open = 1 }  # \xC3\xA9\nexpect.sha256 = '" + digest +
                "'\n") == "was = " + rows + "  # \xC3\xA9\nexpect.sha256 = \"" + kDigest + "\"\n");
  CHECK(
      changed(
          "expect = { sha256 = '" + digest +
          "', holds = ['causal'] }\n"
          "was = { shape = [1, 1, 4, 4], open = 1, rows = [\n '0: 0', # one\n ] }\nbatch = 0\n") ==
      "expect = { sha256 = \"" + kDigest + "\", holds = ['causal'] }\nwas = " + rows +
          "\nbatch = 0\n");
  // The key `was` does not fit into the table [golden.expect], so it is written above the table,
  // below the key `source`.
  const std::string below = with_values(
      parse_manifest("m.toml", start + "[golden.expect]\nsha256 = ''"), {{"größe", kRows}});
  CHECK(below == start + "was = " + rows + "\n[golden.expect]\nsha256 = \"" + kDigest + "\"");
}

TEST_CASE("a record is not added to an entry that is written on one line", "[golden]") {
  const std::string text = "golden = [{ name = 'a', source = 's', expect = { sha256 = '' } }]\n";
  CHECK(with_values(parse_manifest("m.toml", text), {{"a", kRows}}) ==
        "golden = [{ name = 'a', source = 's', expect = { sha256 = \"" + kDigest + "\" } }]\n");
}

TEST_CASE("strings are quoted so that TOML reads them back", "[golden]") {
  const std::string text = "a \"b\" \\ \t\x01 größe";
  const Manifest manifest = parse_manifest(
      "m.toml", "[[golden]]\nname = 'a'\nsource = " + toml_text(text) + "\nexpect.sha256 = ''\n");
  CHECK(manifest.entries[0].source == text);
}

TEST_CASE("the error about a mistake in a manifest names file, line and key", "[golden]") {
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
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = {}\n",
       "m.toml:4: key 'expect': expected one or more of drawing, sha256, stats, array, "
       "holds, verdict"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect.array = 'x'\nwas = { shape = [1, 1, 2, 2], "
       "open = 1 }\n",
       "m.toml:5: key 'was' says of which mask expect.sha256 is"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect.sha256 = ''\nwas = { shape = [1, 1, 2, 2], "
       "open = -1 }\n",
       "m.toml:5: key 'open': expected a number of cells"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect.sha256 = ''\nwas = { open = 1 }\n",
       "m.toml:5: key 'shape' is missing"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect.sha256 = ''\nwas = 'causal'\n",
       "m.toml:5: key 'was': expected a table, as { shape = [1, 1, 8, 8], open = 36 }"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = { array = '' }\n",
       "m.toml:4: key 'array': expected a file name"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = { sha256 = '00FF' }\n",
       "m.toml:4: key 'sha256': expected 64 hexadecimal digits in lower case, or \"\" for golden "
       "update to fill in"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nhead = -1\nexpect = { sha256 = '' }\n",
       "m.toml:4: key 'head': expected an integer from 0 to 2147483647"},
      {"[[golden]]\nname = 'a'\nsource = 's'\nexpect = { sha256 = '' }\n"
       "[[golden]]\nname = 'a'\nsource = 's'\nexpect = { sha256 = '' }\n",
       "m.toml:5: key 'name': 'a' appears twice"},
      {"", "m.toml: no golden masks; start each with a line [[golden]]"},
  }));
  CHECK_THROWS_WITH(parse_manifest("m.toml", text), message);
}

TEST_CASE("the error about text that is no TOML names the line", "[golden]") {
  CHECK(test::error_of([] {
          parse_manifest("m.toml", "[[golden]]\nname = \n");
        }).starts_with("m.toml:2: "));
}

TEST_CASE("characters beyond ASCII are allowed in strings and comments only", "[golden]") {
  CHECK(test::error_of([] {
          parse_manifest("m.toml", "# größe\ngröße = 1\n");
        }).starts_with("m.toml:2: a letter outside ASCII is outside quotes"));
  for (const char* text : {"# größe\n", "\"größe\" = 1\n", "a = \"\"\"é\n\\\"é\"\"\"\n",
                           "a = 'é\\'\n", "\xEF\xBB\xBF"}) {
    const std::string error = test::error_of([&] { parse_manifest("m.toml", text); });
    CHECK(error.find("outside quotes") == std::string::npos);
  }
}

TEST_CASE("a missing manifest is an error", "[golden]") {
  CHECK_THROWS_AS(read_manifest("/nonexistent/m.toml"), Error);
}

}  // namespace
}  // namespace maskctl
