// The table of steps.
#include "maskctl/pipeline/steps/step_infos.h"

#include <array>

#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/steps/bind_steps.h"

namespace maskctl {
namespace {

constexpr Index kAny = -kMaxArgument;

constexpr ArgumentInfo kAlign{
    .name = "align",
    .type = ArgType::kChoice,
    .help = "where the diagonal lies when Q != K; needed then (shift 0 or K - Q)",
    .choices = "top-left|bottom-right"};
constexpr ArgumentInfo kMask{.name = "SRC",
                             .type = ArgType::kMaskSource,
                             .help = "the other mask; its batch and heads broadcast",
                             .required = true,
                             .positional = true};
constexpr ArgumentInfo kIds{.name = "SRC",
                            .type = ArgType::kSource,
                            .help = "ids [S] or [B,S] of both sides",
                            .required = true,
                            .group = 1,
                            .positional = true};

constexpr ArgumentInfo keyed(std::string_view name, ArgType type, std::string_view help,
                             Index min = 0) {
  return {.name = name, .type = type, .help = help, .required = true, .min = min};
}
constexpr ArgumentInfo optional(std::string_view name, ArgType type, std::string_view help,
                                std::string_view fallback = {}, Index min = 0) {
  return {.name = name, .type = type, .help = help, .fallback = fallback, .min = min};
}
constexpr ArgumentInfo choice(std::string_view name, std::string_view choices,
                              std::string_view fallback, std::string_view help) {
  return {.name = name,
          .type = ArgType::kChoice,
          .help = help,
          .fallback = fallback,
          .choices = choices};
}
constexpr ArgumentInfo kPadId =
    optional("pad-id", ArgType::kInteger,
             "the id of tokens in no document (-1, or that of all ids)", {}, kAny);
constexpr ArgumentInfo grouped(int group, ArgumentInfo arg) {
  arg.group = group;
  return arg;
}
constexpr ArgumentInfo positional(std::string_view name, ArgType type, std::string_view help) {
  return {.name = name, .type = type, .help = help, .required = true, .positional = true};
}

constexpr std::array kCausal = {
    kAlign,
    optional("offset", ArgType::kIntegerOrSource,
             "keys past the diagonal: a number, or one per batch (0+3 or a SOURCE)", "0", kAny)};

constexpr std::array kWindow = {
    grouped(1, optional("left", ArgType::kSide, "keys before the query's own, or none", "none")),
    grouped(1, optional("right", ArgType::kSide, "keys after the query's own, or none", "none")),
    grouped(2, keyed("keys", ArgType::kInteger, "left = keys - 1, right = 0", 1)),
    grouped(3, keyed("both", ArgType::kInteger, "left = right = both")),
    kAlign,
    optional("offset", ArgType::kIntegerOrSource,
             "moves the window towards later keys: a number, or one per batch", "0", kAny)};

constexpr ArgumentInfo kChunkAlign{
    .name = "align",
    .type = ArgType::kChoice,
    .help =
        "which key row 0 sits at when Q != K: 0 (also when left out), "
        "or K - Q",
    .choices = "top-left|bottom-right"};
constexpr std::array kChunk = {
    keyed("size", ArgType::kInteger, "tokens in a chunk", 1),
    optional("offset", ArgType::kInteger, "added to the query before its chunk is found", "0",
             kAny),
    kChunkAlign,
    optional("origin", ArgType::kIntegerOrSource,
             "a key where a chunk starts: a number, or one per batch", "0", kAny)};

constexpr std::array kDoc = {
    kIds, grouped(2, keyed("lens", ArgType::kLengths, "document lengths, from the first token on")),
    grouped(3, keyed("q", ArgType::kSource, "ids of the queries")),
    grouped(3, keyed("kv", ArgType::kSource, "ids of the keys")), kPadId};

constexpr std::array kPad = {
    ArgumentInfo{.name = "SRC",
                 .type = ArgType::kSource,
                 .help = "flags (bool [S], or [B,S]; nonzero = valid), or lengths [B]",
                 .required = true,
                 .group = 1,
                 .positional = true},
    grouped(2, keyed("lens", ArgType::kLengths, "valid lengths, one or one per batch")),
    choice("side", "left|right", "right", "where the padding is; only with lengths"),
    choice("of", "kv|both", "kv", "close padded keys, or padded queries too")};

constexpr std::array kDilated = {
    keyed("stride", ArgType::kInteger, "distance between open keys", 1)};

constexpr std::array kBlock = {
    positional("SRC", ArgType::kSource, "map [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb]; nonzero = open"),
    keyed("size", ArgType::kBlockSize, "queries x keys of a block", 1)};

constexpr std::array kRandom = {
    keyed("sparsity", ArgType::kReal, "share of cells that are closed, 0 to 1"),
    optional("seed", ArgType::kSeed, "seed of the stream", "0"),
    choice("stream", "jax|numpy", "jax",
           "jax: threefry, computed when read; numpy: the legacy MT19937, drawn and held")};

constexpr std::array kOneMask = {kMask};

constexpr std::array kFirstKeys = {
    keyed("n", ArgType::kIntegerOrSource,
          "number of keys, from the first on; or one per batch (3+0 or a SOURCE)")};

constexpr std::array kGlobal = {
    keyed("tokens", ArgType::kRanges, "token numbers and ranges, both ends included")};

constexpr std::array kRegion = {
    grouped(1, optional("q", ArgType::kRanges, "queries, both ends included; all if absent")),
    grouped(1, optional("k", ArgType::kRanges, "keys, both ends included; all if absent"))};

constexpr std::array kTokens = {
    kIds, grouped(2, keyed("q", ArgType::kSource, "types of the queries")),
    grouped(2, keyed("kv", ArgType::kSource, "types of the keys")),
    choice("combine", "union|intersect|replace", "union", "how to join the current mask"),
    choice("zero", "q|kv|both|none", "q", "the side on which type 0 matches nothing")};

constexpr std::array kSlice = {grouped(1, optional("b", ArgType::kSlice, "batches")),
                               grouped(1, optional("h", ArgType::kSlice, "heads")),
                               grouped(1, optional("q", ArgType::kSlice, "queries")),
                               grouped(1, optional("k", ArgType::kSlice, "keys"))};

constexpr std::array kKvLengths = {
    ArgumentInfo{.name = "SRC",
                 .type = ArgType::kSource,
                 .help = "lengths [B]",
                 .required = true,
                 .group = 1,
                 .positional = true},
    grouped(2, keyed("lens", ArgType::kLengths, "lengths, one or one per batch")),
    optional("q_len", ArgType::kInteger, "keep this many queries of each batch, up to its end"),
    optional("window", ArgType::kSide, "keep this many last keys, or none = all", "none"),
    optional("end", ArgType::kIntegerOrSource,
             "one past the last query kept, a number or one per batch; the lengths if absent")};

constexpr std::array kHeads = {
    positional("LIST", ArgType::kRanges, "heads and ranges of heads, both ends included")};
constexpr std::array kBatch = {
    positional("LIST", ArgType::kRanges, "batches and ranges of batches, both ends included")};

constexpr std::array kWithin = {
    kIds,
    grouped(2, keyed("lens", ArgType::kLengths, "document lengths, from the first token on")),
    grouped(3, keyed("q-lens", ArgType::kLengths, "lengths of the documents' queries")),
    grouped(3, keyed("kv-lens", ArgType::kLengths, "lengths of their keys")),
    grouped(4, keyed("q", ArgType::kSource, "ids of the queries")),
    grouped(4, keyed("kv", ArgType::kSource, "ids of the keys")),
    kPadId};

constexpr std::array kSteps = {
    StepInfo{"causal", StepKind::kAnd, "keeps the keys up to the query's position",
             "k <= q + shift + offset", "causal:align=bottom-right", kCausal, false, bind_causal,
             "autoregressive lower-triangular tril triangular decoder"},
    StepInfo{"window", StepKind::kAnd, "keeps the keys near the query's position",
             "-left <= k - (q + shift + offset) <= right", "window:keys=128", kWindow, false,
             bind_window, "sliding sliding-window sliding_window swa local banded band"},
    StepInfo{"chunk", StepKind::kAnd, "keeps the keys in the query's chunk; not causal by itself",
             "floor((q + shift + offset - origin) / size) == floor((k - origin) / size)",
             "chunk:size=8192", kChunk, false, bind_chunk, "chunked block-diagonal blocked"},
    StepInfo{"doc", StepKind::kAnd, "keeps the keys in the query's document (segment)",
             "id[q] == id[k] and neither is pad-id", "doc:lens=300+724", kDoc, false, bind_doc,
             "packing packed document documents segment segments segment-ids varlen sequence"},
    StepInfo{"pad", StepKind::kAnd, "closes padding", "valid[k], with of=both also valid[q]",
             "pad:lens=5+8,side=right", kPad, false, bind_pad,
             "padding key-padding key_padding attention-mask"},
    StepInfo{"dilated", StepKind::kAnd, "keeps every stride-th key, counted from the query's own",
             "(k - q) mod stride == 0", "dilated:stride=4", kDilated, false, bind_dilated,
             "strided stride dilation"},
    StepInfo{"block", StepKind::kAnd, "keeps the blocks that a map names",
             "map[floor(q / Qsize), floor(k / Ksize)] != 0", "block:map.npy,size=64x128", kBlock,
             false, bind_block, "blocksparse block-sparse blockmap"},
    StepInfo{"random", StepKind::kAnd, "keeps random cells, the same for the same seed and shape",
             "uniform[b,h,q,k] < 1 - sparsity", "random:sparsity=0.5,seed=1", kRandom, false,
             bind_random, "bigbird dropout sparse"},
    StepInfo{"and", StepKind::kAnd, "keeps the cells that are open in another mask too",
             "mask and other", "and:other.npy", kOneMask, false, bind_and,
             "intersect intersection"},
    StepInfo{"close", StepKind::kAnd, "closes rows, columns, a rectangle or single cells",
             "not (q in q= and k in k=)", "close:q=0-3,k=8-15", kRegion, false, bind_close,
             "mask hide remove"},
    StepInfo{"prefix", StepKind::kOr, "opens the first keys for every query (prefix LM)", "k < n",
             "prefix:n=16", kFirstKeys, false, bind_prefix, "prefix-lm prefixlm bidirectional"},
    StepInfo{"sinks", StepKind::kOr, "opens the first keys for every query (attention sinks)",
             "k < n", "sinks:n=4", kFirstKeys, false, bind_sinks,
             "sink attention-sink attention_sink streaming"},
    StepInfo{"global", StepKind::kOr, "opens the rows and the columns of some tokens",
             "q in tokens or k in tokens", "global:tokens=0+5-9", kGlobal, false, bind_global,
             "longformer cls"},
    StepInfo{"open", StepKind::kOr, "opens rows, columns, a rectangle or single cells",
             "q in q= and k in k=", "open:q=17,k=3", kRegion, false, bind_open, "unmask show add"},
    StepInfo{"or", StepKind::kOr, "opens the cells that are open in another mask", "mask or other",
             "or:other.npy", kOneMask, false, bind_or, "union"},
    StepInfo{"tokens", StepKind::kOwn, "joins the cells of equal token type to the mask",
             "type[q] == type[k], and not 0 on the side zero= names", "tokens:types.npy", kTokens,
             false, bind_tokens, "token-types types image modality"},
    StepInfo{"xor", StepKind::kOwn, "opens the cells that are open in exactly one of both",
             "mask != other", "xor:other.npy", kOneMask, false, bind_xor, "difference"},
    StepInfo{"sub", StepKind::kOwn, "closes the cells that are open in another mask",
             "mask and not other", "sub:other.npy", kOneMask, false, bind_sub, "subtract minus"},
    StepInfo{"not",
             StepKind::kOwn,
             "opens what is closed and closes what is open",
             "not mask",
             "not",
             {},
             false,
             bind_not,
             "invert inverse complement"},
    StepInfo{"slice", StepKind::kOwn, "cuts a part out; its indices start at 0 again",
             "mask[b, h, q, k]", "slice:h=3,q=0:128", kSlice, false, bind_slice, "crop cut part"},
    StepInfo{"kv-lengths", StepKind::kOwn,
             "closes keys past the length; can also keep the last queries and keys of each batch",
             "k < length[b]; queries [end - q_len, end), keys [length - window, length)",
             "kv-lengths:lens=5+8,q_len=1", kKvLengths, false, bind_kv_lengths,
             "kv_lengths cache decode seqused"},
    StepInfo{"heads", StepKind::kOwn, "applies a chain to some heads; the others stay",
             "chain(mask[:, h]) for h in LIST", "heads:0-3{window:keys=128}", kHeads, true,
             bind_heads, "head"},
    StepInfo{"batch", StepKind::kOwn, "applies a chain to some batches; the others stay",
             "chain(mask[b]) for b in LIST", "batch:0{causal}", kBatch, true, bind_batch,
             "batches"},
    StepInfo{"within", StepKind::kOwn,
             "applies a chain inside each document, as to a mask of its own; closes the rest",
             "chain(mask[:, :, q of document, k of document]) for each document",
             "within:q-lens=2+3,kv-lens=5+3{causal:align=bottom-right}", kWithin, true, bind_within,
             "ragged per-document nested"},
};

}  // namespace

std::span<const StepInfo> step_infos() { return kSteps; }

const StepInfo* find_step(std::string_view name) {
  for (const StepInfo& info : kSteps) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const StepInfo* step_called(std::string_view word) {
  for (const StepInfo& info : kSteps) {
    for (const std::string_view synonym : split(info.synonyms, ' ')) {
      if (synonym == word) return &info;
    }
  }
  return nullptr;
}

}  // namespace maskctl
