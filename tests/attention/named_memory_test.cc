// Tests that operations called by name take memory O(tokens) for a mask over 128k tokens.
#include <sys/resource.h>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace named_memory_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

Index peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Index{usage.ru_maxrss} * 1024;
}

TEST_CASE(
    "named operations: memory for a window over 128k tokens grows with tokens, not with cells") {
  constexpr Index kTokens = 1 << 17, kWindow = 32;
  constexpr Index kMost = Index{1} << 30;  // the mask as bytes would take 16 GiB
  for (const char* name : {"scaled_dot_product_attention", "ring_attention", "mla_attention",
                           "flash_attention", "blocksparse_attention"}) {
    const Operation& operation = *find_operation(name);
    NamedArguments arguments;
    add_random_arrays(operation,
                      {.extents = {{"B", 1},
                                   {"Tq", kTokens},
                                   {"Tk", kTokens},
                                   {"Hq", 1},
                                   {"Hkv", 1},
                                   {"D", 4},
                                   {"Dv", 4},
                                   {"R", 4}},
                       .seed = 1},
                      arguments);
    arguments.mask = Mask(diagonal_band(kTokens, kTokens, 1 - kWindow, 0));
    if (std::string(name) == "ring_attention") arguments.options["ring_size"] = "4";
    arguments.gradient_seed = 1;
    const Index before = peak_bytes();
    const NamedResults results = run(operation, arguments);
    INFO(name << ": " << before << " to " << peak_bytes());
    CHECK(results.contains("grad_query"));
    CHECK(peak_bytes() - before < kMost);
  }
}

}  // namespace

}  // namespace named_memory_cases
