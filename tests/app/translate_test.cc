// Tests what `translate` prints by running it on stand-ins for the libraries.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("the code that is written for each library makes the mask of the pipeline") {
  const fs::path root = MASKCTL_SOURCE_DIR;
  const Outcome outcome =
      Sandbox().run("/usr/bin/python3 '" + (root / "tests/app/translate_twins.py").string() +
                    "' '" + command() + "'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("check --expressible does not say cannot of masks whose steps are not known") {
  const Outcome random =
      Sandbox().run("maskctl check --expressible sdpa gen:random:sparsity=0.5,n=16");
  CHECK(random.status == 1);
  CHECK(contains(random.out, "not known: "));
  CHECK_FALSE(contains(random.out, "cannot"));
}

TEST_CASE("translate takes exactly one input") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl translate").status == 2);
  CHECK(sandbox.run("maskctl translate -t causal --from hf sliding_window=4").status == 2);
  CHECK(sandbox.run("maskctl translate -t causal causal=True").status == 2);
  CHECK(sandbox.run("maskctl translate -t causal --to fa+none").status == 2);
  CHECK(sandbox.run("maskctl translate --hf-config nowhere.json").status == 2);
}

TEST_CASE("translate refuses a mask file, and names the command that makes a pipeline of it") {
  check_refused(Sandbox(), "maskctl translate mask.npy --to hf", "maskctl recognise FILE");
}

TEST_CASE("a folder that save_pretrained wrote is read by its config.json") {
  const Sandbox sandbox;
  const std::string made =
      R"(mkdir model; echo '{"model_type": "llama", "num_hidden_layers": 2}' > model/config.json; )";
  const Outcome layers = sandbox.run(made + "maskctl translate --hf-config model --json");
  CHECK(layers.status == 0);
  CHECK(contains(layers.out, "0-1"));
  CHECK(sandbox.run("maskctl gen --hf-config model --layer 1 n=4 -o a.npy").status == 0);
  check_refused(sandbox, "maskctl info model", "model: a folder without .npy, .npz");
  check_refused(sandbox, "mkdir none; maskctl translate --hf-config none",
                "none: a folder without config.json");
  const Outcome weights = sandbox.run(
      "maskctl convert a.npy -o model/model.safetensors; maskctl stats model; maskctl diff model "
      "a.npy");
  INFO(weights.out << weights.err);
  CHECK(weights.status == 0);
}

TEST_CASE("a layer with an unknown mask has the pipeline null in JSON") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run(R"(echo '{"model_type": "olmo_hybrid", "num_hidden_layers": 2, )"
                  R"("layer_types": ["linear_attention", "full_attention"]}' > config.json; )"
                  R"(maskctl translate --hf-config config.json --json)");
  CHECK(contains(outcome.out, R"("pipeline": null)"));
  CHECK(contains(outcome.out, R"("pipeline": "causal:align=bottom-right")"));
}

TEST_CASE("a layer with an unknown kind of attention is reported without a mask") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run(R"(echo '{"model_type": "llama4_text", "layer_types": ["chunked_attention", )"
                  R"("linear_attention"], "attention_chunk_size": 8}' > config.json; )"
                  R"(maskctl translate --hf-config config.json)");
  CHECK(outcome.status != 2);
  CHECK(contains(outcome.out, "causal:align=bottom-right | chunk:size=8,align=bottom-right"));
  CHECK(contains(outcome.out, "linear_attention: not full, sliding or chunked attention"));
}

TEST_CASE("an unknown model type is refused by name, unless it may be assumed causal") {
  const Sandbox sandbox;
  const std::string made =
      R"(echo '{"model_type": "mixnet", "num_hidden_layers": 2}' > config.json; )";
  const Outcome refused = sandbox.run(made + "maskctl translate --hf-config config.json");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "model_type 'mixnet'"));
  CHECK(contains(refused.err, "num_hidden_layers 2"));
  const Outcome assumed =
      sandbox.run(made + "maskctl translate --hf-config config.json --assume causal");
  CHECK(assumed.status == 0);
  CHECK(contains(assumed.out, "causal:align=bottom-right"));
  CHECK(sandbox.run(made + "maskctl translate --hf-config config.json --assume full").status == 2);
  for (const char* without : {"translate -t causal", "gen causal:n=4", "check gen:causal:n=4",
                              "check --expressible fa gen:causal:n=4"}) {
    check_refused(sandbox, std::string("maskctl ") + without + " --assume causal",
                  "give its --hf-config FILE");
  }
  CHECK(sandbox.run("echo '[1]' > c.json; maskctl translate --hf-config c.json").status == 2);
}

TEST_CASE("gen writes the mask of a layer of a config") {
  const Sandbox sandbox;
  const std::string made =
      R"(echo '{"model_type": "gemma2", "num_hidden_layers": 2, "sliding_window": 3}' > c.json; )";
  const Outcome same =
      sandbox.run(made +
                  "maskctl gen --hf-config c.json --layer 0 n=9 -o a.npy && maskctl gen "
                  "window:keys=3,n=9 -o b.npy && maskctl diff a.npy b.npy");
  CHECK(same.status == 0);
  CHECK(sandbox.run(made + "maskctl gen --hf-config c.json --layer 2 n=9 -o a.npy").status == 2);
  CHECK(sandbox.run(made + "maskctl gen --hf-config c.json n=9 -o a.npy").status == 2);
  CHECK(
      sandbox.run(made + "maskctl gen --hf-config c.json --layer decoder:0 n=9 -o a.npy").status ==
      2);
  CHECK(sandbox.run("maskctl gen --layer 2 n=9 -o a.npy").status == 2);
}

TEST_CASE("arrays that are too long for the code are written to files") {
  const Sandbox sandbox;
  std::string lengths = "1";
  for (int i = 0; i < 70; ++i) lengths += "+2";
  const Outcome outcome = sandbox.run("mkdir arrays; maskctl translate -t 'doc:lens=" + lengths +
                                      " | causal' --to fa --write arrays; maskctl seq lens "
                                      "arrays/cu_seqlens_q.npy");
  CHECK(contains(outcome.out, "np.load(\"cu_seqlens_q.npy\")"));
  CHECK(outcome.status == 0);
  CHECK(sandbox.run("maskctl translate --table all").status == 0);
}

TEST_CASE("the words of an argument that the shell has split are joined by commas") {
  const Sandbox sandbox;
  const std::string whole =
      sandbox.run("maskctl translate --from fa 'window_size=(128, 0), causal=True'").out;
  CHECK(contains(whole, "sees 129 keys"));
  for (const char* words :
       {"'window_size=(128, 0)' causal=True", "'window_size=(128,' '0)' causal=True",
        "'window_size=(128, 0),' causal=True", "'window_size=(128' ', 0)' causal=True"}) {
    INFO(words);
    CHECK(sandbox.run(std::string("maskctl translate --from fa ") + words).out == whole);
  }
  check_refused(sandbox, "maskctl translate -t causal --to flashattention", "did you mean 'fa'?");
}

TEST_CASE("the tables of translate can be printed as JSON") {
  const Sandbox sandbox;
  const Outcome window = sandbox.run("maskctl translate --table 128 --json");
  CHECK(window.status == 0);
  CHECK(contains(window.out, "\"schema\": \"maskctl.translate-table/1\""));
  CHECK(contains(window.out, "\"argument\": \"window_size=(128, 0)\""));
  const Outcome all = sandbox.run("maskctl translate --table all --json");
  CHECK(all.status == 0);
  CHECK(contains(all.out, "\"call\": "));
  check_refused(sandbox, "maskctl translate --table x --json", "--table 'x'");
}

TEST_CASE("translate exits with 1 if a library cannot express the mask") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl translate -t 'dilated:stride=2' --to flex").status == 0);
  CHECK(sandbox.run("maskctl translate -t 'dilated:stride=2' --to flex+fa").status == 1);
}

TEST_CASE("why exits with 0 for an open cell, 1 for a closed one, 2 for an error") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 3").status == 0);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 4").status == 1);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 8").status == 2);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3").status == 2);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 x 3").status == 2);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 3 --head 1").status == 2);
}

}  // namespace
}  // namespace maskctl::test
