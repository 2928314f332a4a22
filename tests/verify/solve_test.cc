// Tests solve_mask, which finds the applied mask from the arrays of a call: compares it with trying
// every set of keys, and with the known mask of random calls.
#include "maskctl/verify/solve/solve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/verify/solve/blocks.h"
#include "maskctl/verify/solve/slots.h"
#include "maskctl/verify/solve/together.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/rounds.h"
#include "support/solved_problem.h"

namespace maskctl::attention {
namespace {

using test::error_of;
using test::rounds;

/// A call of few keys under a random mask, while another random mask is declared.
struct TinyCall {
  TinyCall(std::uint64_t seed, Index keys, Index heads, DType dtype)
      : random(seed), applied{1, 1, keys, keys, {}}, declared(applied) {
    std::bernoulli_distribution coin(0.5);
    for (Index n = 0; n < keys * keys; ++n) {
      applied.open.push_back(coin(random));
      declared.open.push_back(coin(random));
    }
    request.operation = find_operation("flash_attention");
    request.declared = declared.mask();
    add_random_arrays(*request.operation,
                      {.extents = {{"B", 1},
                                   {"Tq", keys},
                                   {"Tk", keys},
                                   {"Hq", heads},
                                   {"Hkv", heads},
                                   {"D", 8},
                                   {"Dv", 8}},
                       .seed = seed,
                       .dtype = dtype},
                      request.arguments);
    request.arguments.mask = applied.mask();
    request.arguments.context.backend = Backend::kReference;
    given = run(*request.operation, request.arguments);
    given.erase("lse");
    request.arguments.mask = request.declared;
  }

  /// Returns the largest error of the outputs of a query if it saw the keys in the bits of `open`,
  /// in units of output rounding.
  double misfit(Index row, std::uint32_t open) const {
    const Tensor q = astype(request.arguments.arrays.at("query"), DType::kFloat64);
    const Tensor k = astype(request.arguments.arrays.at("key"), DType::kFloat64);
    const Tensor v = astype(request.arguments.arrays.at("value"), DType::kFloat64);
    const Tensor out = astype(given.at("out"), DType::kFloat64);
    const Index keys = applied.keys, heads = q.extent(2), dim = 8;
    double most = 0;
    for (Index h = 0; h < heads; ++h) {
      std::vector<double> sum(as_size(dim));
      double weights = 0;
      for (Index j = 0; j < keys; ++j) {
        if (!(open >> j & 1)) continue;
        double s = 0;
        for (Index x = 0; x < dim; ++x) {
          s += q.as<double>()[as_size((row * heads + h) * dim + x)] *
               k.as<double>()[as_size((j * heads + h) * dim + x)];
        }
        const double e = std::exp(s / std::sqrt(8.0));
        weights += e;
        for (Index x = 0; x < dim; ++x) {
          sum[as_size(x)] += e * v.as<double>()[as_size((j * heads + h) * dim + x)];
        }
      }
      const double unit = epsilon(given.at("out").dtype());
      double size = 0, worst = 0;
      for (Index x = 0; x < dim; ++x) {
        const double is = out.as<double>()[as_size((row * heads + h) * dim + x)];
        const double would = weights > 0 ? sum[as_size(x)] / weights : 0;
        size = std::max(size, std::abs(is));
        worst = std::max(worst, std::abs(is - would));
      }
      most = std::max(most, size > 0 ? worst / (size * unit) : (worst > 0 ? 1e9 : 0));
    }
    return most;
  }

  std::mt19937_64 random;
  twin::Cells applied, declared;
  VerifyRequest request;
  NamedResults given;
};

TEST_CASE("a solved cell has the same state in every set of keys that explains the row",
          "[solve]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat16, DType::kBFloat16);
  Index decided = 0, cells = 0;
  for (int n = 0; n < rounds(20); ++n) {
    const Index keys = 3 + n % 6;
    const TinyCall call(static_cast<std::uint64_t>(n) + 100, keys, 1 + n % 3, dtype);
    const SolvedMask solved = solve_mask(call.request, call.given);
    twin::Cells got = twin::Cells::of(solved.mask), light = twin::Cells::of(solved.light);
    twin::Cells alike = twin::Cells::of(solved.alike), unsolved = twin::Cells::of(solved.unsolved);
    for (Index i = 0; i < keys; ++i) {
      for (std::uint32_t open = 0; open < 1U << keys; ++open) {
        // A query cannot have seen keys whose error is above 1 unit of output rounding: rounding to
        // nearest makes an error of at most half a unit.
        if (call.misfit(i, open) > 1) continue;
        for (Index b = 0, h = 0, j = 0; j < keys; ++j) {
          ++cells;
          if (light.at(b, h, i, j) || alike.at(b, h, i, j) || unsolved.at(b, h, i, j)) continue;
          ++decided;
          INFO("call " << n << ", query " << i << ", key " << j);
          REQUIRE(static_cast<bool>(got.at(b, h, i, j)) == static_cast<bool>(open >> j & 1));
        }
      }
    }
  }
  CHECK(decided * 100 > cells * 95);
}

/// Draws a call whose outputs give at least one equation for each key.
twin::SolvedProblem determined(std::uint64_t seed) {
  for (twin::SolvedProblemMaker maker(seed, 160);;) {
    twin::SolvedProblem out = maker.draw();
    const bool shared = out.applied.heads == 1 && out.applied.batch == 1;
    if (shared && out.heads * out.dim >= out.applied.keys) return out;
  }
}

TEST_CASE("rows that are solved together get the answer of each row alone", "[solve][values]") {
  Index together = 0, alone = 0;
  for (int n = 0; n < 12; ++n) {  // enough calls for the shares to mean something
    const twin::SolvedProblem problem = determined(static_cast<std::uint64_t>(n) + 40);
    const solving::SolveCall call(problem.request, problem.given, 64);
    std::vector<solving::Head> heads;
    for (Index h = 0; h < problem.heads; ++h) heads.push_back({0, h});
    const Range rows{3, std::min<Index>(24, problem.applied.queries)};
    const Index keys = problem.applied.keys;
    const auto at = problem.declared.open.begin();
    const solving::OpenKeys open(at + rows.begin * keys, at + rows.end * keys);
    const std::vector<bool> wanted(as_size(rows.size()), true);
    const auto found = solving::solve_rows(call, heads, rows, open.data(), wanted, 1);
    for (Index i = rows.begin; i < rows.end; ++i) {
      const auto& one = found[as_size(i - rows.begin)];
      const solving::OpenKeys base(at + i * keys, at + (i + 1) * keys);
      const auto twin = solving::solve_all(solving::RowProblem(call, heads, i, base), 1);
      together += one && one->uncertain.empty();
      alone += twin && twin->uncertain.empty();
      if (!one || !twin) continue;
      for (Index j = 0; j < keys; ++j) {
        const bool sure = !std::ranges::binary_search(one->uncertain, j) &&
                          !std::ranges::binary_search(twin->uncertain, j);
        INFO("problem " << n << " " << problem.what << ", query " << i << ", key " << j);
        if (sure) REQUIRE(one->open[as_size(j)] == twin->open[as_size(j)]);
      }
    }
  }
  CHECK(together * 100 >= alone * 80);
}

TEST_CASE("solve decides no cell wrongly, and leaves few undecided", "[solve]") {
  const bool gradients = GENERATE(false, true);
  INFO((gradients ? "with" : "without") << " gradients");
  twin::SolvedScore all;
  const int count = rounds(24);
  for (int n = 0; n < count; ++n) {
    const twin::SolvedProblem problem =
        twin::SolvedProblemMaker(7000 + static_cast<std::uint64_t>(n), 128, gradients).draw();
    const twin::SolvedScore one = score(problem, solve_mask(problem.request, problem.given));
    INFO("problem " << n << ": " << problem.what);
    CHECK(one.wrong == 0);
    all.heavy += one.heavy, all.heavy_undecided += one.heavy_undecided;
    all.differing += one.differing, all.found += one.found;
  }
  CHECK(all.heavy_undecided * 100 <= all.heavy);
  CHECK(all.found * 100 >= all.differing * 95);
}

void check_decided(const SolvedMask& solved, const twin::Cells& applied) {
  const twin::Cells got = twin::Cells::of(solved.mask), alike = twin::Cells::of(solved.alike);
  const twin::Cells light = twin::Cells::of(solved.light);
  const twin::Cells unsolved = twin::Cells::of(solved.unsolved);
  REQUIRE(got.open.size() == applied.open.size());
  for (std::size_t n = 0; n < got.open.size(); ++n) {
    if (alike.open[n] || light.open[n] || unsolved.open[n]) continue;
    CHECK(got.open[n] == applied.open[n]);
  }
}

/// Solves a call of grouped heads under a causal mask with one cell opened and one closed and, if
/// `empties`, two queries without keys: query 10, which should see fewer keys than there are
/// channels, and query 40. `change` sets further arguments before the call runs.
twin::SolvedScore changed_call(const std::function<void(NamedArguments&)>& change, bool empties,
                               DType dtype) {
  const Index keys = 48, heads = 8;
  twin::SolvedProblem problem;
  problem.heads = heads, problem.kv_heads = 2, problem.dim = 32, problem.dtype = dtype;
  problem.declared = {1, 1, keys, keys, std::vector<std::uint8_t>(as_size(keys * keys))};
  for (Index i = 0; i < keys; ++i) {
    for (Index j = 0; j <= i; ++j) problem.declared.at(0, 0, i, j) = 1;
  }
  problem.applied = problem.declared;
  problem.applied.at(0, 0, 20, 33) = 1;
  problem.applied.at(0, 0, 30, 7) = 0;
  for (Index j = 0; empties && j < keys; ++j) {
    problem.applied.at(0, 0, 10, j) = problem.applied.at(0, 0, 40, j) = 0;
  }
  VerifyRequest& request = problem.request;
  request.operation = find_operation("flash_attention");
  request.declared = problem.declared.mask();
  add_random_arrays(
      *request.operation,
      {.extents =
           {{"B", 1}, {"Tq", keys}, {"Tk", keys}, {"Hq", heads}, {"Hkv", 2}, {"D", 32}, {"Dv", 32}},
       .seed = 9,
       .dtype = dtype},
      request.arguments);
  change(request.arguments);
  request.arguments.mask = problem.applied.mask();
  problem.given = run(*request.operation, request.arguments);
  problem.given.erase("lse");
  request.arguments.mask = request.declared;
  return score(problem, solve_mask(request, problem.given));
}

TEST_CASE("a mask is solved in calls with scale, cap, bias, sinks and other arguments", "[solve]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat16, DType::kBFloat16);
  struct Case {
    const char* name;
    std::function<void(NamedArguments&)> change;
    bool empties = false;
  };
  const auto option = [](const char* name, const char* value) {
    return [=](NamedArguments& call) { call.options[name] = value; };
  };
  const std::vector<Case> cases = {
      {"grouped heads", [](NamedArguments&) {}},
      {"scale", option("softmax_scale", "0.3")},
      {"soft cap", option("logits_soft_cap", "2")},
      {"bias",
       [](NamedArguments& c) {
         c.arrays["bias"] = random_normal({1, 8, 48, 48}, 5);
       }},
      {"sinks",
       [](NamedArguments& c) {
         c.arrays["softmax_aux"] = random_normal({8, 1}, 6);
       }},
      {"a row of zeros", [](NamedArguments&) {}, true},
      {"a row of the mean", option("empty_row", "mean"), true},
      {"a row of NaN", option("empty_row", "nan"), true},
  };
  for (const Case& one : cases) {
    INFO(one.name << ", " << name(dtype));
    const twin::SolvedScore got = changed_call(one.change, one.empties, dtype);
    CHECK(got.wrong == 0);
    CHECK(got.found == got.differing);
    CHECK(got.heavy_undecided == 0);
  }
}

TEST_CASE("a random mask is solved although large logits leave keys in doubt", "[solve][values]") {
  const DType dtype = GENERATE(DType::kFloat16, DType::kBFloat16);
  INFO(name(dtype));
  for (const std::uint64_t seed : {1, 2, 3}) {
    TinyCall call(seed, 64, 16, dtype);
    call.request.arguments.options["softmax_scale"] = "1.2";  // three times the default
    call.request.arguments.mask = call.applied.mask();
    call.given = {{"out", run(*call.request.operation, call.request.arguments).at("out")}};
    call.request.arguments.mask = call.request.declared;
    const SolvedMask solved = solve_mask(call.request, call.given);
    CHECK(solved.unsolved_rows == 0);
    CHECK(solved.undecided() - solved.light.count() <= std::ssize(call.applied.open) / 50);
    check_decided(solved, call.applied);
  }
}

TEST_CASE("keys with equal values are told apart by their weights", "[solve]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kFloat16);
  INFO(name(dtype));
  for (const std::uint64_t seed : {1, 2}) {
    TinyCall call(seed, 32, 8, DType::kFloat32);
    NamedArguments& arguments = call.request.arguments;
    // The values of every sixth key are equal, as in a text that repeats.
    Tensor& value = arguments.arrays.at("value");
    const Index row = value.elements() / 32;
    for (Index j = 6; j < 32; ++j) {
      std::copy_n(value.as<float>().begin() + (j % 6) * row, row,
                  value.as<float>().begin() + j * row);
    }
    for (auto& [name, array] : arguments.arrays) array = astype(array, dtype);
    arguments.mask = call.applied.mask();
    call.given = {{"out", run(*call.request.operation, arguments).at("out")}};
    arguments.mask = call.request.declared;
    const SolvedMask solved = solve_mask(call.request, call.given);
    CHECK(solved.undecided() <= 32);
    check_decided(solved, call.applied);
  }
}

TEST_CASE("documents of a single head are solved in rows of many keys", "[solve]") {
  const Index keys = 2048;
  twin::SolvedProblem problem;
  problem.declared = {1, 1, keys, keys, std::vector<std::uint8_t>(as_size(keys * keys))};
  problem.applied = problem.declared;
  const auto begin = [](Index i) { return i < 70 ? 0 : i < 300 ? 70 : i < 1700 ? 300 : 1700; };
  for (Index i = 0; i < keys; ++i) {
    for (Index j = 0; j <= i; ++j) {
      problem.declared.at(0, 0, i, j) = 1;
      problem.applied.at(0, 0, i, j) = j >= begin(i);
    }
  }
  VerifyRequest& request = problem.request;
  request.operation = find_operation("flash_attention");
  request.declared = problem.declared.mask();
  add_random_arrays(
      *request.operation,
      {.extents =
           {{"B", 1}, {"Tq", keys}, {"Tk", keys}, {"Hq", 1}, {"Hkv", 1}, {"D", 64}, {"Dv", 64}},
       .seed = 4,
       .dtype = DType::kFloat32},
      request.arguments);
  request.arguments.mask = problem.applied.mask();
  // Sums of the CPU's baseline vector code are less exact than the solver assumes of f32.
  request.arguments.context.backend = Backend::kReference;
  problem.given = {{"out", run(*request.operation, request.arguments).at("out")}};
  request.arguments.mask = request.declared;
  const SolvedMask solved = solve_mask(request, problem.given);
  CHECK(solved.unsolved_rows == 0);
  CHECK(solved.undecided() == 0);
  CHECK(twin::Cells::of(solved.mask).open == problem.applied.open);
}

Tensor integers(std::vector<Index> shape, const std::vector<std::int32_t>& numbers) {
  Tensor out(DType::kInt32, std::move(shape));
  std::ranges::copy(numbers, out.as<std::int32_t>().begin());
  return out;
}

/// Runs the call with other page tables than declared, and checks that solve_mask finds the cache
/// slots that the call read.
void check_slots(VerifyRequest& request, const std::string& tables, const Tensor& applied) {
  NamedArguments& call = request.arguments;
  const Tensor declared = call.arrays.at(tables);
  call.context.backend = Backend::kReference;
  call.arrays.at(tables) = applied;
  const NamedResults given{{"out", run(*request.operation, call).at("out")}};
  const Mask read = *over_slots(request, given)->request.declared;
  call.arrays.at(tables) = declared;
  const SlotCall slots = *over_slots(request, given);
  const SolvedMask solved = solve_mask(slots.request, slots.given, {}, {.tile = slots.page_size});
  CHECK(solved.unsolved_rows == 0);
  twin::Cells got = twin::Cells::of(solved.mask), wanted = twin::Cells::of(read);
  CHECK(got.open == wanted.open);
  CHECK(wanted.open != twin::Cells::of(*slots.request.declared).open);
}

TEST_CASE("the pages that a kernel read are found", "[solve]") {
  const DType dtype = GENERATE(DType::kFloat32, DType::kBFloat16);
  // Three sequences on 12 pages of 4 slots.
  VerifyRequest request;
  request.operation = find_operation("page_attention");
  NamedArguments& call = request.arguments;
  call.arrays["query"] = astype(random_normal({3, 4, 16}, 1), dtype);
  call.arrays["key_cache"] = astype(random_normal({12, 2, 4, 16}, 2), dtype);
  call.arrays["value_cache"] = astype(random_normal({12, 2, 4, 16}, 3), dtype);
  call.options["kv_layout"] = "heads_first";
  call.arrays["context_lens"] = integers({3}, {12, 9, 16});
  const std::vector<std::int32_t> declared{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<std::int32_t> applied = declared;
  std::swap(applied[1], applied[9]);  // sequence 0 reads page 9 instead of page 1
  call.arrays["block_tables"] = integers({3, 4}, declared);
  SECTION("all slots hold numbers") {}
  SECTION("slots that nobody read hold anything") {
    // Sequence 1 has 9 tokens, so slots 1 to 3 of its page 6 and all of page 7 are unread. They
    // become NaN: 0x7fc0... is NaN in both dtypes.
    for (const char* name : {"key_cache", "value_cache"}) {
      Tensor& cache = call.arrays.at(name);  // 12 pages, 2 heads, 4 slots, D = 16
      const Index element = size_bytes(dtype);
      for (Index n = 0; n < cache.elements(); ++n) {
        const Index page = n / (2 * 4 * 16), slot = n / 16 % 4;
        if (!(page == 7 || (page == 6 && slot > 0))) continue;
        const auto at = cache.bytes().subspan(as_size(n * element), as_size(element));
        at[as_size(element - 1)] = std::byte{0x7f};
        at[as_size(element - 2)] = std::byte{0xc0};
      }
    }
  }
  check_slots(request, "block_tables", integers({3, 4}, applied));
}

TEST_CASE("a key that contains NaN is closed wherever the output is finite", "[solve]") {
  TinyCall call(3, 12, 2, DType::kFloat32);
  for (Index q = 0; q < 12; ++q) {
    call.applied.open[as_size(q * 12 + 5)] = 0;
    call.declared.open[as_size(q * 12 + 5)] = 1;
  }
  call.request.declared = call.declared.mask();
  call.request.arguments.mask = call.applied.mask();
  call.given = run(*call.request.operation, call.request.arguments);
  call.request.arguments.mask = call.request.declared;
  const Index head = GENERATE(0, 1);  // only one head holds NaN
  const char* const name = GENERATE("key", "value");
  const Index at = (5 * 2 + head) * 8;  // key 5 of the head, in an array [1, 12, 2, 8]
  call.request.arguments.arrays.at(name).as<float>()[as_size(at + 3)] =
      std::numeric_limits<float>::quiet_NaN();
  const SolvedMask solved = solve_mask(call.request, call.given);
  const twin::Cells got = twin::Cells::of(solved.mask);
  const twin::Cells light = twin::Cells::of(solved.light), alike = twin::Cells::of(solved.alike);
  CHECK(solved.unsolved_rows == 0);
  for (std::size_t n = 0; n < got.open.size(); ++n) {
    if (n % 12 == 5) CHECK(!(got.open[n] || light.open[n] || alike.open[n]));
    if (!light.open[n] && !alike.open[n]) CHECK(got.open[n] == call.applied.open[n]);
  }
}

TEST_CASE("the pages that version 3 read are found, in both of its forms", "[solve]") {
  // Two sequences with 3 and 2 new tokens, on 8 pages of 4 slots. No two sequences share a page.
  VerifyRequest request;
  request.operation = find_operation("ragged_page_attention_v3");
  NamedArguments& call = request.arguments;
  const Tensor starts = integers({3}, {0, 3, 5});
  SECTION("with an update of the cache") {
    call.arrays["queries"] = random_normal({5, 4, 16}, 1);
    call.arrays["keys"] = random_normal({5, 2, 16}, 2);
    call.arrays["values"] = random_normal({5, 2, 16}, 3);
    call.arrays["kv_cache"] = random_normal({8, 4, 4, 1, 128}, 4);
    call.arrays["kv_lens"] = integers({2}, {11, 9});
    call.arrays["query_start_loc"] = starts;
    call.arrays["distribution"] = integers({3}, {0, 0, 2});
    call.arrays["attention_sink"] = random_normal({4}, 5);
    call.options["softmax_scale"] = "0.25";
    call.options["v_scale"] = "0.5";
    call.arrays["block_tables"] = integers({6}, {0, 1, 2, 3, 4, 5});
    check_slots(request, "block_tables", integers({6}, {0, 7, 2, 3, 4, 5}));
  }
  SECTION("on pages that hold the new tokens") {
    call.arrays["query"] = random_normal({5, 4, 16}, 1);
    call.arrays["key_pages"] = random_normal({8, 4, 2, 16}, 2);
    call.arrays["value_pages"] = random_normal({8, 4, 2, 16}, 3);
    call.arrays["cu_seqlens_q"] = starts;
    call.arrays["cu_seqlens_k"] = integers({3}, {0, 11, 20});
    call.arrays["page_indices"] = integers({2, 3}, {0, 1, 2, 3, 4, 5});
    check_slots(request, "page_indices", integers({2, 3}, {0, 7, 2, 3, 4, 5}));
  }
}

TEST_CASE("the blocks that native sparse attention read are found", "[solve]") {
  constexpr Index kTokens = 64, kBlock = 8, kListed = 3;
  VerifyRequest request;
  request.operation = find_operation("apply_native_sparse_attention");
  NamedArguments& call = request.arguments;
  call.arrays["query"] = random_normal({1, kTokens, 4, 32}, 1);
  call.arrays["key"] = random_normal({1, kTokens, 2, 32}, 2);
  call.arrays["value"] = random_normal({1, kTokens, 2, 32}, 3);
  call.options["block_size"] = "8";
  call.options["duplicate_blocks"] = "once";
  call.context.backend = Backend::kReference;
  std::vector<std::int32_t> lists;
  for (Index t = 0; t < kTokens; ++t) {
    for (Index u = 0; u < 2; ++u) {
      const auto own = static_cast<std::int32_t>(t / kBlock);
      lists.insert(lists.end(), {own, own / 2, static_cast<std::int32_t>(u)});
    }
  }
  const auto listed = [&] { return integers({1, kTokens, 2, kListed}, lists); };
  call.arrays["block_indices"] = listed();
  const Mask declared = *over_blocks(request)->request.declared;
  // Token 50 of key head 1 reads another block than declared.
  lists[as_size((50 * 2 + 1) * kListed + 1)] = 5;
  call.arrays["block_indices"] = listed();
  const Mask applied = *over_blocks(request)->request.declared;
  const NamedResults given{{"out", run(*request.operation, call).at("out")}};
  BlockCall blocks = *over_blocks(request);
  CHECK(blocks.block_size == kBlock);
  blocks.request.declared = declared;
  const SolvedMask solved = solve_mask(blocks.request, given, {}, {.tile = blocks.block_size});
  CHECK(solved.undecided() == 0);
  twin::Cells got = twin::Cells::of(solved.mask), wanted = twin::Cells::of(applied);
  CHECK(got.open == wanted.open);
  CHECK(wanted.open != twin::Cells::of(declared).open);
  call.options["duplicate_blocks"] = "count";
  lists[1] = lists[0];
  call.arrays["block_indices"] = listed();
  CHECK(error_of([&] { over_blocks(request); }).find("lists a block twice") != std::string::npos);
}

TEST_CASE("a call whose mask cannot be found is refused", "[solve]") {
  TinyCall call(1, 8, 2, DType::kFloat32);
  const auto refused = [&call] {
    return error_of([&call] { solve_mask(call.request, call.given); });
  };
  SECTION("without the output") {
    call.given.clear();
    CHECK(refused().find("--given out") == std::string::npos);
    CHECK(refused().find("give the output") != std::string::npos);
  }
  SECTION("NaN") {
    call.given.at("out").as<float>()[20] = std::numeric_limits<float>::quiet_NaN();
    CHECK(refused().find("NaN in batch 0, head 0, query 1") != std::string::npos);
  }
  SECTION("sinks of other heads, a cap of nothing") {
    call.request.arguments.arrays["softmax_aux"] = Tensor(DType::kFloat32, {7, 3});
    CHECK(refused().find("sinks") != std::string::npos);
    call.request.arguments.arrays.erase("softmax_aux");
    call.request.arguments.options["logits_soft_cap"] = "0";
    CHECK(refused().find("soft") != std::string::npos);
  }
  SECTION("another shape") {
    call.given.at("out") = Tensor(DType::kFloat32, {1, 8, 1, 8});
    CHECK(refused().find("the output is (1, 8, 1, 8)") != std::string::npos);
  }
  SECTION("results that mix rows") {
    call.given["grad_value"] = call.given.at("out");
    CHECK(refused().find("grad_value is not read") != std::string::npos);
  }
  SECTION("weights dropped at random") {
    call.request.arguments.options["dropout_prob"] = "0.1";
    CHECK(refused().find("dropped at random") != std::string::npos);
  }
}

TEST_CASE("the output of another call is refused, without a made-up mask", "[solve]") {
  twin::SolvedProblem problem = twin::SolvedProblemMaker(5, 128).draw();
  const Tensor& out = problem.given.at("out");
  problem.given = {{"out", astype(random_normal(out.shape(), 3), out.dtype())}};
  CHECK(error_of([&] {
          solve_mask(problem.request, problem.given);
        }).find("hardly a row of the output is explained") != std::string::npos);
}

}  // namespace
}  // namespace maskctl::attention
