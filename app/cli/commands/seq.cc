// maskctl seq: converts between lengths, positions and chunks of packed sequences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/reports/figures.h"
#include "app/reports/report.h"
#include "app/session/loader.h"
#include "app/session/save.h"
#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/leaks.h"
#include "maskctl/mask/arrays/packed.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

/// What the array of the SOURCE holds, in the order of the choices of --as.
enum class SeqForm : std::uint8_t { kCuSeqlens, kPadding, kSegments, kPositions };

struct SeqOptions {
  std::string what;  // "lens", "position-ids", ...
  std::string name;
  SeqForm form = SeqForm::kCuSeqlens;
  std::int32_t pad_id = -1;
  std::optional<Index> chunk;
  bool keep_empty = false;
  OutputOptions output;
  bool json = false;
};

enum What { kLens, kCuSeqlens, kPositions, kSequences, kTokens, kChunks, kChunkOffsets };
constexpr std::array<std::string_view, 7> kWhats = {
    "lens",          "cu-seqlens",    "position-ids", "sequence-ids",
    "token-indices", "chunk-indices", "chunk-offsets"};

void declare(OptionList& list, SeqOptions& seq) {
  list.operand("WHAT", kWhats, seq.what);
  list.operand("SOURCE", seq.name);
  static constexpr std::string_view kForms[] = {"cu_seqlens", "padding", "segments", "positions"};
  list.choice("--as", kForms,
              "SOURCE holds cumulative lengths (default), is a mask [B,S], or has an id or a "
              "position for each token, [S] or [B,S]",
              [&seq](std::size_t i) { seq.form = static_cast<SeqForm>(i); });
  declare_pad_id(list, seq.pad_id);
  list.integer("--chunk", 1, "tokens in a chunk, for chunk-indices and chunk-offsets",
               [&seq](Index n) { seq.chunk = n; });
  list.flag("--keep-empty", "number sequences without tokens too", seq.keep_empty);
  declare_destination(list, seq.output, "FILE.npy, FILE.npz:KEY, or - instead of text");
  list.json("maskctl.seq/1", seq.json);
}

[[noreturn]] void refuse_seq(const std::string& message) {
  throw Error(Errc::kInvalidArgument, "seq: " + message);
}

void check_options(const SeqOptions& options, What what) {
  const bool chunks = what == kChunks || what == kChunkOffsets;
  if (options.name.empty()) refuse_seq("no SOURCE; name a file, - for standard input, or gen:STEP");
  if (chunks && !options.chunk) refuse_seq(fmt::format("{} needs --chunk N", kWhats[what]));
  if (!chunks && options.chunk) refuse_seq(fmt::format("{} takes no --chunk", kWhats[what]));
  const bool numbers = what == kSequences || what == kTokens || what == kChunks;
  if (options.keep_empty && !numbers) {
    refuse_seq(fmt::format("--keep-empty is for numbers of sequences, which {} does not have",
                           kWhats[what]));
  }
  if (what == kCuSeqlens && options.form == SeqForm::kCuSeqlens) {
    refuse_seq("cu-seqlens are made of something else: --as padding, segments or positions");
  }
  if (options.json && !options.output.dest.empty()) {
    refuse_seq("--json and -o exclude each other");
  }
}

/// Throws unless the array is valid: it starts with 0 and never decreases.
void check_cu_seqlens(const Tensor& cu, const std::string& source) {
  const auto bad = [&](const std::string& why) {
    throw Error(Errc::kInvalidArgument, fmt::format("{}: {}", source, why));
  };
  if (cu.rank() != 1 || cu.elements() == 0 || !is_integer(cu.dtype())) {
    bad(
        fmt::format("{} {} are not cumulative lengths, integers [N+1]; --as padding, segments or "
                    "positions reads other arrays",
                    name(cu.dtype()), shape_text(cu.shape())));
  }
  const auto values = as_int64(cu, "cumulative lengths");
  if (values[0] != 0)
    bad(fmt::format("starts with {}; cumulative lengths start with 0", values[0]));
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] < values[i - 1]) {
      bad(fmt::format("entry {} falls from {} to {}; cumulative lengths never decrease", i,
                      values[i - 1], values[i]));
    }
  }
}

/// The first row of a padding mask [B,S] with a real token after padding: lengths do not say where
/// its tokens are.
struct Misplaced {
  Index row = 0, padding = 0, token = 0;
  Index rows = 0;  // how many rows there are with such tokens
};
std::optional<Misplaced> misplaced_tokens(const Tensor& valid) {
  const Index tokens = valid.extent(1);
  const auto flags = valid.as<std::uint8_t>();
  std::optional<Misplaced> out;
  for (Index row = 0; row < valid.extent(0); ++row) {
    const auto its = flags.subspan(as_size(row * tokens), as_size(tokens));
    const auto padding = std::ranges::find(its, std::uint8_t{0});
    const auto token =
        std::find_if(padding, its.end(), [](std::uint8_t flag) { return flag != 0; });
    if (token == its.end()) continue;
    if (!out) out = Misplaced{row, padding - its.begin(), token - its.begin(), 0};
    ++out->rows;
  }
  return out;
}
void note_misplaced(const Tensor& valid, const SeqOptions& options, Session& session) {
  const auto found = misplaced_tokens(valid);
  if (!found) return;
  session.note(fmt::format(
      "{}: row {} has padding at token {} before a real token {}{}: lengths count real tokens and "
      "do not say where they are; a kernel that takes them from the left reads padding",
      printable(options.name), found->row, found->padding, found->token,
      found->rows > 1 ? fmt::format(", as {} of {} rows have", found->rows, valid.extent(0)) : ""));
}

/// Says which tokens the lengths leave out.
void note_dropped(const Tensor& valid, const SeqOptions& options, Session& session) {
  const Index padding = std::ranges::count(valid.as<std::uint8_t>(), std::uint8_t{0});
  if (padding == 0) return;
  session.note(fmt::format(
      "{}: lengths count {} of {}, without padding: they fit tokens from which padding was cut out",
      printable(options.name), grouped(valid.elements() - padding),
      counted(valid.elements(), "token")));
}

Tensor cu_seqlens_of_mask(const Tensor& mask, const SeqOptions& options, Session& session) {
  if (mask.rank() != 2) {
    throw Error(Errc::kShape, fmt::format("{}: shape {}; a padding mask is [B,S]", options.name,
                                          shape_text(mask.shape())));
  }
  const Tensor valid = astype(mask, DType::kBool);
  note_misplaced(valid, options, session);
  note_dropped(valid, options, session);
  return prepare_cu_seqlens_from_mask(valid, options.output.dtype.value_or(DType::kInt32));
}

/// Appends the cumulative end of each document in one row of ids to `ends`: the last element of
/// `ends` plus the number of the document's tokens. Skips padding.
void add_ends(std::span<const std::int32_t> ids, const std::string& source, std::int32_t pad_id,
              std::vector<Index>& ends) {
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == pad_id) continue;
    const bool begins = i == 0 || ids[i] != ids[i - 1];
    if (begins && !seen.insert(ids[i]).second) {
      throw Error(
          Errc::kInvalidArgument,
          fmt::format("{}: id {} returns at token {}; the tokens of a sequence are adjacent",
                      source, ids[i], i));
    }
    if (begins) ends.push_back(ends.back());
    ++ends.back();
  }
}

Tensor cu_seqlens_of_documents(DocumentForm form, Tensor array, const SeqOptions& options) {
  const Index tokens = array.rank() == 0 ? 0 : array.extent(array.rank() - 1);
  const DocumentSource source{form, std::move(array), {}, options.pad_id, options.name};
  const Documents documents = documents_of(source, tokens, tokens);
  std::vector<Index> ends{0};
  for (Index b = 0; b < documents.q.extent(0); ++b) {
    add_ends(ids_of_batch(documents.q, b), options.name, documents.pad_id, ends);
  }
  Tensor out(DType::kInt32, {std::ssize(ends)});
  std::ranges::transform(ends, out.as<std::int32_t>().begin(),
                         [](Index end) { return static_cast<std::int32_t>(end); });
  return out;
}

Tensor cu_seqlens_of(Loader& loader, const SeqOptions& options, Session& session) {
  Tensor array = loader.array(options.name);
  switch (options.form) {
    case SeqForm::kPadding:
      return cu_seqlens_of_mask(array, options, session);
    case SeqForm::kSegments:
      return cu_seqlens_of_documents(DocumentForm::kSegments, std::move(array), options);
    case SeqForm::kPositions:
      return cu_seqlens_of_documents(DocumentForm::kPositions, std::move(array), options);
    case SeqForm::kCuSeqlens:
      break;
  }
  check_cu_seqlens(array, options.name);
  return array;
}

/// Throws if the result needs more memory than allowed. It has a row for each token or chunk, with
/// up to two columns of 8 bytes, and exists twice while it is computed.
void check_size(Index rows, Session& session) {
  const auto bytes = checked_mul(rows, 32);
  if (bytes && *bytes <= session.settings().max_bytes) return;
  throw Error(Errc::kLimit,
              fmt::format("seq: {} rows need more than the limit of {} bytes; see --max-bytes",
                          rows, session.settings().max_bytes));
}

Tensor result(What what, const Tensor& cu, const SeqOptions& options, Session& session) {
  if (what == kCuSeqlens) return cu;
  if (what == kLens) return prepare_lens(cu);
  if (what == kChunkOffsets) return prepare_chunk_offsets(cu, *options.chunk);
  check_size(as_int64(cu, "cumulative lengths").back(), session);
  if (what == kPositions) return prepare_position_ids(cu);
  if (what == kSequences) return prepare_sequence_ids(cu, options.keep_empty);
  if (what == kTokens) return prepare_token_indices(cu, options.keep_empty);
  return prepare_chunk_indices(cu, *options.chunk, options.keep_empty);
}

Answer run(const SeqOptions& options, Session& session) {
  const auto what = static_cast<What>(parse_choice(options.what, "seq", kWhats));
  check_options(options, what);
  const SourceOptions plain;
  Loader loader(plain, session);
  Tensor made = result(what, cu_seqlens_of(loader, options, session), options, session);
  if (options.output.dtype) made = astype(made, *options.output.dtype);
  if (options.output.dest.empty()) {
    return answer_in(
        options.json, [&] { return rows_text(made); },
        [=] { return seq_json(options.what, made); });
  }
  write_output(made, options.output, session);
  return {};
}

}  // namespace

extern const Command kSeq = command<SeqOptions, declare, run>({
    .name = "seq",
    .group = kLook,
    .operands = "WHAT SOURCE",
    .summary = "lengths, positions and chunks of packed sequences",
    .examples = "  maskctl seq lens cu.npy\n"
                "  maskctl seq cu-seqlens valid.npy --as padding -o cu.npy\n"
                "  maskctl seq lens seg.npy --as segments\n"
                "  maskctl seq chunk-indices cu.npy --chunk 64\n",
});

}  // namespace maskctl::app
