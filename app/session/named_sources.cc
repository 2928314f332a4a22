#include "app/session/named_sources.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

using By = NamedSources::By;
namespace fs = std::filesystem;

constexpr std::size_t kMost = 100'000;

void check_number(const std::string& source, const char* what, std::size_t number) {
  if (number <= kMost) return;
  throw Error(Errc::kLimit,
              fmt::format("{}: {} of more than {} files or arrays; name those to read",
                          printable(source), what, kMost));
}

bool has_signs(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

/// How a SOURCE names several.
By how(const std::string& source, const Session& session) {
  std::error_code failed;
  if (session.given(source) || !names_one_source(source)) return By::kName;
  if (fs::is_directory(source, failed)) return By::kFolder;
  if (!has_signs(source) || source.starts_with("-") || fs::exists(source, failed)) return By::kName;
  const SourceName name = parse_source_name(source);
  if (!fs::exists(name.path, failed) && has_signs(name.path)) return By::kFiles;
  return has_signs(name.member) ? By::kArrays : By::kName;
}

/// The files of arrays in a folder and in those below it.
struct FilesBelow {
  std::string folder;
  std::vector<std::string> files;  // and folders that cannot be listed, which are no files
  Index others = 0;                // how many files are of another suffix

  void add(const fs::path& path) {
    std::error_code failed;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
      entries.push_back(*at);
      check_number(folder, "a folder", entries.size() + files.size());
    }
    if (failed) files.push_back(path.string());
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

std::vector<std::string> files_below(const std::string& folder, const Session& session) {
  FilesBelow below{folder, {}, 0};
  below.add(folder);
  if (below.files.empty()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: a folder without .npy, .npz, .safetensors or .h5 files",
                            printable(folder)));
  }
  if (below.others > 0) {
    session.note(fmt::format("{}: {} of other suffixes left out", printable(folder),
                             counted(below.others, "file")));
  }
  return std::move(below.files);
}

/// The arrays of a container that match "FILE:PATTERN". A slash at the start of a name is optional.
std::vector<std::string> matching_arrays(const std::string& source, Session& session) {
  const SourceName name = parse_source_name(source);
  const auto container = session.containers().open(
      name.path, {session.settings().max_bytes, session.settings().strict});
  const auto bare = [](std::string_view text) {
    return std::string(text.substr(text.starts_with('/') ? 1 : 0));
  };
  const std::vector<std::string> keys = container->keys();
  if (std::ranges::find(keys, name.member) != keys.end()) return {source};
  std::vector<std::string> out;
  for (const std::string& key : keys) {
    if (::fnmatch(bare(name.member).c_str(), bare(key).c_str(), 0) != 0) continue;
    out.push_back(name.path + ":" + key);
  }
  check_number(source, "a pattern", out.size());
  if (!out.empty()) return out;
  constexpr std::size_t kShown = 8;
  std::vector<std::string> shown;
  for (const std::string& key : keys) {
    if (shown.size() < kShown) shown.push_back(printable(key));
  }
  if (shown.size() < keys.size()) shown.emplace_back("...");
  throw Error(Errc::kIo,
              fmt::format("{}: no array matches '{}'; the file holds {}", printable(name.path),
                          printable(name.member), shown.empty() ? "none" : joined(shown, ", ")));
}

/// The files that match a pattern, each followed by ":" and the array that stands behind the
/// pattern, if any.
std::vector<std::string> matching_files(const std::string& source) {
  const SourceName name = parse_source_name(source);
  glob_t found{};
  const int failed = ::glob(name.path.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> out(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (failed == GLOB_NOSPACE) throw std::bad_alloc();
  check_number(source, "a pattern", out.size());
  if (out.empty()) {
    throw Error(Errc::kIo, fmt::format("{}: no file matches", printable(name.path)));
  }
  std::ranges::sort(out);
  if (name.member.empty()) return out;
  for (std::string& file : out) file += ":" + name.member;
  return out;
}

}  // namespace

bool names_several(const std::string& source, const Session& session) {
  return how(source, session) != By::kName;
}

NamedSources named_sources(const std::string& source, Session& session) {
  const By by = how(source, session);
  switch (by) {
    case By::kName:
      return {by, {source}};
    case By::kFolder:
      return {by, files_below(source, session)};
    case By::kArrays:
      return {by, matching_arrays(source, session)};
    case By::kFiles:
      break;
  }
  NamedSources out{by, {}};
  for (const std::string& file : matching_files(source)) {
    std::ranges::move(named_sources(file, session).sources, std::back_inserter(out.sources));
  }
  return out;
}

std::vector<std::string> all_named(const std::vector<std::string>& sources, Session& session) {
  std::vector<std::string> out;
  for (const std::string& source : sources) {
    std::ranges::move(named_sources(source, session).sources, std::back_inserter(out));
  }
  return out;
}

}  // namespace maskctl::app
