// The table of steps: its rows are consistent, and the examples in its help bind.
#include "maskctl/pipeline/steps/step_infos.h"

#include <set>

#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

TEST_CASE("the table has every step once, with all texts that help prints") {
  std::set<std::string_view> names;
  for (const StepInfo& info : step_infos()) {
    CAPTURE(info.name);
    CHECK(names.insert(info.name).second);
    CHECK(find_step(info.name) == &info);
    CHECK(info.make != nullptr);
    CHECK_FALSE(info.meaning.empty());
    CHECK_FALSE(info.formula.empty());
    std::set<std::string_view> args;
    int positional = 0;
    for (const Field& arg : info.args) {
      CAPTURE(arg.name);
      CHECK(args.insert(arg.name).second);
      CHECK_FALSE(arg.help.empty());
      CHECK((arg.type == FieldType::kChoice) == !arg.choices.empty());
      positional += arg.positional;
    }
    CHECK(positional <= 1);
  }
  CHECK(find_step("casual") == nullptr);
  REQUIRE(call_step_infos().size() == 1);
  for (const StepInfo& info : call_step_infos()) {
    CAPTURE(info.name);
    CHECK(names.insert(info.name).second);
    CHECK(find_step(info.name) == nullptr);
  }
}

TEST_CASE("every example of a step binds and is printed unchanged") {
  const auto accept = [](const std::string& example) {
    BindContext any;
    any.read_array = [](const std::string&) { return Tensor(DType::kInt32, {4}); };
    any.read_mask = [](const std::string&) { return Mask(full_plane(4, 4)); };
    return to_text(bind(parse(example), any));
  };
  for (const StepInfo& info : step_infos()) {
    const std::string example(info.example);
    CAPTURE(example);
    CHECK(parse(example).steps[0].name == info.name);
    CHECK(accept(example) == (info.name == "pad" ? "pad:lens=5+8" : example));
  }
  for (const StepInfo& info : generators()) {
    CHECK_NOTHROW(generate(info.example, {}));
  }
}

TEST_CASE("the usage of a step has one line for each way to write it") {
  const auto of = [](std::string_view name) { return usage(*find_step(name)); };
  CHECK(of("not") == "not");
  CHECK(of("sinks") == "sinks:n=N|SRC");
  CHECK(of("causal") == "causal[:align=top-left|bottom-right][,offset=N|SRC]");
  CHECK(of("doc") == "doc:SRC[,pad-id=N]\ndoc:lens=N+N\ndoc:q=SRC,kv=SRC[,pad-id=N]");
  CHECK(of("window") ==
        "window:left=N|SRC|none,right=N|SRC|none[,align=top-left|bottom-right][,offset=N|SRC]\n"
        "window:keys=N|SRC[,align=top-left|bottom-right][,offset=N|SRC]\n"
        "window:both=N|SRC[,align=top-left|bottom-right][,offset=N|SRC]");
  CHECK(of("heads") == "heads:LIST{PIPELINE}");
  CHECK(of("block") == "block:SRC,size=NxN");
}

TEST_CASE("the help page of a step shows everything that its row has") {
  CHECK(describe(*find_step("sinks")) ==
        "sinks: opens the first keys for every query (attention sinks) (only opens cells)\n"
        "\n"
        "Usage:\n"
        "  sinks:n=N|SRC\n"
        "\n"
        "Arguments:\n"
        "  n=N|SRC  number of keys, from the first on; or one per batch (3+0 or a SOURCE)\n"
        "\n"
        "Cells:    k < n\n"
        "Example:  sinks:n=4\n"
        "Synonyms: sink, attention-sink, attention_sink, streaming\n");
  const std::string window = describe(*find_step("window"));
  CHECK(window.find("\n  window:keys=N|SRC[") != std::string::npos);
  CHECK(window.find("left=N|SRC|none") != std::string::npos);
  CHECK(window.find("(default none)") != std::string::npos);
}

}  // namespace
}  // namespace maskctl
