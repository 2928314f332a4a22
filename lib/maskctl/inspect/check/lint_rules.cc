// The table of lint rules.
#include <fmt/format.h>

#include <array>

#include "maskctl/inspect/check/finding.h"

namespace maskctl {
namespace {

constexpr Severity kError = Severity::kError;
constexpr Severity kWarning = Severity::kWarning;
constexpr Severity kNote = Severity::kNote;
using enum LintRule::Beside;

constexpr std::array kRules = std::to_array<LintRule>({
    // Rules for cumulative lengths:
    {FindingId::kCuShape, "cu-shape", kError, "cu_seqlens are not one axis of whole numbers",
     "the array has more than one axis, fewer than two entries, or entries that are not whole "
     "numbers",
     "varlen kernels take a 1-D array of N + 1 ends and read past any other",
     "give [0, n0, n0 + n1, ...] as one axis of int32"},
    {FindingId::kCuStart, "cu-start", kError, "cu_seqlens do not start with 0",
     "the first entry is not 0",
     "kernels read document i as [cu[i], cu[i + 1]); the tokens before cu[0] are never computed "
     "and their outputs are whatever the buffer held",
     "put 0 in front: lengths were given instead of their cumulative sum, or the 0 was cut off"},
    {FindingId::kCuFalls, "cu-falls", kError, "cu_seqlens fall",
     "the entry is smaller than the one before it",
     "a document of negative length: kernels skip it or read out of bounds, silently",
     "take the cumulative sum of lengths that are at least 0"},
    {FindingId::kCuTotal, "cu-total", kError, "cu_seqlens do not end at the number of tokens",
     "the last entry is not the number of tokens",
     "tokens past the last end are not computed and keep what the buffer held; an end past the "
     "tokens reads memory outside the array",
     "make the last entry the number of tokens; give padding a document of its own"},
    {FindingId::kCuDtype, "cu-dtype", kWarning, "cu_seqlens are not int32",
     "the entries are of another type than int32",
     "flash-attention refuses them; kernels that take a raw pointer read int64 as pairs of int32",
     "cast to int32"},
    {FindingId::kCuEmptyDocument, "cu-empty-document", kNote,
     "cu_seqlens hold documents without tokens", "the entry equals the one before it",
     "harmless in most kernels; tools that number documents by their tokens skip them, so numbers "
     "may not agree",
     "drop repeated entries, unless they pad the array to a fixed size"},
    // Rules for segment ids and position ids:
    {FindingId::kSegmentsReturn, "segments-return", kWarning,
     "a segment id recurs after another one",
     "the id stands earlier in its row, with other ids in between",
     "ids mean one document in two parts to dense and Flex masks, but two documents to anything "
     "that follows cu_seqlens (varlen kernels)",
     "sort the tokens by document or give the second part an id of its own"},
    {FindingId::kSegmentsZeroTail,
     "segments-zero-tail",
     kNote,
     "segment ids end in zeros that are not the pad id",
     "the ids from the entry on are 0, those before it are above 0, and 0 is not the pad id",
     "0 at the end is how Hugging Face and LLaMA-Factory mark padding; here it is a document, so "
     "padding sees padding",
     "write the pad id",
     {Remedy::kSetPadIdToZero}},
    {FindingId::kPositionsOffset, "positions-offset", kNote, "a row does not start at position 0",
     "the first position of the row that is no padding is above 0",
     "right for the tokens that one rank holds under context parallelism, and for queries after a "
     "cache; in a whole row rotary embeddings see a shifted document",
     "nothing, for a part of a row; else restart position ids at 0 in each document"},
    {FindingId::kPositionsStart, "positions-start", kWarning,
     "a document does not start at position 0",
     "the position is above 0, and below the one before it or after padding",
     "rotary embeddings see a shifted document, and tools that find documents by position 0 join "
     "it to the previous one",
     "restart position ids at 0 in each document"},
    {FindingId::kPositionsJump, "positions-jump", kWarning,
     "position ids jump or repeat inside a row",
     "the position is above the one before it by more than 1, or equals it",
     "each jump reads as a new document where documents come from position ids; multi-axis (mRoPE) "
     "ids are misread in this way",
     "pass segment ids or cu_seqlens instead of deriving them from such positions"},
    {FindingId::kPositionsSegments, "positions-segments", kError,
     "position ids and segment ids cut the tokens differently",
     "the id changes where positions go on, or stays where they do not; or the arrays have other "
     "shapes",
     "backends that mask by positions (varlen) and by segments train on different documents; where "
     "only the positions restart, attention crosses documents and the loss still falls",
     "make both from the same document lengths"},
    // Rules for the elements of arrays:
    {FindingId::kNoncanonicalBool, "noncanonical-bool", kWarning, "bool bytes other than 0 and 1",
     "that many bytes of a bool array are neither 0 nor 1",
     "the byte is undefined as a bool: numpy counts 2 as true, kernels that compare with 1 or "
     "multiply do not",
     "normalise with mask != 0 before saving"},
    {FindingId::kBiasMixed,
     "bias-mixed",
     kWarning,
     "a bias closes cells with -inf and with the least finite number",
     "some elements are -inf, and others the least finite number",
     "a row of -inf alone is NaN after softmax, a row of finfo.min is the mean of V, a row of both "
     "sees the keys of finfo.min only",
     "use one value",
     {Remedy::kWriteAs, "bias"}},
    {FindingId::kBiasAndMask, "bias-and-mask", kWarning, "a bias and a mask are given together",
     "that many closed cells of the mask are open in the bias",
     "ejkernel's XLA attention uses the bias and drops the mask without a word; others add both",
     "fold the mask into the bias, or leave the bias out"},
    // Rules for the mask alone:
    {FindingId::kMaskEmpty,
     "mask-empty",
     kError,
     "the mask opens nothing",
     "no cell is open",
     "every row is NaN, 0 or the mean of V, depending on the backend",
     "look for a step that closes all",
     {Remedy::kReadZeroAsOpen}},
    {FindingId::kMaskFull, "mask-full", kNote, "the mask closes nothing", "every cell is open",
     "attention is unmasked; a window or documents that were meant to apply do not",
     "leave the mask out if that is meant: kernels without one are faster"},
    {FindingId::kPolarity,
     "polarity",
     kWarning,
     "the mask looks inverted",
     "in that many planes queries do not see themselves while later keys, or most keys, are open; "
     "or the closed cells are a square from the first token on; or the mask is the inverse of the "
     "steps named, and most queries do not see themselves",
     "torch SDPA and JAX read true as may attend; torch MultiheadAttention and Transformer Engine "
     "read true as closed, so a mask of one shows the other exactly what it should not see",
     "invert it with the step not",
     {Remedy::kReadZeroAsOpen},
     {kSaysPattern}},
    {FindingId::kAntiCausal,
     "anti-causal",
     kWarning,
     "the mask looks transposed: queries see later keys only",
     "in that many planes queries see later keys, and no earlier ones or less than half of them",
     "a causal mask with its axes exchanged; each token is predicted from what follows it, and the "
     "last sees itself alone",
     "exchange queries and keys, or apply the step not where closed and open were exchanged",
     {},
     {kSaysPattern}},
    {FindingId::kFuturePart,
     "future-part",
     kWarning,
     "a part of the future is open in a mask that is causal otherwise",
     "that many open cells are after their query's own key, in no group of tokens that all see "
     "each other",
     "those queries see tokens that they should predict; the loss falls too low, and generation, "
     "which has no future, is worse than the loss says",
     "close the cells with the step causal; groups that may see each other, such as images or a "
     "prefix, must be open as a whole",
     {},
     {kCountsFuture, kTellsReopened}},
    {FindingId::kGroupsJoined,
     "groups-joined",
     kWarning,
     "tokens see a later group across causal tokens",
     "that many open cells are after their query's own key, in a later group of tokens that all "
     "see each other",
     "one id for all images, as in token types of 0 and 1, lets an image see the images after it, "
     "and the text in front of those leaks through them",
     "number the groups, so that each has an id of its own",
     {},
     {kSaysPattern, kTellsReopened}},
    {FindingId::kNearly,
     "nearly",
     kWarning,
     "a few steps make the mask except for some cells",
     "the mask differs from the steps named in that many cells, rows of padding that see every key "
     "left out",
     "single cells of a regular mask are rarely meant: an index that is off by one, a cell written "
     "by hand, a leak between documents",
     "recognise prints the steps; compare with diff, or make the mask from the steps",
     {},
     {kTellsReopened}},
    {FindingId::kRowsOpened, "rows-opened", kWarning, "rows of a causal mask see every key",
     "that many rows see every key", "such rows see the future, and other documents and padding",
     "close them with the step causal"},
    {FindingId::kPaddingRowsOpened, "padding-rows-opened", kNote, "padding rows see every key",
     "that many rows at the first or last tokens see every key, and no other row sees their tokens",
     "how Hugging Face avoids rows without a key (_unmask_unattended); harmless where their "
     "outputs "
     "are dropped, but a tool that compares masks sees it",
     "nothing, if the loss ignores padding"},
    {FindingId::kTopLeft, "top-left", kNote,
     "a causal mask with fewer queries than keys is aligned top-left",
     "no query sees a key past its own number, counted from the first key",
     "right for the first tokens of a static cache, whose later slots are still empty; wrong where "
     "the queries are the last tokens: torch's is_causal and ejkernel's XLA attention see the "
     "first "
     "keys only, flash-attention and the Triton kernels the last",
     "for the last tokens use align=bottom-right, or an offset of keys - queries"},
    {FindingId::kDecodeFirstKey, "decode-first-key", kWarning,
     "a single query sees the first key only", "the only query sees key 0 and no other",
     "a decoding step with is_causal aligned top-left attends to token 0 and forgets the context",
     "leave causal out of decoding steps, or use align=bottom-right"},
    {FindingId::kDecodeOwnKey, "decode-own-key", kWarning,
     "a single query sees the keys before the last, and not the last",
     "the only query sees the last key but one, and not the last",
     "the last key is the query's own: with an offset of -1, or a mask that is made before the "
     "cache "
     "takes the new token, it does not attend to itself; right only if the last slot is empty",
     "drop the offset, or make the mask for a cache that holds the new token"},
    {FindingId::kOwnKeyClosed, "own-key-closed", kNote,
     "queries at the end of the keys see the keys before their own only",
     "each query sees the key before its own, counted from the last key, and neither its own nor a "
     "later one",
     "right in a static cache with one empty slot; wrong where the queries are the last tokens: "
     "they do not attend to themselves",
     "drop the offset, or make the mask for a cache that holds the new tokens"},
    {FindingId::kAxesExchanged,
     "axes-exchanged",
     kWarning,
     "heads and queries look exchanged: [B,S,1,S] instead of [B,1,S,S]",
     "there are one query and as many heads as keys, and the head sees other keys than head 0",
     "each query's row is taken for a head: it is broadcast over the queries, or refused",
     "add the axis of heads in front of the queries: mask[:, None], not mask[:, :, None]",
     {},
     {kSaysPattern}},
    {FindingId::kPlaneFull,
     "plane-full",
     kWarning,
     "a batch entry or head is wholly open while the others are causal",
     "in that many planes every cell is open",
     "all its queries see the future; a mask that is missing, or that was made for another entry, "
     "is often filled up with ones",
     "make it by the same steps as the others",
     {},
     {kSaysPattern}},
    {FindingId::kPlaneFuture,
     "plane-future",
     kWarning,
     "a batch entry or head sees the future while the others are causal",
     "in that many planes queries see later keys, and in no other plane that is not wholly open",
     "the loss of that entry is too low, and the mean over the batch hides it",
     "apply the step causal to all batch entries and heads",
     {},
     {kSaysPattern}},
    {FindingId::kFutureDiagonal, "future-diagonal", kWarning,
     "a causal mask whose queries see keys after their own",
     "in the head the query sees that many keys after its own",
     "the next token is what a language model predicts: it reads its own target, and the loss "
     "falls "
     "too low; right only where later tokens may be seen, as in speech with look-ahead",
     "drop the offset"},
    {FindingId::kHeadsDocuments, "heads-documents", kWarning,
     "heads of one batch entry have different documents",
     "no query of the head sees across the borders of its documents, and another head of the batch "
     "entry does",
     "documents are of the tokens, which all heads share: a border that is off in some heads, or "
     "two documents that are joined there, leaks between them",
     "make the documents of all heads from one array of ids or lengths"},
    {FindingId::kPlaneDiffers,
     "plane-differs",
     kWarning,
     "one batch entry or head differs from all others, which are equal",
     "the batch entry or head differs from all others in that many cells, and those are equal",
     "padding, documents and images differ between entries, other rules do not: a window that is "
     "off by one, a cell written by hand, an index that meets one entry only",
     "compare with diff, or make the mask from steps without batch and heads",
     {},
     {kSaysPattern}},
    {FindingId::kHeadDiffers, "head-differs", kNote,
     "one head differs much from all others, which are equal",
     "the head differs from all others in that many cells, and those are equal",
     "meant for heads of another kind, such as global ones among local ones; not meant where a "
     "step "
     "missed a head",
     "nothing, if the head is of another kind"},
    {FindingId::kPlaneEmpty,
     "plane-empty",
     kWarning,
     "a batch entry or head sees nothing while others do",
     "in that many planes no cell is open",
     "all its rows are NaN, 0 or the mean of V; key_padding_mask of torch marks what is closed, so "
     "that read the other way its longest sequence is closed wholly",
     "leave the entry out",
     {Remedy::kReadZeroAsOpen}},
    {FindingId::kEmptyRows, "empty-rows", kWarning,
     "queries see no key, and nothing declares them to be padding",
     "that many rows see no key, and no query sees their tokens where it says so",
     "softmax over nothing: -inf everywhere gives NaN in torch.softmax, jax.nn.softmax and "
     "torch.nn.MultiheadAttention with need_weights (pytorch#41508), 0 in torch SDPA, finfo.min "
     "gives the mean of V, flash-attention and Triton give 0; NaN spreads to all gradients",
     "let such rows see themselves; if they are padding, declare it by pad ids (doc:SRC), lengths "
     "(pad:lens=N) or of=both"},
    {FindingId::kPaddingRowsEmpty, "padding-rows-empty", kNote, "padding tokens see no key",
     "that many rows see no key, and are declared to be padding, or seen by none",
     "their outputs are NaN, 0 or the mean of V; NaN times a loss weight of 0 is still NaN",
     "let padding see itself, or select the loss with where instead of a product"},
    {FindingId::kLeftPaddingNan, "left-padding-nan", kNote,
     "left padding sees no key, and what is closed weighs 0",
     "that many rows at the first tokens see no key, and are seen by none",
     "torch.softmax, jax.nn.softmax and torch.nn.MultiheadAttention with need_weights make NaN of "
     "such rows, whose NaN keys and values reach every row of the next layer, because 0 times NaN "
     "is NaN; torch SDPA, flash-attention and Triton make 0, transformers' eager attention, which "
     "adds the least finite number, the mean of V",
     "nothing, where the library makes 0; else let padding see itself, or close with the least "
     "finite number"},
    {FindingId::kFirstBlock, "first-block", kNote,
     "most rows have keys, but none in the first block that is computed for them",
     "that many rows have keys, and none in the first block of 128 keys in which any of their 128 "
     "queries has one",
     "the running maximum of online softmax is -inf after that block: FlexAttention with "
     "ROWS_GUARANTEED_SAFE and kernels without the guard give NaN",
     "do not promise safe rows for this mask; the expectation row-safe:block=N checks it"},
    // Rules for the mask and its documents:
    {FindingId::kDocumentLeak,
     "document-leak",
     kError,
     "queries see keys of other documents",
     "that many open cells have query and key in two documents",
     "training on packed batches mixes documents; the loss still falls, so nothing shows it",
     "close what crosses documents with the step doc:SRC",
     {},
     {kSaysPattern}},
    {FindingId::kPaddingAttended, "padding-attended", kWarning,
     "queries of documents see keys that are padding",
     "that many open cells have a query in a document and a key that is padding",
     "padding keys take part in the softmax and change every output of the row",
     "close the keys with the step doc:SRC or pad:SRC"},
    {FindingId::kPaddingRowsOpen, "padding-rows-open", kNote, "padding queries see keys",
     "that many open cells have a query that is padding",
     "harmless when their outputs are dropped, but they cost work and must not reach the loss",
     "nothing, if the loss ignores padding"},
    {FindingId::kRowsOnlyPadding, "rows-only-padding", kError,
     "queries of documents see nothing but padding",
     "that many rows of documents see keys, all of which are padding",
     "the output is a mean over padding values: neither NaN nor 0, so nothing shows it",
     "close padding keys and open the token itself"},
    // Rules for steps:
    {FindingId::kStepNoOp, "step-no-op", kWarning, "a step changes nothing",
     "the mask is the same before and after the step",
     "what it was meant to close or open already is, or its arguments miss the mask",
     "remove it, or correct its arguments; maskctl ops NAME says what it does"},
    {FindingId::kStepReopens, "step-reopens", kWarning,
     "a step reopens what documents or padding closed",
     "that many cells were closed by the step of documents or padding, and are opened by the later "
     "one",
     "a union after documents joins them again: tokens of one type in two documents see each other",
     "open first, close documents and padding last"},
    {FindingId::kStepReopensOrder, "step-reopens-order", kNote,
     "a step reopens what a causal, window or other step closed",
     "that many cells were closed by the earlier step, and are opened by the later one",
     "meant where a step names what must stay open, as prefixes, sinks and global tokens do; not "
     "meant when the order was a mistake",
     "move the step in front of the one that closes, if the cells should stay closed"},
    {FindingId::kWindowZero, "window-zero", kWarning, "a window of 0 keys on both sides",
     "the step leaves each query its own key at most",
     "each query sees itself only; the Triton kernels of ejkernel take (0, 0) as no window at all, "
     "XLA applies it",
     "write window:keys=1 if meant, or leave the window out"},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].key) != i) return false;
  }
  return kRules.size() == static_cast<std::size_t>(FindingId::kWindowZero) + 1;
}
static_assert(in_order(), "each finding has its row, in the order of FindingId");

}  // namespace

std::string_view name(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"error", "warning", "note"};
  return kNames[static_cast<std::size_t>(severity)];
}

std::span<const LintRule> lint_rules() { return kRules; }

const LintRule& lint_rule(FindingId id) { return kRules[static_cast<std::size_t>(id)]; }

std::string to_text(const Location& where) {
  std::string out;
  const auto add = [&out](std::string_view label, const std::optional<Index>& value) {
    if (value) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", label, *value);
  };
  add("step", where.step);
  add("batch", where.batch);
  add("head", where.head);
  add("query", where.query);
  add("key", where.key);
  add("entry", where.entry);
  return out;
}

}  // namespace maskctl
