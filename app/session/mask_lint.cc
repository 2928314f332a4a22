#include "app/session/mask_lint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "app/session/chain_arrays.h"
#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl::app {
namespace {

/// The words for steps, including those inside scopes, each once.
void add_words(const Chain& chain, std::vector<std::string>& words) {
  static const std::map<std::string, std::string> kWords = {{"doc", "documents"},
                                                            {"within", "documents"},
                                                            {"pad", "padding"},
                                                            {"chunk", "chunks"},
                                                            {"tokens", "token types"}};
  for (const Step& step : chain) {
    if (const auto* scoped = std::get_if<step::Scoped>(&step.rule)) {
      add_words(scoped->chain, words);
      continue;
    }
    const std::string text = to_text(Chain{step});
    const std::string name = text.substr(0, text.find_first_of(":{ "));
    const auto found = kWords.find(name);
    const std::string word = found == kWords.end() ? name : found->second;
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
}

/// For example "documents and causal".
std::string words_of(const Chain& chain) {
  std::vector<std::string> words;
  add_words(chain, words);
  return fmt::format("{}", fmt::join(words, " and "));
}

void add(Findings more, MaskLint& lint) {
  lint.findings.insert(lint.findings.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
}

/// Finds masks that a few steps nearly explain; polarity and leaks are reported only once.
void add_pattern(const Mask& mask, MaskLint& lint) {
  if (mask.count() == 0) return;
  Recognised found;
  try {
    found = regions_as_cells(recognise(mask, {.guess = false}), mask);
  } catch (const Error& error) {
    if (error.code() != Errc::kLimit) throw;
    lint.too_large = true;
    return;
  }
  ChainArrays("check", "").name(found.chain);
  const bool told = std::ranges::any_of(lint.findings, [](const Finding& finding) {
    return finding.rule->id == "polarity" || finding.rule->id == "anti-causal" ||
           finding.rule->id == "document-leak";
  });
  if (told) return;
  add(lint_pattern(found, words_of(found.chain), to_text(found.chain), mask), lint);
}

}  // namespace

MaskLint lint_steps_and_mask(Mask start, const Chain& chain, const LintDocuments& documents,
                             bool gives_nan) {
  std::vector<std::string> texts;
  for (const Step& step : chain) texts.push_back(to_text(Chain{step}));
  ChainFindings steps = lint_chain(std::move(start), chain, texts);
  const Mask& mask = steps.mask;
  MaskLint out;
  add(std::move(steps.findings), out);
  const std::optional<Documents> own = documents.of(mask);
  out.documents = own.has_value();
  // Without any, the mask never leaves its own documents.
  const bool may_leak = documents.given || steps.opened;
  if (own && may_leak) out.leaks = leaks(mask, *own);
  add(lint_mask(mask, own ? &*own : nullptr, gives_nan), out);
  if (out.leaks) add(lint_documents(mask, *own, *out.leaks), out);
  add_pattern(mask, out);
  return out;
}

}  // namespace maskctl::app
