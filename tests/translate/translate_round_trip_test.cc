// A mask written for a library reads back as the same mask, for each library and kind of chain.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;

struct Case {
  std::string pipeline;
  std::vector<std::pair<Index, Index>> sizes;
};

const std::vector<std::pair<Index, Index>> kSquare = {{9, 9}};
const std::vector<std::pair<Index, Index>> kAll = {{9, 9}, {4, 9}, {9, 6}, {1, 7}};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const std::string align : {"", "align=top-left", "align=bottom-right"}) {
    const auto& sizes = align.empty() ? kSquare : kAll;
    const auto with = [&](const std::string& step) {
      const char* sign = step.find(':') == step.npos ? ":" : ",";
      return align.empty() ? step : step + sign + align;
    };
    for (const char* step : {"causal", "window:keys=1", "window:keys=4", "window:both=2",
                             "window:left=3,right=1", "window:left=2", "window:right=2"}) {
      out.push_back({with(step), sizes});
    }
    out.push_back({with("window:both=3") + " | " + with("causal"), sizes});
    out.push_back({with("causal") + " | chunk:size=3" + (align.empty() ? "" : "," + align), sizes});
    out.push_back({"chunk:size=4" + (align.empty() ? "" : "," + align), sizes});
  }
  for (const char* tail : {"", " | doc:lens=4+5"}) {
    for (const char* head :
         {"causal", "window:keys=3", "window:both=1", "window:left=2",
          "window:keys=3 | sinks:n=2 | causal", "causal | prefix:n=3", "causal | chunk:size=3",
          "dilated:stride=2 | causal", "window:both=4 | dilated:stride=2",
          "causal | global:tokens=2-3", "causal | not"}) {
      out.push_back({std::string(head) + tail, kSquare});
    }
  }
  for (const char* text : {"doc:lens=4+5", "within:lens=4+5{causal | chunk:size=2}",
                           "within:lens=4+5{prefix:n=2 | causal}", "causal | pad:lens=6",
                           "causal | pad:lens=6,side=left", "pad:lens=6", "pad:lens=7,of=both",
                           "causal | pad:lens=6,of=both", "window:keys=3 | pad:lens=5"}) {
    out.push_back({text, kSquare});
  }
  for (const char* inner :
       {"", "causal:align=bottom-right", "causal:align=top-left",
        "window:keys=2,align=bottom-right", "window:both=1,align=bottom-right"}) {
    out.push_back({std::string("within:q-lens=2+3+1,kv-lens=4+3+2{") + inner + "}", {{6, 9}}});
  }
  return out;
}

std::string name_of(const Step& step) { return to_text(Chain{step}); }

std::string code_of(const Translation& translation) {
  std::string out;
  for (const std::string& line : translation.code) out += line + "\n";
  return out;
}

/// True if a note says that the code means another mask than the chain: it leaves something out, or
/// (unless `square`) holds for Q = K only.
bool told(const Translation& translation, bool square) {
  for (const std::string& note : translation.notes) {
    if (note.find("batch entry") != note.npos || note.find("documents: ") != note.npos) return true;
    if (!square &&
        (note.find("written for Q = K") != note.npos || note.find("when Q != K") != note.npos)) {
      return true;
    }
  }
  return false;
}

/// True if both chains give the same mask of this size.
bool same(const Chain& a, const Chain& b, std::pair<Index, Index> size) {
  const Mask full(full_plane(size.first, size.second));
  return zip(Op::kXor, maskctl::apply(full, a), maskctl::apply(full, b)).count() == 0;
}

TEST_CASE("code that is written for a library is read back as the same mask") {
  std::map<std::string, int> written, unread;
  for (const Case& one : cases()) {
    const Chain chain = test::bound(one.pipeline);
    for (const Library* library : libraries()) {
      const Translation there = translate(chain, *library, name_of);
      if (!there.ok()) continue;
      const std::string name(library->name);
      INFO(name << ": " << one.pipeline << "\n" << code_of(there));
      Chain back;
      try {
        back = library->read(code_of(there));
      } catch (const PipelineError& error) {
        // The code may have arrays that only a file can hold, or functions of positions in
        // documents.
        const std::string code = code_of(there);
        const bool array = code.find("startend_row_indices") != code.npos ||
                           code.find("kv_ids = ") != code.npos ||
                           code.find("kv_doc_id = ") != code.npos;
        INFO(error.what() << "\n" << error.display());
        REQUIRE(array);
        ++unread[name];
        continue;
      }
      for (const auto& size : one.sizes) {
        if (told(there, size.first == size.second)) continue;
        INFO("read as " << to_text(back) << " on " << size.first << "x" << size.second);
        CHECK(same(chain, back, size));
        ++written[name];
      }
    }
  }
  for (const Library* library : libraries()) {
    INFO(library->name);
    CHECK(written[std::string(library->name)] >= 4);
  }
}

TEST_CASE("a packed batch is written as one row of documents") {
  step::Document rule;
  rule.shared = true;
  rule.q = {test::i32({2, 4}, {1, 1, 2, 2, 5, 6, 6, 6}), "ids.npy"};
  const Translation fa = translate({{rule}, {step::Causal{}}}, lib("fa"), name_of);
  INFO(code_of(fa));
  REQUIRE(fa.ok());
  CHECK(code_of(fa).find("[0, 2, 4, 5, 8]") != std::string::npos);
  const Chain back = lib("fa").read(code_of(fa));
  const Chain want = test::bound("doc:lens=2+2+1+3 | causal");
  CHECK(same(want, back, {8, 8}));
  rule.q.array = test::i32({2, 4}, {1, 2, 1, 2, 5, 6, 6, 6});
  CHECK(!translate({{rule}}, lib("fa"), name_of).ok());
}

}  // namespace
}  // namespace maskctl
