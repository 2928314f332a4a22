// Tests that every argument of an operation changes its result, or that argument_cases.h says why
// not.
#include <set>

#include "attention/argument_cases.h"
#include "maskctl/base/error.h"
#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/error_of.h"

namespace operations_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention_test;
using maskctl::test::check_close;

void check_effect(const Operation& form, const Case& row, NamedArguments before) {
  set(row.also, before);
  NamedArguments after = before;
  set({{row.field, row.value}}, after);
  if (row.effect == Effect::kRefuses) {
    CHECK_NOTHROW(run(form, before));
    CHECK_THROWS_AS(run(form, after), Error);
    return;
  }
  const bool rounds = row.effect == Effect::kRounding;
  if (rounds) before.gradient_seed = after.gradient_seed = 5;
  const NamedResults expected = run(form, before), seen = run(form, after);
  if (row.effect == Effect::kAdds) CHECK(seen.size() > expected.size());
  if (!rounds) CHECK(same_bits(seen, expected) == (row.effect == Effect::kAdds));
  for (const auto& [name, array] : rounds ? expected : NamedResults()) {
    check_close(seen.at(name), array, 2e-6, name.c_str());
  }
}

TEST_CASE("operations: each one can be stopped by its context, and reports every fallback") {
  for (const Operation* operation : operations()) {
    INFO(operation->name);
    NamedArguments call = small_call(*operation);
    const NamedResults expected = run(*operation, call);
    std::stop_source stop;
    call.context.stop = stop.get_token();
    CHECK(same_bits(run(*operation, call), expected));
    stop.request_stop();
    CHECK(maskctl::test::error_of([&] { run(*operation, call); }) == "stopped as requested");
    if (unavailable(Backend::kCuda).empty()) continue;
    std::vector<std::string> lines;
    call.context = {.backend = Backend::kCuda,
                    .fallback = [&](const std::string& line) { lines.push_back(line); }};
    CHECK(same_bits(run(*operation, call), expected));
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.front().find(": cpu instead of cuda: ") != std::string::npos);
  }
}

TEST_CASE("operations: every backend reads every argument that is listed") {
  const std::vector<Case> cases = all_cases();
  for_each_argument([&cases](const Operation& form, const Field& field) {
    for (const Backend backend : test::usable_backends()) {
      if (!unavailable(form, backend).empty()) continue;
      NamedArguments call = small_call(form);
      call.context.backend = backend;
      const Case row = case_of(cases, form, field, call);
      INFO(form.name << ": " << field.name << " " << row.why_unchanged);
      check_effect(form, row, call);
    }
  });
}

TEST_CASE("operations: the GPU has kernels of all operations but two") {
  for (const Operation* operation : operations()) {
    const bool lacks =
        operation->name == "gated_delta_rule" || operation->name == "short_convolution";
    CHECK(operation->on_gpu != lacks);
    CHECK(unavailable(*operation, Backend::kCpu).empty());
    CHECK(unavailable(*operation, Backend::kCuda) ==
          (lacks ? "it has no such kernel" : unavailable(Backend::kCuda)));
    if (!lacks) continue;
    NamedArguments call = small_call(*operation);
    call.context.backend = Backend::kCuda;
    const std::string text = maskctl::test::error_of([&] { run(*operation, call); });
    CHECK(text.ends_with("; ask for cpu"));
  }
}

TEST_CASE("operations: every test case belongs to an argument of an operation") {
  const std::vector<Case> cases = all_cases();
  std::set<const Case*> used;
  for_each_argument([&](const Operation& form, const Field& field) {
    if (!field.is(kHint)) used.insert(find_case(cases, form, field));
  });
  for (const Case& row : cases) {
    INFO(row.operation << " " << row.field);
    CHECK(used.contains(&row));
    CHECK((row.effect == Effect::kChanges) == row.why_unchanged.empty());
  }
}

/// A value for each argument that has to do with dropping attention weights.
const std::map<std::string, std::string> kDropping = {{"dropout_prob", "0.5"},
                                                      {"pdrop", "0.5"},
                                                      {"dropout_seed", "9"},
                                                      {"dropout_rng", "9"},
                                                      {"deterministic", "false"}};

TEST_CASE("operations: weights are dropped only with a probability and if dropout is allowed") {
  for (const Operation* const form : forms()) {
    NamedArguments call = small_call(*form);
    bool drops = false;
    const NamedResults whole = run(*form, call);
    for (const Field& field : form->fields) {
      const std::string name(field.name);
      if (!field.is(kDrops)) continue;
      call.options[name] = kDropping.at(name);
      drops = true;
    }
    INFO(form->name);
    CHECK(same_bits(run(*form, call), whole) == !drops);
    for (const char* const name : {"dropout_prob", "pdrop", "deterministic"}) {
      NamedArguments without = call;
      if (without.options.erase(name)) CHECK(same_bits(run(*form, without), whole));
    }
  }
}

}  // namespace

}  // namespace operations_cases
