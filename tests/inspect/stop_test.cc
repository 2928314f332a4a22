// recognise and diff_cause, stopped at any moment, throw kCancelled or return their answer.
#include <chrono>
#include <random>
#include <stop_token>
#include <thread>

#include "inspect/random_masks.h"
#include "maskctl/base/error.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

/// Runs a question and requests a stop after `later`; returns whether it was answered before.
template <typename Question>
bool answered(std::chrono::microseconds later, Question&& question) {
  std::stop_source stop;
  const std::jthread stopper([&] {
    std::this_thread::sleep_for(later);
    stop.request_stop();
  });
  try {
    const WorkScope scope({.stop = stop.get_token()});
    question();
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == Errc::kCancelled);
    return false;
  }
}

TEST_CASE("stop: recognise and diff_cause can be stopped at any moment", "[inspect][stop]") {
  std::mt19937 random(3);
  int stopped = 0;
  for (int round = 0; round < 120; ++round) {
    const Mask a = test::random_mask(random, 40, 40).mask;
    const Mask b = test::random_mask(random, 40, 40).mask;
    const std::chrono::microseconds later(random() % 2000);
    stopped += answered(later, [&] { recognise(a); }) ? 0 : 1;
    if (b.batch() != a.batch() || b.heads() != a.heads()) continue;
    stopped += answered(later, [&] { diff_cause(a, b); }) ? 0 : 1;
  }
  CHECK(stopped > 0);
}

}  // namespace
}  // namespace maskctl
