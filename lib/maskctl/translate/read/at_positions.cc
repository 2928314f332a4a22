#include "maskctl/translate/read/at_positions.h"

#include <algorithm>
#include <numeric>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/scopes.h"
#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/read/head_classes.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostDocuments = 256;  // each is read by itself

Python index_word(std::string_view axis) {
  Python out;
  out.text = axis;
  return out;
}

Python whole_number(Index value) {
  Python out;
  out.kind = Python::Kind::kNumber;
  out.number = value;
  return out;
}

/// The axis of NAME[q_idx] or NAME[kv_idx]; "" for other expressions.
std::string_view axis_of(const Python& given) {
  const bool one = given.kind == Python::Kind::kSubscript && given.items.size() == 2 &&
                   given.items[0].kind == Python::Kind::kWord;
  for (const std::string_view axis : {"q_idx", "kv_idx"}) {
    if (one && given.items[1].is_word(axis)) return axis;
  }
  return "";
}

/// kv_idx >= 0 and kv_idx < 0, which are always true and always false.
bool is_constant(const LibrarySource& source, const Python& given) {
  return (given.is_binary(">=") || given.is_binary("<")) && given.items[0].is_word("kv_idx") &&
         number_in(source.text, given.items[1]) == Index{0};
}

/// Writes an expression anew, part by part. change() gives the new form of a part, or nothing if it
/// has none of its own; a part that still depends on the place of a cell makes the whole fail.
template <typename Change>
std::optional<Python> rewritten(const LibrarySource& source, const Python& given,
                                const Change& change) {
  if (is_constant(source, given)) return given;
  if (std::optional<Python> own = change(given)) return own;
  for (const char* word : {"q_idx", "kv_idx", "Q_LEN", "KV_LEN"}) {
    if (given.is_word(word)) return std::nullopt;
  }
  Python out = given;
  for (Python& item : out.items) {
    std::optional<Python> part = rewritten(source, item, change);
    if (!part) return std::nullopt;
    item = std::move(*part);
  }
  return out;
}

void add_joined(const Python& given, std::vector<const Python*>& out) {
  if (!given.is_binary("&")) return out.push_back(&given);
  add_joined(given.items[0], out);
  add_joined(given.items[1], out);
}

Python all_of_parts(const std::vector<Python>& parts) {
  Python out = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Python both;
    both.kind = Python::Kind::kOperator;
    both.text = "&";
    both.items = {std::move(out), parts[i]};
    out = std::move(both);
  }
  return out;
}

/// Ids of queries and of keys, and the lengths of their documents.
struct Documents {
  std::string q, kv;  // the names of the ids
  std::vector<Index> q_lengths, kv_lengths;

  bool are_ids(const Python& given) const {
    const std::string_view axis = axis_of(given);
    return !axis.empty() && given.items[0].text == (axis == "q_idx" ? q : kv);
  }
};

/// Whether ids are 0, 1, 2, ... in the order of the documents.
bool count_up(const LibrarySource& source, const Python& ids) {
  const auto numbers = numbers_in(source.text, ids);
  if (!numbers) return true;  // repeated ones, which do
  Index last = 0;
  for (const Index id : *numbers) {
    if (id != last && id != last + 1) return false;
    last = id;
  }
  return !numbers->empty() && numbers->front() == 0;
}

/// The documents whose ids an equality compares; nothing for other expressions.
std::optional<Documents> documents_of(const LibrarySource& source, const Python& given) {
  if (!given.is_binary("==")) return std::nullopt;
  const Python *q = &given.items[0], *kv = &given.items[1];
  if (axis_of(*q) == "kv_idx") std::swap(q, kv);
  if (axis_of(*q) != "q_idx" || axis_of(*kv) != "kv_idx") return std::nullopt;
  const auto of_q = id_lengths(source, q->items[0], false);
  const auto of_kv = id_lengths(source, kv->items[0], false);
  if (!of_q || !of_kv || of_q->size() != of_kv->size() || of_q->size() > kMostDocuments ||
      !count_up(source, q->items[0]) || !count_up(source, kv->items[0])) {
    return std::nullopt;
  }
  return Documents{q->items[0].text, kv->items[0].text, *of_q, *of_kv};
}

/// 0 to length - 1 for each document.
bool are_positions(const std::vector<Index>& numbers, const std::vector<Index>& lengths) {
  auto at = numbers.begin();
  for (const Index length : lengths) {
    for (Index i = 0; i < length; ++i, ++at) {
      if (at == numbers.end() || *at != i) return false;
    }
  }
  return at == numbers.end();
}

/// Rewrites expressions for one document, as if it were alone.
class InDocument {
 public:
  InDocument(const LibrarySource& source, const Documents& documents, std::size_t document)
      : source_(source), documents_(documents), document_(document) {}

  std::optional<Python> operator()(const Python& given) const {
    if (given.kind != Python::Kind::kSubscript) return std::nullopt;
    if (documents_.are_ids(given)) return whole_number(static_cast<Index>(document_));
    if (given.items.size() != 2 || given.items[0].kind != Python::Kind::kWord) return std::nullopt;
    const auto numbers = numbers_in(source_.text, given.items[0]);
    if (!numbers) return std::nullopt;
    if (documents_.are_ids(given.items[1])) {
      const bool known = numbers->size() == documents_.q_lengths.size();
      return known ? std::optional(whole_number((*numbers)[document_])) : std::nullopt;
    }
    const std::string_view axis = axis_of(given);
    const auto& lengths = axis == "q_idx" ? documents_.q_lengths : documents_.kv_lengths;
    if (axis.empty() || !are_positions(*numbers, lengths)) return std::nullopt;
    return index_word(axis);
  }

 private:
  const LibrarySource& source_;
  const Documents& documents_;
  std::size_t document_;
};

bool has_subscript(const Python& given) {
  return given.kind == Python::Kind::kSubscript || std::ranges::any_of(given.items, has_subscript);
}

/// Comparisons of numbers as expressions that are always true or always false, for readers that
/// have no constants.
void settle_constants(const LibrarySource& source, Python& given) {
  for (Python& item : given.items) settle_constants(source, item);
  const auto known = comparison_of_numbers(source.text, given);
  if (!known) return;
  given.text = *known ? ">=" : "<";
  given.items = {index_word("kv_idx"), whole_number(0)};
}

/// The parts of an expression that hold inside documents, and those that say nothing of them.
struct Parts {
  Documents documents;
  std::vector<const Python*> inside;
  std::vector<Python> outside;
};

std::optional<Parts> parts_of(const LibrarySource& source, const Python& expression) {
  std::vector<const Python*> all;
  add_joined(named_value(source.text, expression), all);
  Parts out;
  const auto equal = std::ranges::find_if(
      all, [&](const Python* part) { return documents_of(source, *part).has_value(); });
  if (equal == all.end()) return std::nullopt;
  out.documents = *documents_of(source, **equal);
  for (const Python* part : all) {
    if (part == *equal) continue;
    if (has_subscript(*part)) {
      out.inside.push_back(part);
    } else {
      out.outside.push_back(*part);
    }
  }
  return out.inside.empty() ? std::nullopt : std::optional(std::move(out));
}

/// The chain inside each document.
std::optional<std::vector<Chain>> chains_inside(const LibrarySource& source, const Parts& parts,
                                                const ReadExpression& read) {
  std::vector<Chain> out;
  for (std::size_t d = 0; d < parts.documents.q_lengths.size(); ++d) {
    std::vector<Python> own;
    for (const Python* part : parts.inside) {
      auto made = rewritten(source, *part, InDocument(source, parts.documents, d));
      if (!made) return std::nullopt;
      settle_constants(source, *made);
      own.push_back(std::move(*made));
    }
    out.push_back(read(all_of_parts(own)));
  }
  return out;
}

bool only_closes(const Chain& chain) {
  return std::ranges::all_of(chain, [](const Step& step) {
    const Meets meets = step.row().meets(step);
    return meets == Meets::kKeeps || meets == Meets::kCloses;
  });
}

/// The arrays that give tokens, where an expression has no other use for q_idx and kv_idx.
class AtTokens {
 public:
  explicit AtTokens(const LibrarySource& source) : source_(source) {}

  std::optional<Python> operator()(const Python& given) {
    const std::string_view axis = axis_of(given);
    if (axis.empty()) return std::nullopt;
    std::string& known = axis == "q_idx" ? q : kv;
    const std::string& name = given.items[0].text;
    if (known.empty() && numbers_in(source_.text, given.items[0])) known = name;
    return known == name ? std::optional(index_word(axis)) : std::nullopt;
  }

  std::string q, kv;

 private:
  const LibrarySource& source_;
};

/// The tokens of the longest array of documents that the expression reads.
Index most_tokens(const LibrarySource& source, const Python& given) {
  Index most = 0;
  if (!axis_of(given).empty()) {
    const auto lengths = id_lengths(source, given.items[0], false);
    if (lengths) most = std::accumulate(lengths->begin(), lengths->end(), Index{0});
  }
  for (const Python& item : given.items) most = std::max(most, most_tokens(source, item));
  return most;
}

/// The tokens, in their order, as ranges of neighbours.
std::vector<Range> token_ranges(const std::vector<Index>& tokens) {
  std::vector<Range> out;
  for (const Index token : tokens) {
    if (!out.empty() && out.back().end == token) {
      ++out.back().end;
    } else {
      out.push_back({token, token + 1});
    }
  }
  return out;
}

}  // namespace

std::optional<Chain> chain_inside_documents(const LibrarySource& source, const Python& expression,
                                            const ReadExpression& read) {
  const auto parts = parts_of(source, expression);
  if (!parts) return std::nullopt;
  const auto chains = chains_inside(source, *parts, read);
  if (!chains) return std::nullopt;
  step::Within rule;
  const std::vector<Index>&q = parts->documents.q_lengths, &kv = parts->documents.kv_lengths;
  rule.lengths = q;
  if (kv != q) rule.kv_lengths = kv;
  std::vector<std::uint32_t> of(chains->size());
  std::iota(of.begin(), of.end(), 0U);
  rule.chain = recognition::scoped(*chains, of, std::ssize(*chains), 1,
                                   {std::ranges::max(q), std::ranges::max(kv)});
  Chain out{{std::move(rule)}};
  if (parts->outside.empty()) return out;
  const Chain outside = read(all_of_parts(parts->outside));
  if (!only_closes(outside)) return std::nullopt;
  out.insert(out.end(), outside.begin(), outside.end());
  return out;
}

std::optional<Chain> chain_at_tokens(const LibrarySource& source, const Python& expression,
                                     const ReadExpression& read) {
  AtTokens tokens(source);
  const auto inner = rewritten(source, named_value(source.text, expression),
                               [&](const Python& given) { return tokens(given); });
  if (!inner || tokens.q.empty() || tokens.kv.empty()) return std::nullopt;
  const auto numbers = [&](const std::string& name) {
    return *numbers_in(source.text, index_word(name));
  };
  const std::vector<Index> q = numbers(tokens.q), kv = numbers(tokens.kv);
  const auto is_token = [](Index token) { return token >= 0 && token < (Index{1} << 31) - 1; };
  if (q.empty() || kv.empty() || !std::ranges::all_of(q, is_token) ||
      !std::ranges::all_of(kv, is_token)) {
    return std::nullopt;
  }
  step::At rule;
  rule.queries = token_ranges(q);
  rule.keys = token_ranges(kv);
  const Index all = most_tokens(source, *inner);
  if (all > std::max(std::ranges::max(q), std::ranges::max(kv)) + 1) rule.n = all;
  rule.chain = read(*inner);
  return Chain{{std::move(rule)}};
}

}  // namespace maskctl
