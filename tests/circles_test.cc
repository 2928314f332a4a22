// Circles of units: a unit is the sources of one name in one folder, such as mask.h and mask.cc,
// and units are in a circle where each reaches the others through includes. What is in a large
// circle cannot be read, tested or moved by itself.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch_compat.h"
#include "support/source_files.h"

namespace maskctl::test {
namespace {

using Files = std::map<std::string, std::string>;
using Graph = std::map<std::string, std::set<std::string>>;

constexpr std::size_t kMostUnits = 5;
/// Folders whose circles may still have more units, and how many.
const std::map<std::string, std::size_t> kLarger = {{"lib/maskctl/inspect/recognise", 8}};

constexpr std::ptrdiff_t kMostLines = 450;
/// Sources that are still longer.
const std::set<std::string> kLonger = {
    "lib/maskctl/inspect/check/lint_pattern.cc",
    "lib/maskctl/inspect/diff/cause.cc",
    "lib/maskctl/inspect/recognise/recognise.cc",
};

std::string unit_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

/// For each unit, the other units that it includes.
Graph units(const Files& files) {
  Graph out;
  for (const auto& [path, text] : files) {
    std::set<std::string>& others = out[unit_of(path)];
    for (const std::string& include : includes(without_comments(text))) {
      const std::string name = include.substr(1);
      const std::string other = name.starts_with("maskctl/") ? "lib/" + name : name;
      if (files.contains(other) && unit_of(other) != unit_of(path)) others.insert(unit_of(other));
    }
  }
  return out;
}

/// Finds circles by Tarjan's algorithm: a unit belongs to the circle of the earliest unit on the
/// stack that it reaches.
class Circles {
 public:
  explicit Circles(const Graph& graph) : graph_(graph) {
    for (const auto& [unit, others] : graph) {
      if (!seen_.contains(unit)) visit(unit);
    }
  }
  const std::vector<std::vector<std::string>>& found() const { return found_; }

 private:
  std::size_t visit(const std::string& unit) {
    const std::size_t own = seen_.size();
    std::size_t earliest = own;
    seen_[unit] = own;
    stack_.push_back(unit);
    for (const std::string& other : graph_.at(unit)) {
      if (!seen_.contains(other)) {
        earliest = std::min(earliest, visit(other));
      } else if (std::ranges::find(stack_, other) != stack_.end()) {
        earliest = std::min(earliest, seen_[other]);
      }
    }
    if (earliest == own) {
      const auto begin = std::ranges::find(stack_, unit);
      found_.emplace_back(begin, stack_.end());
      stack_.erase(begin, stack_.end());
    }
    return earliest;
  }

  const Graph& graph_;
  std::map<std::string, std::size_t> seen_;  // the order in which units were reached
  std::vector<std::string> stack_;
  std::vector<std::vector<std::string>> found_;
};

std::string folder_of(const std::string& unit) {
  return std::filesystem::path(unit).parent_path().generic_string();
}

/// The circles with more units than they may have, as text.
std::vector<std::string> large_circles(const Files& files) {
  std::vector<std::string> out;
  const Graph graph = units(files);
  const Circles circles(graph);
  for (const std::vector<std::string>& circle : circles.found()) {
    std::size_t most = kMostUnits;
    for (const std::string& unit : circle) {
      const auto larger = kLarger.find(folder_of(unit));
      if (larger != kLarger.end()) most = std::max(most, larger->second);
    }
    if (circle.size() <= most) continue;
    std::string text;
    for (const std::string& unit : circle) text += " " + unit;
    out.push_back(text);
  }
  return out;
}

TEST_CASE("circles: at most five units reach each other through includes", "[project]") {
  for (const std::string& circle : large_circles(sources({"lib", "app"}))) FAIL_CHECK(circle);
}

TEST_CASE("circles: a planted circle of six units is found, a chain of seven is none",
          "[project]") {
  Files files;
  const auto plant = [&files](int unit, int other) {
    files["app/u" + std::to_string(unit) + ".h"] = "// A unit.\n";
    files["app/u" + std::to_string(unit) + ".cc"] =
        "#include \"app/u" + std::to_string(other) + ".h\"\n";
  };
  for (int unit = 0; unit < 7; ++unit) plant(unit, unit + 1);
  CHECK(large_circles(files).empty());
  plant(5, 0);
  const auto found = large_circles(files);
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("app/u0") != std::string::npos);
  CHECK(found[0].find("app/u6") == std::string::npos);
  plant(4, 0);
  CHECK(large_circles(files).empty());
}

TEST_CASE("sources: no file has more than 450 lines", "[project]") {
  for (const auto& [path, text] : sources({"lib", "app"})) {
    if (kLonger.contains(path)) continue;
    CAPTURE(path);
    CHECK(std::ranges::count(text, '\n') <= kMostLines);
  }
}

}  // namespace
}  // namespace maskctl::test
