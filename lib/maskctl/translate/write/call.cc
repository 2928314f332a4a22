// Writes a mask as a call, using the table of conventions.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "maskctl/base/text.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl {
namespace {

const char* python(bool value) { return value ? "True" : "False"; }

bool is_causal_word(std::string_view word) {
  return word.find("causal") != word.npos || word.find("CAUSAL") != word.npos;
}

/// Writes the mask of a MaskForm as one particular call, if that call can express it.
class CallWriter {
 public:
  CallWriter(const Convention& row, const MaskForm& form, Translation& out)
      : row_(row), form_(form), library_(*out.library), out_(out) {}

  /// The reason why the call cannot express the mask; "" if it can.
  std::string misfit() const;
  void write();

 private:
  std::string call();
  bool takes(std::initializer_list<ArgumentMeaning> any) const {
    return std::ranges::any_of(row_.arguments, [&](const Argument& argument) {
      return std::ranges::find(any, argument.meaning) != any.end();
    });
  }
  /// Whether something other than a window says that the mask is causal.
  bool flagged() const {
    const auto flag = [](const Argument& argument) {
      return !argument.read_only && (argument.meaning == ArgumentMeaning::kCausal ||
                                     argument.meaning == ArgumentMeaning::kCausalWord ||
                                     argument.meaning == ArgumentMeaning::kMaskType);
    };
    return row_.causal || std::ranges::any_of(row_.arguments, flag);
  }
  bool window() const { return form_.left || (form_.right && !form_.causal()); }
  std::string misfit_band() const;
  std::string misfit_chunk() const;
  std::string misfit_documents() const;
  std::string value(const Argument& argument);
  std::string text_of(const Argument& argument) const;
  std::string pair() const;
  std::string mask_type() const;
  std::string numbers(const Argument& argument, const std::vector<Index>& values);
  std::string per_batch(const Argument& argument);
  const std::vector<Index>& key_lengths() const {
    return form_.kv_lengths.empty() ? form_.lengths : form_.kv_lengths;
  }
  void note();

  const Convention& row_;
  const MaskForm& form_;
  const Library& library_;
  Translation& out_;
  std::vector<std::string> lines_;
};

std::string CallWriter::misfit_documents() const {
  if (form_.documents != row_.documents) {
    return form_.documents ? "no argument for documents" : "it needs documents";
  }
  if (!form_.documents) return "";
  if (form_.lengths.empty() && form_.ids.array.elements() > 0) {
    return refusal::kUnknownLengths;
  }
  for (std::size_t i = 0; row_.no_empty_rows && i < form_.kv_lengths.size(); ++i) {
    const Index reach = row_.align == Align::kTopLeft ? form_.left.value_or(0) + 1 : 1;
    if (form_.lengths[i] - reach >= form_.kv_lengths[i]) {
      return "it refuses a document whose first or last queries see no key";
    }
  }
  const bool own_keys = takes({ArgumentMeaning::kKeyLengths, ArgumentMeaning::kKeyEnds});
  return form_.kv_lengths.empty() || own_keys ? "" : "no argument for separate key lengths";
}

std::string CallWriter::misfit_chunk() const {
  if (!form_.chunk) return "";
  const bool causal = takes({ArgumentMeaning::kCausalChunk});
  if (!takes({ArgumentMeaning::kChunk}) && !causal) return "no argument for chunks";
  if (causal && !form_.causal()) return refusal::kCausalChunks;
  if (form_.chunk_offset != 0 || !form_.chunk_origins.empty()) {
    return refusal::kChunkOffset;
  }
  if (form_.documents && !form_.inside) {
    return "its chunks are counted from each document's start, these over all documents "
           "(within:lens=...{chunk:size=...} is possible)";
  }
  if (row_.align == Align::kTopLeft && form_.chunk_align == Align::kBottomRight) {
    return "its chunks count rows from the first; these from the first cached token";
  }
  return "";
}

std::string CallWriter::misfit_band() const {
  if (row_.causal && !form_.causal()) return "it is causal";
  if (form_.off_diagonal()) return refusal::kOffDiagonal;
  if (form_.right && !form_.causal() &&
      !takes({ArgumentMeaning::kSides, ArgumentMeaning::kSidesOrBoth, ArgumentMeaning::kRight,
              ArgumentMeaning::kMaskType, ArgumentMeaning::kKeysAround})) {
    return "no right side of a window";
  }
  const bool causal = row_.causal || takes({ArgumentMeaning::kCausal, ArgumentMeaning::kCausalWord,
                                            ArgumentMeaning::kMaskType, ArgumentMeaning::kRight,
                                            ArgumentMeaning::kSides, ArgumentMeaning::kSidesOrBoth,
                                            ArgumentMeaning::kCausalChunk});
  if (form_.causal() && !causal) return "no argument for causal";
  if (form_.left &&
      !takes({ArgumentMeaning::kSides, ArgumentMeaning::kSidesOrBoth, ArgumentMeaning::kLeft,
              ArgumentMeaning::kLeftKeys, ArgumentMeaning::kKeys, ArgumentMeaning::kKeysAround})) {
    return "no argument for a window";
  }
  if (form_.left && !form_.causal() && takes({ArgumentMeaning::kKeys}))
    return "its windows are causal";
  const bool half = form_.causal() && takes({ArgumentMeaning::kCausal});
  if (takes({ArgumentMeaning::kKeysAround}) && form_.left != form_.right && !half) {
    return "its windows are as wide after the query as before it";
  }
  const bool needs_chunk = std::ranges::any_of(row_.arguments, [](const Argument& argument) {
    return argument.fallback.empty() && argument.meaning == ArgumentMeaning::kChunk;
  });
  if (needs_chunk && !form_.chunk) return "it needs chunks";
  const bool needs_window = std::ranges::any_of(row_.arguments, [](const Argument& argument) {
    return argument.fallback.empty() && (argument.meaning == ArgumentMeaning::kKeys ||
                                         argument.meaning == ArgumentMeaning::kLeft);
  });
  if (needs_window && !window()) return "it needs a window";
  const bool fixed = row_.align != Align::kUnset && form_.align != Align::kUnset;
  if (form_.banded() && fixed && row_.align != form_.align) {
    return row_.align == Align::kBottomRight
               ? "the diagonal is bottom-right; this mask is top-left (equal when Q = K: leave "
                 "align= out)"
               : "the diagonal is top-left; this mask is bottom-right (equal when Q = K: leave "
                 "align= out)";
  }
  return "";
}

std::string CallWriter::misfit() const {
  if (form_.opens_first_keys()) return refusal::kOpenKeys;
  if (form_.padded() && !takes({ArgumentMeaning::kValidKeys})) return "no argument for padding";
  if (form_.padded() && form_.pad_left) return "its padding is on the right";
  for (const std::string& why : {misfit_documents(), misfit_chunk(), misfit_band()}) {
    if (!why.empty()) return why;
  }
  return "";
}

/// The sides as (L, R); an unbounded side is written as the library does.
std::string CallWriter::pair() const {
  const bool one_sided = form_.left.has_value() != form_.right.has_value();
  const std::string_view open =
      one_sided && !row_.one_unbounded.empty() ? row_.one_unbounded : row_.unbounded;
  const auto side = [&](std::optional<Index> n) {
    return n ? std::to_string(*n) : std::string(open);
  };
  return fmt::format("({}, {})", side(form_.left), side(form_.right));
}

std::string CallWriter::mask_type() const {
  if (!form_.causal()) return form_.documents ? "\"padding\"" : "\"no_mask\"";
  return fmt::format("\"{}causal{}\"", form_.documents ? "padding_" : "",
                     form_.align == Align::kBottomRight ? "_bottom_right" : "");
}

/// Numbers as an argument: a list, or an array that a line before the call assigns to a variable.
std::string CallWriter::numbers(const Argument& argument, const std::vector<Index>& values) {
  if (library_.array == "[{}]") return fmt::format("[{}]", joined(values, ", "));
  const std::string name(argument.name);
  lines_.push_back(fmt::format("{} = {}", name, array_code(out_, name, values)));
  return name;
}

/// An array with the length of each batch entry. A single length is repeated for all.
std::string CallWriter::per_batch(const Argument& argument) {
  const std::string name = numbers(argument, form_.padding);
  if (form_.padding.size() == 1) lines_.back() += ".repeat(q.shape[0])";
  note_batch(form_.padding.size(), out_);
  return name;
}

/// The `text` of an argument with its placeholders filled in. Without a text: the argument's own
/// name if it is required, else "".
std::string CallWriter::text_of(const Argument& argument) const {
  const auto longest = [](const std::vector<Index>& lengths) {
    return lengths.empty() ? 0 : std::ranges::max(lengths);
  };
  if (!argument.text.empty()) {
    return fmt::format(
        fmt::runtime(argument.text), fmt::arg("longest_q", longest(form_.lengths)),
        fmt::arg("longest_k", longest(key_lengths())),
        fmt::arg("align", form_.align == Align::kBottomRight ? "BOTTOM_RIGHT" : "TOP_LEFT"));
  }
  return argument.fallback.empty() ? std::string(argument.name) : "";
}

/// The value to write for an argument; "" leaves it out.
std::string CallWriter::value(const Argument& argument) {
  if (argument.read_only) return "";
  switch (argument.meaning) {
    case ArgumentMeaning::kCausal:
      if (argument.fallback == "0" || argument.fallback == "1") return form_.causal() ? "1" : "0";
      return python(form_.causal());
    case ArgumentMeaning::kCausalWord:
      // The default is one of two words, `text` the other.
      return form_.causal() == is_causal_word(argument.text) ? std::string(argument.text) : "";
    case ArgumentMeaning::kKeys:
    case ArgumentMeaning::kKeysAround:
      return form_.left ? std::to_string(*form_.left + 1) : "";
    case ArgumentMeaning::kSides:
    case ArgumentMeaning::kSidesOrBoth:
    case ArgumentMeaning::kSignedSides:
      return window() || (form_.causal() && !flagged()) ? pair() : "";
    case ArgumentMeaning::kLeft:
      if (form_.left) return std::to_string(*form_.left);
      return argument.fallback.empty() ? std::string(row_.unbounded) : "";
    case ArgumentMeaning::kLeftKeys:
      return form_.left ? std::to_string(*form_.left + 1) : "";
    case ArgumentMeaning::kRight:
      if (form_.causal() && flagged() && !argument.fallback.empty()) return "";
      if (form_.right) return std::to_string(*form_.right);
      return argument.fallback.empty() ? std::string(row_.unbounded) : "";
    case ArgumentMeaning::kChunk:
    case ArgumentMeaning::kCausalChunk:
      return form_.chunk ? std::to_string(*form_.chunk) : "";
    case ArgumentMeaning::kMaskType:
      return mask_type();
    case ArgumentMeaning::kAlignment:
      return form_.banded() ? text_of(argument) : "";
    case ArgumentMeaning::kBottomRight:
      if (!form_.banded() || form_.causal() || form_.align == Align::kUnset) return "";
      return python(form_.align == Align::kBottomRight);
    case ArgumentMeaning::kOffset:
      if (form_.align == Align::kBottomRight) return "KV_LEN - Q_LEN";
      return argument.fallback.empty() ? "0" : "";
    case ArgumentMeaning::kLengths:
      return numbers(argument, form_.lengths);
    case ArgumentMeaning::kKeyLengths:
      if (form_.kv_lengths.empty() && !argument.fallback.empty()) return "";
      return numbers(argument, key_lengths());
    case ArgumentMeaning::kEnds:
      return numbers(argument, ends_of(form_.lengths));
    case ArgumentMeaning::kKeyEnds:
      return numbers(argument, ends_of(key_lengths()));
    case ArgumentMeaning::kValidQueries:
      return form_.padded() && form_.pad_queries ? per_batch(argument) : "";
    case ArgumentMeaning::kValidKeys:
      return form_.padded() ? per_batch(argument) : "";
    case ArgumentMeaning::kKeyStride:
    case ArgumentMeaning::kKeyStarts:
    case ArgumentMeaning::kUsedQueries:
    case ArgumentMeaning::kUsedKeys:
    case ArgumentMeaning::kNewKeys:
    case ArgumentMeaning::kPageEnds:
    case ArgumentMeaning::kLastPage:
    case ArgumentMeaning::kPageSize:
    case ArgumentMeaning::kUnread:
    case ArgumentMeaning::kMask:
      return "";  // never written
    case ArgumentMeaning::kNothing:
      return text_of(argument);
  }
  return "";
}

void CallWriter::note() {
  for (const Argument& argument : row_.arguments) {
    if (!form_.left || argument.note.empty()) continue;
    out_.notes.push_back(fmt::format(fmt::runtime(argument.note), fmt::arg("left", *form_.left),
                                     fmt::arg("keys", *form_.left + 1)));
  }
  const bool rows = form_.chunk && form_.chunk_align == Align::kUnset && !form_.documents &&
                    row_.align == Align::kBottomRight;
  if (rows) {
    out_.notes.push_back("written for Q = K: its chunks count queries from the first cached token");
  }
  if (form_.banded() && form_.align != Align::kUnset) {
    const std::string_view differs =
        form_.align == Align::kTopLeft ? row_.top_left_note : row_.bottom_right_note;
    if (!differs.empty()) out_.notes.emplace_back(differs);
  }
}

/// The call with its arguments. In a chain of methods, the size of the window is an argument of the
/// last one.
std::string CallWriter::call() {
  const std::string callee(row_.spelled.empty() ? row_.call : row_.spelled);
  const std::size_t method =
      row_.documents && library_.methods ? callee.find(".make_") : callee.npos;
  std::string args(row_.leading), last_args;
  for (const Argument& argument : row_.arguments) {
    const std::string text = value(argument);
    if (text.empty()) continue;
    const bool last = method != callee.npos && argument.meaning == ArgumentMeaning::kKeys;
    std::string& to = last ? last_args : args;
    if (!to.empty()) to += ", ";
    to += library_.methods ? text : fmt::format("{}={}", argument.name, text);
  }
  if (method == callee.npos) return fmt::format("{}({})", callee, args);
  return fmt::format("{}({}){}({})", callee.substr(0, method), args, callee.substr(method),
                     last_args);
}

void CallWriter::write() {
  const std::string text = call();
  const bool whole = library_.use.empty() || library_.use.starts_with(row_.call);
  out_.code = std::move(lines_);
  if (text.find("Q_LEN") != text.npos) out_.code.emplace_back(kLengthsLine);
  if (!row_.object.empty()) out_.code.emplace_back(row_.object);
  out_.code.push_back(whole ? text : fmt::format(fmt::runtime(library_.use), text));
  if (form_.pad_queries && takes({ArgumentMeaning::kValidQueries})) {
    out_.empty_row = library_.padded_row;
  }
  note();
}

/// Converts padding to documents: the valid tokens of each batch entry are one document.
MaskForm unpadded(const MaskForm& form, Translation& out) {
  MaskForm documents = form;
  documents.documents = documents.inside = true;
  documents.lengths = form.padding;
  documents.padding.clear();
  documents.align = Align::kUnset;
  out.notes.push_back(fmt::format(
      "for Q = K: q, k and v hold the {} tokens of {}, one entry after another{}",
      form.pad_left ? "last valid" : "first valid",
      form.padding.size() == 1 ? "one batch entry; of more, repeat its length and put them"
                               : "each batch entry",
      form.pad_queries ? "" : "; queries of padding are left out"));
  return documents;
}

/// The lengths of the documents of all rows, concatenated. Nothing if a row has padding or an id
/// that occurs in two places.
std::optional<std::vector<Index>> flattened_lengths(const Tensor& ids) {
  const Index rows = ids.extent(0), tokens = ids.extent(1);
  const auto values = as_int32(ids, "ids");
  std::vector<Index> out;
  for (Index row = 0; row < rows; ++row) {
    std::set<std::int32_t> seen;
    for (Index i = 0; i < tokens; ++i) {
      const auto at = static_cast<std::size_t>(row * tokens + i);
      const bool goes_on = i > 0 && values[at] == values[at - 1];
      if (values[at] == -1 || (!goes_on && !seen.insert(values[at]).second)) return std::nullopt;
      if (!goes_on) out.push_back(0);
      ++out.back();
    }
  }
  return out;
}

/// If batch entries have different documents, concatenates them to one sequence; returns the form
/// unchanged if that is not possible.
MaskForm flattened(const MaskForm& form, Translation& out) {
  const Tensor& ids = form.ids.array;
  const bool batched = form.documents && form.lengths.empty() && ids.elements() > 0 &&
                       ids.rank() == 2 && form.kv_ids.array.elements() == 0;
  if (!batched || form.chunk || form.sinks > 0 || form.prefix > 0) return form;
  const auto lengths = flattened_lengths(ids);
  if (!lengths) return form;
  MaskForm documents = form;
  documents.lengths = *lengths;
  documents.inside = true;
  documents.align = Align::kUnset;  // q and k share the ids, so Q = K
  out.notes.push_back(
      fmt::format("q, k and v hold the {} batch entries of {} tokens one after "
                  "another",
                  ids.extent(0), ids.extent(1)));
  return documents;
}

bool takes_documents(const Library& library) {
  return std::ranges::any_of(library.calls,
                             [](const Convention& row) { return row.documents && row.written; });
}

bool takes_padding(const Library& library) {
  return std::ranges::any_of(library.calls, [](const Convention& row) {
    return std::ranges::any_of(row.arguments, [](const Argument& argument) {
      return argument.meaning == ArgumentMeaning::kValidKeys;
    });
  });
}

/// Adapts the form to what the library can take: padding and batches become documents, and
/// documents become separate calls. Refuses steps that count across documents.
MaskForm adapted(const MaskForm& given, Translation& out) {
  const Library& library = *out.library;
  MaskForm form = given;
  const bool documents = takes_documents(library);
  const bool square = form.align == Align::kUnset && !form.chunk;
  if (form.padded() && square && documents && !takes_padding(library)) form = unpadded(form, out);
  if (documents || !library.apart.empty()) form = flattened(form, out);
  if (!form.documents || library.apart.empty() || !form.kv_lengths.empty()) return form;
  form.documents = false;
  out.notes.emplace_back(library.apart);
  if (!form.inside) refuse(out, "documents over which steps count");
  return form;
}

}  // namespace

void write_call(const Chain&, const MaskForm& given, const StepName&, Translation& out) {
  if (!given.rest.empty()) return refuse(out, given.rest);
  const Library& library = *out.library;
  const MaskForm form = adapted(given, out);
  if (!out.ok()) return;
  std::string why;
  int nearest = 0;
  for (const Convention& row : library.calls) {
    if (!row.written) continue;
    CallWriter writer(row, form, out);
    const std::string misfit = writer.misfit();
    if (misfit.empty()) return writer.write();
    // If no call can express the mask, the reason of the call that comes nearest is reported.
    const int near = 2 * int{row.documents == form.documents} + int{row.causal == form.causal()};
    if (near < nearest) continue;
    nearest = near;
    why = misfit;
  }
  const bool full = !form.banded() && !form.documents && !form.chunk && !form.padded() &&
                    !form.opens_first_keys();
  if (full && !library.use.empty()) {
    out.code = {fmt::format(fmt::runtime(library.use), "None")};
    return;
  }
  refuse(out, why.empty() ? "no arguments for this mask" : why);
}

}  // namespace maskctl
