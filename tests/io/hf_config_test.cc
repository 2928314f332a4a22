// The layers of Hugging Face configs, new and old, and files that are none.
#include "maskctl/io/hf_config.h"

#include <string>

#include "support/catch_compat.h"
#include "support/error_of.h"

namespace maskctl {
namespace {

/// One letter a layer: f, s, c, or ? for another type.
std::string layers(const std::string& json) {
  std::string out;
  for (const HfLayer& layer : read_hf_config(json).layers) {
    out += layer.window ? 's' : layer.chunk ? 'c' : layer.type == "full_attention" ? 'f' : '?';
  }
  return out;
}

TEST_CASE("layer_types name each layer") {
  const HfConfig config = read_hf_config(
      R"({"model_type": "gpt_oss", "num_hidden_layers": 3, "sliding_window": 128,
          "layer_types": ["sliding_attention", "full_attention", "linear_attention"]})");
  CHECK(config.model_type == "gpt_oss");
  REQUIRE(config.layers.size() == 3);
  CHECK(config.layers[0] == HfLayer{"sliding_attention", 128, {}});
  CHECK(config.layers[1] == HfLayer{"full_attention", {}, {}});
  CHECK(config.layers[2].type == "linear_attention");
  CHECK(config.notes.empty());
  const HfConfig uneven =
      read_hf_config(R"({"num_hidden_layers": 2, "layer_types": ["full_attention"]})");
  REQUIRE(uneven.notes.size() == 1);
  CHECK(uneven.notes[0] == "layer_types names 1 layers, num_hidden_layers is 2");
}

TEST_CASE("older configs say it in other words") {
  CHECK(layers(R"({"num_hidden_layers": 3})") == "fff");
  CHECK(layers(R"({"num_hidden_layers": 3, "sliding_window": 2047})") == "sss");
  CHECK(layers(R"({"num_hidden_layers": 3, "sliding_window": null})") == "fff");
  CHECK(layers(R"({"num_hidden_layers": 4, "sliding_window": 9, "use_sliding_window": false,
                   "max_window_layers": 2})") == "ffff");
  CHECK(layers(R"({"num_hidden_layers": 4, "sliding_window": 9, "use_sliding_window": true,
                   "max_window_layers": 3})") == "fffs");
  CHECK(layers(R"({"num_hidden_layers": 7, "sliding_window": 9,
                   "sliding_window_pattern": 3})") == "ssfssfs");
  CHECK(layers(R"({"model_type": "gemma2", "num_hidden_layers": 4, "sliding_window": 9})") ==
        "sfsf");
  CHECK(layers(R"({"num_hidden_layers": 5, "attention_chunk_size": 8192})") == "cccfc");
  CHECK(layers(R"({"num_hidden_layers": 3, "attention_chunk_size": 8,
                   "no_rope_layers": [1, 0, 1]})") == "cfc");
  CHECK(layers(R"({"text_config": {"num_hidden_layers": 2, "sliding_window": 4}})") == "ss");
}

TEST_CASE("other files are refused in one line") {
  const auto refused = [](const std::string& json) {
    return test::error_of([&] { read_hf_config(json); });
  };
  CHECK(refused("") == "expected a JSON object");
  CHECK(refused("[1]") == "expected a JSON object");
  CHECK(refused("{}") == "neither layer_types nor num_hidden_layers");
  CHECK(refused(R"({"num_hidden_layers": 1000000})") == "more than 10000 layers");
  CHECK(refused(R"({"num_hidden_layers": -1})").find("num_hidden_layers: expected") !=
        std::string::npos);
  CHECK(refused(R"({"num_hidden_layers": 1.5})").find("whole number") != std::string::npos);
  CHECK(refused(R"({"layer_types": ["sliding_attention"]})") ==
        "sliding_attention layers, but no sliding_window");
  CHECK(refused(R"({"layer_types": [3]})").find("list of names") != std::string::npos);
  const std::string deep(100000, '[');
  CHECK(refused("{\"a\": " + deep) == "expected a JSON object");
}

}  // namespace
}  // namespace maskctl
