// Tests what the kit says of libraries that do something else than was asked: by the plain change
// of a call, or of a mask, whose results are judged.
#include <algorithm>
#include <string>

#include "maskctl/kit/judge.h"
#include "maskctl/mask/planes/leaves.h"
#include "support/catch_compat.h"

namespace maskctl::kit {
namespace {

MadeCase made_case(std::string_view id) {
  for (const Rule* const rule : all_rules()) {
    for (std::size_t i = 0; i < rule->cases.size(); ++i) {
      if (case_id(*rule, i) == id) return make_case(*rule, i, DType::kFloat32);
    }
  }
  FAIL("no case " << id);
  return {};
}

TEST_CASE("kit: the cause of a wrong output is named first, beside an lse and gradients") {
  for (const char* const id : {"causal.square-2", "lse.natural-2", "gradient.pairs-1"}) {
    const MadeCase made = made_case(id);
    attention::NamedArguments arguments = arguments_of(made);
    arguments.options["softmax_scale"] = "0.015625";
    arguments.context.backend = attention::Backend::kReference;
    const CaseVerdict verdict =
        judge(made, attention::run(*attention::find_operation("flash_attention"), arguments));
    INFO(id << ": " << verdict.text);
    CHECK(verdict.outcome == Outcome::kWrong);
    CHECK(verdict.text.substr(0, 80).find("softmax_scale 0.015625") != std::string::npos);
  }
}

/// The mask without the keys beyond the last multiple of `tile` of the keys that are read.
Mask without_last_tile(const Mask& mask, Index tile) {
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(), [&](Index b, Index h) {
    const PlanePtr plane = mask.plane(b, h);
    Index read = 0;
    for (Index k = 0; k < mask.keys(); ++k) {
      if (plane->count({0, mask.queries()}, {k, k + 1}) > 0) read = k + 1;
    }
    const Range kept[] = {{0, read > tile ? read - read % tile : read}};
    const Mask keys(key_ranges(mask.queries(), mask.keys(), kept));
    return zip(Op::kAnd, Mask(plane), keys).plane(0, 0);
  });
}

TEST_CASE("kit: a last tile of keys that is not read is named") {
  const std::pair<const char*, const char*> all[] = {
      {"pad.right-3", "the keys beyond the last full tile of 64 not read"},
      {"scale.default-3", "not read"},
      {"heads.one-3", "not read"},
      {"value.width-3", "not read"},
      {"lse.natural-3", "not read"}};
  for (const auto& [id, text] : all) {
    const MadeCase made = made_case(id);
    MadeCase short_of = made;
    short_of.mask = without_last_tile(made.mask, 64);
    const CaseVerdict verdict = judge(made, run_backend(short_of, attention::Backend::kReference));
    INFO(id << ": " << verdict.text);
    CHECK(verdict.outcome == Outcome::kAnother);
    CHECK(verdict.text.find(text) != std::string::npos);
    CHECK(verdict.text.find("moved") == std::string::npos);
    CHECK(verdict.text.find("noise") == std::string::npos);
  }
}

}  // namespace
}  // namespace maskctl::kit
