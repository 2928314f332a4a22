// Tests that `verify` reports an error beside a border between shards for that border alone.
#include "maskctl/verify/borders.h"

#include "maskctl/attention/operations/all.h"
#include "support/catch_compat.h"

namespace borders_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

NamedResults results() {
  NamedResults all;
  for (const char* name : {"out", "grad_query", "grad_key", "grad_value"}) {
    all[name] = random_normal({1, 12, 2, 4}, 1);
  }
  all["lse"] = random_normal({1, 2, 12}, 2);
  return all;
}

std::vector<VerifyCheck> check(const NamedResults& seen) {
  return check_borders(*find_operation("ring_attention"), {{4, 8}, {6}}, seen, results());
}

std::vector<std::string> failed(const NamedResults& seen) {
  std::vector<std::string> names;
  for (const VerifyCheck& one : check(seen)) {
    if (one.state == VerifyCheck::State::kFailed) names.push_back(one.name);
  }
  return names;
}

float& at(NamedResults& results, const char* name, std::size_t element) {
  return results.at(name).as<float>()[element];
}

}  // namespace

TEST_CASE("borders: each border has a check, which passes for equal results") {
  const std::vector<VerifyCheck> checks = check(results());
  REQUIRE(checks.size() == 3);
  CHECK(checks[0].name == "border 4");
  CHECK(checks[0].detail == "the queries beside it");
  CHECK(checks[1].detail == "the keys beside it");
  CHECK(failed(results()).empty());
}

TEST_CASE("borders: a fault in queries, keys or the lse fails the border beside it only") {
  NamedResults seen = results();
  at(seen, "out", 5 * 8) += 1;  // an element of query 5
  CHECK(failed(seen) == std::vector<std::string>{"border 4"});
  seen = results();
  at(seen, "grad_value", 7 * 8 + 3) += 1;  // an element of key 7
  CHECK(failed(seen) == std::vector<std::string>{"border 6"});
  seen = results();
  at(seen, "lse", 12 + 9) += 1;  // the value of query 9 in head 1
  CHECK(failed(seen) == std::vector<std::string>{"border 8"});
  seen = results();
  at(seen, "grad_query", 0) += 1;  // an element of query 0
  CHECK(failed(seen).empty());
}

}  // namespace borders_cases
