// Checks that `maskctl diff` of two masks of one shape never fails, plain, with --json and with
// --write, all in one process: diff_exits [--count N] [--seed N] [--first N] [--show]. Writes its
// files into the current folder.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../support/odd_masks.h"
#include "../support/ragged_masks.h"
#include "../support/random_chain.h"
#include "../support/small_masks.h"
#include "app/cli/cli.h"
#include "draws.h"
#include "maskctl/io/array_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/steps/random.h"

namespace {

using namespace maskctl;

struct TwoMasks {
  Mask a, b;
  std::string what;
};

constexpr Index kMostBytes = Index{1} << 30;

/// Two masks that have nothing in common: of random chains of steps, or of random cells, in some
/// batch entries and heads.
TwoMasks unrelated(std::mt19937_64& random) {
  const auto number = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  const Index queries = number(1, 24), keys = number(0, 1) == 0 ? queries : number(1, 32);
  const Index batch = number(1, 3), heads = number(1, 3);
  const auto plane = [&](Index, Index) -> PlanePtr {
    const Mask full(full_plane(queries, keys));
    if (number(0, 3) > 0) {
      const Chain chain = twin::ChainMaker(random, queries, keys).chain(number(1, 3));
      return maskctl::apply(full, chain).plane(0, 0);
    }
    step::Random rule;
    rule.seed = static_cast<std::uint64_t>(number(0, 1 << 20));
    return maskctl::apply(full, Step{rule}).plane(0, 0);
  };
  return {Mask::make(batch, heads, queries, keys, plane),
          Mask::make(batch, heads, queries, keys, plane), "unrelated"};
}

TwoMasks draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  switch (seed % 4) {
    case 0: {
      const twin::OddMask made = twin::OddMaskMaker(seed, 40).draw();
      return {made.odd, made.sound, made.text};
    }
    case 1: {
      const twin::RaggedPair made = twin::RaggedMaker(seed, 5, 10).draw();
      return {made.sound, made.wrong, made.text};
    }
    case 2: {
      const auto kind = static_cast<twin::SmallKind>(random() % std::size(twin::kSmallKinds));
      twin::SmallMaker maker(seed);
      const Mask a = maker.draw(kind).mask;
      const Mask flipped = a.map([&](const PlanePtr& plane) {
        const auto at = [&](Index extent) {
          const Index i = static_cast<Index>(random()) & 0xffff;
          return Range{i % extent, i % extent + 1};
        };
        const PlanePtr cell =
            rectangle(plane->queries(), plane->keys(), at(plane->queries()), at(plane->keys()));
        return combine(Op::kXor, plane, cell);
      });
      return {a, flipped, "cells in " + std::string(twin::kSmallKinds[as_size(Index(kind))])};
    }
    default:
      return unrelated(random);
  }
}

int run(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  // Each run closes standard output, so it is opened anew, as /dev/null.
  const int quiet = open("/dev/null", O_WRONLY);
  if (quiet != STDOUT_FILENO) dup2(quiet, STDOUT_FILENO), close(quiet);
  return app::run(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

int main(int argc, char** argv) {
  const Draws draws = draws_from(argc, argv, {.count = 10000});
  const int out = dup(STDOUT_FILENO);
  std::map<std::string, std::map<int, Index>> seen;
  for (Index i = draws.first; i < draws.first + draws.count; ++i) {
    const TwoMasks pair = draw(draws.seed_of(i));
    write_array("a.npy", dense_from_mask(pair.a, kMostBytes), {.force = true});
    write_array("b.npy", dense_from_mask(pair.b, kMostBytes), {.force = true});
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--json"}, {"--write", "w.npz", "--force"}}) {
      std::vector<std::string> words{"maskctl", "-q", "diff", "a.npy", "b.npy", "--as", "dense"};
      words.insert(words.end(), more.begin(), more.end());
      const int status = run(words);
      ++seen[more.empty() ? "plain" : more.front()][status];
      if (status > 1) fmt::print(stderr, "{} {}: status {}\n", i, pair.what, status);
    }
  }
  std::fflush(stdout);
  dup2(out, STDOUT_FILENO);
  bool good = true;
  for (const auto& [how, statuses] : seen) {
    fmt::print("{}:", how);
    for (const auto& [status, count] : statuses) {
      fmt::print(" {} with status {}", count, status);
      good = good && status < 2;
    }
    fmt::print("\n");
  }
  for (const char* name : {"a.npy", "b.npy", "w.npz"}) std::filesystem::remove(name);
  return good ? 0 : 1;
}
