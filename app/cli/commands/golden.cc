// maskctl golden: checks that masks stay what they were.
#include "maskctl/golden/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/cli/commands/command.h"
#include "app/cli/commands/golden_kernel.h"
#include "app/cli/environment.h"
#include "app/cli/parser/values.h"
#include "app/reports/golden_report.h"
#include "app/session/loader.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/golden/digest.h"
#include "maskctl/io/array_io.h"
#include "maskctl/pipeline/expectations.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

struct GoldenOptions {
  std::string action;  // init, check, update or list
  std::string manifest;
  std::vector<std::string> names;  // entries (empty: all); for init, SOURCEs
  std::string as;                  // how init reads them
  std::string junit;               // file to write
  bool force = false;
  bool json = false;
};

/// Golden files are not updated there.
bool in_ci() {
  const std::string_view ci = environment("CI");
  return !ci.empty() && ci != "false" && ci != "0";
}

/// Annotations are printed there.
bool in_github() { return environment("GITHUB_ACTIONS") == std::string_view("true"); }

constexpr std::string_view kActions[] = {"check", "update", "list", "init"};

void declare(OptionList& list, GoldenOptions& golden) {
  list.operand("ACTION", kActions, golden.action);
  list.operand("MANIFEST", golden.manifest);
  list.operands("ENTRY", golden.names, false);
  list.value("--as", "KIND", "how init reads its SOURCEs",
             [&golden](const std::string& text) { golden.as = name(parse_kind(text, "--as")); });
  list.text("--junit", "FILE.xml", "write the results as JUnit XML too (check)", golden.junit);
  list.flag("-f,--force", "update even where CI is set", golden.force);
  list.json("maskctl.golden/1, golden-update/1, golden-list/1", golden.json);
}

namespace fs = std::filesystem;

/// Calls `read`, and puts the place of the key in front of its error.
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
      source.as = at_key(options.manifest, entry.as_line, "as",
                         [&] { return parse_kind(entry.as, "kind"); });
    }
    source.pad_id = entry.pad_id;
    source.keep_value_is_zero = entry.keep_value_is_zero;
    source.closed_below = entry.closed_below;
    source.shape = entry.shape;
    source.transforms = entry.transforms;
    return source;
  };
  out.load = [&options, &session, source_of](const GoldenEntry& entry) {
    const SourceOptions source = source_of(entry);  // the loader refers to it
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
  out.expectations = [&session, source_of](const GoldenEntry& entry, const Mask& mask) {
    const SourceOptions source = source_of(entry);  // the loader refers to it
    Loader loader(source, session);
    ExpectationContext context;
    context.bind = loader.context();
    context.pad_id = entry.pad_id;
    std::vector<ExpectationResult> answers;
    answers.reserve(entry.holds.size());
    for (const std::string& text : entry.holds) {
      answers.push_back(maskctl::check(mask, parse_expectation(text, context)));
    }
    return answers;
  };
  out.judge = [&session, source_of](const GoldenEntry& entry) {
    return judge_kernel(entry, source_of(entry), session);
  };
  out.write_new = !in_ci();
  return out;
}

/// All entries, or those that are named.
std::vector<GoldenEntry> chosen(const Manifest& manifest, const std::vector<std::string>& names) {
  if (names.empty()) return manifest.entries;
  std::vector<std::string_view> known;
  known.reserve(manifest.entries.size());
  for (const GoldenEntry& entry : manifest.entries) known.push_back(entry.name);
  std::vector<GoldenEntry> out;
  for (const std::string& name : names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) {
      throw Error(Errc::kInvalidArgument, fmt::format("{}: no entry '{}'; {}", manifest.path,
                                                      shown(name), hint(name, known)));
    }
    out.push_back(manifest.entries[static_cast<std::size_t>(at - known.begin())]);
  }
  return out;
}

void write_text(const fs::path& path, const std::string& text) {
  AtomicFile file(path.string(), true);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

/// Changes to the folder of the manifest, to which sources and golden files are relative.
void enter_folder_of(const std::string& manifest) {
  const fs::path folder = fs::path(manifest).parent_path();
  if (!folder.empty()) fs::current_path(folder);
}

Answer check(const GoldenOptions& options, Session& session, const Manifest& manifest) {
  const fs::path junit = options.junit.empty() ? fs::path() : fs::absolute(options.junit);
  GoldenReport report{options.manifest, {}};
  const GoldenContext context = context_for(options, session);
  enter_folder_of(options.manifest);
  for (const GoldenEntry& entry : chosen(manifest, options.names)) {
    report.cases.push_back({entry, check_golden(entry, context)});
  }
  if (!junit.empty()) write_text(junit, golden_junit(report));
  std::string text = options.json ? golden_json(report) : golden_text(report);
  if (in_github() && !options.json) text += golden_annotations(report);
  return {text, report.exit_status()};
}

Answer update(const GoldenOptions& options, Session& session, const Manifest& manifest) {
  if (in_ci() && !options.force) {
    throw Error(Errc::kInvalidArgument,
                "golden update: refused because CI is set; run it where you can read the "
                "difference, or add --force");
  }
  const fs::path path = fs::absolute(options.manifest);
  const GoldenContext context = context_for(options, session);
  const std::vector<GoldenEntry> entries = chosen(manifest, options.names);
  enter_folder_of(options.manifest);
  std::map<std::string, std::string> digests;
  std::vector<GoldenWritten> written;
  for (const GoldenEntry& entry : entries) {
    const GoldenUpdate done = update_golden(entry, context);
    if (!done.digest.empty()) digests[entry.name] = done.digest;
    written.push_back({entry, done.changed});
  }
  if (!digests.empty()) write_text(path, with_digests(manifest, digests));
  return {options.json ? golden_update_json(options.manifest, written)
                       : golden_update_text(written)};
}

/// A SOURCE relative to the folder of the manifest: "../masks/a.npz:mask".
std::string from_folder(const std::string& source, const fs::path& folder) {
  if (!names_one_source(source)) return source;
  const SourceName named = parse_source_name(source);
  const std::string path =
      fs::absolute(named.path).lexically_normal().lexically_relative(folder).string();
  return named.member.empty() ? path : path + ":" + named.member;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

/// Writes a manifest of these SOURCEs as they are now, each with the digest of its content.
Answer init(const GoldenOptions& options, Session& session) {
  if (options.names.empty()) {
    throw Error(Errc::kInvalidArgument,
                "golden init: which masks? maskctl golden init MANIFEST SOURCE...");
  }
  if (fs::exists(options.manifest) && !options.force) {
    throw Error(Errc::kIo, fmt::format("{} exists; use --force to overwrite", options.manifest));
  }
  const fs::path folder = fs::absolute(options.manifest).lexically_normal().parent_path();
  std::string text = "# maskctl golden check " + options.manifest + "\n";
  SourceOptions how;
  if (!options.as.empty()) how.as = parse_kind(options.as, "--as");
  for (const std::string& source : options.names) {
    const std::string digest = content_digest(Loader(how, session).read(source).mask);
    text += fmt::format("\n[[golden]]\nname = {0}\nsource = {0}\n",
                        quoted(from_folder(source, folder)));
    if (!options.as.empty()) text += fmt::format("as = {}\n", quoted(options.as));
    text += fmt::format("expect = {{ sha256 = \"{}\" }}\n", digest);
  }
  parse_manifest(options.manifest,
                 text);  // catches duplicate names, and names that TOML cannot hold
  fs::create_directories(folder);
  write_text(options.manifest, text);
  return {fmt::format("{}: {}\n", options.manifest,
                      counted(std::ssize(options.names), "entry", "entries"))};
}

Answer list(const GoldenOptions& options, const Manifest& manifest) {
  const std::vector<GoldenEntry> entries = chosen(manifest, options.names);
  if (options.json) return {golden_list_json(options.manifest, entries)};
  std::string text;
  for (const GoldenEntry& entry : entries) {
    text += fmt::format("{:<24}{:<9}{}\n", entry.name, expect_name(entry.expect), entry.source);
  }
  return {text};
}

Answer run(const GoldenOptions& options, Session& session) {
  const std::size_t action = parse_choice(options.action, "golden", kActions);
  if (action == 3) return init(options, session);
  const Manifest manifest = read_manifest(options.manifest);
  if (action == 0) return check(options, session, manifest);
  return action == 1 ? update(options, session, manifest) : list(options, manifest);
}

}  // namespace

const Command kGolden = command<GoldenOptions, declare, run>({
    .name = "golden",
    .group = kCi,
    .operands = "check|update|list|init MANIFEST [ENTRY...]",
    .summary = "test that masks are still what they were",
    .examples = "  maskctl golden check samples/golden.toml\n"
                "  maskctl golden check golden.toml --junit golden.xml\n"
                "  maskctl golden update golden.toml packed\n"
                "  maskctl golden init ci/golden.toml masks/*.npy\n",
    .negative = "a mask has changed",
});

}  // namespace maskctl::app
