#include "app/cli/commands/attention/kit_baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/base/text_file.h"

namespace maskctl::app {
namespace {

using Parsed = nlohmann::json;

constexpr Index kMostBytes = Index{1} << 26;

/// The text of a field; "" where there is none.
std::string text_of(const Parsed& object, const char* field) {
  if (!object.is_object()) return "";
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

[[noreturn]] void refuse(Errc code, const std::string& path, const std::string& why) {
  throw Error(code, fmt::format("--baseline '{}': {}", printable(path), why));
}

/// What is to be said of a baseline: of whom it is, and what it cannot tell.
std::vector<std::string> notes_of(const KitBaseline& baseline, const std::string& library,
                                  const std::string& version, const std::string& asked) {
  std::vector<std::string> out;
  if (library != asked) out.push_back(fmt::format("is of another library, {}", library));
  if (!version.empty() && version != MASKCTL_VERSION) {
    out.push_back(fmt::format("was made by maskctl {}; this is {}", version, MASKCTL_VERSION));
  }
  const auto obeys = [](const auto& one) { return one.second.outcome == kit::Outcome::kObeys; };
  if (std::ranges::none_of(baseline.cases, obeys)) {
    out.push_back("no case of it obeys; expected a run of a library that works");
  }
  std::vector<std::string> unknown;
  for (const auto& [id, verdict] : baseline.cases) {
    if (!kit::is_case_id(id)) unknown.push_back(id);
  }
  if (!unknown.empty()) {
    out.push_back(fmt::format("has {} that the kit does not have, first {}",
                              counted(std::ssize(unknown), "case"), unknown.front()));
  }
  return out;
}

}  // namespace

KitBaseline read_kit_baseline(const std::string& path, DType dtype, const std::string& library) {
  const Parsed all =
      Parsed::parse(read_text_file(path, kMostBytes, "the baseline"), nullptr, false);
  if (text_of(all, "schema") != "maskctl.kit/1" || !all.contains("cases") ||
      !all["cases"].is_array()) {
    refuse(Errc::kFormat, path,
           "no maskctl.kit/1; expected what --json of kit run or kit judge printed");
  }
  if (const std::string was = text_of(all, "dtype"); was != maskctl::name(dtype)) {
    refuse(Errc::kInvalidArgument, path,
           fmt::format("was made of {}, not of {}; give its --dtype", printable(was),
                       maskctl::name(dtype)));
  }
  KitBaseline out{path, {}};
  for (const Parsed& one : all["cases"]) {
    const std::string id = text_of(one, "id"), outcome = text_of(one, "outcome");
    const auto known = kit::outcome_named(outcome);
    if (id.empty() || !known) {
      refuse(Errc::kFormat, path,
             fmt::format("the case '{}' has the outcome '{}'; expected one of maskctl.kit/1",
                         printable(id), printable(outcome)));
    }
    const bool first =
        out.cases.insert({id, {*known, text_of(one, "text"), text_of(one, "note")}}).second;
    if (!first) {
      refuse(Errc::kFormat, path,
             fmt::format("has the case '{}' twice; expected one run of the kit", printable(id)));
    }
  }
  out.notes = notes_of(out, text_of(all, "library"), text_of(all, "version"), library);
  return out;
}

}  // namespace maskctl::app
