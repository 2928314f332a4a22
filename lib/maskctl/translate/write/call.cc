// Writes a mask as a call from the table of conventions.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "maskctl/mask/steps/tokens.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/translate/write/code.h"

namespace maskctl {
namespace {

// For libraries without a word for an open side: past every length.
constexpr std::string_view kPastAll = "2**30";

const char* python(bool value) { return value ? "True" : "False"; }

/// One call of the table, and whether it can express a form.
class CallWriter {
 public:
  CallWriter(const Convention& row, const MaskForm& form, Translation& out)
      : row_(row), form_(form), out_(out) {}

  /// "" or the reason why it cannot.
  std::string misfit() const;
  void write();

 private:
  bool takes(std::initializer_list<Says> any) const {
    return std::ranges::any_of(row_.arguments, [&](const Argument& argument) {
      return std::ranges::find(any, argument.says) != any.end();
    });
  }
  bool takes_align() const {
    return takes({Says::kMaskType, Says::kAlignment, Says::kBottomRight, Says::kOffset});
  }
  bool window() const { return form_.left || (form_.right && !form_.causal()); }
  std::string misfit_band() const;
  std::string misfit_chunk() const;
  std::string misfit_documents() const;
  std::string value(const Argument& argument);
  std::string beside(const Argument& argument) const;
  std::string pair(std::string_view open) const;
  std::string mask_type() const;
  std::string numbers(const Argument& argument, const std::vector<Index>& values);
  std::string per_batch(const Argument& argument);
  const std::vector<Index>& key_lengths() const {
    return form_.kv_lengths.empty() ? form_.lengths : form_.kv_lengths;
  }
  void note();

  const Convention& row_;
  const MaskForm& form_;
  Translation& out_;
  std::vector<std::string> lines_;
};

std::string CallWriter::misfit_documents() const {
  if (form_.documents != row_.documents) {
    return form_.documents ? "no argument for documents" : "it needs documents";
  }
  if (!form_.documents) return "";
  if (form_.lengths.empty() && form_.ids.array.elements() > 0) {
    return "these ids are not lengths of consecutive documents";
  }
  for (std::size_t i = 0; row_.no_empty_rows && i < form_.kv_lengths.size(); ++i) {
    const Index reach = row_.align == Align::kTopLeft ? form_.left.value_or(0) + 1 : 1;
    if (form_.lengths[i] - reach >= form_.kv_lengths[i]) {
      return "it refuses a document whose first or last queries see no key";
    }
  }
  const bool own_keys = takes({Says::kKeyLengths, Says::kKeyEnds});
  return form_.kv_lengths.empty() || own_keys ? "" : "no argument for separate key lengths";
}

std::string CallWriter::misfit_chunk() const {
  if (!form_.chunk) return "";
  const bool causal = takes({Says::kCausalChunk});
  if (!takes({Says::kChunk}) && !causal) return "no argument for chunks";
  if (causal && !form_.causal()) return "its chunks are causal too";
  if (form_.chunk_offset != 0 || !form_.chunk_origins.empty()) {
    return "no argument for the offset of chunks";
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
  const bool moved = (form_.left && *form_.left < 0) || (form_.right && *form_.right < 0);
  if (moved) return "the band does not contain the diagonal, and sides cannot be negative";
  if (form_.right && !form_.causal() &&
      !takes(
          {Says::kSides, Says::kSidesOrBoth, Says::kRight, Says::kMaskType, Says::kKeysAround})) {
    return "no right side of a window";
  }
  const bool causal = row_.causal || takes({Says::kCausal, Says::kMaskType, Says::kRight,
                                            Says::kSides, Says::kSidesOrBoth, Says::kCausalChunk});
  if (form_.causal() && !causal) return "no argument for causal";
  if (form_.left && !takes({Says::kSides, Says::kSidesOrBoth, Says::kLeft, Says::kLeftKeys,
                            Says::kKeys, Says::kKeysAround})) {
    return "no argument for a window";
  }
  if (form_.left && !form_.causal() && takes({Says::kKeys})) return "its windows are causal";
  if (takes({Says::kKeysAround}) && form_.left != form_.right) {
    return "its windows are as wide after the query as before it";
  }
  const bool needs_chunk = std::ranges::any_of(row_.arguments, [](const Argument& argument) {
    return argument.fallback.empty() && argument.says == Says::kChunk;
  });
  if (needs_chunk && !form_.chunk) return "it needs chunks";
  const bool needs_window = std::ranges::any_of(row_.arguments, [](const Argument& argument) {
    return argument.fallback.empty() &&
           (argument.says == Says::kKeys || argument.says == Says::kLeft);
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
  if (form_.sinks > 0 || form_.prefix > 0) {
    return "no argument for keys that are open beside the window";
  }
  if (form_.padded() && !takes({Says::kValidKeys})) return "no argument for padding";
  if (form_.padded() && form_.pad_left) return "its padding is on the right";
  for (const std::string& why : {misfit_documents(), misfit_chunk(), misfit_band()}) {
    if (!why.empty()) return why;
  }
  return "";
}

/// (L, R), with the library's word for an open side.
std::string CallWriter::pair(std::string_view open) const {
  const bool one_sided = form_.left.has_value() != form_.right.has_value();
  if (row_.library == Library::kTe && one_sided) open = kPastAll;
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

/// Numbers as a variable before the call; a short list is clearer there than inside the call.
std::string CallWriter::numbers(const Argument& argument, const std::vector<Index>& values) {
  if (info_of(row_.library).array == "[{}]") return fmt::format("[{}]", joined(values, ", "));
  const std::string name(argument.name);
  lines_.push_back(fmt::format("{} = {}", name, array_code(out_, name, values)));
  return name;
}

/// The length of each batch entry; a single length is repeated.
std::string CallWriter::per_batch(const Argument& argument) {
  const std::string name = numbers(argument, form_.padding);
  if (form_.padding.size() == 1) lines_.back() += ".repeat(q.shape[0])";
  note_batch(form_.padding.size(), out_);
  return name;
}

/// An argument that the call requires but that says nothing about the mask.
std::string CallWriter::beside(const Argument& argument) const {
  const auto longest = [](const std::vector<Index>& lengths) {
    return std::to_string(lengths.empty() ? 0 : std::ranges::max(lengths));
  };
  if (argument.name == "max_seqlen_q") return longest(form_.lengths);
  if (argument.name == "max_seqlen_k") return longest(key_lengths());
  if (argument.name == "qkv_format") return "\"thd\"";
  if (argument.name == "attn_type") return "AttentionType.ENCODER_ONLY";
  if (argument.name == "use_padding_mask") return "True";
  return argument.fallback.empty() ? std::string(argument.name) : "";
}

/// The value of the argument, or "" to leave it out.
std::string CallWriter::value(const Argument& argument) {
  switch (argument.says) {
    case Says::kCausal:
      return argument.name == "use_causal_mask" ? "" : python(form_.causal());
    case Says::kKeys:
    case Says::kKeysAround:
      return form_.left ? std::to_string(*form_.left + 1) : "";
    case Says::kSides:
    case Says::kSidesOrBoth:
      return window() ? pair(row_.unbounded) : "";
    case Says::kLeft:
      if (form_.left) return std::to_string(*form_.left);
      return argument.fallback.empty() ? std::string(row_.unbounded) : "";
    case Says::kLeftKeys:
      return form_.left ? std::to_string(*form_.left + 1) : "";
    case Says::kRight:
      if (form_.right) return std::to_string(*form_.right);
      return argument.fallback.empty() ? std::string(row_.unbounded) : "";
    case Says::kChunk:
    case Says::kCausalChunk:
      return form_.chunk ? std::to_string(*form_.chunk) : "";
    case Says::kMaskType:
      return mask_type();
    case Says::kAlignment:
      if (!form_.banded()) return "";
      return fmt::format("cudnn.diagonal_alignment.{}",
                         form_.align == Align::kBottomRight ? "BOTTOM_RIGHT" : "TOP_LEFT");
    case Says::kBottomRight:
      if (!form_.banded() || form_.causal() || form_.align == Align::kUnset) return "";
      return python(form_.align == Align::kBottomRight);
    case Says::kOffset:
      if (form_.align == Align::kBottomRight) return "KV_LEN - Q_LEN";
      return argument.fallback.empty() ? "0" : "";
    case Says::kLengths:
      return numbers(argument, form_.lengths);
    case Says::kKeyLengths:
      if (form_.kv_lengths.empty() && !argument.fallback.empty()) return "";
      return numbers(argument, key_lengths());
    case Says::kEnds:
      return numbers(argument, ends_of(form_.lengths));
    case Says::kKeyEnds:
      return numbers(argument, ends_of(key_lengths()));
    case Says::kValidQueries:
      return form_.padded() && form_.pad_queries ? per_batch(argument) : "";
    case Says::kValidKeys:
      return form_.padded() ? per_batch(argument) : "";
    case Says::kKeyStride:
      return "";
    case Says::kNothing:
      return beside(argument);
  }
  return "";
}

void CallWriter::note() {
  if (form_.left && takes({Says::kLeftKeys})) {
    out_.notes.push_back(
        fmt::format("the left bound is exclusive: {} is left={}", *form_.left + 1, *form_.left));
  }
  if (form_.left && takes({Says::kKeysAround})) {
    out_.notes.push_back(
        fmt::format("{} keys on either side: {} minus one", *form_.left, *form_.left + 1));
  }
  if (form_.left && takes({Says::kKeys})) {
    out_.notes.push_back(fmt::format("{} keys including the query's own", *form_.left + 1));
  }
  const bool rows = form_.chunk && form_.chunk_align == Align::kUnset && !form_.documents &&
                    row_.align == Align::kBottomRight;
  if (rows) {
    out_.notes.push_back("written for Q = K: its chunks count queries from the first cached token");
  }
  if (form_.banded() && row_.align == Align::kUnset && !takes_align() &&
      form_.align != Align::kUnset) {
    out_.notes.push_back(fmt::format("when Q != K: this mask is {} only",
                                     form_.align == Align::kTopLeft
                                         ? "what XLA does (top-left); Triton is bottom-right"
                                         : "what Triton does (bottom-right); XLA is top-left"));
  }
}

void CallWriter::write() {
  std::string call(row_.spelled.empty() ? row_.call : row_.spelled);
  std::string args(row_.leading);
  std::vector<std::string> methods;
  const bool methodical = row_.library == Library::kXformers && row_.documents;
  std::string last_args;
  for (const Argument& argument : row_.arguments) {
    const std::string text = value(argument);
    if (text.empty()) continue;
    const bool bare = row_.library == Library::kXformers;
    // The size of a window belongs to the last method of a chain.
    std::string& to = methodical && argument.says == Says::kKeys ? last_args : args;
    to += fmt::format("{}{}", to.empty() ? "" : ", ",
                      bare ? text : fmt::format("{}={}", argument.name, text));
  }
  const std::size_t method = call.find(".make_");
  if (methodical && method != call.npos) {
    call =
        fmt::format("{}({}){}({})", call.substr(0, method), args, call.substr(method), last_args);
  } else {
    call = fmt::format("{}({})", call, args);
  }
  const std::string_view use = info_of(row_.library).use;
  const bool whole = use.empty() || use.starts_with(row_.call);
  out_.code = std::move(lines_);
  if (call.find("Q_LEN") != call.npos) {
    out_.code.push_back("Q_LEN, KV_LEN = q.shape[-2], k.shape[-2]");
  }
  if (!row_.object.empty()) out_.code.emplace_back(row_.object);
  out_.code.push_back(whole ? call : fmt::format(fmt::runtime(use), call));
  if (form_.pad_queries && takes({Says::kValidQueries})) {
    out_.empty_row = info_of(row_.library).padded_row;
  }
  note();
}

/// Padding as documents: the valid part of each entry is one.
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

/// The document lengths of all rows, one row after another; nothing if a row has padding in it or
/// an id recurs.
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

/// Documents that differ between batch entries, as one row of all entries; the form unchanged if
/// that is impossible.
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
  documents.align = Align::kUnset;  // one SOURCE of ids: queries and keys are equally many
  out.notes.push_back(
      fmt::format("q, k and v hold the {} batch entries of {} tokens one after "
                  "another",
                  ids.extent(0), ids.extent(1)));
  return documents;
}

bool takes_documents(Library library) {
  return std::ranges::any_of(conventions(), [&](const Convention& row) {
    return row.library == library && row.documents && row.written;
  });
}

bool takes_padding(Library library) {
  return std::ranges::any_of(conventions(), [&](const Convention& row) {
    return row.library == library &&
           std::ranges::any_of(row.arguments, [](const Argument& argument) {
             return argument.says == Says::kValidKeys;
           });
  });
}

}  // namespace

void write_call(const MaskForm& given, Translation& out) {
  const LibraryInfo& info = info_of(out.library);
  MaskForm form = given;
  if (form.padded() && !takes_padding(out.library) && takes_documents(out.library)) {
    const bool square = form.align == Align::kUnset && !form.chunk;
    if (square) form = unpadded(form, out);
  }
  if (takes_documents(out.library) || !info.apart.empty()) form = flattened(form, out);
  const bool apart = form.documents && !info.apart.empty() && form.kv_lengths.empty();
  if (apart) {
    form.documents = false;
    out.notes.emplace_back(info.apart);
    if (!form.inside) return refuse(out, "documents over which steps count");
  }
  std::string why;
  int nearest = 0;
  for (const Convention& row : conventions()) {
    if (row.library != out.library || !row.written) continue;
    CallWriter writer(row, form, out);
    const std::string misfit = writer.misfit();
    if (misfit.empty()) {
      return writer.write();
    }
    // Report the reason of the call that comes nearest.
    const int near = 2 * int{row.documents == form.documents} + int{row.causal == form.causal()};
    if (near < nearest) continue;
    nearest = near;
    why = misfit;
  }
  if (!form.banded() && !form.documents && !form.chunk && !form.padded() && form.sinks == 0 &&
      form.prefix == 0 && !info.use.empty()) {
    out.code = {fmt::format(fmt::runtime(info.use), "None")};
    return;
  }
  refuse(out, why.empty() ? "no arguments for this mask" : why);
}

namespace {

/// The spans of equal types other than 0, both ends included; nothing if a type recurs later or the
/// batch entries differ.
std::optional<std::vector<std::pair<Index, Index>>> spans_of(const Tensor& types) {
  if (types.rank() > 1 && types.extent(0) != 1) return std::nullopt;
  const auto values = as_int32(types, "types");
  std::vector<std::pair<Index, Index>> out;
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<Index>(i);
    if (values[i] == 0) continue;
    if (i > 0 && values[i] == values[i - 1]) {
      out.back().second = at;
    } else if (seen.insert(values[i]).second) {
      out.push_back({at, at});
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// The token types that open images after the steps of a chain, or null.
const step::Tokens* images_of(const Chain& chain) {
  const auto* tokens = chain.empty() ? nullptr : chain.back().get_if<step::Tokens>();
  const bool opens = tokens && tokens->shared && tokens->join == step::Tokens::Join::kUnion &&
                     tokens->zero != step::Tokens::Zero::kNone;
  return opens ? tokens : nullptr;
}

}  // namespace

void write_vllm(const Chain& chain, const StepName& name, Translation& out) {
  const step::Tokens* images = images_of(chain);
  const auto spans = images ? spans_of(images->q.array) : std::nullopt;
  const Chain text(chain.begin(), chain.end() - (spans ? 1 : 0));
  const MaskForm form = mask_form(text, name);
  if (!form.rest.empty()) return refuse(out, form.rest);
  write_call(form, out);
  if (!spans || !out.ok()) return;
  std::string ranges;
  Index longest = 0;
  for (const auto& [first, last] : *spans) {
    ranges += fmt::format("{}({}, {})", ranges.empty() ? "" : ", ", first, last);
    longest = std::max(longest, last - first + 1);
  }
  if (form.left && longest > *form.left + 1) {
    return refuse(out, fmt::format("mm_prefix_range leaves out spans longer than the window; one "
                                   "has {} tokens",
                                   longest));
  }
  if (!form.causal()) return refuse(out, "mm_prefix_range belongs to causal attention");
  out.code.push_back(fmt::format("mm_prefix_range = {{0: [{}]}}", ranges));
  out.notes.emplace_back(
      "mm_prefix_range of the attention metadata: spans of request 0, both ends included; vLLM "
      "fills it from the request's images");
}

}  // namespace maskctl
