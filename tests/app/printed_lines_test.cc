// Every line that info, recognise and diff print of drawn masks, biases and documents is true of
// the plain cells, and a line with one number or word changed is not. A line that nothing checks
// fails.
#include <fmt/format.h>

#include <optional>
#include <random>
#include <string>

#include "app/printed.h"
#include "base/scratch.h"
#include "inspect/sentences/diff_lines.h"
#include "inspect/sentences/drawn_masks.h"
#include "inspect/sentences/draws_asked.h"
#include "inspect/sentences/info_lines.h"
#include "inspect/sentences/lies.h"
#include "inspect/sentences/recognise_lines.h"
#include "maskctl/io/array_io.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

BindContext files() {
  BindContext out;
  out.read_array = [](const std::string& source) { return read_array(source); };
  return out;
}

Tensor array_of(const Mask& mask) { return dense_from_mask(mask, Index{1} << 24); }

/// Drawn document ids of queries and keys: one row, or one per batch entry.
struct DrawnIds {
  GivenIds ids;
  Tensor q, kv;
};
DrawnIds drawn_ids(std::mt19937_64& random, const Mask& mask) {
  const auto pick = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  const Index rows = pick(0, 1) == 0 ? 1 : mask.batch();
  DrawnIds out{{},
               Tensor(DType::kInt32, {rows, mask.queries()}),
               Tensor(DType::kInt32, {rows, mask.keys()})};
  const auto fill = [&](Tensor& array, Index tokens, std::vector<std::vector<Index>>& plain) {
    const auto numbers = array.as<std::int32_t>();
    for (Index row = 0; row < rows; ++row) {
      std::vector<Index>& line = plain.emplace_back();
      Index id = pick(-1, 1);
      for (Index i = 0; i < tokens; ++i) {
        if (pick(0, 6) == 0) id = pick(-1, 4);
        line.push_back(id);
        numbers[static_cast<std::size_t>(row * tokens + i)] = static_cast<std::int32_t>(id);
      }
    }
  };
  fill(out.q, mask.queries(), out.ids.q);
  fill(out.kv, mask.keys(), out.ids.k);
  if (mask.queries() == mask.keys()) out.kv = out.q, out.ids.k = out.ids.q;
  return out;
}

/// Writes the ids into files, and returns the SOURCE of both.
std::string written(const DrawnIds& ids, const Scratch& scratch) {
  const std::string q = scratch / "q.npy", kv = scratch / "kv.npy";
  write_array(q, ids.q, {.force = true});
  write_array(kv, ids.kv, {.force = true});
  return "q=" + q + ",kv=" + kv;
}

struct Tally {
  Index lines = 0, lies = 0, believed = 0;
  Index by_chance = 0;  // other steps that leave as many cells, so that all is true
};

TEST_CASE("recognise: every line is true, and no law believes another", "[sentences]") {
  const Scratch scratch;
  Tally tally;
  const Index draws = draws_asked(200);
  for (Index i = 0; i < draws; ++i) {
    const std::uint64_t seed = first_draw() + static_cast<std::uint64_t>(i);
    const Mask mask = MaskDraws(seed + 7000).mask();
    std::mt19937_64 random(seed);
    const DrawnIds ids = drawn_ids(random, mask);
    const bool with_ids = seed % 3 == 0;
    const std::string file = scratch / "recognised.npz";
    std::vector<std::pair<std::string, std::string>> options{
        {"--as", "dense"}, {"--write", file}, {"--force", ""}};
    if (with_ids) options.emplace_back("--segments", written(ids, scratch));
    const Arrays arrays{{"mask.npy", array_of(mask)}};
    const Printed said = printed("recognise", arrays, {"mask.npy"}, options);
    Printed whole = said;
    if (said.text.find("; --all prints the pipeline\n") != std::string::npos) {
      options.emplace_back("--all", "");
      whole = printed("recognise", arrays, {"mask.npy"}, options);
    }
    const Dense cells = twin::dense_of(mask);
    RecogniseLines laws(cells, with_ids ? std::optional(ids.ids) : std::nullopt, files());
    const std::string wrong = laws.wrong(said.text, said.status, whole.text);
    tally.lines += std::ranges::count(said.text, '\n');
    if (!wrong.empty()) FAIL_CHECK("mask " << seed << ": " << wrong << "\n" << said.text);
    if (i % draws_per_lie() > 0) continue;
    const Dense made = laws.made();
    for (Index n = 0; const auto lie = with_lie(said.text, n); ++n) {
      ++tally.lies;
      // The pipeline is judged as it is printed in full, so the lie goes into the full report too.
      const std::string in_whole = said.text == whole.text ? *lie : whole.text;
      const std::string found = laws.wrong(*lie, said.status, in_whole);
      // Another pipeline may make the same cells, or leave as many: then it is no lie.
      const auto line = [](const std::string& text) {
        const std::size_t begin = text.find("pipeline");
        return text.substr(begin, text.find('\n', begin) - begin);
      };
      if (!found.empty()) continue;
      if (line(*lie) != line(said.text)) {
        tally.by_chance += laws.made() != made;
        continue;
      }
      ++tally.believed;
      FAIL_CHECK("mask " << seed << " believes\n" << *lie << "for\n" << said.text);
    }
  }
  INFO(tally.lines << " lines");
  CHECK(tally.believed == 0);
  CHECK(tally.by_chance <= 2 + tally.lies / 50);
  CHECK(tally.lies > 6 * draws / draws_per_lie());
}

TEST_CASE("diff: every line is true, and no law believes another", "[sentences]") {
  const Scratch scratch;
  Tally tally;
  const Index draws = draws_asked(100);
  for (Index i = 0; i < draws; ++i) {
    const std::uint64_t seed = first_draw() + static_cast<std::uint64_t>(i);
    const DrawnPair pair = MaskDraws(seed + 31000).pair();
    std::mt19937_64 random(seed);
    const DrawnIds ids = drawn_ids(random, pair.a);
    const bool with_ids = seed % 3 == 0;
    std::vector<std::pair<std::string, std::string>> options{
        {"--as", "dense"}, {"--write", scratch / "diff.npz"}, {"--force", ""}, {"--all", ""}};
    if (with_ids) options.emplace_back("--segments", written(ids, scratch));
    const Arrays arrays{{"a", array_of(pair.a)}, {"b", array_of(pair.b)}};
    const Printed said = printed("diff", arrays, {"a", "b"}, options);
    const auto edit = [&pair] {
      const auto cause =
          diff_cause(mask_from_dense(array_of(pair.a)), mask_from_dense(array_of(pair.b)));
      return cause ? cause->edit : Chain{};
    };
    DiffLines laws(pair.a, pair.b, edit, with_ids ? std::optional(ids.ids) : std::nullopt, files());
    const std::string wrong = laws.wrong(said.text, said.status);
    tally.lines += std::ranges::count(said.text, '\n');
    if (!wrong.empty()) FAIL_CHECK("pair " << seed << ": " << wrong << "\n" << said.text);
    if (i % draws_per_lie() > 0) continue;
    const std::vector<Dense> made = laws.made();
    for (Index n = 0; const auto lie = with_lie(said.text, n); ++n) {
      ++tally.lies;
      const auto steps = [](const std::string& text) {
        static const std::regex lines("\n(A is|B is|edit)  .*?(, except for .*)?(?=\n)");
        static const std::regex crossed(R"( \(document \d+ sees document \d+\))");
        return std::regex_replace(std::regex_replace(text, lines, "\n$1$2"), crossed, "");
      };
      if (!laws.wrong(*lie, said.status).empty()) continue;
      // Changed steps that make the same cells, or leave as many unexplained, are no lie; nor are
      // documents that another rule numbers so.
      if (steps(*lie) == steps(said.text)) {
        tally.by_chance += laws.made() != made;
        continue;
      }
      ++tally.believed;
      FAIL_CHECK("pair " << seed << " believes\n" << *lie << "for\n" << said.text);
    }
  }
  CHECK(tally.believed == 0);
  CHECK(tally.by_chance <= 2 + tally.lies / 50);
  CHECK(tally.lies > 12 * draws / draws_per_lie());
}

/// Draws arrays as programs store masks: flags, biases with several minima, additive numbers,
/// padding, ids.
class ArrayDraws {
 public:
  explicit ArrayDraws(std::uint64_t seed) : random_(seed), masks_(seed + 400) {}

  struct Drawn {
    Tensor array;
    StoredArray plain;
    std::string as;  // empty: not said
  };
  Drawn next() {
    const Index kind = pick(0, 5);
    if (kind > 2) return of_tokens(kind);
    const Mask mask = masks_.mask();
    Drawn out;
    out.plain.shape = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
    const Dense cells = twin::dense_of(mask);
    constexpr std::array kMinima{-std::numeric_limits<double>::infinity(),
                                 -static_cast<double>(std::numeric_limits<float>::max()), -1e9,
                                 -10000.0};
    const double low = kMinima[static_cast<std::size_t>(pick(0, 3))];
    const double other = kMinima[static_cast<std::size_t>(pick(0, 2))];
    const bool mixed = pick(0, 3) == 0 && low != -10000.0, adds = kind == 2;
    each_cell(cells, [&](const Cell& cell) {
      const bool open = at(cells, cell);
      const double value = kind == 0 ? open : open ? 0 : mixed && pick(0, 1) ? other : low;
      const double distance = static_cast<double>(cell.key - cell.query);
      out.plain.values.push_back(adds && open ? -0.125 * std::abs(distance) : value);
    });
    out.as = kind == 0 ? "dense" : pick(0, 1) ? "bias" : "";
    return stored(std::move(out), kind == 0 ? DType::kBool : DType::kFloat32);
  }

 private:
  Index pick(Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random_);
  }
  Drawn of_tokens(Index kind) {
    Drawn out;
    const Index tokens = pick(2, 40);
    out.plain.shape = {pick(1, 3), tokens};
    if (pick(0, 2) == 0) out.plain.shape.erase(out.plain.shape.begin());
    const Index rows = out.plain.shape.size() == 1 ? 1 : out.plain.shape[0];
    for (Index row = 0; row < rows; ++row) {
      const Index real = pick(1, tokens);
      Index id = 0;
      for (Index i = 0; i < tokens; ++i) {
        if (pick(0, 5) == 0) ++id;
        out.plain.values.push_back(kind == 5 ? static_cast<double>(id) : i < real ? 1 : 0);
      }
    }
    constexpr std::array kKinds{"key-padding", "padding", "segments"};
    if (pick(0, 3) > 0) out.as = kKinds[static_cast<std::size_t>(kind - 3)];
    return stored(std::move(out), kind == 5 ? DType::kInt32 : DType::kInt64);
  }
  static Drawn stored(Drawn out, DType dtype) {
    out.array = Tensor(dtype, out.plain.shape);
    out.plain.dtype = name(dtype);
    out.plain.name = "array.npy";
    for (std::size_t i = 0; i < out.plain.values.size(); ++i) {
      const double value = out.plain.values[i];
      if (dtype == DType::kBool) out.array.as<std::uint8_t>()[i] = value != 0;
      if (dtype == DType::kFloat32) out.array.as<float>()[i] = static_cast<float>(value);
      if (dtype == DType::kInt32)
        out.array.as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
      if (dtype == DType::kInt64)
        out.array.as<std::int64_t>()[i] = static_cast<std::int64_t>(value);
    }
    return out;
  }

  std::mt19937_64 random_;
  MaskDraws masks_;
};

TEST_CASE("info: every line is true, and no law believes another", "[sentences]") {
  const Scratch scratch;
  Tally tally;
  const Index draws = draws_asked(600);
  for (Index i = 0; i < draws; ++i) {
    const std::uint64_t seed = first_draw() + static_cast<std::uint64_t>(i);
    ArrayDraws::Drawn drawn = ArrayDraws(seed).next();
    drawn.plain.name = scratch / "array.npy";
    write_array(drawn.plain.name, drawn.array, {.force = true});
    std::vector<std::pair<std::string, std::string>> options;
    if (!drawn.as.empty()) options.emplace_back("--as", drawn.as);
    const Printed said = printed("info", {}, {drawn.plain.name}, options);
    InfoLines laws(drawn.plain);
    const std::string wrong = laws.wrong(said.text);
    tally.lines += std::ranges::count(said.text, '\n');
    if (!wrong.empty()) FAIL_CHECK("array " << seed << ": " << wrong << "\n" << said.text);
    if (i % draws_per_lie() > 0) continue;
    // The lines with the file name and the memory claim nothing about cells.
    const std::size_t claims = said.text.find('\n'), held = said.text.find("\n  memory");
    for (Index n = 0; const auto lie = with_lie(said.text.substr(claims, held - claims), n); ++n) {
      ++tally.lies;
      if (!laws.wrong(said.text.substr(0, claims) + *lie).empty()) continue;
      ++tally.believed;
      FAIL_CHECK("array " << seed << " believes\n" << *lie << "for\n" << said.text);
    }
  }
  CHECK(tally.believed == 0);
  CHECK(tally.lies > 2 * draws / draws_per_lie());
}

}  // namespace
}  // namespace maskctl::test
