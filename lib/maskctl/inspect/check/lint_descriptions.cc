// Compares arrays that describe one batch: ids, cumulative lengths, positions, flags of padding.
#include <algorithm>
#include <utility>

#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/inspect/diff/descriptions.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kPositionsSegments>) {
  return {
      .id = "positions-segments",
      .severity = Severity::kError,
      .summary = "position ids and segment ids cut the tokens differently",
      .claim =
          "the id changes where positions go on, or stays where they do not; or the arrays have "
          "other shapes",
      .why =
          "backends that mask by positions (varlen) and by segments train on different documents; "
          "where only the positions restart, attention crosses documents and the loss still falls",
      .fix = "make both from the same document lengths",
      .example =
          R"(python3 -c 'import numpy as np; np.save("ids.npy", np.array([[0, 0, 1, 1, 2, 2]], "i4")); np.save("positions.npy", np.array([[0, 1, 2, 3, 0, 1]], "i4"))'
maskctl check --segments ids.npy --positions positions.npy)",
      .unfixed = "which of the arrays is right is not known"};
}

LintRule lint_row(RuleKey<FindingId::kDescriptionsDiffer>) {
  return {
      .id = "descriptions-differ",
      .severity = Severity::kError,
      .summary = "two descriptions of one batch disagree",
      .claim =
          "the token is real, or starts a document, for one of the arrays named and not for "
          "the other; or they have other numbers of tokens",
      .why =
          "code that reads one of them trains on other documents than code that reads the "
          "other, in silence, as where boundaries of attention_mask replaced explicit "
          "cu_seqlens (flash-linear-attention#1086)",
      .fix = "make both from the same document lengths, or give one of them alone",
      .example =
          R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([0, 3, 6], "i4")); np.save("attention_mask.npy", np.array([[1, 1, 1, 1, 1, 0]], "i4"))'
maskctl check --cu-seqlens cu.npy --segments attention_mask.npy --pad-id 0)",
      .unfixed = "which of the arrays is right is not known"};
}

LintRule lint_row(RuleKey<FindingId::kLengthsPadded>) {
  return {
      .id = "lengths-padded",
      .severity = Severity::kNote,
      .summary = "cumulative lengths count padding at the ends of documents",
      .claim =
          "the token is of a document by the cumulative lengths and padding by the other "
          "array, and so are all in which the two disagree, each behind the other tokens of "
          "its document",
      .why =
          "right for padded lengths, which kernels take beside the real ones "
          "(cu_seqlens_q_padded of Transformer Engine); as the real ones (NeMo-RL#4070) they "
          "let tokens attend to padding where the mask is not causal",
      .fix = "give the kernel the real lengths beside them",
      .example =
          R"(python3 -c 'import numpy as np; np.save("cu.npy", np.array([0, 8, 16], "i4")); np.save("attention_mask.npy", np.array([[1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]], "i4"))'
maskctl check --cu-seqlens cu.npy --padding attention_mask.npy)"};
}

namespace {

using What = Contradiction::What;

TokenForm form_of(DocumentForm form) {
  switch (form) {
    case DocumentForm::kSegments:
      return TokenForm::kSegments;
    case DocumentForm::kPositions:
      return TokenForm::kPositions;
    case DocumentForm::kCuSeqlens:
      break;
  }
  return TokenForm::kCuSeqlens;
}

/// False for cumulative lengths of which no documents can be made.
bool has_lengths(const DocumentSource& source) {
  return std::ranges::none_of(lint_cu_seqlens(source.q, std::nullopt), [](const Finding& finding) {
    return finding.rule->severity == Severity::kError;
  });
}

/// The arrays and flags of all sources, each once.
std::vector<TokenArray> token_arrays(std::span<const DocumentSource* const> sources) {
  std::vector<TokenArray> out;
  for (const DocumentSource* source : sources) {
    const bool is_cu = source->form == DocumentForm::kCuSeqlens;
    if (source->q.elements() > 0 && (!is_cu || has_lengths(*source))) {
      const bool named = !source->text.empty();
      out.push_back({form_of(source->form), source->q, source->pad_id,
                     named ? source->text : std::string(name(source->form))});
    }
    if (source->real) {
      const bool named = !source->real_text.empty();
      out.push_back({TokenForm::kPadding, token_flags(*source->real), -1,
                     named ? source->real_text : "the flags of padding"});
    }
  }
  return out;
}

/// The flags of the last `tokens` tokens of each row.
Tensor last_flags(const Tensor& flags, Index tokens) {
  const Tensor all = astype(flags, DType::kBool);
  const Index length = all.extent(all.rank() - 1), rows = all.elements() / length;
  Tensor out(DType::kBool, {rows, tokens});
  for (Index row = 0; row < rows; ++row) {
    const auto from = all.as<std::uint8_t>().subspan(as_size((row + 1) * length - tokens));
    std::ranges::copy(from.first(as_size(tokens)), out.as<std::uint8_t>().begin() + row * tokens);
  }
  return out;
}

/// If there are more flags than queries, the flags belong to the keys: keeps those of the last
/// keys, which are the queries.
void cut_flags(std::vector<TokenArray>& arrays) {
  const auto tokens_of = [](const TokenArray& one) {
    return one.array.rank() == 0 ? 0 : one.array.extent(one.array.rank() - 1);
  };
  const auto ids = std::ranges::find_if(arrays, [](const TokenArray& one) {
    return one.form == TokenForm::kSegments || one.form == TokenForm::kPositions;
  });
  if (ids == arrays.end()) return;
  const Index tokens = tokens_of(*ids);
  for (TokenArray& one : arrays) {
    if (one.form != TokenForm::kPadding || tokens_of(one) <= tokens) continue;
    one.array = last_flags(one.array, tokens);
  }
}

FindingId id_of(const Contradiction& found, std::span<const TokenArray> arrays) {
  if (found.what == What::kPaddedEnds) return FindingId::kLengthsPadded;
  const auto is = [&](std::size_t i, TokenForm form) { return arrays[i].form == form; };
  const auto [a, b] = std::pair(found.first, found.second);
  const bool positions = is(a, TokenForm::kPositions) || is(b, TokenForm::kPositions);
  const bool segments = is(a, TokenForm::kSegments) || is(b, TokenForm::kSegments);
  return positions && segments ? FindingId::kPositionsSegments : FindingId::kDescriptionsDiffer;
}

}  // namespace

Findings lint_descriptions(std::span<const DocumentSource* const> sources) {
  std::vector<TokenArray> arrays = token_arrays(sources);
  cut_flags(arrays);
  Findings out;
  for (const Contradiction& found : contradictions(arrays)) {
    Location where{found.batch, {}, {}, {}, found.token, {}};
    if (found.what == What::kRowTokens) where.entry.reset();
    out.push_back(
        {&lint_rule(id_of(found, arrays)), contradiction_words(found, arrays), where, found.count});
  }
  return out;
}

}  // namespace maskctl
