// The first open key and the hull of each row, of runs and of words, against a loop over cells.
#include "maskctl/mask/planes/row_lists/row_keys.h"

#include <random>

#include "maskctl/mask/planes/words.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using Flags = std::vector<std::uint8_t>;

Index slow_first(const Flags& flags, Range range) {
  for (Index key = range.begin; key < std::min(range.end, std::ssize(flags)); ++key) {
    if (flags[as_size(key)] != 0) return key;
  }
  return -1;
}

Range slow_hull(const Flags& flags) {
  Range out;
  for (Index key = 0; key < std::ssize(flags); ++key) {
    if (flags[as_size(key)] == 0) continue;
    out = {out.empty() ? key : out.begin, key + 1};
  }
  return out;
}

void check_row(const Flags& flags, std::mt19937& random) {
  const std::vector<Run> runs = byte_runs(flags);
  std::vector<std::uint64_t> words(as_size(words_for(std::ssize(flags))));
  pack_bytes(flags, words);
  for (const Keys& keys : {Keys{runs, {}}, Keys{{}, words}}) {
    REQUIRE(first_open_key(keys) == slow_first(flags, {0, std::ssize(flags)}));
    REQUIRE(hull_of(keys) == slow_hull(flags));
    for (int i = 0; i < 20; ++i) {
      const auto at = [&] { return static_cast<Index>(random() % (flags.size() + 3)); };
      const Range range{at(), at()};
      REQUIRE(first_open_key(keys, range) == slow_first(flags, range));
    }
  }
}

TEST_CASE("the first key and the range of open keys of a row equal a loop over its cells") {
  std::mt19937 random(7);
  for (const std::size_t keys : {1U, 5U, 63U, 64U, 65U, 128U, 200U}) {
    for (const unsigned sparsity : {1U, 2U, 30U, 300U}) {
      Flags flags(keys);
      for (std::uint8_t& flag : flags) flag = random() % sparsity == 0;
      check_row(flags, random);
    }
    check_row(Flags(keys), random);
  }
}

}  // namespace
}  // namespace maskctl
