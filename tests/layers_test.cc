// Checks the layers of the library, by reading every #include.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch_compat.h"
#include "support/source_files.h"

namespace maskctl::test {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

struct Layer {
  Names sees;         // the layers that it may include
  Names third_party;  // first part of a path in <>, allowed in .cc files
  Names shared = {};  // private headers that others may include
};

// The layers as docs/developers/architecture.md lists them. A layer may also include itself.
const std::map<std::string, Layer> kLayers = {
    {"base",
     {{},
      {"fmt", "hwy", "cpuid.h"},
      {"atomic_file.h", "checked.h", "grouped.h", "helper_file.h", "huge_pages.h", "mt19937.h",
       "printable.h", "ranges.h", "stopwatch.h", "text.h", "text_file.h", "threefry.h",
       "threefry_block.h", "wait.h"}}},
    {"tensor", {{"base"}, {"fmt"}, {"element_types.h", "lines.h"}}},
    {"mask",
     {{"base", "tensor"},
      {"fmt", "hwy"},
      {"arrays/array_kinds.h",
       "arrays/bits.h",
       "arrays/elements.h",
       "arrays/flashmask.h",
       "arrays/index_lists.h",
       "arrays/intervals.h",
       "arrays/nearest.h",
       "arrays/requests.h",
       "arrays/segment_ids.h",
       "arrays/slices.h",
       "equal/shared_planes.h",
       "planes/band_key.h",
       "planes/computed_rows.h",
       "planes/gallop.h",
       "planes/leaves.h",
       "planes/row_lists/clipped_classes.h",
       "planes/row_lists/clipped_grid.h",
       "planes/row_lists/row_keys.h",
       "planes/taken.h",
       "planes/tile_counts.h",
       "planes/words.h",
       "rows.h",
       "steps/apply_op.h",
       "steps/bits.h",
       "steps/change.h",
       "steps/edits.h",
       "steps/expr.h",
       "steps/field.h",
       "steps/grid.h",
       "steps/guess.h",
       "steps/neighbourhood.h",
       "steps/positions.h",
       "steps/rule.h",
       "steps/tree_rows.h"}}},
    {"inspect",
     {{"base", "tensor", "mask"},
      {"fmt", "sha256.h"},
      {"count/equal_planes.h", "diff/captured.h", "diff/closing.h", "find/find.h", "find/regions.h",
       "find/unseen.h", "parts/deal.h", "parts/parts.h", "recognise/bias_form.h",
       "recognise/moved_borders.h", "recognise/row_length.h", "recognise/scopes.h",
       "recognise/summary.h", "recognise/without_step.h", "why/decided.h"}}},
    {"io",
     {{"base", "tensor", "mask"},
      {"fmt", "png.h", "zlib.h", "nlohmann"},
      {"array_source.h", "formats/container.h", "formats/container_cache.h",
       "formats/hdf5/hdf5_protocol.h", "formats/png/png.h", "formats/pretrained.h",
       "formats/safetensors/safetensors.h", "kinds/array_look.h", "masks/array_choices.h",
       "streams/byte_sink.h", "streams/byte_source.h", "streams/deflate.h"}}},
    {"render",
     {{"base", "tensor", "mask"},
      {"fmt"},
      {"figure/words.h", "page/page.h", "picture/canvas_svg.h", "picture/markup.h",
       "picture/raster.h", "picture/svg.h", "text/layout.h", "text/panel.h", "text/term.h"}}},
    {"attention",
     {{"base", "tensor", "mask"},
      {"fmt", "hwy"},
      {"arrays/floats.h",
       "arrays/outputs.h",
       "arrays/slices.h",
       "arrays/to_double.h",
       "calls/axes.h",
       "calls/bound_call.h",
       "calls/effects.h",
       "cpu/heads.h",
       "cpu/kernel.h",
       "cpu/packed_factors.h",
       "cpu/prefetch_queue.h",
       "cpu/simd_targets.h",
       "cpu/worker_pool.h",
       "cuda/arrays.h",
       "cuda/device.h",
       "cuda/elements.h",
       "cuda/gpus.h",
       "cuda/grouped/grouped_product.h",
       "cuda/hopper/fragment.cuh",
       "cuda/hopper/gpu.h",
       "cuda/hopper/kernel.cuh",
       "cuda/hopper/powers.cuh",
       "cuda/host_call.h",
       "cuda/in_place.h",
       "cuda/kernels.h",
       "cuda/launch.cuh",
       "gpu/check_arrays.h",
       "gpu/plan_calls.h",
       "operations/native_sparse/checked.h",
       "operations/paged/checked.h",
       "problems/backends.h",
       "ring/on_devices.h",
       "softmax/checked.h"}}},
    {"kernels", {{"base", "tensor", "mask", "attention"}, {"fmt", "hwy"}}},
    {"distributed", {{"base", "tensor", "mask", "attention"}, {"fmt", "mpi.h"}}},
    {"pipeline",
     {{"base", "tensor", "mask", "inspect", "io", "render"},
      {"fmt"},
      {"parse/arguments.h", "parse/values.h", "steps/sources.h", "steps/step_infos.h"}}},
    {"verify", {{"base", "tensor", "mask", "inspect", "attention"}, {"fmt", "hwy", "Eigen"}}},
    {"phases",
     {{"base", "tensor", "mask", "inspect"},
      {"fmt"},
      {"caches/cache_rows.h", "given_steps.h", "phases.h", "shared_order.h"}}},
    {"kit",
     {{"base", "tensor", "mask", "inspect", "io", "render", "attention", "pipeline", "verify"},
      {"fmt"},
      {"baseline.h", "expected.h", "judge.h", "made_case.h"}}},
    {"translate",
     {{"base", "tensor", "mask", "inspect", "io", "pipeline"},
      {"fmt", "nlohmann"},
      {"expressible.h"}}},
    {"ejkernel",
     {{"base", "tensor", "mask", "inspect", "io", "render", "attention", "kernels", "pipeline"},
      {"fmt"},
      {"chain/ejkernel_chain.h", "chain/why_ejkernel.h", "runtime/config_text.h",
       "visualize/visualize_text.h"}}},
    {"golden",
     {{"base", "tensor", "mask", "inspect", "io", "render", "pipeline"}, {"fmt", "toml++"}}},
};

bool is_header(const std::string& path) { return path.ends_with(".h"); }

bool is_system(const std::string& header) {
  static const Names names = {"fcntl.h",  "limits.h", "unistd.h",  "poll.h",
                              "signal.h", "errno.h",  "sys",       "spawn.h",
                              "time.h",   "dirent.h", "pthread.h", "dlfcn.h"};
  return names.contains(header.substr(0, header.find('/')));
}

const Names public_headers = listed_headers();

/// The layer of a path, mask for "lib/maskctl/mask/x.h" or "maskctl/mask/x.h"; empty if it has
/// none.
std::string layer_of(const std::string& path) {
  static const std::regex own(R"((?:lib/)?maskctl/(\w+)/.+)");
  std::smatch part;
  return std::regex_match(path, part, own) ? part[1].str() : "";
}

/// Returns what is wrong if a file that is no test includes this header of the library; "" if
/// nothing.
std::string header_problem(const std::string& path, const std::string& header) {
  if (public_headers.contains(header)) return "";
  if (path.starts_with("lib/") && public_headers.contains(path.substr(4))) {
    return "is not public, as what includes it";
  }
  const std::string layer = layer_of(header);
  if (layer == layer_of(path) || !kLayers.contains(layer)) return "";
  const std::string name = header.substr(std::string("maskctl/" + layer + "/").size());
  return kLayers.at(layer).shared.contains(name) ? "" : "is private to " + layer;
}

std::string library_include_problem(const std::string& path, const std::string& layer,
                                    const std::string& include) {
  const std::string name = include.substr(1);
  const bool third_party = kLayers.at(layer).third_party.contains(name.substr(0, name.find('/')));
  if (include[0] == '"' && !third_party) {
    const std::string other = layer_of(name);
    if (other.empty()) return "is not maskctl/<layer>/<file>";
    const bool seen = other == layer || kLayers.at(layer).sees.contains(other);
    return seen ? header_problem(path, name) : "is not to the left of " + layer;
  }
  const bool standard = name.find_first_of("./") == std::string::npos;
  if (standard) {
    return name == "iostream" || name == "print" ? "lets the library print" : "";
  }
  if (is_system(name)) return "";
  // CUDA's own headers may be included only in the folder of its kernels, where .cuh files pass
  // them on to .cu files.
  static const std::regex kernels("lib/maskctl/(attention|kernels)/cuda/.*");
  if (name.starts_with("cuda") && std::regex_match(path, kernels)) {
    return is_header(path) ? "shows a third party in a header" : "";
  }
  if (is_header(path)) return "shows a third party in a header";
  return third_party ? "" : "is not a dependency of " + layer;
}

std::string app_include_problem(const std::string& path, const std::string& include) {
  if (include.starts_with("<CLI/") && path != "app/cli/cli.cc") {
    return "may stand in app/cli/cli.cc only";
  }
  if (include.starts_with("<ncurses") && path != "app/tui/terminal.cc") {
    return "may stand in app/tui/terminal.cc only";
  }
  if (include.starts_with("<nanobind/") && !path.starts_with("app/python/")) {
    return "may stand in app/python/ only";
  }
  if (include.starts_with("\"maskctl/")) return header_problem(path, include.substr(1));
  const bool own = include.starts_with("\"app/");
  return include[0] == '"' && !own ? "is neither app/ nor maskctl/" : "";
}

/// Returns the option of the command that a text of the library names, as in "raise --max-bytes",
/// or "". Front ends say what to do with their options; texts without spaces are words for other
/// programs, and a colon follows names in CSS.
std::string option_named(const std::string& text) {
  static const std::regex literal(R"("(?:[^"\\\n]|\\.)*")");
  static const std::regex option(R"((?:^|[^\w-])(--[a-z][a-z-]*)(?![\w:-]))");
  for (std::sregex_iterator it(text.begin(), text.end(), literal), end; it != end; ++it) {
    const std::string words = it->str();
    std::smatch found;
    const bool prose = words.find(' ') != std::string::npos;
    if (prose && std::regex_search(words, found, option)) return found[1];
  }
  return "";
}

// All faults of one file, with its name. `path` is relative to the repository.
std::vector<std::string> faults(const std::string& path, const std::string& source) {
  std::vector<std::string> found;
  const std::string text = without_comments(source);
  const bool library = path.starts_with("lib/maskctl/");
  const std::string layer = layer_of(path);
  if (library && !kLayers.contains(layer)) return {path + ": unknown layer"};
  for (const std::string& include : includes(text)) {
    const std::string problem = library ? library_include_problem(path, layer, include)
                                        : app_include_problem(path, include);
    if (!problem.empty()) found.push_back(path + ": " + include.substr(1) + " " + problem);
  }
  static const std::regex forbidden(
      R"((?:^|[^\w.>])((?:v?f?printf|puts|fputs|putchar|getenv|setenv|setlocale|_?exit|quick_exit|abort)\s*\(|fmt::print\b))");
  std::smatch call;
  if (library && std::regex_search(text, call, forbidden)) {
    found.push_back(path + ": the library may not call " + call[1].str());
  }
  const std::string option = library ? option_named(text) : "";
  if (!option.empty()) found.push_back(path + ": the library names the option " + option);
  return found;
}

TEST_CASE("layers: every file includes only files of layers that its own layer may use",
          "[project]") {
  const auto files = sources({"lib", "app"});
  REQUIRE(files.size() > 20);
  for (const auto& [path, text] : files) {
    for (const std::string& fault : faults(path, text)) FAIL_CHECK(fault);
  }
}

TEST_CASE("layers: a planted fault is found and names the file", "[project]") {
  const auto [path, line] = GENERATE(table<std::string, std::string>({
      {"lib/maskctl/mask/x.cc", "#include \"maskctl/io/formats/npy/npy.h\""},
      {"lib/maskctl/io/x.cc", "  #  include \"maskctl/render/grid.h\""},
      {"lib/maskctl/render/x.h", "#include \"maskctl/pipeline/text.h\""},
      {"lib/maskctl/base/x.cc", "#include \"app/cli/output.h\""},
      {"lib/maskctl/base/x.cc", "#include \"index.h\""},
      {"lib/maskctl/mask/x.h", "#include <fmt/format.h>"},
      {"lib/maskctl/mask/x.cc", "#include <zlib.h>"},
      {"lib/maskctl/attention/x.cc", "#include <cuda_runtime_api.h>"},
      {"lib/maskctl/attention/cuda/x.h", "#include <cuda_runtime_api.h>"},
      {"lib/maskctl/io/x.cc", "#include <iostream>"},
      {"lib/maskctl/io/x.cc", "void f() { std::printf(\"x\"); }"},
      {"lib/maskctl/io/x.cc", "const char* f() { return getenv(\"X\"); }"},
      {"lib/maskctl/io/x.cc", "void f() { exit (1); }"},
      {"lib/maskctl/io/x.cc", "fail(\"too large; raise --max-bytes\");"},
      {"lib/maskctl/io/x.cc", "fail(\"--fill is for \\\"bias\\\"\");"},
      {"lib/maskctl/new_layer/x.cc", "#include <vector>"},
      {"lib/maskctl/mask/mask.h", "#include \"maskctl/mask/planes/words.h\""},
      {"lib/maskctl/inspect/x.cc", "#include \"maskctl/mask/planes/stored_planes.h\""},
      {"app/cli/show.cc", "#include \"maskctl/mask/planes/stored_planes.h\""},
      {"app/cli/show.cc", "#include <CLI/CLI.hpp>"},
      {"app/tui/screens/painter.cc", "#include <ncurses.h>"},
      {"app/session/loader.cc", "#include <nanobind/nanobind.h>"},
      {"app/cli/show.cc", "#include \"cli/output.h\""},
  }));
  CAPTURE(path, line);
  const auto found = faults(path, "// Purpose.\n" + line + "\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with(path));
}

TEST_CASE("layers: allowed includes are not reported", "[project]") {
  const auto [path, line] = GENERATE(table<std::string, std::string>({
      {"lib/maskctl/io/x.cc", "#include \"maskctl/mask/mask.h\""},
      {"lib/maskctl/io/x.cc", "#include <zlib.h>"},
      {"lib/maskctl/io/x.cc", "// #include <iostream>"},
      {"lib/maskctl/io/x.cc", "void f() { std::snprintf(b, 2, \"x\"); on_exit(); }"},
      {"lib/maskctl/io/x.cc", "start(\"helper\", \"--max-bytes\", \"1 -- 2\");"},
      {"lib/maskctl/render/x.cc", "add(\"style='--w: 2px'\");"},
      {"lib/maskctl/mask/x.cc", "#include <hwy/highway.h>"},
      {"lib/maskctl/attention/cuda/x.cuh", "#include <cuda_runtime.h>"},
      {"lib/maskctl/mask/x.cc", "#include \"maskctl/mask/planes/stored_planes.h\""},
      {"lib/maskctl/inspect/x.cc", "#include \"maskctl/mask/planes/words.h\""},
      {"app/cli/show.cc", "#include \"maskctl/base/checked.h\""},
      {"app/cli/cli.cc", "#include <CLI/CLI.hpp>"},
      {"app/python/module.cc", "#include <nanobind/nanobind.h>"},
      {"app/main.cc", "#include <iostream>"},
  }));
  CAPTURE(path, line);
  CHECK(faults(path, line + "\n").empty());
}

TEST_CASE("layers: listed headers exist, and each is listed for a reason that still holds",
          "[project]") {
  const auto files = sources({"lib", "app", "tests/package"});
  for (const std::string& header : public_headers) {
    CAPTURE(header);
    CHECK(files.contains("lib/" + header));
  }
  std::map<std::string, Names> users;  // by header, the layers that include it; "" is the command
  for (const auto& [path, text] : files) {
    for (const std::string& include : includes(without_comments(text))) {
      users[include.substr(1)].insert(layer_of(path));
    }
  }
  for (const auto& [layer, about] : kLayers) {
    for (const std::string& name : about.shared) {
      const std::string header = "maskctl/" + layer + "/" + name;
      CAPTURE(header);
      CHECK_FALSE(public_headers.contains(header));
      users[header].erase(layer);
      CHECK_FALSE(users[header].empty());
    }
  }
}

// Only the layer translate and the rules of check may say what other libraries do.
TEST_CASE("layers: below ejkernel, only rows of its words and citations name it") {
  const Names rows = {
      "lib/maskctl/translate/libraries.h",
      "lib/maskctl/translate/libraries/ejkernel.cc",
      "lib/maskctl/translate/libraries/ejkernel_flash.cc",
      "lib/maskctl/translate/libraries/ejkernel_ragged.cc",
      "lib/maskctl/inspect/check/lint_alignment.cc",
      "lib/maskctl/inspect/check/lint_chain.cc",
      "lib/maskctl/inspect/check/lint_documents.cc",
  };
  static const std::regex word("ejkernel", std::regex::icase);
  static const std::regex citation("Source( of all)?: ejkernel");
  int below = 0;
  for (const auto& [path, text] : sources({"lib"})) {
    if (layer_of(path) == "ejkernel") continue;
    ++below;
    CAPTURE(path);
    const bool names_it = std::regex_search(std::regex_replace(text, citation, ""), word);
    CHECK(names_it == rows.contains(path));
  }
  CHECK(below > 500);
}

TEST_CASE("sources: each file opens with its purpose and has no open tasks", "[project]") {
  static const std::regex later(R"(\b(TODO|FIXME|XXX|HACK)\b)");
  const auto files = sources({"lib", "app"});
  for (const auto& [path, text] : files) {
    CAPTURE(path);
    const fs::path file(path);
    const bool explained_by_header =
        (file.extension() == ".cc" || file.extension() == ".cu") &&
        files.contains(fs::path(file).replace_extension(".h").generic_string());
    CHECK((explained_by_header || text.starts_with("// ")));
    CHECK_FALSE(std::regex_search(text, later));
  }
}

}  // namespace
}  // namespace maskctl::test
