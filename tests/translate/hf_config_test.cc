// The layers that configs of Hugging Face describe, new and old, and files that are no configs.
#include "maskctl/translate/models/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/models/hf_models.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

/// The masks of the layers, one letter each: f full causal, s a causal window, c a chunk, e
/// everything, w a window on both sides, - no mask.
std::string layers(const std::string& json, const HfConfigOptions& options = {}) {
  std::string out;
  for (const HfLayer& layer : read_hf_config(json, options).layers) {
    const bool causal = layer.right == Index{0};
    out += !layer.has_mask ? '-'
           : layer.chunk   ? 'c'
           : layer.left    ? (causal ? 's' : 'w')
           : causal        ? 'f'
                           : 'e';
  }
  return out;
}

/// The keys before and after the query's own, in the first layer with a window.
std::pair<Index, Index> sides(const std::string& json) {
  for (const HfLayer& layer : read_hf_config(json).layers) {
    if (layer.left) return {*layer.left, *layer.right};
  }
  return {-1, -1};
}
using Sides = std::pair<Index, Index>;

TEST_CASE("layer_types give the mask of each layer") {
  const HfConfig config = read_hf_config(
      R"({"model_type": "gpt_oss", "num_hidden_layers": 3, "sliding_window": 128,
          "layer_types": ["sliding_attention", "full_attention", "linear_attention"]})");
  CHECK(config.model_type == "gpt_oss");
  REQUIRE(config.layers.size() == 3);
  CHECK(config.layers[0].left == Index{127});
  CHECK(config.layers[0].right == Index{0});
  CHECK(!config.layers[1].left);
  CHECK(config.layers[2].type == "linear_attention");
  CHECK(!config.layers[2].has_mask);
  CHECK(config.notes.empty());
  const HfConfig uneven = read_hf_config(
      R"({"model_type": "olmo3", "num_hidden_layers": 2, "layer_types": ["full_attention"]})");
  REQUIRE(uneven.notes.size() == 1);
  CHECK(uneven.notes[0] == "layer_types names 1 layers, num_hidden_layers is 2");
}

/// The notes on keys without effect.
std::vector<std::string> idle(const std::string& json) {
  std::vector<std::string> out = read_hf_config(json).notes;
  std::erase_if(out,
                [](const std::string& note) { return note.find("has no effect") == note.npos; });
  return out;
}

// model-serving-minefield#107: a Qwen3 config whose window never applies.
TEST_CASE("keys of windows that change no layer are named") {
  const std::string qwen = R"({"model_type": "qwen3", "num_hidden_layers": 5)";
  using Notes = std::vector<std::string>;
  CHECK(idle(qwen + R"(, "sliding_window": 2048})") ==
        Notes{"sliding_window=2048 has no effect without use_sliding_window=true"});
  CHECK(idle(qwen + R"(, "sliding_window": 2048, "max_window_layers": 2})") ==
        Notes{"sliding_window=2048 has no effect without use_sliding_window=true",
              "max_window_layers=2 has no effect without use_sliding_window=true"});
  CHECK(idle(qwen + R"(, "sliding_window": 2048, "use_sliding_window": true})") ==
        Notes{"sliding_window=2048 has no effect", "use_sliding_window=true has no effect"});
  CHECK(idle(qwen + R"(, "sliding_window": 2048, "use_sliding_window": true,
                       "max_window_layers": 2})")
            .empty());
  CHECK(idle(qwen + R"(, "window_size": 9223372036854775807})") ==
        Notes{"window_size=9223372036854775807 has no effect"});
  CHECK(
      idle(R"({"model_type": "mistral", "num_hidden_layers": 5, "sliding_window": 4096})").empty());
  CHECK(idle(R"({"model_type": "gemma3_text", "num_hidden_layers": 8, "sliding_window": 512,
                 "layer_types": ["full_attention"], "sliding_window_pattern": 4})") ==
        Notes{"sliding_window=512 has no effect", "sliding_window_pattern=4 has no effect"});
  CHECK(idle(R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
                 "num_hidden_layers": 8, "sliding_window": 512}})")
            .empty());
}

// A key is named exactly if no value of it changes a layer.
TEST_CASE("a key is without effect exactly where other values give the same layers") {
  for (const char* type : {"qwen2", "qwen3", "mistral", "gemma2", "gemma3_text", "llama", "gpt_neo",
                           "qwen2_moe", "cohere2", "smollm3", "recurrent_gemma", "modernbert"}) {
    for (const char* more : {"", R"(, "use_sliding_window": true)",
                             R"(, "use_sliding_window": true, "max_window_layers": 3)"}) {
      const auto config = [&](Index window) {
        return fmt::format(
            R"({{"model_type": "{}", "num_hidden_layers": 6, "sliding_window": {}{}}})", type,
            window, more);
      };
      INFO(config(64));
      const auto notes = read_hf_config(config(64)).notes;
      const bool said = std::ranges::any_of(notes, [](const std::string& note) {
        return note.starts_with("sliding_window=64 has no effect") ||
               note.starts_with("sliding_window: the class of");
      });
      CHECK(said == (read_hf_config(config(64)).layers == read_hf_config(config(9)).layers));
    }
  }
}

TEST_CASE("layer_types count only where the class reads them") {
  const std::string types = R"("num_hidden_layers": 2, "sliding_window": 4)"
                            R"(, "layer_types": ["sliding_attention", "full_attention"]})";
  const auto with = [&](std::string_view type) {
    return fmt::format(R"({{"model_type": "{}", {})", type, types);
  };
  CHECK(layers(with("olmo3")) == "sf");
  CHECK(layers(with("llama")) == "ff");
  CHECK(layers(with("mixtral")) == "ss");
  CHECK(layers(with("bert")) == "ee");
  CHECK(read_hf_config(with("llama")).notes ==
        std::vector<std::string>{"layer_types: the class of llama does not read it",
                                 "sliding_window: the class of llama does not read it"});
  for (const HfModel& model : hf_models()) {
    if (reads_layer_types(model.family) || model.family == HfFamily::kOwn) continue;
    INFO(model.type);
    const std::string json = with(model.type);
    const std::string without = json.substr(0, json.find(R"(, "layer_types")")) + "}";
    const HfConfig config = read_hf_config(json);
    CHECK(config.layers == read_hf_config(without).layers);
    CHECK(std::ranges::any_of(config.notes, [](const std::string& note) {
      return note.find("layer_types: the class of") == 0;
    }));
  }
}

TEST_CASE("defaults of the class are used for keys that the config lacks") {
  const auto with = [](const std::string& type, const std::string& keys) {
    return R"({"model_type": ")" + type + R"(", )" + keys + "}";
  };
  const std::string eight = R"("num_hidden_layers": 8)";
  // In some model types sliding_window gives every layer a window.
  CHECK(layers(with("llama", R"("num_hidden_layers": 3, "sliding_window": 4)")) == "fff");
  CHECK(layers(with("phi3", R"("num_hidden_layers": 2, "sliding_window": 2047)")) == "ss");
  CHECK(layers(with("phi3", R"("num_hidden_layers": 2)")) == "ff");
  CHECK(layers(with("mistral", R"("num_hidden_layers": 2)")) == "ss");
  CHECK(layers(with("mistral", R"("num_hidden_layers": 2, "sliding_window": null)")) == "ff");
  // In qwen models windows are off unless use_sliding_window says so.
  const std::string qwen = R"("num_hidden_layers": 4, "sliding_window": 9)";
  CHECK(layers(with("qwen2", qwen)) == "ffff");
  CHECK(layers(with("qwen2", qwen + R"(, "use_sliding_window": true, "max_window_layers": 3)")) ==
        "fffs");
  // By default max_window_layers is 28: the layers before it have no window.
  CHECK(layers(with("qwen2", qwen + R"(, "use_sliding_window": true)")) == "ffff");
  CHECK(layers(with("qwen2_moe", qwen + R"(, "use_sliding_window": true)")) == "sfsf");
  CHECK(layers(with("qwen3_moe", qwen + R"(, "use_sliding_window": true)")) == "ssss");
  CHECK(layers(with("qwen3_moe", qwen)) == "ffff");
  CHECK(layers(with("smollm3", qwen + R"(, "use_sliding_window": true)")) == "fffs");
  // Patterns of layers that the model type has, and older keys that set them.
  CHECK(layers(with("gemma2", eight)) == "sfsfsfsf");
  CHECK(layers(with("gemma3_text", eight)) == "sssssfss");
  CHECK(layers(with("gemma3_text", eight + R"(, "sliding_window_pattern": 3)")) == "ssfssfss");
  CHECK(layers(with("cohere2", eight)) == "sssfsssf");
  CHECK(layers(with("olmo3", eight)) == "sssfsssf");
  CHECK(layers(with("gpt_oss", eight)) == "sfsfsfsf");
  CHECK(layers(with("cwm", eight)) == "fsssfsss");
  CHECK(layers(with("gemma4_text", eight)) == "sssssfsf");  // the last layer is always full
  CHECK(layers(with("llama4_text", eight)) == "cccfcccf");
  CHECK(layers(with("llama4_text", eight + R"(, "no_rope_layer_interval": 2)")) == "cfcfcfcf");
  CHECK(layers(with("gpt_neo", R"("attention_types": [[["global", "local"], 2]])")) == "fsfs");
  CHECK(layers(with("recurrent_gemma", R"("num_hidden_layers": 6)")) == "--s--s");
  CHECK(layers(with("gpt2", R"("n_layer": 2)")) == "ff");
  CHECK(layers(with("qwen3_next", eight)) == "---f---f");
  CHECK(layers(with("mamba", R"("num_hidden_layers": 2)")) == "--");
}

TEST_CASE("encoders, and models made bidirectional, have no causal mask") {
  CHECK(layers(R"({"model_type": "bert", "num_hidden_layers": 2})") == "ee");
  CHECK(layers(R"({"model_type": "bert", "num_hidden_layers": 2, "is_decoder": true})") == "ff");
  const std::string modern =
      R"({"model_type": "modernbert", "num_hidden_layers": 4, "local_attention": 128})";
  CHECK(layers(modern) == "ewwe");
  CHECK(sides(modern) == Sides{64, 64});
  CHECK(sides(R"({"model_type": "longformer", "attention_window": [512, 256]})") ==
        Sides{256, 256});
  const std::string gemma =
      R"({"model_type": "gemma3_text", "num_hidden_layers": 6, "sliding_window": 512,
          "use_bidirectional_attention": true})";
  CHECK(layers(gemma) == "wwwwwe");
  CHECK(sides(gemma) == Sides{256, 256});
  const std::string mistral =
      R"({"model_type": "mistral", "num_hidden_layers": 1, "sliding_window": 8, "is_causal": false})";
  CHECK(sides(mistral) == Sides{8, 8});
}

TEST_CASE("an encoder-decoder has encoder, decoder and cross-attention layers") {
  const HfConfig t5 = read_hf_config(
      R"({"model_type": "t5", "num_layers": 2, "num_decoder_layers": 1, "is_encoder_decoder": true})");
  REQUIRE(t5.layers.size() == 4);
  CHECK(t5.layers[0].part == "encoder");
  CHECK(!t5.layers[0].right);
  CHECK(t5.layers[2].part == "decoder");
  CHECK(t5.layers[2].right == Index{0});
  CHECK(t5.layers[3].part == "cross");
}

TEST_CASE("the text part of a larger model is read by its own type or the model's") {
  CHECK(layers(R"({"model_type": "gemma3", "text_config": {"num_hidden_layers": 6}})") == "sssssf");
  CHECK(layers(R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
                   "num_hidden_layers": 4, "no_rope_layers": [1, 1, 1, 0]}})") == "cccf");
}

TEST_CASE("a note says in which layers the tokens of an image see each other") {
  const auto note = [](const std::string& type, const std::string& keys) {
    const HfConfig config =
        read_hf_config(fmt::format(R"({{"model_type": "{0}", "vision_config": {{}},
                         "text_config": {{"model_type": "{0}_text", {1}
                                          "num_hidden_layers": 6}}}})",
                                   type, keys));
    return config.notes.back();
  };
  CHECK(note("gemma3", "").find("in every layer") != std::string::npos);
  CHECK(note("gemma4", R"("use_bidirectional_attention": "vision",)").find("in sliding layers") !=
        std::string::npos);
  CHECK(note("gemma4", "") == "image tokens are causal as text is");
  CHECK(note("mistral3", R"("model_type": "mistral",)").find("may see each other") !=
        std::string::npos);
}

TEST_CASE("the layers in which two configs differ come together, by their masks") {
  const auto config = [](const std::string& keys) {
    return read_hf_config(R"({"model_type": "qwen2", "sliding_window": 9, )" + keys + "}");
  };
  const HfConfig off = config(R"("num_hidden_layers": 5)");
  const HfConfig on =
      config(R"("num_hidden_layers": 6, "use_sliding_window": true, "max_window_layers": 3)");
  CHECK(diff_layers(off, off).empty());
  const auto found = diff_layers(off, on);
  REQUIRE(found.size() == 2);
  CHECK(found[0].layers == "3-4");
  CHECK(!found[0].a->left);
  CHECK(found[0].b->left == Index{8});
  CHECK(found[1].layers == "5");
  CHECK(!found[1].a);
  CHECK(found[1].b->left == Index{8});
  // Names of types decide nothing where masks are known.
  const HfConfig wide = config(R"("num_hidden_layers": 5, "sliding_window": 4096)");
  CHECK(diff_layers(off, wide).empty());
  const HfConfig t5 = read_hf_config(R"({"model_type": "t5", "num_layers": 2,
                                         "num_decoder_layers": 1, "is_encoder_decoder": true})");
  const auto parts = diff_layers(t5, off);
  REQUIRE(parts.size() == 4);
  CHECK(parts[0].layers == "0-4");
  CHECK(parts[3].layers == "encoder 0-1");
}

// A twin of diff_layers() that compares layer by layer.
TEST_CASE("each layer of drawn configs is in a difference exactly if its steps differ") {
  std::mt19937_64 random(20261130);
  const auto drawn = [&random] {
    const char* kTypes[] = {"qwen2", "gemma3_text", "mistral", "llama4_text"};
    return read_hf_config(fmt::format(
        R"({{"model_type": "{}", "num_hidden_layers": {}, "sliding_window": {},
             "use_sliding_window": {}, "max_window_layers": {}}})",
        kTypes[random() % 4], 1 + random() % 7, 8 + random() % 2, random() % 2 == 0, random() % 4));
  };
  Index differing = 0;
  for (int i = 0; i < test::rounds(1000); ++i) {
    const HfConfig a = drawn(), b = drawn();
    std::vector<std::string> said(7), wanted(7);
    for (const HfLayerDifference& one : diff_layers(a, b)) {
      for (const std::string_view range : split(one.layers, '+')) {
        const auto ends = split(range, '-');
        for (int n = std::stoi(std::string(ends.front())); n <= std::stoi(std::string(ends.back()));
             ++n) {
          said[as_size(n)] = "differs";
        }
      }
    }
    for (std::size_t n = 0; n < 7; ++n) {
      const auto steps = [n](const HfConfig& config) -> std::string {
        return n < config.layers.size() ? to_text(chain_of(config.layers[n])) : "none";
      };
      if (steps(a) != steps(b)) wanted[n] = "differs";
      differing += steps(a) != steps(b);
    }
    CHECK(said == wanted);
  }
  CHECK(differing > 100);
}

TEST_CASE("the error about another file is one line") {
  const auto refused = [](const std::string& json) {
    return test::error_of([&] { read_hf_config(json); });
  };
  CHECK(refused("") == "expected a JSON object");
  CHECK(refused("[1]") == "expected a JSON object");
  CHECK(refused("{}").find("no model_type") == 0);
  CHECK(refused(R"({"model_type": "llama"})").find("neither layer_types") == 0);
  CHECK(refused(R"({"model_type": "llama", "num_hidden_layers": 1000000})") ==
        "more than 10000 layers");
  const auto llama = [&](const std::string& keys) {
    return refused(R"({"model_type": "llama", )" + keys + "}");
  };
  CHECK(llama(R"("num_hidden_layers": -1)").find("num_hidden_layers: expected") == 0);
  CHECK(llama(R"("num_hidden_layers": 1.5)").find("whole number") != std::string::npos);
  CHECK(llama(R"("layer_types": ["full_attention"])").find("neither layer_types") == 0);
  const auto laguna = [&](const std::string& keys) {
    return refused(R"({"model_type": "laguna", "sliding_window": null, )" + keys + "}");
  };
  CHECK(laguna(R"("layer_types": ["sliding_attention"])") ==
        "sliding_attention layers, but no sliding_window");
  CHECK(laguna(R"("layer_types": [3])").find("list of names") != std::string::npos);
  CHECK(refused(R"({"model_type": "gemma", "num_hidden_layers": 2,
                    "use_bidirectional_attention": true})")
            .find("its masks are unknown") != std::string::npos);
  CHECK(refused(R"({"model_type": "big_bird", "num_hidden_layers": 2})").find("masks of its own") !=
        std::string::npos);
  const std::string unknown = R"({"model_type": "mixnet", "num_hidden_layers": 2,
                                  "sliding_window": 4})";
  CHECK(refused(unknown) ==
        "model_type 'mixnet': its masks are unknown, and nothing is assumed; read "
        "num_hidden_layers 2, sliding_window 4");
  CHECK(layers(unknown, {true}) == "ss");
  const std::string deep(100000, '[');
  CHECK(refused("{\"a\": " + deep) == "expected a JSON object");
}

}  // namespace
}  // namespace maskctl
