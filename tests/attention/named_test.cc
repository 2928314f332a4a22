// Tests operations called by name: arguments as text, errors about names, random inputs.
#include <algorithm>
#include <cmath>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/operations/flash/flash.h"
#include "maskctl/attention/sharded/rank_call.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"

namespace named_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

const AxisExtents kExtents = {{"B", 2},   {"T", 8}, {"Tq", 8}, {"Tk", 8}, {"Hq", 4},
                              {"Hkv", 2}, {"H", 4}, {"D", 4},  {"Dv", 4}, {"K", 4},
                              {"V", 4},   {"R", 4}, {"C", 4}};

NamedArguments random_arguments(const Operation& operation, std::uint64_t seed = 1) {
  NamedArguments arguments;
  add_random_arrays(operation, {.extents = kExtents, .seed = seed}, arguments);
  return arguments;
}

std::string error_of(const Operation& operation, const NamedArguments& arguments) {
  try {
    run(operation, arguments);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST_CASE("named operations: every function of ejkernel is found under both of its names") {
  for (const char* name : {"flash_attention",
                           "ring_attention",
                           "native_sparse_attention",
                           "page_attention",
                           "ragged_page_attention",
                           "ragged_page_attention_v3",
                           "scaled_dot_product_attention",
                           "blocksparse_attention",
                           "gla_attention",
                           "lightning_attention",
                           "recurrent_attention",
                           "grouped_matmul",
                           "mean_pooling",
                           "attention",
                           "ragged_decode_attention",
                           "mla_attention",
                           "gla",
                           "lightning_attn",
                           "recurrent",
                           "flash_mla",
                           "apply_native_sparse_attention"}) {
    INFO(name);
    CHECK(find_operation(name) != nullptr);
  }
  CHECK(find_operation("flash") == nullptr);
  CHECK(find_operation("") == nullptr);
}

TEST_CASE("named operations: a call by name gives the result of the function") {
  const Operation& operation = *find_operation("flash_attention");
  NamedArguments arguments = random_arguments(operation);
  arguments.options = {{"causal", "true"},
                       {"sliding_window", "3+none"},
                       {"softmax_scale", "0.5"},
                       {"logits_soft_cap", "none"}};
  arguments.mask = Mask(diagonal_band(8, 8, -2, 5));
  FlashAttentionOptions options;
  options.mask.causal = true;
  options.mask.window = Window(3, std::nullopt);
  options.softmax.scale = 0.5;
  options.mask.mask = &*arguments.mask;
  const SoftmaxResult direct =
      flash_attention(arguments.arrays.at("query"), arguments.arrays.at("key"),
                      arguments.arrays.at("value"), options);
  const NamedResults named = run(operation, arguments);
  CHECK(std::ranges::equal(named.at("out").bytes(), direct.out.bytes()));
  CHECK(std::ranges::equal(named.at("lse").bytes(), direct.lse.bytes()));
  // "out" and "lse": without gradient_seed no gradients are computed.
  CHECK(named.size() == 2);
  arguments.gradient_seed = 3;
  CHECK(run(operation, arguments).size() == 5);
}

TEST_CASE("named operations: a mask gives the result of the same array as attention_mask") {
  Tensor cells(DType::kBool, {2, 4, 8, 8});
  const Tensor numbers = random_normal(cells.shape(), 5);
  std::ranges::transform(numbers.as<float>(), cells.as<std::uint8_t>().begin(),
                         [](float x) { return x > 0.4F ? 1 : 0; });  // some queries see no key
  for (const char* name : {"flash_attention", "scaled_dot_product_attention", "attention",
                           "ring_attention", "mla_attention"}) {
    const Operation& operation = *find_operation(name);
    NamedArguments by_array = random_arguments(operation);
    by_array.gradient_seed = 3;
    by_array.options["empty_row"] = "mean";
    NamedArguments by_mask = by_array;
    by_array.arrays["attention_mask"] = cells;
    by_mask.mask = mask_from_dense(cells);
    const NamedResults expected = run(operation, by_array), seen = run(operation, by_mask);
    REQUIRE(seen.size() == expected.size());
    for (const auto& [array, values] : expected) {
      INFO(name << ": " << array);
      CHECK(std::ranges::equal(seen.at(array).bytes(), values.bytes()));
    }
  }
}

TEST_CASE("named operations: errors about wrong arguments name the argument") {
  const Operation& operation = *find_operation("flash_attention");
  const std::vector<std::pair<std::pair<std::string, std::string>, std::string>> table = {
      {{"causal", "yes"}, "causal: 'yes' is not true or false"},
      {{"softmax_scale", "0.5x"}, "softmax_scale: '0.5x' is not a number"},
      {{"sliding_window", "1+2+3"}, "sliding_window: '1+2+3' is not a window"},
      {{"sliding_window", "1+x"}, "sliding_window: 'x' is not a whole number"},
      {{"empty_row", "one"}, "empty_row: 'one' is not one of zero, mean, nan"},
      {{"casual", "true"}, "flash_attention has no argument 'casual'"},
  };
  for (const auto& [option, message] : table) {
    NamedArguments arguments = random_arguments(operation);
    arguments.options.insert(option);
    INFO(message);
    CHECK(error_of(operation, arguments).starts_with(message));
  }
  NamedArguments missing = random_arguments(operation);
  missing.arrays.erase("key");
  CHECK(error_of(operation, missing).starts_with("key: "));
  NamedArguments masked = random_arguments(*find_operation("gla_attention"));
  masked.mask = Mask(full_plane(8, 8));
  CHECK(error_of(*find_operation("gla_attention"), masked) == "gla_attention takes no mask");
}

TEST_CASE("named operations: random arrays take their extents from axes and from given arrays") {
  const Operation& operation = *find_operation("flash_attention");
  NamedArguments arguments;
  arguments.arrays["key"] = random_normal({3, 17, 1, 5}, 9);
  add_random_arrays(operation, {.extents = kExtents, .dtype = DType::kFloat16}, arguments);
  CHECK(arguments.arrays.at("query").shape() == std::vector<Index>{3, 8, 4, 5});
  CHECK(arguments.arrays.at("value").shape() == std::vector<Index>{3, 17, 1, 4});
  CHECK(arguments.arrays.at("value").dtype() == DType::kFloat16);
  NamedArguments paged;
  CHECK_THROWS_AS(
      add_random_arrays(*find_operation("page_attention"), {.extents = kExtents}, paged), Error);
  NamedArguments other;
  other.arrays["key"] = random_normal({3, 17, 1, 5}, 9);
  CHECK_THROWS_WITH(
      add_random_arrays(operation, {.extents = kExtents, .wanted = {{"Tk", 16}}}, other),
      "key: its axis Tk has 17, but Tk=16 was asked for");
  NamedArguments large;
  CHECK_THROWS_WITH(
      add_random_arrays(operation, {.extents = kExtents, .max_bytes = 1023}, large),
      "query: (2, 8, 4, 4) random numbers take more than 1023 bytes; use smaller extents or raise "
      "the limit");
  add_random_arrays(operation, {.extents = kExtents, .max_bytes = 1024}, large);
  CHECK(large.arrays.size() == 3);
}

TEST_CASE("named operations: random arrays are normally distributed, and equal for equal seeds") {
  const Tensor a = random_normal({100000}, 7), b = random_normal({100000}, 7);
  CHECK(std::ranges::equal(a.bytes(), b.bytes()));
  double sum = 0, squares = 0;
  for (const float x : a.as<float>()) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  CHECK(std::abs(sum / 1e5) < 0.02);
  CHECK(std::abs(squares / 1e5 - 1) < 0.03);
}

TEST_CASE("named operations: arguments may have ejkernel's other names") {
  const Operation& product = *find_operation("grouped_matmul");
  const Tensor rows = random_normal({3, 4}, 1), matrices = random_normal({2, 4, 5}, 2);
  Tensor sizes(DType::kInt32, {2});
  sizes.as<std::int32_t>()[0] = 1, sizes.as<std::int32_t>()[1] = 2;
  NamedArguments ours, theirs;
  ours.arrays = {{"lhs", rows}, {"rhs", matrices}, {"group_sizes", sizes}};
  theirs.arrays = {{"inputs", rows}, {"weights", matrices}, {"group_sizes", sizes}};
  CHECK(std::ranges::equal(run(product, ours).at("out").bytes(),
                           run(product, theirs).at("out").bytes()));
  theirs.arrays["lhs"] = rows;
  CHECK(error_of(product, theirs) == "lhs: given more than once");
  CHECK(find_operation("mean_pooling")->find("hidden_states", true)->name == "x");
  CHECK(find_operation("mean_pooling")->find("", true) == nullptr);
}

TEST_CASE("named operations: options may be written as in Python") {
  const Operation& flash = *find_operation("flash_attention");
  const auto results = [&](const std::map<std::string, std::string>& options) {
    NamedArguments arguments = random_arguments(flash);
    arguments.options = options;
    return run(flash, arguments).at("out");
  };
  const auto equal = [&](const std::map<std::string, std::string>& a,
                         const std::map<std::string, std::string>& b) {
    const Tensor x = results(a), y = results(b);
    return std::ranges::equal(x.bytes(), y.bytes());
  };
  CHECK(equal({{"causal", "True"}}, {{"causal", "true"}}));
  CHECK(equal({{"normalize_output", "False"}}, {{"normalize_output", "false"}}));
  CHECK(equal({{"sliding_window", "(4, 0)"}}, {{"sliding_window", "4+0"}}));
  CHECK(equal({{"sliding_window", "(None, 2)"}}, {{"sliding_window", "none+2"}}));
  CHECK(equal({{"sliding_window", "None"}, {"logits_soft_cap", "None"}}, {}));
  // Seeds -1 and 4294967295 have the same low 32 bits, and so the same key in JAX.
  CHECK(equal({{"dropout_prob", "0.5"}, {"dropout_seed", "-1"}},
              {{"dropout_prob", "0.5"}, {"dropout_seed", "4294967295"}}));
  CHECK_FALSE(equal({{"causal", "True"}}, {}));
  for (const auto& [name, text] : std::map<std::string, std::string>{
           {"causal", "1"}, {"sliding_window", "(4, 0"}, {"dropout_seed", "-9999999999"}}) {
    CAPTURE(name);
    CHECK_THROWS_AS(results({{name, text}}), Error);
  }
}

TEST_CASE("named operations: a usual call of each operation runs, forward and backward") {
  for (const Operation* operation : operations()) {
    for (const Index batch : {1, 3}) {
      INFO(operation->name << " " << batch);
      AxisExtents extents = usual_extents();
      for (const char* axis : {"T", "Tq", "Tk", "S", "M"}) extents[axis] = 70;
      extents["B"] = batch, extents["D"] = 16;
      NamedArguments arguments;
      add_random_arrays(*operation, {.extents = extents, .seed = 1, .usual = true}, arguments);
      if (operation->has_gradients()) arguments.gradient_seed = 1;
      const NamedResults results = run(*operation, arguments);
      CHECK(results.at("out").elements() > 0);
      const Tensor out = astype(results.at("out"), DType::kFloat64);
      CHECK(std::ranges::all_of(out.as<double>(), [](double x) { return std::isfinite(x); }));
      CHECK(std::ranges::any_of(out.as<double>(), [](double x) { return x != 0; }));
    }
  }
}

TEST_CASE("named operations: random calls of the delta rule stay bounded, whole and in parts") {
  const Operation& operation = *find_operation("gated_delta_rule");
  const AxisExtents extents = {{"B", 1}, {"T", 400}, {"Hq", 2}, {"Hkv", 2}, {"K", 64}, {"V", 8}};
  NamedArguments arguments;
  add_random_arrays(operation, {.extents = extents, .seed = 1}, arguments);
  const auto beta = arguments.arrays.at("beta").as<float>(),
             key = arguments.arrays.at("key").as<float>();
  CHECK(std::ranges::all_of(beta, [](float x) { return x > 0 && x < 1; }));
  for (std::size_t from = 0; from < key.size(); from += 64) {
    float squared = 0;
    for (const float x : key.subspan(from, 64)) squared += x * x;
    CHECK(std::abs(squared - 1) < 0.8F);
  }
  const auto results = run(operation, arguments);
  for (const float x : results.at("out").as<float>()) CHECK(std::abs(x) < 10);
  std::map<std::string, RandomOutline> outlines;
  NamedArguments none;
  add_random_arrays(operation, {.extents = extents, .seed = 1, .parts = &outlines}, none);
  const Tensor part = random_part(outlines.at("key"), {{{0, 1}}, {{3, 5}}, {{1, 2}}, {{0, 64}}});
  CHECK(std::equal(part.as<float>().begin(), part.as<float>().begin() + 64,
                   key.begin() + (3 * 2 + 1) * 64));
}

TEST_CASE("named operations: a decay above 0 gives a warning") {
  const Operation& lightning = *find_operation("lightning_attention");
  NamedArguments arguments = random_arguments(lightning);
  CHECK(warnings(lightning, arguments).empty());
  Tensor decay(DType::kFloat32, {4});
  arguments.arrays["decay"] = decay;
  CHECK(warnings(lightning, arguments).empty());
  arguments.arrays["decay"].as<float>()[2] = 0.9F;
  CHECK(warnings(lightning, arguments) ==
        std::vector<std::string>{"decay: 0.9 is above 0; these are logarithms of what each step "
                                 "keeps, as log(0.9) = -0.105, so the state grows by e^0.9 a "
                                 "step"});
}

}  // namespace

}  // namespace named_cases
