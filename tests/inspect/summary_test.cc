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

TEST_CASE("a summary says what is in the scopes of heads") {
  std::string many;
  for (int b = 0; b < 12; ++b) {
    many += (b == 0 ? "batch:" : " | batch:") + std::to_string(b) +
            (b < 9 ? "{heads:0{doc:lens=4+5 | causal} | heads:1{window:keys=3}}"
                   : "{heads:0{doc:lens=2+3+4 | causal} | heads:1{window:keys=4}}");
  }
  CHECK(summary_text(chain_of(many)) ==
        "(12 batches: heads{doc of 2 to 3 documents | causal} | heads{window})");
}

}  // namespace
}  // namespace maskctl::test
