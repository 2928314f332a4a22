#include "conformance/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "conformance/mismatch.h"
#include "conformance/ops.h"

namespace conformance {
namespace {

namespace fs = std::filesystem;
using maskctl::MaskInfo;

/// What the last step of a chain gave: a MaskInfo, or what a function returned.
struct State {
  std::optional<MaskInfo> info;
  std::optional<Outputs> outputs;
};

Function find_function(const std::string& op) {
  for (const auto* table : {&conversions(), &sequence_utils(), &lazy_masks()}) {
    if (const Function function = find(*table, op)) return function;
  }
  return nullptr;
}

void start(const std::string& op, Args& args, State& state) {
  if (const Constructor make = find(constructors(), op)) {
    state.info = make(args);
  } else if (const Function call = find_function(op)) {
    state.outputs = call(args);
  } else {
    throw Mismatch("operation " + quoted(op) + " is not known");
  }
}

void go_on(const std::string& op, Args& args, State& state) {
  if (!state.info) throw Mismatch("no object for " + quoted(op));
  if (const Method method = find(methods(), op)) {
    state.info = method(*state.info, args);
  } else if (const Getter get = find(getters(), op)) {
    state.outputs = get(*state.info, args);
    state.info.reset();
  } else {
    throw Mismatch("method " + quoted(op) + " is not known");
  }
}

/// Runs the steps of a case; `step` is the number of the current step, also when one throws.
State run(const Suite& suite, const Case& test, std::size_t& step) {
  if (test.chain.empty()) throw Mismatch("the chain is empty");
  State state;
  for (step = 0; step < test.chain.size(); ++step) {
    const auto& [op, values] = test.chain[step];
    Args args(suite, test.inputs, values);
    step == 0 ? start(op, args, state) : go_on(op, args, state);
    args.check_all_used();
  }
  return state;
}

void check_raises(const Suite& suite, const Case& test, const Value& raises) {
  std::size_t step = 0;
  compare_error(raises, [&] { run(suite, test, step); });
  const Value seen(static_cast<std::int64_t>(step));
  if (raises.at("step") != seen) {
    throw Mismatch(fmt::format("expected an error of step {}, got one of step {}",
                               raises.at("step").text(), seen.text()));
  }
}

/// Returns a property, read from a copy of the MaskInfo, or an item that the function returned.
Output output_of(const State& state, const std::string& name) {
  if (state.outputs) {
    const auto found = state.outputs->find(name);
    if (found == state.outputs->end()) throw Mismatch("nothing of this name was returned");
    return found->second;
  }
  const Property property = find(properties(), name);
  if (!property) throw Mismatch("no such expectation is known");
  MaskInfo copy = *state.info;
  return property(copy);
}

void check_expectation(const Suite& suite, const State& state, const std::string& name,
                       const Value& expected) {
  if (const Value* raises = expected.find("raises")) {
    compare_error(*raises, [&] { output_of(state, name); });
  } else {
    compare(suite, expected, output_of(state, name));
  }
}

/// What went wrong, with the name of the expectation that failed.
using Problems = std::vector<std::pair<std::string, std::string>>;

/// Runs a check and collects the problem if it throws. Exceptions other than Mismatch come from the
/// library, or from an error of this program.
template <typename F>
void guard(const std::string& name, Problems& problems, F&& check) {
  try {
    check();
  } catch (const Mismatch& mismatch) {
    problems.emplace_back(name, mismatch.what());
  } catch (const std::exception& error) {
    problems.emplace_back(name, "threw " + quoted(error.what()));
  }
}

/// Throws Mismatch if a function returned an item that the case does not expect.
void check_all_expected(const Case& test, const State& state) {
  if (!state.outputs) return;
  for (const auto& [name, output] : *state.outputs) {
    const bool expected =
        std::ranges::any_of(test.expected, [&](const auto& entry) { return entry.first == name; });
    if (!expected && name.starts_with("out")) throw Mismatch(name + " was returned, not expected");
  }
}

Problems problems_of(const Suite& suite, const Case& test) {
  Problems problems;
  if (test.expected.size() == 1 && test.expected[0].first == "raises") {
    guard("raises", problems, [&] { check_raises(suite, test, test.expected[0].second); });
    return problems;
  }
  State state;
  std::size_t step = 0;
  guard("chain", problems, [&] { state = run(suite, test, step); });
  if (!problems.empty()) {
    problems[0].first = fmt::format("step {} ({})", step, test.chain[step].op);
    return problems;
  }
  guard("items", problems, [&] { check_all_expected(test, state); });
  for (const auto& [name, expected] : test.expected) {
    guard(name, problems, [&] { check_expectation(suite, state, name, expected); });
  }
  if (test.expected.empty()) problems.emplace_back("expected", "the case expects nothing");
  return problems;
}

/// The text of a failure: the first problem, and the names of the others.
std::string line_of(const Case& test, const Problems& problems) {
  std::string line = fmt::format("{}: {}: {}", test.id, problems[0].first, problems[0].second);
  for (std::size_t i = 1; i < problems.size(); ++i) {
    line += (i == 1 ? "; also " : ", ") + problems[i].first;
  }
  return line;
}

void replay(const Suite& suite, const std::string& id, Report& report) {
  for (const Case& test : suite.cases()) {
    if (!id.empty() && id != test.id) continue;
    const Problems problems = problems_of(suite, test);
    if (problems.empty()) {
      ++report.passed;
    } else {
      report.failures.push_back(line_of(test, problems));
    }
  }
}

}  // namespace

Report replay_manifests(
    const std::string& folder, const Filter& filter,
    const std::function<void(const std::string& manifest, Report& report)>& replay_one) {
  std::vector<std::string> manifests;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path& path = entry.path();
    if (path.extension() != ".json") continue;
    if (filter.suite.empty() || path.stem() == filter.suite) manifests.push_back(path.string());
  }
  std::ranges::sort(manifests);
  Report report;
  for (const std::string& manifest : manifests) {
    try {
      replay_one(manifest, report);
    } catch (const std::exception& error) {
      report.failures.push_back(fmt::format("{}: {}", manifest, error.what()));
    }
  }
  return report;
}

Report replay_masks(const std::string& folder, const Filter& filter) {
  return replay_manifests(folder, filter, [&](const std::string& manifest, Report& report) {
    replay(Suite(manifest), filter.id, report);
  });
}

}  // namespace conformance
