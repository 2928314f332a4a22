// Public faults rebuilt as caches: each is found and named, and its fix is silent.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/phases/caches/cache_rows.h"
#include "maskctl/phases/phases.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/bind.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

struct Bug {
  std::string title, chain, phase, cache, why, fixed;
  Index chunk = 0;
};

/// The cases of a page: six lines each, with an empty line between two.
std::vector<Bug> bugs_of(const std::string& path, std::string& comments) {
  std::ifstream file(path);
  REQUIRE(file.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    (line.starts_with("#") ? comments += line + "\n" : (lines.push_back(line), line));
  }
  std::vector<Bug> out;
  for (std::size_t i = 1; i + 5 < lines.size(); i += 7) {
    Bug& bug = out.emplace_back();
    bug.title = lines[i];
    bug.chain = lines[i + 1];
    const auto space = lines[i + 2].find(' ');
    bug.phase = lines[i + 2].substr(0, space);
    bug.chunk = number_from<Index>(lines[i + 2].substr(space + 1)).value();
    bug.cache = lines[i + 3];
    bug.why = lines[i + 4];
    bug.fixed = lines[i + 5];
  }
  return out;
}

PhaseResult judged(const Bug& bug, const std::string& cache) {
  const Chain chain = bind(parse(bug.chain), {});
  PhasesQuery query;
  query.chunks = {bug.chunk};
  query.taken_back = 4;
  query.tree = {-1, 0, 0, 1};
  const PhasesVerdict verdict = judge_phases(apply(full_mask(1, 1, 200, 200), chain),
                                             read_caches(cache, sizes_of(chain)).front(), query);
  const auto found = std::ranges::find_if(
      verdict.phases, [&](const PhaseResult& one) { return name_of(one.phase) == bug.phase; });
  REQUIRE(found != verdict.phases.end());
  return *found;
}

TEST_CASE("public faults of phases are found and named, and their fixes are silent", "[phases]") {
  const std::string path = MASKCTL_SOURCE_DIR "/tests/cases/phases.txt";
  std::string page;
  std::vector<Bug> bugs = bugs_of(path, page);
  CHECK(bugs.size() >= 20);
  for (Bug& bug : bugs) {
    CAPTURE(bug.title);
    const PhaseResult wrong = judged(bug, bug.cache);
    CHECK_FALSE(wrong.holds());
    const PhaseResult right = judged(bug, bug.fixed);
    CHECK(right.judged);
    CHECK(right.holds());
    const std::string why = wrong.first ? wrong.first->why : "";
    if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) bug.why = why;
    CHECK(why == bug.why);
    page += fmt::format("\n{}\n{}\n{} {}\n{}\n{}\n{}\n", bug.title, bug.chain, bug.phase, bug.chunk,
                        bug.cache, bug.why, bug.fixed);
  }
  if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << page;
}

}  // namespace
}  // namespace maskctl
