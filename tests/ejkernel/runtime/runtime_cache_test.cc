// Tests the store of configs: what its file keeps, which damage it survives, and additions by
// several threads and processes.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/scratch.h"
#include "maskctl/ejkernel/runtime/config_cache.h"
#include "support/catch_compat.h"

namespace runtime_cache_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
namespace fs = std::filesystem;

using Folder = test::Scratch;

ConfigKey key(const std::string& call) { return {"cpu|AVX2|2", "page_attention@v0", call}; }
AnyConfig config(Index splits) { return PageAttentionConfig{.num_splits = splits}; }

struct Notes {
  std::vector<std::string> lines;
  ConfigCache::Note sink() {
    return [this](const std::string& line) { lines.push_back(line); };
  }
};

TEST_CASE("config cache: another process finds the configs that were put", "[attention]") {
  const Folder folder;
  const std::string path = folder / "a/b/page-attention.txt";
  Notes notes;
  ConfigCache cache(path, notes.sink());
  cache.put(key("query=float32[2,4,8]"), config(3));
  cache.put(key("query=float32[1,4,8]"), config(2));
  CHECK(notes.lines.empty());
  const ConfigCache other(path, notes.sink());
  CHECK(other.get(key("query=float32[2,4,8]")) == config(3));
  CHECK(other.get(key("query=float32[1,4,8]")) == config(2));
  CHECK_FALSE(other.get(key("query=float32[3,4,8]")));
  CHECK_FALSE(other.get({"gpu", "page_attention@v0", "query=float32[2,4,8]"}));
  CHECK_FALSE(other.get({"cpu|AVX2|2", "page_attention@v1", "query=float32[2,4,8]"}));
  CHECK(test::slurp(path) ==
        "maskctl configs 1\n"
        "cpu|AVX2|2\tpage_attention@v0\tquery=float32[1,4,8]\tPageAttentionConfig platform=auto "
        "backend=any num_splits=2 num_warps=4 num_stages=1\n"
        "cpu|AVX2|2\tpage_attention@v0\tquery=float32[2,4,8]\tPageAttentionConfig platform=auto "
        "backend=any num_splits=3 num_warps=4 num_stages=1\n");
}

TEST_CASE("config cache: damaged lines are dropped with a note", "[attention]") {
  const Folder folder;
  const std::string path = folder / "c.txt";
  ConfigCache(path).put(key("good"), config(3));
  const std::string good = test::slurp(path);
  for (const char* damage : {"garbage\n", "a\tb\tc\n", "a\tb\tc\tNoConfig x=1\n",
                             "a\tb\tc\tPageAttentionConfig num_splits=q\n", "\n", "\tx"}) {
    CAPTURE(damage);
    test::spit(path, good + damage);
    Notes notes;
    ConfigCache cache(path, notes.sink());
    REQUIRE(notes.lines.size() == 1);
    CHECK(notes.lines[0] == "config cache " + path + ": 1 damaged lines ignored");
    CHECK(cache.get(key("good")) == config(3));
    cache.put(key("good"), config(3));
    CHECK(test::slurp(path) == good);
  }
}

TEST_CASE("config cache: a file that is no cache is moved aside with a note", "[attention]") {
  const Folder folder;
  const std::string path = folder / "c.txt";
  for (const std::string& foreign :
       {std::string("{\"a\": 1}\n"), std::string("maskctl configs 2\n"), std::string(1000, '\0')}) {
    test::spit(path, foreign);
    Notes notes;
    ConfigCache cache(path, notes.sink());
    REQUIRE(notes.lines.size() == 1);
    CHECK(notes.lines[0] == "config cache " + path + " is damaged and is ignored");
    CHECK(cache.entries().empty());
    CHECK(test::slurp(path) == foreign);
    cache.put(key("new"), config(1));
    CHECK(test::slurp(path + ".bad") == foreign);
    CHECK(ConfigCache(path).get(key("new")) == config(1));
  }
}

TEST_CASE("config cache: every truncated file can be opened", "[attention]") {
  const Folder folder;
  const std::string path = folder / "c.txt";
  ConfigCache whole(path);
  whole.put(key("one"), config(1));
  whole.put(key("two"), config(2));
  const std::string text = test::slurp(path);
  for (std::size_t size = 0; size < text.size(); ++size) {
    test::spit(path, text.substr(0, size));
    ConfigCache cut(path);
    for (const auto& [k, c] : cut.entries()) {
      CHECK((k == key("one") || k.call.starts_with("two")));
    }
  }
}

TEST_CASE("config cache: if the file cannot be written, a note says so and configs stay in memory",
          "[attention]") {
  const Folder folder;
  test::spit(folder / "file", "");
  Notes notes;
  ConfigCache cache(folder / "file/c.txt", notes.sink());
  cache.put(key("a"), config(4));
  REQUIRE(notes.lines.size() == 1);
  CHECK(notes.lines[0].starts_with("config cache: "));
  CHECK(cache.get(key("a")) == config(4));
}

TEST_CASE("config cache: keys with tabs or line feeds are not written", "[attention]") {
  const Folder folder;
  const std::string path = folder / "c.txt";
  Notes notes;
  ConfigCache cache(path, notes.sink());
  cache.put(key("a\tb"), config(1));
  cache.put(key("a\nb"), config(1));
  CHECK(notes.lines.size() == 2);
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("config cache: configs that threads and processes add at once are all kept",
          "[attention]") {
  const Folder folder;
  const std::string path = folder / "c.txt";
  constexpr int kSides = 4, kEach = 10;
  const auto add = [&](int side) {
    ConfigCache cache(path);
    for (int i = 0; i < kEach; ++i) {
      cache.put(key(std::to_string(side) + "/" + std::to_string(i)), config(side * 100 + i));
    }
  };
  std::vector<pid_t> children;
  for (int side = 0; side < kSides; ++side) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      add(side);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  {
    std::vector<std::jthread> threads;
    for (int side = kSides; side < 2 * kSides; ++side) threads.emplace_back(add, side);
  }
  const ConfigCache all(path);
  CHECK(all.entries().size() == 2 * kSides * kEach);
  for (int side = 0; side < 2 * kSides; ++side) {
    for (int i = 0; i < kEach; ++i) {
      CHECK(all.get(key(std::to_string(side) + "/" + std::to_string(i))) == config(side * 100 + i));
    }
  }
}

TEST_CASE("config cache: get, put and clear work without a file", "[attention]") {
  ConfigCache cache;
  CHECK_FALSE(cache.get(key("a")));
  cache.put(key("a"), config(1));
  cache.put(key("a"), config(2));
  CHECK(cache.get(key("a")) == config(2));
  CHECK(cache.size() == 1);
  CHECK(cache.entries().at(key("a")) == config(2));
  cache.clear();
  CHECK(cache.size() == 0);
}

TEST_CASE("config cache: says if a config came from the file, and forgets unsaved ones",
          "[attention]") {
  const Folder folder;
  const std::string path = folder / "c.txt";
  ConfigCache(path).put(key("a"), config(1));
  ConfigCache cache(path);
  CHECK(cache.find(key("a"))->source == ConfigSource::kFile);
  CHECK(cache.find(key("a"))->source == ConfigSource::kMemory);
  cache.put_unsaved(key("a"), config(2));
  cache.put_unsaved(key("b"), config(3));
  cache.put(key("c"), config(4));
  CHECK(cache.get(key("a")) == config(2));
  CHECK(ConfigCache(path).get(key("a")) == config(1));
  CHECK_FALSE(ConfigCache(path).get(key("b")));
  {
    const OverlayCache overlay({{key("a"), config(5)}});
    CHECK(cache.find(key("a"))->source == ConfigSource::kOverlay);
    CHECK(cache.find(key("a"))->config == config(5));
    CHECK(cache.get(key("a")) == config(2));
  }
  cache.clear();
  CHECK(cache.get(key("a")) == config(1));
  CHECK_FALSE(cache.find(key("b")));
  CHECK(cache.size() == 2);
}

}  // namespace

}  // namespace runtime_cache_cases
