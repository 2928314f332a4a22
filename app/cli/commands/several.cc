#include "app/cli/commands/several.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/streams.h"
#include "app/reports/json_text.h"
#include "app/session/sources.h"

namespace maskctl::app {
namespace {

struct Part {
  std::string source;
  std::string text;
};

std::string joined_text(const std::vector<Part>& parts) {
  std::string out;
  for (const Part& part : parts) {
    if (!out.empty()) out += '\n';
    const bool has_title = part.text.starts_with(part.source);
    out += has_title ? part.text : fmt::format("{}:\n{}", part.source, part.text);
  }
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
    parts.push_back({source, std::move(one.text)});
  };
  const auto report = [&](const std::string& source, std::string_view message) {
    print_error(message);
    status = 2;
    if (json) parts.push_back({source, error_json(source, message)});
  };
  const Visits visits = visit_sources(sources, how, session, visit, report);
  if (visits.seen == 1 && parts.size() == 1 && visits.failed == 0) {
    return {std::move(parts.front().text), status};
  }
  if (!json) return {joined_text(parts), status};
  std::vector<std::string> texts;
  texts.reserve(parts.size());
  for (Part& part : parts) texts.push_back(std::move(part.text));
  return {json_list(texts), status};
}

}  // namespace maskctl::app
