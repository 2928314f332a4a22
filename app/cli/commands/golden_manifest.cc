#include "app/cli/commands/golden_manifest.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/golden/manifest.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/generate.h"
#include "maskctl/pipeline/steps/sources.h"

namespace maskctl::app {
namespace {

namespace fs = std::filesystem;

/// The steps as one line. SOURCEs in them are made relative to `folder`.
std::string transform_from(const fs::path& folder, const std::string& argument) {
  const auto rename = [&](const std::string& source) { return seen_from(folder, source); };
  return print(with_sources(parse(pipeline_text(argument)), rename));
}

std::string transforms_text(const fs::path& folder, const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (const std::string& argument : arguments) {
    if (!is_blank(argument)) out.push_back(toml_text(transform_from(folder, argument)));
  }
  return out.empty() ? "" : fmt::format("transforms = [{}]\n", joined(out, ", "));
}

std::string kind_text(const SourceOptions& how) {
  if (!how.as) return "";
  const std::string block = how.block ? fmt::format(":{}x{}", how.block->q, how.block->k) : "";
  return fmt::format("as = {}\n", toml_text(std::string(name(*how.as)) + block));
}

/// Returns the lines KEY = VALUE of the manifest that are the same for all entries.
std::string keys_text(const fs::path& folder, const SourceOptions& how) {
  std::string out = kind_text(how);
  if (how.pad_id != SourceOptions().pad_id) out += fmt::format("pad_id = {}\n", how.pad_id);
  if (how.keep_value_is_zero) out += "keep_value = 0\n";
  if (how.closed_below) out += fmt::format("closed_below = {}\n", *how.closed_below);
  if (how.shape) out += fmt::format("shape = [{}]\n", joined(*how.shape, ", "));
  return out + transforms_text(folder, how.transforms);
}

}  // namespace

fs::path folder_of(const std::string& manifest) {
  return fs::absolute(manifest).lexically_normal().parent_path();
}

std::string seen_from(const fs::path& folder, const std::string& source) {
  if (const auto two = two_sources(source)) {
    return fmt::format("q={},kv={}", seen_from(folder, two->q), seen_from(folder, two->kv));
  }
  if (!names_one_source(source)) return source;
  const SourceName named = parse_source_name(source);
  if (named.path == "-") {
    throw Error(Errc::kInvalidArgument,
                "a manifest cannot read standard input again; write it to a file first");
  }
  const std::string path =
      fs::absolute(named.path).lexically_normal().lexically_relative(folder).string();
  return named.member.empty() ? path : path + ":" + named.member;
}

std::string manifest_text(const std::string& manifest, const std::vector<std::string>& sources,
                          const SourceOptions& how) {
  const fs::path folder = folder_of(manifest);
  const std::string keys = keys_text(folder, how);
  std::string out = "# maskctl golden check " + manifest + "\n";
  for (const std::string& source : sources) {
    out += fmt::format("\n[[golden]]\nname = {}\nsource = {}\n{}expect = {{ sha256 = \"\" }}\n",
                       toml_text(source), toml_text(seen_from(folder, source)), keys);
  }
  return out;
}

}  // namespace maskctl::app
