// Tests that every array that a step of a chain (a pipeline made by the program) reads gets a name.
#include "app/session/chain_arrays.h"

#include <random>

#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/rule.h"
#include "support/catch_compat.h"
#include "support/random_step.h"

namespace maskctl::app {
namespace {

void take_names_away(Chain& chain) {
  for (Step& step : chain) {
    const StepInfo& info = info_of(step);
    if (info.chain) take_names_away(*info.chain(step));
    for (const Field& field : info.args) {
      const FieldValue value = field.get(step);
      if (const auto* array = std::get_if<NamedArray>(&value)) {
        field.set(step, NamedArray{array->array, ""});
      }
    }
  }
}

TEST_CASE("chain arrays: every array that a step reads gets a name, and equal arrays share one") {
  std::mt19937_64 random(7);
  twin::StepMaker maker(random, {2, 2, 6, 6});
  for (const StepInfo& info : step_infos()) {
    for (int i = 0; i < 50; ++i) {
      Chain chain{maker.step(info)};
      take_names_away(chain);
      chain.push_back(chain.front());
      ChainArrays arrays("recognise", "made.npz");
      arrays.name(chain);
      INFO(info.name);
      std::string text;
      REQUIRE_NOTHROW(text = to_text(chain));
      CHECK(chain[0] == chain[1]);
      for (const std::string& source : arrays.sources()) {
        CHECK(text.find(source) != std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace maskctl::app
