#include "maskctl/translate/read/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl {
namespace {

using Side = std::optional<Index>;

// Arguments that do not affect which cells are open.
constexpr std::string_view kBeside[] = {"softmax_scale",
                                        "dropout_p",
                                        "scale",
                                        "deterministic",
                                        "softcap",
                                        "alibi_slopes",
                                        "enable_gqa",
                                        "return_attn_probs",
                                        "p",
                                        "out",
                                        "head_shards",
                                        "q_seq_shards",
                                        "core_attention_bias_type",
                                        "sm_scale",
                                        "logits_soft_cap",
                                        "num_splits",
                                        "return_lse",
                                        "output",
                                        "attn_bias_type",
                                        "q_data_type"};

bool takes_list(const Argument& argument) {
  return argument.says == Says::kLengths || argument.says == Says::kKeyLengths ||
         argument.says == Says::kEnds || argument.says == Says::kKeyEnds;
}

/// What the arguments of one call mean.
struct ParsedArguments {
  bool causal = false;
  Side left, right, keys, both, chunk;
  bool sides_given = false;
  Align align = Align::kUnset;
  Index offset = 0;
  std::optional<std::vector<Index>> lengths, key_lengths, valid_queries, valid_keys;
  Side key_stride;
};

class Call {
 public:
  Call(const LibrarySource& source, const Python& call) : source_(source), call_(call) {}
  MaskForm read();

 private:
  const Convention& row();
  std::string callee() const;
  bool knows(const Convention& row, std::string_view name) const;
  void take_positional(const Convention& row, ParsedArguments& parsed);
  void take(const Argument& argument, const Python& value, ParsedArguments& parsed);
  void take_chunk(const Argument& argument, const Python& given, ParsedArguments& parsed);
  void take_alignment(const Python& given, ParsedArguments& parsed);
  void take_bottom_right(const Python& given, ParsedArguments& parsed);
  void take_pair(const Python& value, bool both, ParsedArguments& parsed);
  void take_mask_type(const Python& value, ParsedArguments& parsed);
  void take_offset(const Python& value, ParsedArguments& parsed);
  MaskForm form(ParsedArguments& parsed);
  void check_te(ParsedArguments& parsed);
  void stride_keys(MaskForm& form, Index stride) const;

  Python value(const Python& given) const { return resolved(source_.text, given); }
  bool is_none(const Python& given) const { return value(given).is_word("None"); }
  Side side(const Python& given, Index least) const;
  Index number(const Python& given, Index least) const;
  bool boolean(const Python& given) const;
  std::vector<Index> list(const Python& given) const;
  std::vector<Index> differences(const Python& given) const;

  const LibrarySource& source_;
  const Python& call_;
};

/// The library's name for what is called, resolved through variables and constructors.
std::string Call::callee() const {
  const auto made = source_.text.names.find(call_.text);
  if (made != source_.text.names.end() && made->second.kind == Python::Kind::kCall) {
    return std::string(last_name(made->second.text));
  }
  return call_.text;
}

bool Call::knows(const Convention& row, std::string_view name) const {
  const auto beside = std::ranges::find(kBeside, name);
  const std::string leading = fmt::format("{}={}", name, name);  // q=q
  return beside != std::end(kBeside) || row.leading.find(leading) != row.leading.npos ||
         std::ranges::find(row.arguments, name, &Argument::name) != row.arguments.end();
}

const Convention& Call::row() {
  const std::string name = callee();
  const Convention* near = nullptr;
  std::vector<std::string_view> calls, arguments;
  for (const Convention& row : conventions()) {
    if (row.library != source_.library) continue;
    if (row.written) calls.push_back(row.call);
    // For a class with methods the whole chain counts; for a method of an object, its name.
    const bool object = row.library != Library::kXformers && last_name(name) == last_name(row.call);
    if (!name.empty() && name != row.call && !object &&
        !name.ends_with("." + std::string(row.call))) {
      continue;
    }
    near = near ? near : &row;
    for (const Argument& argument : row.arguments) {
      if (std::ranges::find(arguments, argument.name) == arguments.end()) {
        arguments.push_back(argument.name);
      }
    }
    if (std::ranges::all_of(call_.named,
                            [&](const auto& entry) { return knows(row, entry.first); })) {
      return row;
    }
  }
  if (!near) {
    source_.fail(call_.position,
                 fmt::format("unknown call '{}' of {}; {}", shown(name),
                             info_of(source_.library).name, hint(last_name(name), calls)));
  }
  for (const auto& [key, given] : call_.named) {
    if (std::ranges::find(arguments, key) != arguments.end() || knows(*near, key)) continue;
    const std::size_t at = source_.given.find(key);
    source_.fail(at == std::string_view::npos ? given.position : static_cast<Index>(at),
                 fmt::format("unknown argument '{}' of {}; {}", shown(key),
                             info_of(source_.library).name, hint(key, arguments)));
  }
  source_.fail(call_.position, "arguments of different calls cannot be combined");
}

Index Call::number(const Python& given, Index least) const {
  const auto out = number_in(source_.text, given);
  if (!out) source_.fail(given.position, "expected a whole number");
  if (*out < least) {
    source_.fail(given.position, fmt::format("{}: expected at least {}", *out, least));
  }
  return *out;
}

/// Nothing for None, and for negative numbers, which flash-attn and others read as unbounded.
Side Call::side(const Python& given, Index least) const {
  if (is_none(given)) return std::nullopt;
  const Index out = number(given, std::numeric_limits<Index>::min());
  if (out < 0) return std::nullopt;
  if (out < least) {
    source_.fail(given.position, fmt::format("{}: expected at least {}", out, least));
  }
  return out;
}

bool Call::boolean(const Python& given) const {
  const Python out = value(given);
  if (out.is_word("True") || out.is_word("true")) return true;
  if (out.is_word("False") || out.is_word("false")) return false;
  if (out.kind == Python::Kind::kNumber && (out.number == 0 || out.number == 1))
    return out.number == 1;
  source_.fail(given.position, "expected True or False");
}

std::vector<Index> Call::list(const Python& given) const {
  const auto out = numbers_in(source_.text, given);
  if (!out) {
    source_.fail(given.position, "expected a list of numbers, as in torch.tensor([0, 3, 8])");
  }
  if (std::ranges::any_of(*out, [](Index n) { return n < 0; })) {
    source_.fail(given.position, "expected numbers of at least 0");
  }
  return *out;
}

std::vector<Index> Call::differences(const Python& given) const {
  const std::vector<Index> ends = list(given);
  std::vector<Index> out;
  const bool ascends = !ends.empty() && ends.front() == 0 && std::ranges::is_sorted(ends);
  if (!ascends)
    source_.fail(given.position, "expected numbers that start at 0 and do not decrease");
  for (std::size_t i = 1; i < ends.size(); ++i) out.push_back(ends[i] - ends[i - 1]);
  return out;
}

/// Reads (L, R), or W for both sides.
void Call::take_pair(const Python& given, bool both, ParsedArguments& parsed) {
  const Python pair = value(given);
  if (pair.is_word("None")) return;
  parsed.sides_given = true;
  if (pair.kind == Python::Kind::kList && pair.items.size() == 2) {
    parsed.left = side(pair.items[0], 0);
    parsed.right = side(pair.items[1], 0);
  } else if (both && number_in(source_.text, given)) {
    parsed.both = number(given, 0);
  } else {
    source_.fail(given.position, both ? "expected (L, R) or W" : "expected (L, R)");
  }
}

void Call::take_mask_type(const Python& given, ParsedArguments& parsed) {
  const Python out = value(given);
  std::string type = out.text;
  static constexpr std::string_view kTypes[] = {"no_mask",
                                                "padding",
                                                "causal",
                                                "padding_causal",
                                                "causal_bottom_right",
                                                "padding_causal_bottom_right"};
  if (type == "causal_padding") type = "padding_causal";
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) {
    source_.fail(given.position,
                 "expected no_mask, padding, causal, padding_causal, causal_bottom_right or "
                 "padding_causal_bottom_right");
  }
  parsed.causal = type.find("causal") != type.npos;
  if (parsed.causal) {
    parsed.align = type.ends_with("bottom_right") ? Align::kBottomRight : Align::kTopLeft;
  }
}

/// Reads a number, or KV_LEN - Q_LEN with or without a number after it.
void Call::take_offset(const Python& given, ParsedArguments& parsed) {
  const Python out = value(given);
  const bool sum = out.kind == Python::Kind::kOperator && out.items.size() == 2 &&
                   (out.text == "+" || out.text == "-") &&
                   out.items[0].kind == Python::Kind::kOperator &&
                   number_in(source_.text, out.items[1]);
  if (sum) {
    take_offset(out.items[0], parsed);
    const Index by = *number_in(source_.text, out.items[1]);
    parsed.offset += out.text == "-" ? -by : by;
    return;
  }
  const bool moved = out.kind == Python::Kind::kOperator && out.text == "-" &&
                     out.items.size() == 2 &&
                     (out.items[0].is_word("KV_LEN") || out.items[0].is_word("kv_len")) &&
                     (out.items[1].is_word("Q_LEN") || out.items[1].is_word("q_len"));
  if (moved) {
    parsed.align = Align::kBottomRight;
    return;
  }
  if (!number_in(source_.text, given)) {
    source_.fail(given.position, "expected a number or KV_LEN - Q_LEN");
  }
  parsed.offset = *number_in(source_.text, given);
  parsed.align = Align::kTopLeft;
}

void Call::take_chunk(const Argument& argument, const Python& given, ParsedArguments& parsed) {
  parsed.chunk = is_none(given) ? std::nullopt : Side(number(given, 0));
  if (parsed.chunk == Index{0} && argument.fallback == "0") parsed.chunk.reset();
  if (parsed.chunk == Index{0}) source_.fail(given.position, "0: expected at least 1");
  if (parsed.chunk && argument.says == Says::kCausalChunk) parsed.causal = true;
}

void Call::take_alignment(const Python& given, ParsedArguments& parsed) {
  const Python out = value(given);
  const bool top = out.text.ends_with("TOP_LEFT");
  if (!top && !out.text.ends_with("BOTTOM_RIGHT")) {
    source_.fail(given.position, "expected TOP_LEFT or BOTTOM_RIGHT");
  }
  parsed.align = top ? Align::kTopLeft : Align::kBottomRight;
}

/// A causal type decides first; otherwise the default is bottom-right.
void Call::take_bottom_right(const Python& given, ParsedArguments& parsed) {
  if (parsed.align != Align::kUnset || is_none(given)) return;
  parsed.align = boolean(given) ? Align::kBottomRight : Align::kTopLeft;
}

void Call::take(const Argument& argument, const Python& given, ParsedArguments& parsed) {
  switch (argument.says) {
    case Says::kCausal:
      parsed.causal = boolean(given);
      return;
    case Says::kKeys:
      parsed.keys = is_none(given) ? std::nullopt : Side(number(given, 1));
      return;
    case Says::kKeysAround:
      if (!is_none(given)) parsed.both = number(given, 1) - 1;
      return;
    case Says::kSides:
      return take_pair(given, false, parsed);
    case Says::kSidesOrBoth:
      return take_pair(given, true, parsed);
    case Says::kLeft:
      parsed.left = side(given, 0);
      return;
    case Says::kLeftKeys:
      parsed.left = is_none(given) ? std::nullopt : Side(number(given, 1) - 1);
      return;
    case Says::kRight:
      parsed.right = is_none(given) ? std::nullopt : Side(number(given, 0));
      return;
    case Says::kChunk:
    case Says::kCausalChunk:
      return take_chunk(argument, given, parsed);
    case Says::kMaskType:
      return take_mask_type(given, parsed);
    case Says::kAlignment:
      return take_alignment(given, parsed);
    case Says::kBottomRight:
      return take_bottom_right(given, parsed);
    case Says::kOffset:
      return take_offset(given, parsed);
    case Says::kLengths:
      parsed.lengths = list(given);
      return;
    case Says::kKeyLengths:
      if (!is_none(given)) parsed.key_lengths = list(given);
      return;
    case Says::kKeyStride:
      parsed.key_stride = number(given, 0);
      return;
    case Says::kEnds:
      if (!is_none(given)) parsed.lengths = differences(given);
      return;
    case Says::kKeyEnds:
      if (!is_none(given)) parsed.key_lengths = differences(given);
      return;
    case Says::kValidQueries:
      if (!is_none(given)) parsed.valid_queries = list(given);
      return;
    case Says::kValidKeys:
      if (!is_none(given)) parsed.valid_keys = list(given);
      return;
    case Says::kNothing:
      return;
  }
}

/// Reads positional values; those before the arguments of the table are tensors and shapes.
void Call::take_positional(const Convention& row, ParsedArguments& parsed) {
  std::vector<const Python*> values;
  for (const Python& item : call_.items) {
    if (!item.is_word("...")) values.push_back(&item);
  }
  if (!row.leading.empty() && row.library != Library::kSplash) {
    const auto leading = static_cast<std::size_t>(std::ranges::count(row.leading, ',')) + 1;
    values.erase(values.begin(),
                 values.begin() + static_cast<std::ptrdiff_t>(std::min(leading, values.size())));
  } else if (row.library == Library::kSplash && !values.empty()) {
    const bool window = std::ranges::any_of(
        row.arguments, [](const Argument& argument) { return argument.says == Says::kSides; });
    const auto tuples = std::ranges::count_if(
        values, [&](const Python* item) { return value(*item).kind == Python::Kind::kList; });
    const bool shaped =
        value(*values.front()).kind == Python::Kind::kList && tuples > (window ? 1 : 0);
    if (shaped || values.front()->kind == Python::Kind::kWord) {
      values.erase(values.begin());
      parsed.align = Align::kTopLeft;
    }
  }
  if (!values.empty() && !info_of(row.library).by_place && !call_.text.empty()) {
    source_.fail(values.front()->position,
                 fmt::format("give arguments of {} after {} by name", row.call, row.leading));
  }
  std::size_t next = 0;
  for (const Python* item : values) {
    // A number of a method comes after the lists of the preceding call.
    const bool is_number = number_in(source_.text, *item).has_value();
    while (is_number && next < row.arguments.size() && takes_list(row.arguments[next])) ++next;
    if (next == row.arguments.size()) {
      source_.fail(item->position, fmt::format("{} takes {} argument{} here", row.call, next,
                                               next == 1 ? "" : "s"));
    }
    take(row.arguments[next++], *item, parsed);
  }
  for (const Argument& argument : row.arguments) {
    const bool due = argument.fallback.empty() && argument.says != Says::kNothing;
    const bool named = std::ranges::any_of(
        call_.named, [&](const auto& entry) { return entry.first == argument.name; });
    const auto at = static_cast<std::size_t>(&argument - row.arguments.data());
    if (due && !named && at >= next && !call_.text.empty() && row.library != Library::kSplash) {
      source_.fail(call_.position, fmt::format("{} needs {}", row.call, argument.name));
    }
  }
}

/// Applies check_set_window_size of Transformer Engine.
void Call::check_te(ParsedArguments& parsed) {
  if (parsed.causal) {
    parsed.right = 0;
    return;
  }
  if (!parsed.sides_given) return;
  const bool only_left_open = !parsed.left && parsed.right == Index{0};
  if (only_left_open) {
    parsed.right.reset();  // (-1, 0) is read as (-1, -1)
  } else if (parsed.left.has_value() != parsed.right.has_value()) {
    source_.fail(call_.position,
                 "Transformer Engine refuses a window with one side for no_mask and padding");
  }
}

/// Between two documents, adds one without queries for the keys that are left out.
void Call::stride_keys(MaskForm& form, Index stride) const {
  const std::vector<Index> lengths = form.lengths;
  const std::vector<Index> keys = form.kv_lengths.empty() ? form.lengths : form.kv_lengths;
  form.lengths.clear();
  form.kv_lengths.clear();
  for (std::size_t i = 0; i < std::min(lengths.size(), keys.size()); ++i) {
    if (keys[i] > stride) {
      source_.fail(call_.position,
                   fmt::format("{} keys do not fit into {} places", keys[i], stride));
    }
    form.lengths.insert(form.lengths.end(), {lengths[i], 0});
    form.kv_lengths.insert(form.kv_lengths.end(), {keys[i], stride - keys[i]});
  }
}

MaskForm Call::form(ParsedArguments& parsed) {
  MaskForm out;
  out.align = parsed.align;
  out.left = parsed.left;
  out.right = parsed.right;
  if (parsed.keys) out.left = parsed.causal ? *parsed.keys - 1 : *parsed.keys;
  if (parsed.keys && !parsed.causal) out.right = *parsed.keys;
  if (parsed.both) out.left = out.right = parsed.both;
  if (parsed.causal) out.right = 0;
  if (out.left) *out.left -= parsed.offset;
  if (out.right) *out.right += parsed.offset;
  out.chunk = parsed.chunk;
  if (parsed.chunk && parsed.align == Align::kBottomRight) out.chunk_align = parsed.align;
  if (parsed.lengths) {
    out.documents = true;
    out.inside = true;
    out.lengths = *parsed.lengths;
    if (parsed.key_lengths && parsed.key_lengths != parsed.lengths)
      out.kv_lengths = *parsed.key_lengths;
    if (parsed.key_stride) stride_keys(out, *parsed.key_stride);
    if (out.kv_lengths.empty()) {
      out.align = Align::kUnset;
    } else if (out.kv_lengths.size() != out.lengths.size()) {
      source_.fail(call_.position, fmt::format("{} documents of queries and {} of keys",
                                               out.lengths.size(), out.kv_lengths.size()));
    }
  }
  if (parsed.valid_keys || parsed.valid_queries) {
    out.padding = parsed.valid_keys.value_or(*parsed.valid_queries);
    const bool same =
        !parsed.valid_queries || !parsed.valid_keys || parsed.valid_queries == parsed.valid_keys;
    if (!parsed.valid_keys || !same) {
      source_.fail(call_.position, "lengths of queries without equal ones of keys are not read");
    }
    out.pad_queries = parsed.valid_queries.has_value();
  }
  return out;
}

MaskForm Call::read() {
  const Convention& row = this->row();
  ParsedArguments parsed;
  parsed.causal = row.causal;
  for (const Argument& argument : row.arguments) {
    // A default can turn something on.
    const bool on = argument.fallback == "True" && argument.says == Says::kCausal;
    if (on) parsed.causal = true;
    if (argument.says == Says::kMaskType) {
      parsed.causal = true;
      parsed.align = Align::kTopLeft;
    }
  }
  if (row.align != Align::kUnset) parsed.align = row.align;
  if (source_.library == Library::kCudnn) parsed.align = Align::kTopLeft;
  const bool shaped = source_.library == Library::kSplash;
  if (shaped) parsed.align = Align::kUnset;
  take_positional(row, parsed);
  // In the order of the table, where an argument comes after those that override it.
  bool typed = false;
  for (const Argument& argument : row.arguments) {
    if (argument.says == Says::kMaskType) parsed.align = Align::kTopLeft;
    for (const auto& [key, given] : call_.named) {
      if (key != argument.name) continue;
      if (argument.says == Says::kMaskType) {
        parsed.align = Align::kUnset;
        typed = true;
      }
      take(argument, given, parsed);
    }
  }
  if (source_.library == Library::kTe) {
    if (!typed && parsed.align == Align::kUnset) parsed.align = Align::kTopLeft;
    if (parsed.align == Align::kUnset) parsed.align = Align::kBottomRight;
    check_te(parsed);
  }
  return form(parsed);
}

}  // namespace

void LibrarySource::fail(Index position, const std::string& why) const {
  throw PipelineError(fmt::format("translate: {}", why), given, position);
}

void LibrarySource::count(Index position) const {
  constexpr int kMostParts = 1000;
  if (++parts > kMostParts) fail(position, fmt::format("more than {} parts", kMostParts));
}

LibrarySource read_library_source(Library library, std::string_view given) {
  return {library, given, parse_python(given, "translate"), 0};
}

MaskForm form_of_call(const LibrarySource& source, const Python& call) {
  return Call(source, call).read();
}

}  // namespace maskctl
