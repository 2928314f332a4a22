#include "app/session/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/reports/remedies.h"
#include "app/session/named_sources.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

struct Candidate {
  std::string source;
  bool member = false;  // one of several arrays of a container; it need not be a mask
};

/// True for the kinds of masks that consist of several arrays of a container.
bool takes_containers(const SourceOptions& how) {
  return how.as == ArrayKind::kMaskInfo || how.as == ArrayKind::kMaskFile ||
         how.as == ArrayKind::kPairs || how.as == ArrayKind::kBits ||
         (how.as && !array_names(*how.as).empty());
}

/// The names of the arrays in a container that holds several masks; empty for any other SOURCE.
std::vector<std::string> members_of(const std::string& source, const SourceOptions& how,
                                    Session& session) {
  if (session.given(source) || !names_one_source(source) || takes_containers(how)) return {};
  const SourceName named = parse_source_name(source);
  // Pipes are not opened here: they can be opened only once, and closing one stops its writer.
  std::error_code failed;
  if (!named.member.empty() || !std::filesystem::is_regular_file(named.path, failed)) return {};
  const auto container = session.containers().open(
      named.path, {session.settings().max_bytes, session.settings().strict});
  if (is_one_mask(*container) || container->contains("maskinfo")) return {};
  return container->keys();
}

/// If `listed`, the file is one of several, and an Error from opening it is reported later, when it
/// is visited.
void add_file(const std::string& source, bool in_folder, bool listed, const SourceOptions& how,
              Session& session, std::vector<Candidate>& out) {
  std::vector<std::string> keys;
  try {
    keys = members_of(source, how, session);
  } catch (const Error& error) {
    if (!listed || error.code() == Errc::kCancelled) throw;
  }
  for (const std::string& key : keys) out.push_back({source + ":" + key, true});
  if (keys.empty()) out.push_back({source, in_folder});
}

/// The masks that one SOURCE of the command line names. Sets `listed` if the SOURCE is a folder or
/// a pattern of files, whose files are reported one by one.
std::vector<Candidate> candidates(const std::string& source, const SourceOptions& how,
                                  Session& session, bool& listed) {
  const NamedSources named = named_sources(source, session);
  const bool in_folder = named.by == NamedSources::By::kFolder;
  listed = in_folder || named.by == NamedSources::By::kFiles;
  std::vector<Candidate> out;
  for (const std::string& one : named.sources) {
    if (named.by == NamedSources::By::kArrays) {
      out.push_back({one, true});
    } else {
      add_file(one, in_folder, listed, how, session, out);
    }
  }
  return out;
}

using Report = std::function<void(const std::string&, std::string_view)>;

/// True if the Error means that an array is no mask, such as weights; false if the array is damaged
/// or too large to read.
bool is_no_mask(const Error& error) {
  switch (error.code()) {
    case Errc::kFormat:
    case Errc::kIo:
    case Errc::kLimit:
      return false;
    default:
      return true;
  }
}

/// Visits all masks that one SOURCE of the command line names. Throws the first Error if none could
/// be visited.
void visit_candidates(const std::vector<Candidate>& all, bool listed, const Session& session,
                      const std::function<void(const std::string&)>& visit, const Report& report,
                      Visits& out) {
  Index seen = 0;
  std::optional<Error> first;
  for (const Candidate& candidate : all) {
    try {
      visit(candidate.source);
      ++seen;
    } catch (const PipelineError&) {
      throw;  // the same steps would fail for every SOURCE
    } catch (const Error& error) {
      if (!(candidate.member || listed) || error.code() == Errc::kCancelled) throw;
      if (candidate.member && !first) first = error;
      if (candidate.member && is_no_mask(error)) {
        session.note(fmt::format("{}; left out", message_of(error)));
      } else {
        report(candidate.source, message_of(error));
        ++out.failed;
      }
    }
  }
  if (seen == 0 && first && is_no_mask(*first)) throw *first;
  out.seen += seen;
}

}  // namespace

bool is_one_mask(const Container& container) {
  if (!mask_file_format(container).empty()) return true;
  const std::vector<std::string>& names = container.keys();
  const auto has = [&](std::string_view wanted) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      return name.substr(name.starts_with('/') ? 1 : 0) == wanted;
    });
  };
  return names.size() == 1 || (names.size() == 2 && has("q") && has("kv")) ||
         kind_of_names(has).has_value();
}

Visits visit_sources(const std::vector<std::string>& sources, const SourceOptions& how,
                     Session& session, const std::function<void(const std::string&)>& visit,
                     const std::function<void(const std::string&, std::string_view)>& report) {
  Visits out;
  for (const std::string& source : sources) {
    try {
      bool listed = false;
      const std::vector<Candidate> all = candidates(source, how, session, listed);
      visit_candidates(all, listed, session, visit, report, out);
    } catch (const PipelineError&) {
      throw;
    } catch (const Error& error) {
      if (sources.size() == 1 || error.code() == Errc::kCancelled) throw;
      report(source, message_of(error));
      ++out.failed;
    }
  }
  return out;
}

}  // namespace maskctl::app
