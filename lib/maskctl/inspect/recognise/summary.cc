#include "maskctl/inspect/recognise/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr std::size_t kManyScopes = 5, kLongText = 400;

bool is_batch_scope(const Step& step) {
  return step.row().scope && !step.row().scope(step).of_heads;
}

Index batches_of(const Step& step) {
  Index out = 0;
  for (const Range& range : step.row().scope(step).members) out += range.size();
  return out;
}

/// The number of documents of a step that has some and no steps inside.
std::optional<Index> documents_count(const Step& step) {
  const auto documents = chain_of(step) ? std::nullopt : documents_in(step);
  if (!documents) return std::nullopt;
  if (!documents->q_ids) return std::ssize(documents->q_lengths);
  const auto ids = as_int32(*documents->q_ids, "ids");
  std::set<std::int32_t> different(ids.begin(), ids.end());
  different.erase(documents->pad_id);
  return std::ssize(different);
}

/// Batches whose steps have the same words: how many, and the least and most documents of each
/// word.
struct AlikeBatches {
  Index batches = 0;
  std::vector<std::pair<Index, Index>> documents;
};

std::string step_text(const std::string& name, const std::pair<Index, Index>& documents) {
  const auto [least, most] = documents;
  if (most < 0) return name;
  return least == most ? fmt::format("{} of {}", name, counted(most, "document"))
                       : fmt::format("{} of {} to {} documents", name, least, most);
}

/// The words of a chain, and for each the number of documents, -1 for words without any. Steps in
/// scopes follow the scope in braces.
void add_words(const Chain& chain, std::vector<std::string>& words, std::vector<Index>& documents) {
  const auto add = [&](std::string_view word, Index count = -1) {
    words.emplace_back(word);
    documents.push_back(count);
  };
  for (const Step& step : chain) {
    if (&step != &chain.front()) add(" | ");
    add(info_of(step).name, documents_count(step).value_or(-1));
    if (!step.row().scope) continue;
    add("{");
    add_words(*chain_of(step), words, documents);
    add("}");
  }
}

std::string scopes_text(std::span<const Step> scopes) {
  std::map<std::vector<std::string>, AlikeBatches> groups;
  for (const Step& scope : scopes) {
    std::vector<std::string> words;
    std::vector<Index> documents;
    add_words(*chain_of(scope), words, documents);
    AlikeBatches& its = groups[words];
    its.batches += batches_of(scope);
    its.documents.resize(words.size(), {-1, -1});
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (documents[i] < 0) continue;
      auto& [least, most] = its.documents[i];
      least = least < 0 ? documents[i] : std::min(least, documents[i]);
      most = std::max(most, documents[i]);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [words, its] : groups) {
    std::string steps;
    for (std::size_t i = 0; i < words.size(); ++i) steps += step_text(words[i], its.documents[i]);
    parts.push_back(fmt::format("{}: {}", counted(its.batches, "batch", "batches"), steps));
  }
  return "(" + joined(parts, "; ") + ")";
}

}  // namespace

std::string summary_text(const Chain& chain) {
  std::vector<std::string> parts;
  bool any = false;
  for (std::size_t i = 0; i < chain.size();) {
    std::size_t end = i;
    while (end < chain.size() && is_batch_scope(chain[end])) ++end;
    if (end - i >= kManyScopes) {
      any = true;
      parts.push_back(scopes_text(std::span(chain).subspan(i, end - i)));
      i = end;
    } else {
      parts.push_back(to_text(Chain{chain[i++]}));
    }
  }
  std::string text = to_text(chain);
  return any && text.size() > kLongText ? joined(parts, " | ") : text;
}

}  // namespace maskctl
