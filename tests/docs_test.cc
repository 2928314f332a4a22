// docs/ejkernel.md and docs/attention.md name everything that ejkernel has; every link leads to a
// file and a heading, docs/diagnose.md to commands; measurements stand beside their decision.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch_compat.h"
#include "support/project_version.h"

namespace maskctl::test {
namespace {

namespace fs = std::filesystem;

std::string page_of(const std::string& name) {
  std::ifstream file(MASKCTL_SOURCE_DIR "/docs/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("docs/ejkernel.md maps every name of ejkernel") {
  const std::string page = page_of("ejkernel.md");
  for (const std::string name : {"MaskInfo",
                                 "MaskInfo.from_segments",
                                 "MaskInfo.from_attention_mask",
                                 "MaskInfo.from_cu_seqlens",
                                 "MaskInfo.from_random",
                                 "MaskInfo.dynamic_init",
                                 "attention_mask",
                                 "q_segment_ids",
                                 "kv_segment_ids",
                                 "cu_seqlens_q",
                                 "cu_seqlens_kv",
                                 "q_lens",
                                 "kv_lens",
                                 "q_positions",
                                 "kv_positions",
                                 "batch_axis_name",
                                 "qheads_axis_name",
                                 "kvheads_axis_name",
                                 "sequence_axis_name",
                                 "q_attention_mask",
                                 "q_position_ids",
                                 "bias",
                                 "create_bias",
                                 "batch_size",
                                 "q_len",
                                 "kv_len",
                                 "shape",
                                 "is_multi_sequence",
                                 "is_self_attention",
                                 "baked_in_masks",
                                 "__repr__",
                                 "apply_causal",
                                 "apply_sliding_window",
                                 "apply_chunked",
                                 "apply_token_type_ids",
                                 "apply_kv_lengths",
                                 "to_dtype",
                                 "materialize_attention_mask",
                                 "materialize_segment_ids",
                                 "get_or_compute_attention_mask",
                                 "get_or_compute_segment_ids",
                                 "get_or_compute_qkv_cu_seqlens",
                                 "get_or_compute_positions",
                                 "get_qkv_masks",
                                 "replace",
                                 "tree_flatten",
                                 "tree_unflatten",
                                 "visualize",
                                 "get_shardings",
                                 "MaskSharding",
                                 "get_empty_sharding",
                                 "set_debug_mode",
                                 "get_debug_mode",
                                 "mask_to_segment_ids",
                                 "segment_ids_to_mask",
                                 "segment_ids_to_qkv_masks",
                                 "qkv_masks_to_cu_seqlens",
                                 "cu_seqlens_to_mask",
                                 "qkv_cu_seqlens_to_qkv_masks",
                                 "qkv_cu_seqlens_to_attention_mask",
                                 "attention_mask_to_qkv_cu_seqlens",
                                 "create_chunked_attention_mask",
                                 "_segment_ids_to_cu_seqlens",
                                 "_attention_mask_to_padding_segment_ids",
                                 "_positions_from_segments_2d",
                                 "_compress_ids_from_anchors",
                                 "Mask",
                                 "CausalMask",
                                 "LocalMask",
                                 "ChunkedCausalMask",
                                 "FullMask",
                                 "NumpyMask",
                                 "LogicalAnd",
                                 "LogicalOr",
                                 "MultiHeadMask",
                                 "make_causal_mask",
                                 "make_local_attention_mask",
                                 "make_chunk_attention_mask",
                                 "make_random_mask",
                                 "cdiv",
                                 "prepare_lens",
                                 "prepare_lens_from_mask",
                                 "prepare_cu_seqlens_from_mask",
                                 "prepare_position_ids",
                                 "prepare_sequence_ids",
                                 "prepare_token_indices",
                                 "prepare_chunk_indices",
                                 "prepare_chunk_offsets",
                                 "identity_dtype_convert"}) {
    INFO(name);
    CHECK(page.find(std::string("`").append(name).append("`")) != std::string::npos);
  }
}

TEST_CASE("docs/attention.md maps every name of ejkernel's attention") {
  const std::string page = page_of("ejkernel.md") + page_of("attention.md");
  for (const std::string name : {"flash_attention",
                                 "FlashAttention",
                                 "FlashAttentionConfig",
                                 "ring_attention",
                                 "RingAttention",
                                 "native_sparse_attention",
                                 "NativeSparseAttention",
                                 "page_attention",
                                 "PageAttention",
                                 "ragged_page_attention",
                                 "ragged_page_attention_v3",
                                 "RaggedPageAttention",
                                 "scaled_dot_product_attention",
                                 "ScaledDotProductAttention",
                                 "blocksparse_attention",
                                 "BlockSparseAttention",
                                 "gla_attention",
                                 "GLAttention",
                                 "lightning_attention",
                                 "LightningAttention",
                                 "recurrent_attention",
                                 "RecurrentAttention",
                                 "grouped_matmul",
                                 "GroupedMatmul",
                                 "mean_pooling",
                                 "MeanPooling",
                                 "Executor",
                                 "ConfigSelectorChain",
                                 "ConfigCache",
                                 "FwdParams",
                                 "BwdParams",
                                 "mask_info",
                                 "mesh",
                                 "in_specs",
                                 "out_specs",
                                 "cfg",
                                 "platform"}) {
    INFO(name);
    CHECK(page.find("`" + name + "`") != std::string::npos);
  }
}

TEST_CASE("docs/diagnose.md leads from each symptom to a section with a command") {
  const std::string page = page_of("diagnose.md");
  std::istringstream lines(page.substr(0, page.find("\n## ")));
  int symptoms = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t link = line.find("](#");
    if (!line.starts_with("| ") || link == std::string::npos) continue;
    const std::size_t open = line.rfind('[', link);
    const std::string heading = "\n## " + line.substr(open + 1, link - open - 1) + "\n";
    INFO(line);
    const std::size_t section = page.find(heading);
    REQUIRE(section != std::string::npos);
    const std::string text = page.substr(section + 1, page.find("\n## ", section + 1) - section);
    // tests/check_docs.py runs these commands.
    const bool leads = text.find("$ maskctl ") != std::string::npos ||
                       text.find("(commands.md)") != std::string::npos;
    CHECK(leads);
    ++symptoms;
  }
  CHECK(symptoms >= 12);
}

/// A heading as the anchor of a link: small letters, digits and "_", "-" for each blank.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ' || c == '-') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return anchor;
}

/// A page without its blocks of code.
std::string prose_of(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  bool is_code = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) is_code = !is_code;
    if (!is_code) text += line + "\n";
  }
  return text;
}

std::set<std::string> anchors_of(const std::string& prose) {
  std::set<std::string> anchors;
  std::istringstream lines(prose);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t level = line.find_first_not_of('#');
    if (level > 0 && level != line.npos) anchors.insert(anchor_of(line.substr(level + 1)));
  }
  return anchors;
}

/// The links of these pages that lead nowhere, as "PAGE: LINK".
std::vector<std::string> dead_links(const std::vector<fs::path>& pages) {
  static const std::regex link(R"(\]\(([^)\s]+)\))");
  std::vector<std::string> dead;
  for (const fs::path& page : pages) {
    const std::string prose = prose_of(page);
    for (std::sregex_iterator at(prose.begin(), prose.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1];
      if (target.find("://") != target.npos) continue;
      const std::size_t hash = target.find('#');
      const std::string file = target.substr(0, hash);
      const fs::path to = file.empty() ? page : page.parent_path() / file;
      const bool leads =
          fs::exists(to) &&
          (hash == target.npos || anchors_of(prose_of(to)).contains(target.substr(hash + 1)));
      if (!leads) dead.push_back(page.filename().string() + ": " + target);
    }
  }
  return dead;
}

TEST_CASE("every link of a page leads to a file and a heading") {
  const fs::path root = MASKCTL_SOURCE_DIR;
  std::vector<fs::path> pages = {root / "README.md"};
  for (const char* const folder : {"docs", "samples", "tests/peers"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
    }
  }
  CHECK(pages.size() > 50);
  for (const std::string& link : dead_links(pages)) FAIL_CHECK(link);
}

TEST_CASE("a link that leads nowhere is found by this test") {
  const fs::path page = fs::temp_directory_path() / "maskctl_links.md";
  std::ofstream(page) << "# One `page`\n\n[a](#one-page) [b](#two) [c](none.md) `[d](no link)`\n";
  CHECK(dead_links({page}) ==
        std::vector<std::string>{"maskctl_links.md: #two", "maskctl_links.md: none.md"});
  fs::remove(page);
}

TEST_CASE("each page of measurements has a decision of the same name, which links to it") {
  const fs::path docs = fs::path(MASKCTL_SOURCE_DIR) / "docs";
  int pages = 0;
  for (const auto& entry : fs::directory_iterator(docs / "benchlog")) {
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK(prose_of(docs / "decisions" / name).find("../benchlog/" + name) != std::string::npos);
    ++pages;
  }
  CHECK(pages > 10);
}

TEST_CASE("docs/changes.md begins with the version of the project") {
  const std::string page = page_of("changes.md");
  const std::size_t heading = page.find("\n## ");
  REQUIRE(heading != std::string::npos);
  const std::string first = page.substr(heading + 1, page.find('\n', heading + 1) - heading - 1);
  CAPTURE(first);
  CHECK((first + " ").starts_with("## " + project_version() + " "));
}

}  // namespace
}  // namespace maskctl::test
