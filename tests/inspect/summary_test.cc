// Tests the summary of a pipeline for many batch entries, which counts equal ones.
#include "maskctl/inspect/recognise/summary.h"

#include "inspect/random_masks.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("a long pipeline is summarised by counting equal batch entries") {
  std::string many = "batch:0{pad:lens=3}";
  for (int b = 1; b < 30; ++b) {
    many += " | batch:" + std::to_string(b) +
            (b % 3 == 0 ? "{doc:lens=4+5 | causal}" : "{doc:lens=2+3+4}");
  }
  CHECK(summary_text(chain_of(many + " | window:keys=4")) ==
        "(20 batches: doc of 3 documents; 9 batches: doc of 2 documents | causal; 1 batch: pad) | "
        "window:keys=4");
  const std::string few = many.substr(0, many.find(" | batch:9"));
  CHECK(summary_text(chain_of(few)) == few);
  CHECK(summary_text({}).empty());
}

}  // namespace
}  // namespace maskctl::test
