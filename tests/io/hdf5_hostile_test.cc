// HDF5 files that are corrupt or malicious, and a helper process that dies or hangs.
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <random>

#include "io/array_support.h"
#include "maskctl/io/formats/hdf5/hdf5.h"
#include "maskctl/io/formats/hdf5/hdf5_helper.h"
#include "maskctl/io/masks/mask_io.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

void make_hostile(const Scratch& scratch) {
  python(scratch,
         "import runpy\nsys.argv = ['make_hdf5.py', 'hostile']\nrunpy.run_path('" MASKCTL_SOURCE_DIR
         "/tests/io/make_hdf5.py', run_name='__main__')\n");
}

std::string hostile_error(const std::string& source) {
  return error_of([&] { read_array(source); });
}

/// Replaces the helper by a script while it lives.
class OtherHelper {
 public:
  OtherHelper(const Scratch& scratch, const std::string& script, Index seconds) {
    const std::string path = scratch / "helper";
    spit(path, "#!/bin/sh\n" + script);
    ::chmod(path.c_str(), 0755);
    set_hdf5_helper(path, seconds);
  }
  ~OtherHelper() { set_hdf5_helper(""); }
  OtherHelper(const OtherHelper&) = delete;
  OtherHelper& operator=(const OtherHelper&) = delete;
};

double seconds_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

// The hostile files name FIFOs as other files: opening one waits for ever, and meets the time
// limit.
TEST_CASE("hdf5: hostile files cannot open other files or exhaust memory") {
  const Scratch scratch;
  make_hostile(scratch);
  const auto text = [&](const std::string& name) {
    return hostile_error(scratch / "hostile.h5:" + name);
  };
  set_hdf5_helper("", 20);
  CHECK(contains(text("/external"), "external storage"));
  CHECK(contains(text("/virtual"), "a virtual dataset"));
  CHECK(contains(text("/link"), "/link is a link to another file, which is never opened"));
  CHECK(contains(text("/g/link/mask"), "/g/link is a link to another file"));
  CHECK(contains(text("/to_link"), "a soft link that leads to nothing here"));
  CHECK(contains(text("/self"), "too many links"));
  CHECK(contains(text("/a"), "too many links"));
  CHECK(contains(text("/chunk_bomb"), "take 2000000000 bytes each; the limit is 268435456"));
  CHECK(contains(text("/shape_bomb"), "; the limit is"));
  CHECK(contains(text("/overflow"), "is too large"));
  CHECK(contains(hostile_error(scratch / "plugin.h5"), "plugins are not loaded"));
  CHECK(contains(hostile_error(scratch / "deep.h5"), "nested more than 32 deep"));
  CHECK(contains(hostile_error(scratch / "many.h5"), "more than 10000 objects"));
  CHECK(read_array(scratch / "hostile.h5:/g/up/g/again/mask_again").elements() == 64);
  CHECK(contains(error_of([&] {
                   MaskReadOptions options;
                   options.as = ArrayKind::kDense;
                   read_mask(scratch / "hostile.h5:/shape_bomb", options);
                 }),
                 "over the limit"));
  const Hdf5Listing list = list_hdf5(ByteSource(scratch / "hostile.h5"));
  CHECK(list.groups == std::vector<std::string>{"/g"});
  CHECK(list.datasets.size() == 6);
  CHECK_FALSE(list.find("/virtual")->shape);
  set_hdf5_helper("");
}

TEST_CASE("hdf5: reading a truncated file gives an error or the whole array") {
  const Scratch scratch;
  make_hostile(scratch);
  const std::string whole = slurp(scratch / "seed.h5");
  const Tensor expected = read_array(scratch / "seed.h5:/mask");
  const std::string path = scratch / "cut.h5";
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 40) {
    spit(path, whole.substr(0, size));
    const std::string text = hostile_error(path + ":/mask");
    REQUIRE(text != "no error");
    REQUIRE(contains(text, path));
    ++refused;
  }
  CHECK(refused > 40);
}

TEST_CASE("hdf5: 200 mutated files are read or refused, each with one line") {
  const Scratch scratch;
  make_hostile(scratch);
  set_hdf5_helper("", 10);
  const std::string whole = slurp(scratch / "seed.h5");
  const std::string path = scratch / "mutated.h5";
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string bytes = whole;
    for (std::size_t k = 1 + below(8); k-- > 0;) {
      bytes[below(bytes.size())] = static_cast<char>(below(4) == 0 ? 0xFF : random());
    }
    spit(path, bytes);
    const char* const names[] = {":/mask", ":/g/plain", ":/link", "", ":/half"};
    const std::string name = names[i % 5];
    CAPTURE(i, name);
    const std::string text = hostile_error(path + name);
    (text == "no error" ? read : refused) += 1;
    if (text == "no error") continue;
    REQUIRE(contains(text, path));
    REQUIRE_FALSE(contains(text, "\n"));
    REQUIRE_FALSE(contains(text, "unexpected answer"));
  }
  set_hdf5_helper("");
  CHECK(read > 20);
  CHECK(refused > 20);
}

TEST_CASE("hdf5: a helper that crashes, hangs, sends nonsense or is missing gives one clear error",
          "[host]") {
  const Scratch scratch;
  const std::string path = scratch / "m.h5";
  write_array(path + ":/m", counting(DType::kBool, {300, 300}), {.gzip = 1});
  const std::string source = path + ":/m";
  SECTION("crash at once") {
    const OtherHelper helper(scratch, "kill -SEGV $$", 20);
    CHECK(hostile_error(source) == source +
                                       ": the HDF5 library crashed while reading it, by signal "
                                       "11 (corrupt or hostile file)");
  }
  SECTION("crash within the data") {
    const OtherHelper helper(
        scratch, "printf 'array\\t/m\\t|b1\\t300,300\\ndata\\n1234'\nkill -ABRT $$", 20);
    CHECK(contains(hostile_error(source), "crashed while reading it, by signal 6"));
  }
  SECTION("computing without end") {
    const OtherHelper helper(scratch, "kill -XCPU $$", 20);
    CHECK(contains(hostile_error(source), "the HDF5 library computed for 20 s while reading it"));
  }
  SECTION("silence") {
    const OtherHelper helper(scratch, "exec sleep 30", 1);
    const double seconds =
        seconds_of([&] { CHECK(contains(hostile_error(source), "made no progress for 1 s")); });
    CHECK(seconds < 10);
  }
  SECTION("silence within the data") {
    const OtherHelper helper(scratch,
                             "printf 'array\\t/m\\t|b1\\t300,300\\ndata\\n1234'\nexec sleep 30", 1);
    CHECK(contains(hostile_error(source), "made no progress for 1 s"));
  }
  SECTION("too few elements") {
    const OtherHelper helper(scratch, "printf 'array\\t/m\\t|b1\\t300,300\\ndata\\n1234'", 5);
    CHECK(contains(hostile_error(source), "expected 90000 bytes of data, got 4"));
  }
  SECTION("data beyond the file") {
    const OtherHelper helper(scratch, "printf 'array\\t/m\\t|b1\\t300,300\\nat\\t1000000\\n'", 5);
    CHECK(contains(hostile_error(source), "beyond the end of the file"));
  }
  SECTION("nonsense") {
    const OtherHelper helper(scratch, "echo hello; yes", 5);
    CHECK(contains(hostile_error(source), "unexpected answer"));
  }
  SECTION("failure without a reason") {
    const OtherHelper helper(scratch, "echo oops >&2; exit 7", 5);
    CHECK(contains(hostile_error(source), "failed with status 7: oops"));
  }
  SECTION("a writer that is gone") {
    const OtherHelper helper(scratch, "exit 0", 5);
    CHECK(contains(error_of([&] {
                     write_array(scratch / "new.h5:/m", counting(DType::kBool, {3000, 3000}));
                   }),
                   "ended early"));
    CHECK_FALSE(std::filesystem::exists(scratch / "new.h5"));
  }
  SECTION("no program") {
    set_hdf5_helper(scratch / "nowhere");
    CHECK(contains(hostile_error(source), "No such file"));
    set_hdf5_helper("");
  }
}
