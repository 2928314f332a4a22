// Functions on rows of bits and rows of runs, against loops over single cells.
#include "maskctl/mask/planes/words.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl {
namespace {

using Cells = std::vector<std::uint8_t>;  // one 0 or 1 for each key
using Words = std::vector<std::uint64_t>;
using Runs = std::vector<Run>;

Words words_of(const Cells& cells) {
  Words words(static_cast<std::size_t>(words_for(static_cast<Index>(cells.size()))));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] != 0) words[i / 64] |= std::uint64_t{1} << (i % 64);
  }
  return words;
}

Runs runs_of(const Cells& cells) {
  Runs runs;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == 0) continue;
    if (i > 0 && cells[i - 1] != 0) {
      ++runs.back().end;
    } else {
      runs.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i) + 1});
    }
  }
  return runs;
}

Cells combined(Op op, const Cells& a, const Cells& b) {
  Cells out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = twin::apply_op(op, a[i] != 0, b[i] != 0);
  return out;
}

constexpr Op kOps[] = {Op::kAnd, Op::kOr, Op::kXor, Op::kSub};

// Rows of n cells: empty, full, single cells, alternating, and random rows with runs of every
// length.
std::vector<Cells> rows_of_size(std::size_t n, std::mt19937& random) {
  std::vector<Cells> rows = {Cells(n, 0), Cells(n, 1)};
  if (n == 0) return rows;
  for (std::size_t at : {std::size_t{0}, n / 2, n - 1}) {
    rows.emplace_back(n, std::uint8_t{0})[at] = 1;
    rows.emplace_back(n, std::uint8_t{1})[at] = 0;
  }
  for (std::uint8_t phase : {0, 1}) {
    Cells& row = rows.emplace_back(n);
    for (std::size_t i = 0; i < n; ++i) row[i] = (i + phase) % 2;
  }
  for (unsigned change_every : {2U, 3U, 10U, 60U, 200U}) {
    Cells& row = rows.emplace_back(n);
    std::uint8_t value = random() % 2;
    for (std::uint8_t& cell : row) {
      if (random() % change_every == 0) value ^= 1;
      cell = value;
    }
  }
  return rows;
}

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> sizes = {255, 256, 257, 511, 512, 513, 1000, 4096, 4099};
  for (std::size_t n = 0; n <= 200; ++n) sizes.push_back(n);
  return sizes;
}

// Checks that check(row, random) holds for rows of many sizes and patterns.
template <typename Check>
void for_all_rows(Check&& check) {
  std::mt19937 random(7);
  std::size_t failed = 0, first = 0;
  for (std::size_t n : sizes()) {
    for (const Cells& row : rows_of_size(n, random)) {
      if (!check(row, random) && failed++ == 0) first = n;
    }
  }
  INFO("first failing row has " << first << " cells");
  REQUIRE(failed == 0);
}

// Fills the array around a span, to show writes outside of the span.
constexpr std::uint64_t kGuardWord = 0xA5A5A5A5A5A5A5A5;

TEST_CASE("bytes other than 0 are packed to 1") {
  for_all_rows([](const Cells& row, std::mt19937& random) {
    // The bytes start at an odd address: the loops must not need alignment.
    Cells bytes(row.size() + 1);
    for (std::size_t i = 0; i < row.size(); ++i) {
      bytes[i + 1] = static_cast<std::uint8_t>(row[i] == 0 ? 0 : 1 + random() % 255);
    }
    const Words expected = words_of(row);
    Words words(expected.size() + 2, kGuardWord);
    pack_bytes({bytes.data() + 1, row.size()}, {words.data() + 1, expected.size()});
    return words.front() == kGuardWord && words.back() == kGuardWord &&
           std::equal(expected.begin(), expected.end(), words.begin() + 1);
  });
}

TEST_CASE("words are unpacked to bytes of 0 and 1, and no byte after them is written") {
  for_all_rows([](const Cells& row, std::mt19937&) {
    Words words = words_of(row);
    Cells bytes(row.size() + 2, 0xA5);
    unpack_bytes(words, {bytes.data() + 1, row.size()});
    return bytes.front() == 0xA5 && bytes.back() == 0xA5 &&
           std::equal(row.begin(), row.end(), bytes.begin() + 1);
  });
}

TEST_CASE("words are combined word by word, also in place") {
  for_all_rows([](const Cells& row, std::mt19937& random) {
    Cells other(row.size());
    for (std::uint8_t& cell : other) cell = random() % 2;
    bool good = true;
    for (Op op : kOps) {
      const Words a = words_of(row), b = words_of(other),
                  expected = words_of(combined(op, row, other));
      Words out(a.size() + 1, kGuardWord), in_a = a, in_b = b;
      combine_words(op, a, b, {out.data(), a.size()});
      combine_words(op, in_a, b, in_a);
      combine_words(op, a, in_b, in_b);
      good = good && out.back() == kGuardWord && in_a == expected && in_b == expected &&
             std::equal(expected.begin(), expected.end(), out.begin());
    }
    return good;
  });
}

TEST_CASE("bits are counted over all words and over any range") {
  for_all_rows([](const Cells& row, std::mt19937& random) {
    const Words words = words_of(row);
    const Index n = static_cast<Index>(row.size());
    if (popcount(words) != std::count(row.begin(), row.end(), 1)) return false;
    for (int i = 0; i < 20; ++i) {
      const Index begin = static_cast<Index>(random()) % (n + 1);
      const Index end = i == 0 ? n : begin + static_cast<Index>(random()) % (n + 1 - begin);
      if (popcount(words, {begin, end}) != std::count(row.begin() + begin, row.begin() + end, 1)) {
        return false;
      }
    }
    return true;
  });
}

TEST_CASE("words are converted to runs, appended to existing ones, and back") {
  for_all_rows([](const Cells& row, std::mt19937&) {
    const Words words = words_of(row);
    const Runs expected = runs_of(row);
    Runs runs = {{1, 2}};
    words_to_runs(words, runs);
    Words back(words.size() + 1, kGuardWord);
    runs_to_words(expected, {back.data(), words.size()});
    return runs.front() == Run{1, 2} && Runs(runs.begin() + 1, runs.end()) == expected &&
           count_runs(words) == static_cast<Index>(expected.size()) && back.back() == kGuardWord &&
           std::equal(words.begin(), words.end(), back.begin());
  });
}

TEST_CASE("set_bits sets a range and keeps all other bits") {
  std::mt19937 random(11);
  std::size_t failed = 0;
  for (int i = 0; i < 3000; ++i) {
    const Index n = 1 + static_cast<Index>(random()) % 200;
    Cells row(static_cast<std::size_t>(n));
    for (std::uint8_t& cell : row) cell = random() % 4 == 0;
    const Index begin = static_cast<Index>(random()) % (n + 1);
    const Index end = static_cast<Index>(random()) % (n + 1);  // before begin: sets nothing
    Words words = words_of(row);
    set_bits(words, {begin, end});
    for (Index k = begin; k < end; ++k) row[static_cast<std::size_t>(k)] = 1;
    failed += words != words_of(row);
  }
  REQUIRE(failed == 0);
}

TEST_CASE("combined runs ascend and do not touch") {
  for_all_rows([](const Cells& row, std::mt19937& random) {
    bool good = true;
    for (const Cells& other : rows_of_size(row.size(), random)) {
      for (Op op : kOps) {
        Runs out = {{-5, -4}};
        combine_runs(op, runs_of(row), runs_of(other), out);
        good = good && out.front() == Run{-5, -4} &&
               Runs(out.begin() + 1, out.end()) == runs_of(combined(op, row, other));
      }
    }
    return good;
  });
}

TEST_CASE("runs of all pairs of rows of eight cells are combined as single cells are") {
  std::vector<Cells> rows;
  std::vector<Runs> runs;
  for (unsigned bits = 0; bits < 256; ++bits) {
    Cells row(8);
    for (std::size_t i = 0; i < 8; ++i) row[i] = bits >> i & 1;
    rows.push_back(row);
    runs.push_back(runs_of(row));
  }
  std::size_t failed = 0;
  Runs out;
  for (Op op : kOps) {
    for (std::size_t a = 0; a < 256; ++a) {
      for (std::size_t b = 0; b < 256; ++b) {
        out.clear();
        combine_runs(op, runs[a], runs[b], out);
        const std::size_t expected = op == Op::kAnd   ? a & b
                                     : op == Op::kOr  ? a | b
                                     : op == Op::kXor ? a ^ b
                                                      : a & ~b;
        failed += out != runs[expected];
      }
    }
  }
  REQUIRE(failed == 0);
}

TEST_CASE("runs are cut to a range and moved to begin at 0") {
  for_all_rows([](const Cells& row, std::mt19937& random) {
    const Index n = static_cast<Index>(row.size());
    for (int i = 0; i < 10; ++i) {
      const Index begin = static_cast<Index>(random()) % (n + 1);
      const Index end = begin + static_cast<Index>(random()) % (n + 1 - begin);
      const Runs expected = runs_of(Cells(row.begin() + begin, row.begin() + end));
      Runs out = {{-5, -4}}, kept;
      clip_runs(runs_of(row), {begin, end}, begin, out);
      clip_runs(runs_of(row), {begin, end}, 0, kept);
      for (Run& run : kept) {
        run.begin -= static_cast<std::int32_t>(begin);
        run.end -= static_cast<std::int32_t>(begin);
      }
      if (Runs(out.begin() + 1, out.end()) != expected || kept != expected) return false;
    }
    return true;
  });
}

}  // namespace
}  // namespace maskctl
