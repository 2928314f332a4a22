// docs/ejkernel.md and docs/attention.md name everything that ejkernel has; links in
// docs/diagnose.md and docs/changes.md lead to the right places.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch_compat.h"
#include "support/project_version.h"

namespace maskctl::test {
namespace {

std::string page_of(const std::string& name) {
  std::ifstream file(MASKCTL_SOURCE_DIR "/docs/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("every name of ejkernel is mapped") {
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

TEST_CASE("every name of ejkernel's attention is mapped") {
  const std::string page = page_of("attention.md");
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
                                 "query",
                                 "key",
                                 "value",
                                 "causal",
                                 "softmax_scale",
                                 "sliding_window",
                                 "dropout_prob",
                                 "bias",
                                 "mask_info",
                                 "cum_seqlens_q",
                                 "cum_seqlens_k",
                                 "logits_soft_cap",
                                 "axis_name",
                                 "chunk_size",
                                 "softmax_aux",
                                 "block_indices",
                                 "block_counts",
                                 "cu_seqlens",
                                 "key_cache",
                                 "value_cache",
                                 "context_lens",
                                 "block_tables",
                                 "key_pages",
                                 "value_pages",
                                 "cu_seqlens_q",
                                 "cu_seqlens_k",
                                 "page_indices",
                                 "attention_mask",
                                 "block_mask",
                                 "block_size",
                                 "gate",
                                 "decay",
                                 "state",
                                 "inputs",
                                 "weights",
                                 "group_ids",
                                 "hidden_states",
                                 "mesh",
                                 "in_specs",
                                 "out_specs",
                                 "cfg",
                                 "platform"}) {
    INFO(name);
    const bool is_told = page.find("`" + name + "`") != page.npos;
    const bool is_listed = page.find("\n  " + name + " ") != page.npos;
    CHECK((is_told || is_listed));
  }
}

/// The texts between backticks in a cell of a table.
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names;
  const std::regex name("`([^`]+)`");
  for (std::sregex_iterator at(cell.begin(), cell.end(), name), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

/// The text of all sources of the tests.
std::string test_sources() {
  std::string text;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(MASKCTL_SOURCE_DIR "/tests")) {
    const auto kind = entry.path().extension();
    if (kind != ".cc" && kind != ".h") continue;
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

TEST_CASE("what only the library has is no option of a command, and a test calls it") {
  const std::string options = page_of("options.md"), tests = test_sources();
  int rows = 0;
  for (const char* const page : {"ejkernel.md", "attention.md"}) {
    std::istringstream lines(page_of(page));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("| ") || line.find("library only") == line.npos) continue;
      INFO(line);
      ++rows;
      const std::size_t second = line.find(" | ") + 3;
      const std::string ours = line.substr(second, line.find(" | ", second) - second);
      for (std::string name : names_in(line.substr(0, second))) {
        std::ranges::replace(name, '_', '-');
        for (const char* const end : {" ", "`"}) {
          CHECK(options.find("--" + name + end) == options.npos);
        }
      }
      for (const std::string& name : names_in(ours)) {
        const bool is_name = name.find_first_of("/(") == name.npos;  // neither a path nor a call
        if (is_name) CHECK(tests.find(name.substr(name.rfind(':') + 1)) != tests.npos);
      }
    }
  }
  CHECK(rows > 10);
}

TEST_CASE("diagnose leads from each symptom to a section with a command") {
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

TEST_CASE("changes begin with the version of the project") {
  const std::string page = page_of("changes.md");
  const std::size_t heading = page.find("\n## ");
  REQUIRE(heading != std::string::npos);
  const std::string first = page.substr(heading + 1, page.find('\n', heading + 1) - heading - 1);
  CAPTURE(first);
  CHECK((first + " ").starts_with("## " + project_version() + " "));
}

}  // namespace
}  // namespace maskctl::test
