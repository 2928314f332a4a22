#include "app/cli/commands/several.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/streams.h"
#include "app/session/named_sources.h"
#include "app/session/sources.h"
#include "maskctl/base/printable.h"

namespace maskctl::app {
namespace {

struct Part {
  std::string source;
  std::string text;  // empty for a SOURCE that could not be read
  std::function<Json()> json;
};

/// Answers of one line, "SOURCE: LINE", stand one below the other; the others have an empty line
/// between them.
std::string joined_text(const std::vector<Part>& parts) {
  std::string out;
  bool after_line = false;
  for (const Part& part : parts) {
    if (part.text.empty()) continue;
    const std::string title = printable(part.source, kUncut);
    const bool is_line = part.text.find('\n') + 1 == part.text.size();
    const bool has_title = part.text.starts_with(title);
    if (!out.empty() && !(is_line && after_line)) out += '\n';
    out += has_title ? part.text : fmt::format("{}:{}{}", title, is_line ? ' ' : '\n', part.text);
    after_line = is_line;
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
  const bool one_named = std::ranges::none_of(
      sources, [&](const std::string& source) { return names_several(source, session); });
  if (visits.seen == 1 && parts.size() == 1 && visits.failed == 0 && one_named) {
    return {std::move(parts.front().text), status, std::move(parts.front().json)};
  }
  const bool in_json =
      std::ranges::all_of(parts, [](const Part& part) { return part.json != nullptr; });
  if (!in_json) return {joined_text(parts), status};
  return answer_in(
      json, [&] { return joined_text(parts); }, [=] { return joined_json(parts); }, status);
}

}  // namespace maskctl::app
