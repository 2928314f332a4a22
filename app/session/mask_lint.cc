#include "app/session/mask_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "app/session/chain_arrays.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/why/why.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/pipeline/steps/bind.h"

namespace maskctl::app {
namespace {

/// Adds a word for each step of the chain, such as "documents" for doc. Steps inside scopes are
/// included, and each word is added once.
void add_words(const Chain& chain, std::vector<std::string>& words) {
  static const std::map<std::string, std::string> kWords = {{"doc", "documents"},
                                                            {"within", "documents"},
                                                            {"pad", "padding"},
                                                            {"chunk", "chunks"},
                                                            {"tokens", "token types"}};
  for (const Step& step : chain) {
    if (step.row().scope) {
      add_words(*chain_of(step), words);
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
  return joined(words, " and ");
}

void add(Findings more, MaskLint& lint) {
  lint.findings.insert(lint.findings.end(), std::make_move_iterator(more.begin()),
                       std::make_move_iterator(more.end()));
}

/// True when all cells that the steps do not explain are in the future: another finding has counted
/// these.
bool all_in_future(const Residue& residue, const Mask& mask) {
  const Index shift = mask.keys() - mask.queries();
  return std::ranges::all_of(residue.first,
                             [shift](const Cell& cell) { return cell.key > cell.query + shift; });
}

/// Reports the exceptions in a mask that a few steps nearly explain. Does nothing if a rule of
/// kSaid has a finding, which already says the same.
void add_pattern(const Mask& mask, bool known, MaskLint& lint) {
  if (mask.count() == 0) return;
  static constexpr std::string_view kSaid[] = {"polarity",      "anti-causal",   "document-leak",
                                               "groups-joined", "plane-full",    "plane-future",
                                               "plane-differs", "axes-exchanged"};
  const auto has = [&lint](std::string_view id) {
    return std::ranges::any_of(lint.findings,
                               [id](const Finding& finding) { return finding.rule->id == id; });
  };
  if (std::ranges::any_of(kSaid, has)) return;
  Pattern pattern;
  try {
    pattern = pattern_of(mask);
  } catch (const Error& error) {
    if (error.code() != Errc::kLimit) throw;
    if (!known) lint.not_looked_at.push_back({"single cells", "-t slice:..."});
    return;
  }
  if (has("future-part") && all_in_future(pattern.found.residue, mask)) return;
  Chain& chain = pattern.found.chain;
  ChainArrays("check", "").name(chain);
  auto found = chain.empty() ? lint_pattern(pattern, "full", "full")
                             : lint_pattern(pattern, words_of(chain), to_text(chain));
  if (!found && !known) {
    lint.not_looked_at.push_back({"single cells, as no few steps make the mask", "--expect"});
  }
  add(std::move(found).value_or(Findings{}), lint);
  add(lint_recognised(pattern), lint);
}

/// True when a step reads another mask: then the text of the chain does not tell which cells are
/// open.
bool reads_mask(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) {
    const auto is_mask = [](const Field& field) { return field.type == FieldType::kMaskSource; };
    const Chain* inner = chain_of(step);
    return std::ranges::any_of(info_of(step).args, is_mask) || (inner && reads_mask(*inner));
  });
}

bool contains(const Mask& mask, const Location& where) {
  if (!where.query || !where.key) return false;
  return is_open(mask,
                 {std::min(where.batch.value_or(0), mask.batch() - 1),
                  std::min(where.head.value_or(0), mask.heads() - 1), *where.query, *where.key});
}

/// If a step reopened cells, a finding about the mask itself may report the same cells. Joins the
/// two findings into one.
void tell_once(const std::vector<Reopened>& reopened, Findings& findings) {
  static constexpr std::string_view kShown[] = {"future-part", "groups-joined", "nearly"};
  for (const Reopened& one : reopened | std::views::reverse) {
    const Finding by_step = findings[one.finding];
    if (by_step.rule->id != "step-reopens-order") continue;
    const auto shown = std::ranges::find_if(findings, [&one](const Finding& finding) {
      return std::ranges::find(kShown, finding.rule->id) != std::end(kShown) &&
             contains(one.cells, finding.where);
    });
    if (shown == findings.end()) continue;
    shown->message += ", as " + by_step.message;
    shown->where.step = by_step.where.step;
    findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(one.finding));
  }
}

}  // namespace

MaskLint lint_steps_and_mask(Mask start, const Chain& chain, const LintDocuments& documents,
                             const LintFacts& facts) {
  std::vector<std::string> texts;
  for (const Step& step : chain) texts.push_back(to_text(Chain{step}));
  const Mask declared = maskctl::apply(full_like(start), declaring(chain));
  ChainFindings steps = lint_chain(std::move(start), chain, texts);
  const Mask& mask = steps.mask;
  MaskLint out;
  add(std::move(steps.findings), out);
  const std::optional<Documents> own = documents.of(mask);
  out.documents = own.has_value();
  // If neither an option gave documents nor a step opened cells, the mask has no leaks between the
  // documents of its own SOURCE.
  const bool may_leak = documents.given || steps.opened;
  if (own && may_leak) out.leaks = leaks(mask, *own);
  const bool fits = own && (own->q.extent(0) == 1 || own->q.extent(0) == mask.batch());
  const Mask real = fits ? zip(Op::kAnd, declared, real_queries(*own, mask.keys())) : declared;
  add(lint_mask(mask, &real, facts.gives_nan), out);
  if (out.leaks) add(lint_documents(mask, *own, *out.leaks), out);
  add_pattern(mask, facts.whole && !reads_mask(*facts.whole), out);
  tell_once(steps.reopened, out.findings);
  return out;
}

}  // namespace maskctl::app
