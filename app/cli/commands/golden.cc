// maskctl golden: compares masks with their golden (recorded) versions.
#include "maskctl/golden/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "app/cli/commands/command.h"
#include "app/cli/commands/golden_kernel.h"
#include "app/cli/commands/golden_manifest.h"
#include "app/cli/environment.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/golden_report.h"
#include "app/reports/remedies.h"
#include "app/session/loader.h"
#include "app/session/named_sources.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/expectations.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app {
namespace {

struct GoldenOptions {
  std::string action;  // init, check, update or list
  std::string manifest;
  std::vector<std::string> names;  // entries (empty: all); for init: SOURCEs
  SourceOptions source;            // how init reads the SOURCEs
  std::string junit;               // file for the JUnit report
  bool force = false;
  bool json = false;
};

/// True in continuous integration (CI is set), where golden files must not be updated.
bool in_ci() {
  const std::string_view ci = environment("CI");
  return !ci.empty() && ci != "false" && ci != "0";
}

/// True in a GitHub workflow, where lines of the output that begin with "::error" become
/// annotations.
bool in_github() { return environment("GITHUB_ACTIONS") == std::string_view("true"); }

constexpr std::string_view kActions[] = {"check", "update", "list", "init"};

void declare(OptionList& list, GoldenOptions& golden) {
  list.operand("ACTION", kActions, golden.action);
  list.operand("MANIFEST", golden.manifest);
  list.operands("ENTRY", golden.names, false);
  declare_source(list, golden.source);
  list.text("--junit", "FILE.xml", "write the results as JUnit XML too (check)", golden.junit);
  list.flag("-f,--force", "update even where CI is set", golden.force);
  list.json("maskctl.golden/1, golden-update/1, golden-list/1", golden.json);
}

namespace fs = std::filesystem;

/// Calls `read`. If it throws an Error, puts the manifest's line and key in front of the message.
template <typename Read>
auto at_key(const std::string& manifest, Index line, const char* key, Read read) {
  try {
    return read();
  } catch (const Error& error) {
    throw error.within(fmt::format("{}:{}: key '{}'", manifest, line, key));
  }
}

GoldenContext context_for(const GoldenOptions& options, Session& session) {
  GoldenContext out;
  const auto source_of = [&options](const GoldenEntry& entry) {
    SourceOptions source;
    if (!entry.as.empty()) {
      at_key(options.manifest, entry.as_line, "as", [&] { read_as(entry.as, "kind", source); });
    }
    source.pad_id = entry.pad_id;
    source.keep_value_is_zero = entry.keep_value_is_zero;
    source.closed_below = entry.closed_below;
    source.shape = entry.shape;
    source.transforms = entry.transforms;
    return source;
  };
  out.load = [&options, &session, source_of](const GoldenEntry& entry) {
    const SourceOptions source = source_of(entry);  // must outlive the loader
    Loader loader(source, session);
    const Mask mask = loader.read(entry.source).mask;
    if (entry.transforms.empty()) return mask;
    return at_key(options.manifest, entry.transforms_line, "transforms",
                  [&] { return loader.transformed(mask); });
  };
  out.load_array = [&session](const std::string& file) {
    const SourceOptions plain;
    return Loader(plain, session).read(file).mask;
  };
  out.expectations = [&session, source_of](const GoldenEntry& entry, const Mask& mask,
                                           const std::vector<std::string>& holds) {
    const SourceOptions source = source_of(entry);  // must outlive the loader
    Loader loader(source, session);
    ExpectationContext context;
    context.bind = loader.context();
    std::vector<ExpectationResult> answers;
    answers.reserve(holds.size());
    for (const std::string& text : holds) {
      answers.push_back(maskctl::check(mask, parse_expectation(text, context)));
    }
    return answers;
  };
  out.verdict = [&session, source_of](const GoldenEntry& entry) {
    return judge_kernel(entry, source_of(entry), session);
  };
  out.message = manifest_message_of;
  out.write_new = !in_ci();
  out.folder = ".";  // see enter_folder_of()
  return out;
}

/// The entry with this name; else the entry with this SOURCE, relative to the current folder. Null
/// if there is none.
const GoldenEntry* entry_named(const Manifest& manifest, const std::string& name) {
  const auto found = std::ranges::find(manifest.entries, name, &GoldenEntry::name);
  if (found != manifest.entries.end()) return &*found;
  const std::string source = seen_from(folder_of(manifest.path), name);
  const auto read = std::ranges::find(manifest.entries, source, &GoldenEntry::source);
  return read == manifest.entries.end() ? nullptr : &*read;
}

/// The named entries; all entries if `names` is empty. Throws for an unknown name.
std::vector<GoldenEntry> chosen(const Manifest& manifest, const std::vector<std::string>& names) {
  if (names.empty()) return manifest.entries;
  std::vector<std::string_view> known;
  known.reserve(manifest.entries.size());
  for (const GoldenEntry& entry : manifest.entries) known.push_back(entry.name);
  std::vector<GoldenEntry> out;
  for (const std::string& name : names) {
    const GoldenEntry* entry = entry_named(manifest, name);
    if (!entry) {
      throw Error(Errc::kInvalidArgument, fmt::format("{}: no entry '{}'; {}", manifest.path,
                                                      printable(name), hint(name, known)));
    }
    out.push_back(*entry);
  }
  return out;
}

void write_text(const fs::path& path, const std::string& text) {
  AtomicFile file(path.string(), true);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

/// Throws if a report would take the place of a file that is none, such as the manifest.
void check_report_file(const fs::path& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed) || fs::file_size(path, failed) == 0) return;
  static constexpr std::string_view kStart = "<?xml";
  std::string start(kStart.size(), '\0');
  std::ifstream(path, std::ios::binary)
      .read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start == kStart) return;
  throw Error(Errc::kIo, fmt::format("--junit {}: is there, and is no XML; name another file",
                                     printable(path.string(), kUncut)));
}

/// Makes the manifest's folder the current one, because its SOURCEs and golden files are relative
/// to it.
void enter_folder_of(const std::string& manifest) {
  const fs::path folder = fs::path(manifest).parent_path();
  if (!folder.empty()) fs::current_path(folder);
}

Answer check(const GoldenOptions& options, Session& session, const Manifest& manifest) {
  const fs::path junit = options.junit.empty() ? fs::path() : fs::absolute(options.junit);
  if (!junit.empty()) check_report_file(junit);
  GoldenReport report{options.manifest, {}};
  const GoldenContext context = context_for(options, session);
  const std::vector<GoldenEntry> entries = chosen(manifest, options.names);
  enter_folder_of(options.manifest);
  for (const GoldenEntry& entry : entries) {
    report.cases.push_back({entry, check_golden(entry, context)});
  }
  if (!junit.empty()) write_text(junit, golden_junit(report));
  const auto text = [&] {
    return golden_text(report) + (in_github() ? golden_annotations(report) : "");
  };
  return answer_in(
      options.json, text, [=] { return golden_json(report); }, report.exit_status());
}

/// Updates the golden values of these entries. If one of them cannot be read, or its expectations
/// do not hold, throws an Error before anything is written.
std::vector<GoldenWritten> write_entries(const GoldenOptions& options, Session& session,
                                         const std::vector<GoldenEntry>& entries) {
  const fs::path path = fs::absolute(options.manifest);
  const GoldenContext context = context_for(options, session);
  enter_folder_of(options.manifest);
  std::vector<GoldenWritten> written;
  written.reserve(entries.size());
  for (const GoldenEntry& entry : entries) written.push_back({entry, is_outdated(entry, context)});
  std::map<std::string, GoldenValue> values;
  for (const GoldenWritten& one : written) {
    if (!one.changed) continue;
    if (auto value = update_golden(one.entry, context)) values[one.entry.name] = std::move(*value);
  }
  if (values.empty()) return written;
  // Read again under the lock: other processes may have updated other entries meanwhile.
  const ReplaceLock lock(path.string());
  write_text(path, with_values(read_manifest(path.string()), values));
  return written;
}

Answer update(const GoldenOptions& options, Session& session, const Manifest& manifest) {
  if (in_ci() && !options.force) {
    throw Error(Errc::kInvalidArgument,
                "golden update: refused because CI is set; run it where you can read the "
                "difference, or add --force");
  }
  const std::vector<GoldenWritten> written =
      write_entries(options, session, chosen(manifest, options.names));
  return answer_in(
      options.json, [&] { return golden_update_text(written); },
      [=] { return golden_update_json(options.manifest, written); });
}

/// Writes a new manifest with an entry, digest and record for each SOURCE.
Answer init(const GoldenOptions& options, Session& session) {
  if (options.names.empty()) {
    throw Error(Errc::kInvalidArgument,
                "golden init: which masks? maskctl golden init MANIFEST SOURCE...");
  }
  if (fs::exists(options.manifest) && !options.force) {
    throw Error(Errc::kIo, fmt::format("{} exists; use --force to overwrite", options.manifest));
  }
  const std::vector<std::string> names = all_named(options.names, session);
  const Manifest manifest =
      parse_manifest(options.manifest, manifest_text(options.manifest, names, options.source));
  GoldenContext context;
  // The name of an entry is the SOURCE as the user gave it.
  context.load = [&](const GoldenEntry& entry) {
    Loader loader(options.source, session);
    return loader.transformed(loader.read(entry.name).mask);
  };
  std::map<std::string, GoldenValue> values;
  for (const GoldenEntry& entry : manifest.entries) {
    values[entry.name] = *update_golden(entry, context);
  }
  fs::create_directories(folder_of(options.manifest));
  write_text(options.manifest, with_values(manifest, values));
  return {
      fmt::format("{}: {}\n", options.manifest, counted(std::ssize(names), "entry", "entries"))};
}

Answer list(const GoldenOptions& options, const Manifest& manifest) {
  const std::vector<GoldenEntry> entries = chosen(manifest, options.names);
  const auto text = [&] {
    std::string out;
    for (const GoldenEntry& entry : entries) {
      out += fmt::format("{:<24}{:<9}{}\n", printable(entry.name, kUncut), expected_names(entry),
                         printable(entry.source, kUncut));
    }
    return out;
  };
  return answer_in(options.json, text, [=] { return golden_list_json(options.manifest, entries); });
}

Answer run(const GoldenOptions& options, Session& session) {
  const std::size_t action = parse_choice(options.action, "golden", kActions);
  if (action == 3) return init(options, session);
  if (options.source != SourceOptions()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("golden {}: the manifest says how a mask is read: its keys transforms, "
                            "as, pad_id, keep_value, closed_below, shape; options for that go with "
                            "golden init",
                            options.action));
  }
  const Manifest manifest = read_manifest(options.manifest);
  if (action == 0) return check(options, session, manifest);
  return action == 1 ? update(options, session, manifest) : list(options, manifest);
}

}  // namespace

extern const Command kGolden = command<GoldenOptions, declare, run>({
    .name = "golden",
    .group = kCi,
    .operands = "check|update|list|init MANIFEST [ENTRY...]",
    .summary = "test that masks are still what they were",
    .examples = "  maskctl golden check samples/golden.toml\n"
                "  maskctl golden check golden.toml --junit golden.xml\n"
                "  maskctl golden update golden.toml packed\n"
                "  maskctl golden init ci/golden.toml masks/*.npy\n"
                "  maskctl golden init seq.toml seg.npy --as segments --pad-id 0 -t causal\n",
    .negative = "a mask has changed",
});

}  // namespace maskctl::app
