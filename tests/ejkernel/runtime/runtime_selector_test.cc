// Tests the order in which a config is looked for, what each step remembers and announces, and the
// tuner.
#include <atomic>
#include <thread>

#include "base/scratch.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/runtime/selector.h"
#include "support/catch_compat.h"

namespace runtime_selector_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

AnyConfig config(Index splits) { return PageAttentionConfig{.num_splits = splits}; }
Index splits_of(const AnyConfig& any) { return std::get<PageAttentionConfig>(any).num_splits; }

/// A call whose candidate configs 1, 2 and 3 take 3, 1 and 2 seconds on a clock of its own.
struct FakeCall : TunableCall {
  double now = 0;
  mutable std::atomic<int> runs{0}, backward_runs{0};
  std::vector<AnyConfig> candidates = {config(1), config(2), config(3)};
  std::optional<AnyConfig> heuristic = config(9);
  Index failing = 0;
  bool tunable = true;

  bool tunes() const override { return tunable; }
  std::optional<AnyConfig> heuristic_cfg() const override { return heuristic; }
  std::vector<AnyConfig> candidate_cfgs() const override { return candidates; }
  void run(const AnyConfig& any, bool backward) const override {
    ++runs;
    if (backward) ++backward_runs;
    if (splits_of(any) == failing || failing < 0) throw Error(Errc::kShape, "bad candidate");
    constexpr double kSeconds[] = {0, 3, 1, 2};
    const_cast<FakeCall*>(this)->now += kSeconds[splits_of(any) % 4];
  }
  Clock clock() {
    return [this] { return now; };
  }
};

struct Log {
  std::vector<std::string> lines;
  OnEvent sink() {
    return [this](const SelectionEvent& event) {
      lines.push_back(std::string(event.name) + (event.level.empty() ? "" : ":") +
                      std::string(event.level));
    };
  }
};

Invocation call(const std::string& text, std::optional<AnyConfig> override_cfg = {}) {
  return {{"cpu", "op@v0", text}, std::move(override_cfg)};
}

struct CacheFile {
  test::Scratch folder;
  std::shared_ptr<ConfigCache> open() const {
    return std::make_shared<ConfigCache>(folder / "c.txt");
  }
};

ConfigSelectorChain::Options options_of(FakeCall& fake, Log& log) {
  ConfigSelectorChain::Options options;
  options.tuner = Tuner({.warmup = 1, .iters = 3, .budget_seconds = 1000}, fake.clock());
  options.on_event = log.sink();
  return options;
}

using Lines = std::vector<std::string>;

TEST_CASE("selector: tunes each key once, then uses the stored config", "[attention]") {
  FakeCall fake;
  Log log;
  ConfigSelectorChain chain(options_of(fake, log));
  CHECK(chain.choose(call("a"), fake) == config(2));
  CHECK(fake.runs == 3 * 4);
  CHECK(chain.choose(call("a"), fake) == config(2));
  CHECK(fake.runs == 3 * 4);
  CHECK(chain.choose(call("b"), fake) == config(2));
  CHECK(fake.runs == 2 * 3 * 4);
  CHECK(fake.backward_runs == 0);
  CHECK(log.lines == Lines{"autotune_start", "autotune_finish", "cache_hit:memory",
                           "autotune_start", "autotune_finish"});
  REQUIRE(chain.tuned().entries.size() == 2);
  CHECK(chain.tuned().entries[0].measurements[1].seconds == 1);
  CHECK(chain.tuned().entries[0].measurements[1].runs == 3);
}

TEST_CASE("selector: an override wins over all, and is not written to the file", "[attention]") {
  const CacheFile file;
  FakeCall fake;
  Log log;
  auto options = options_of(fake, log);
  options.cache = file.open();
  ConfigSelectorChain chain(std::move(options));
  chain.choose(call("a"), fake);
  const OverlayCache overlay({{call("a").key, config(5)}});
  CHECK(chain.choose(call("a", config(7)), fake) == config(7));
  CHECK(chain.cache().get(call("a").key) == config(7));
  CHECK(file.open()->get(call("a").key) == config(2));
  chain.choose(call("b", config(7)), fake);
  CHECK_FALSE(file.open()->get(call("b").key));
  CHECK(log.lines.back() == "override");
  CHECK_THROWS_AS(chain.choose(call("b", config(-7)), fake), Error);
}

TEST_CASE("selector: an override also wins under the heuristics policy", "[attention]") {
  FakeCall fake;
  Log log;
  auto options = options_of(fake, log);
  options.policy.cache_miss_fallback = CacheMiss::kHeuristics;
  ConfigSelectorChain chain(std::move(options));
  CHECK(chain.choose(call("a", config(7)), fake) == config(7));
  CHECK(chain.choose(call("b"), fake) == config(9));
  CHECK(chain.choose(call("b"), fake) == config(9));
  CHECK(fake.runs == 0);
  CHECK(log.lines == Lines{"override", "heuristics", "cache_hit:memory"});
}

TEST_CASE("selector: the innermost overlay wins while it exists", "[attention]") {
  FakeCall fake;
  Log log;
  ConfigSelectorChain chain(options_of(fake, log));
  {
    const OverlayCache outer({{call("a").key, config(5)}, {call("b").key, config(6)}});
    {
      const OverlayCache inner({{call("a").key, config(4)}});
      CHECK(chain.choose(call("a"), fake) == config(4));
      CHECK(chain.choose(call("b"), fake) == config(6));
      std::jthread([&] { CHECK(OverlayCache::find(call("a").key) == nullptr); });
    }
    CHECK(chain.choose(call("a"), fake) == config(5));
  }
  CHECK(log.lines == Lines{"overlay_hit", "overlay_hit", "overlay_hit"});
  CHECK(chain.cache().size() == 0);
  CHECK(chain.choose(call("a"), fake) == config(2));
}

TEST_CASE("selector: with the file of a cache, another process need not tune", "[attention]") {
  const CacheFile file;
  FakeCall fake;
  Log log;
  {
    auto options = options_of(fake, log);
    options.cache = file.open();
    ConfigSelectorChain(std::move(options)).choose(call("a"), fake);
  }
  const int runs = fake.runs;
  auto options = options_of(fake, log);
  options.cache = file.open();
  ConfigSelectorChain chain(std::move(options));
  CHECK(chain.choose(call("a"), fake) == config(2));
  CHECK(chain.choose(call("a"), fake) == config(2));
  CHECK(fake.runs == runs);
  CHECK(log.lines ==
        Lines{"autotune_start", "autotune_finish", "cache_hit:persistent", "cache_hit:memory"});
}

TEST_CASE("selector: with persist_autotune off, tuned configs are not written to the file",
          "[attention]") {
  const CacheFile file;
  FakeCall fake;
  Log log;
  auto options = options_of(fake, log);
  options.cache = file.open();
  options.persist_autotune = false;
  ConfigSelectorChain chain(std::move(options));
  chain.choose(call("a"), fake);
  CHECK(file.open()->entries().empty());
  chain.set_policy({.cache_miss_fallback = CacheMiss::kHeuristics});
  chain.choose(call("b"), fake);
  CHECK(file.open()->get(call("b").key) == config(9));
}

TEST_CASE("selector: a policy that allows neither tuning nor heuristics is an error",
          "[attention]") {
  FakeCall fake;
  Log log;
  ConfigSelectorChain chain(options_of(fake, log));
  {
    const PolicyOverride none(chain, {.allow_autotune = false, .allow_heuristics = false});
    CHECK_THROWS_WITH(chain.choose(call("a"), fake),
                      "op@v0: no config is known, and the policy allows neither tuning nor "
                      "heuristics");
    CHECK(log.lines.back() == "error");
  }
  {
    const PolicyOverride no_tuning(chain, {.allow_autotune = false});
    CHECK(chain.choose(call("a"), fake) == config(9));
  }
  CHECK(chain.choose(call("b"), fake) == config(2));
  const PolicyOverride both(chain, {.validate_backward = true});
  chain.choose(call("c"), fake);
  CHECK(fake.backward_runs == 12);
  fake.tunable = false;
  CHECK(chain.choose(call("d"), fake) == config(9));
}

TEST_CASE("selector: a key is tuned again unless forbid_reautotune is set", "[attention]") {
  const bool forbid = GENERATE(true, false);
  FakeCall fake;
  Log log;
  auto options = options_of(fake, log);
  options.forbid_reautotune = forbid;
  ConfigSelectorChain chain(std::move(options));
  chain.choose(call("a"), fake);
  chain.cache().clear();
  if (forbid) {
    CHECK_THROWS_AS(chain.choose(call("a"), fake), Error);
  } else {
    CHECK(chain.choose(call("a"), fake) == config(2));
  }
}

TEST_CASE("selector: candidates that fail are dropped; if all fail, the call's error is thrown",
          "[attention]") {
  FakeCall fake;
  Log log;
  ConfigSelectorChain chain(options_of(fake, log));
  fake.failing = 2;
  CHECK(chain.choose(call("a"), fake) == config(3));
  CHECK(chain.tuned().entries[0].measurements[1].error == "bad candidate");
  fake.failing = -1;
  try {
    chain.choose(call("b"), fake);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == Errc::kShape);
  }
  fake.candidates.clear();
  CHECK_THROWS_AS(chain.choose(call("c"), fake), Error);
  CHECK(chain.cache().size() == 1);
}

TEST_CASE("selector: a single candidate is not measured", "[attention]") {
  FakeCall fake;
  Log log;
  ConfigSelectorChain chain(options_of(fake, log));
  fake.candidates = {config(1)};
  CHECK(chain.choose(call("a"), fake) == config(1));
  CHECK(fake.runs == 0);
}

TEST_CASE("selector: tuned configs can be used as an overlay of another selector", "[attention]") {
  FakeCall fake;
  Log log;
  ConfigSelectorChain tuned(options_of(fake, log)), other(options_of(fake, log));
  tuned.choose(call("a"), fake);
  const int runs = fake.runs;
  const OverlayCache overlay(tuned.tuned().as_overlay());
  CHECK(other.choose(call("a"), fake) == config(2));
  CHECK(fake.runs == runs);
}

TEST_CASE("selector: threads that ask for one new key tune it once", "[attention]") {
  FakeCall fake;
  ConfigSelectorChain::Options options;
  options.tuner = Tuner({.warmup = 0, .iters = 2, .budget_seconds = 1000});
  ConfigSelectorChain chain(std::move(options));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { chain.choose(call("a"), fake); });
  }
  CHECK(fake.runs == 6);
  CHECK(chain.tuned().entries.size() == 1);
}

TEST_CASE("selector: events are printed as lines of a log", "[attention]") {
  FakeCall fake;
  fake.failing = 3;
  std::vector<std::string> lines;
  Log unused;
  auto options = options_of(fake, unused);
  options.on_event = [&](const SelectionEvent& event) { lines.push_back(to_text(event)); };
  ConfigSelectorChain chain(std::move(options));
  chain.choose(call("x=1"), fake);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "autotune_start op@v0 x=1");
  const std::string tail = " num_warps=4 num_stages=1";
  const std::string head = "PageAttentionConfig platform=auto backend=any num_splits=";
  CHECK(lines[1] == "autotune_finish op@v0 x=1: " + head + "2" + tail +  //
                        "\n  " + head + "1" + tail + ": 3000.000000 ms" + "\n  " + head + "2" +
                        tail + ": 1000.000000 ms" + "\n  " + head + "3" + tail +
                        ": failed: bad candidate");
}

TEST_CASE("tuner: returns the median of the timed runs, within a time budget", "[attention]") {
  double now = 0;
  std::vector<double> seconds = {100, 5, 1, 9};  // 100 is for the warm-up run
  std::size_t next = 0;
  const std::vector<AnyConfig> one = {config(1)};
  const auto run = [&](const AnyConfig&) { now += seconds[next++ % seconds.size()]; };
  const Clock clock = [&] { return now; };
  const auto all = Tuner({.warmup = 1, .iters = 3, .budget_seconds = 1e9}, clock).measure(one, run);
  CHECK(all[0].seconds == 5);
  CHECK(all[0].runs == 3);
  next = 0;
  const auto cut = Tuner({.warmup = 1, .iters = 3, .budget_seconds = 50}, clock).measure(one, run);
  CHECK(cut[0].seconds == 100);
  CHECK(cut[0].runs == 1);
  CHECK_THROWS_AS(best_of<AnyConfig>({}), Error);
}

}  // namespace

}  // namespace runtime_selector_cases
