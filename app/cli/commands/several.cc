#include "app/cli/commands/several.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/streams.h"
#include "app/session/sources.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {
namespace {

struct Part {
  std::string source;
  std::string text;  // empty for a SOURCE that could not be read
  std::function<Json()> json;
};

std::string joined_text(const std::vector<Part>& parts) {
  std::string out;
  for (const Part& part : parts) {
    if (part.text.empty()) continue;
    if (!out.empty()) out += '\n';
    const std::string title = printable(part.source, kUncut);
    const bool has_title = part.text.starts_with(title);
    out += has_title ? part.text : fmt::format("{}:\n{}", title, part.text);
  }
  return out;
}

Json joined_json(const std::vector<Part>& parts) {
  Json out{{"schema", "maskctl.list/1"}, {"reports", Json::array()}};
  for (const Part& part : parts) out["reports"].push_back(part.json());
  return out;
}

}  // namespace

Answer answer_each(const std::vector<std::string>& sources, const SourceOptions& how, bool json,
                   Session& session, const std::function<Answer(const std::string&)>& answer) {
  std::vector<Part> parts;
  int status = 0;
  const auto visit = [&](const std::string& source) {
    Answer one = answer(source);
    status = std::max(status, one.status);
    parts.push_back({source, std::move(one.text), std::move(one.json)});
  };
  const auto report = [&](const std::string& source, std::string_view message) {
    print_error(message);
    status = 2;
    parts.push_back({source, "", [source, message = std::string(message)] {
                       return Json{{"source", source}, {"error", message}};
                     }});
  };
  const Visits visits = visit_sources(sources, how, session, visit, report);
  const bool folder = std::ranges::any_of(
      sources, [&](const std::string& source) { return is_folder(source, session); });
  if (visits.seen == 1 && parts.size() == 1 && visits.failed == 0 && !folder) {
    return {std::move(parts.front().text), status, std::move(parts.front().json)};
  }
  const bool in_json =
      std::ranges::all_of(parts, [](const Part& part) { return part.json != nullptr; });
  if (!in_json) return {joined_text(parts), status};
  return answer_in(
      json, [&] { return joined_text(parts); }, [=] { return joined_json(parts); }, status);
}

}  // namespace maskctl::app
