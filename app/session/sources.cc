#include "app/session/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/reports/remedies.h"
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
  return how.as == ArrayKind::kMaskInfo || how.as == ArrayKind::kRuns ||
         how.as == ArrayKind::kPairs || how.as == ArrayKind::kBits ||
         (how.as && lists_blocks(*how.as));
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
  if (is_one_mask(container->keys()) || container->contains("maskinfo")) return {};
  return container->keys();
}

void add_file(const std::string& source, bool in_folder, const SourceOptions& how, Session& session,
              std::vector<Candidate>& out) {
  std::vector<std::string> keys;
  try {
    keys = members_of(source, how, session);
  } catch (const Error& error) {
    // A file of a folder is reported when it is visited.
    if (!in_folder || error.code() == Errc::kCancelled) throw;
  }
  for (const std::string& key : keys) out.push_back({source + ":" + key, true});
  if (keys.empty()) out.push_back({source, in_folder});
}

constexpr std::size_t kMostFiles = 100'000;

/// The files of arrays in a folder and in those below it.
struct FilesBelow {
  std::vector<std::string> files;  // and folders that cannot be listed, which are no files
  Index others = 0;                // how many files are of another suffix

  void add(const std::filesystem::path& folder) {
    std::error_code failed;
    std::vector<std::filesystem::directory_entry> entries;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
         at.increment(failed)) {
      entries.push_back(*at);
      if (entries.size() + files.size() > kMostFiles) {
        throw Error(Errc::kLimit, fmt::format("{}: a folder of more than {} files; name those to "
                                              "read",
                                              printable(folder.string()), kMostFiles));
      }
    }
    if (failed) files.push_back(folder.string());
    std::ranges::sort(entries);
    for (const auto& entry : entries) {
      if (entry.is_directory(failed) && !entry.is_symlink(failed)) {
        add(entry.path());
      } else if (has_array_suffix(entry.path().string())) {
        files.push_back(entry.path().string());
      } else {
        ++others;
      }
    }
  }
};

std::vector<Candidate> candidates(const std::string& source, const SourceOptions& how,
                                  Session& session) {
  std::vector<Candidate> out;
  if (!is_folder(source, session)) {
    add_file(source, false, how, session, out);
    return out;
  }
  FilesBelow below;
  below.add(source);
  if (below.files.empty()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: a folder without .npy, .npz, .safetensors or .h5 files",
                            printable(source)));
  }
  for (const std::string& file : below.files) add_file(file, true, how, session, out);
  if (below.others > 0) {
    session.note(fmt::format("{}: {} of other suffixes left out", printable(source),
                             counted(below.others, "file")));
  }
  return out;
}

using Report = std::function<void(const std::string&, std::string_view)>;

/// True for an array that is no mask, such as weights beside one; false for one that is damaged, or
/// too large to read.
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
void visit_candidates(const std::vector<Candidate>& all, const Session& session,
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
      if (!candidate.member || error.code() == Errc::kCancelled) throw;
      if (!first) first = error;
      if (is_no_mask(error)) {
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

bool is_folder(const std::string& source, const Session& session) {
  std::error_code failed;
  return !session.given(source) && names_one_source(source) &&
         std::filesystem::is_directory(source, failed);
}

bool is_one_mask(const std::vector<std::string>& names) {
  const auto has = [&](std::string_view wanted) {
    return std::ranges::any_of(names, [&](std::string_view name) {
      return name.substr(name.starts_with('/') ? 1 : 0) == wanted;
    });
  };
  return names.size() == 1 || (names.size() == 2 && has("q") && has("kv")) ||
         (has("indptr") && has("begin") && has("end") && has("shape")) ||
         (has("kv_num_blocks") && has("kv_indices")) ||
         (has("mask_block_cnt") && has("mask_block_idx")) || (has("indptr") && has("indices"));
}

Visits visit_sources(const std::vector<std::string>& sources, const SourceOptions& how,
                     Session& session, const std::function<void(const std::string&)>& visit,
                     const std::function<void(const std::string&, std::string_view)>& report) {
  Visits out;
  for (const std::string& source : sources) {
    try {
      visit_candidates(candidates(source, how, session), session, visit, report, out);
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
