#include "maskctl/translate/read/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/printable.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

using Side = std::optional<Index>;

bool takes_list(const Argument& argument) {
  static constexpr ArgumentMeaning kLists[] = {
      ArgumentMeaning::kLengths, ArgumentMeaning::kKeyLengths, ArgumentMeaning::kKeyStarts,
      ArgumentMeaning::kEnds, ArgumentMeaning::kKeyEnds};
  return std::ranges::find(kLists, argument.meaning) != std::end(kLists);
}

class Call {
 public:
  Call(const LibrarySource& source, const Python& call) : source_(source), call_(call) {}
  ParsedCall read(const Convention& row);
  const Convention& row() const;
  void check(const Convention& row) const;

 private:
  std::string callee() const;
  [[noreturn]] void fail_unknown(const std::vector<const Convention*>& rows, const std::string& key,
                                 const Python& given) const;
  bool knows(const Convention& row, std::string_view name) const;
  void take_positional(const Convention& row, ParsedCall& parsed);
  void take(const Argument& argument, const Python& value, ParsedCall& parsed);
  void take_chunk(const Argument& argument, const Python& given, ParsedCall& parsed);
  void take_alignment(const Python& given, ParsedCall& parsed);
  void take_bottom_right(const Python& given, ParsedCall& parsed);
  void take_pair(const Python& value, bool both, ParsedCall& parsed);
  void take_signed_pair(const Python& value, ParsedCall& parsed);
  void take_mask_type(const Python& value, ParsedCall& parsed);
  void take_offset(const Python& value, ParsedCall& parsed);
  void take_unread(const Argument& argument, const Python& given) const;
  void take_new_keys(const Python& given, ParsedCall& parsed) const;
  void take_pages(ParsedCall& parsed) const;
  void take_defaults(const Convention& row, ParsedCall& parsed);
  void drop_shape(const Convention& row, std::vector<const Python*>& values, ParsedCall& parsed);
  void check_place(const Convention& row, const Argument& argument, const Python& given) const;
  void check_required(const Convention& row, std::size_t given) const;

  Python value(const Python& given) const { return resolved(source_.text, given); }
  bool is_none(const Python& given) const { return value(given).is_word("None"); }
  Side side(const Python& given, Index least) const;
  Index number(const Python& given, Index least) const;
  bool boolean(const Python& given) const;
  std::vector<Index> list(const Python& given) const;
  std::vector<Index> one_or_list(const Python& given) const;
  std::vector<Index> differences(const Python& given) const;

  const LibrarySource& source_;
  const Python& call_;
};

/// The library's name of the function that is called. A variable is replaced by the name of the
/// constructor that made it.
std::string Call::callee() const {
  const auto made = source_.text.names.find(call_.text);
  if (made != source_.text.names.end() && made->second.kind == Python::Kind::kCall) {
    return std::string(last_name(made->second.text));
  }
  return call_.text;
}

bool Call::knows(const Convention& row, std::string_view name) const {
  const bool shape = source_.library.shaped && name == "shape";
  return shape || leads(row, name) ||
         std::ranges::find(row.arguments, name, &Argument::name) != row.arguments.end();
}

/// Fails for an argument that none of the rows knows.
void Call::fail_unknown(const std::vector<const Convention*>& rows, const std::string& key,
                        const Python& given) const {
  std::vector<std::string_view> arguments, of_mask;
  for (const Convention* row : rows) {
    for (const Argument& argument : row->arguments) {
      if (std::ranges::find(arguments, argument.name) != arguments.end()) continue;
      arguments.push_back(argument.name);
      if (argument.meaning < ArgumentMeaning::kUnread) of_mask.push_back(argument.name);
    }
  }
  const std::size_t at = source_.given.find(key);
  source_.fail(at == std::string_view::npos ? given.position : static_cast<Index>(at),
               fmt::format("unknown argument '{}' of {}; {}", printable(key), source_.library.name,
                           nearest(key, arguments) ? hint(key, arguments) : hint(key, of_mask)));
}

const Convention& Call::row() const {
  const std::string name = callee();
  std::vector<std::string_view> calls;
  const Library& library = source_.library;
  for (const Convention& row : library.calls) {
    if (row.written) calls.push_back(row.call);
  }
  const std::vector<const Convention*> rows = rows_of(library, name);
  for (const Convention* row : rows) {
    if (std::ranges::all_of(call_.named,
                            [&](const auto& entry) { return knows(*row, entry.first); })) {
      return *row;
    }
  }
  if (rows.empty()) {
    source_.fail(call_.position, fmt::format("unknown call '{}' of {}; {}", printable(name),
                                             library.name, hint(last_name(name), calls)));
  }
  for (const auto& [key, given] : call_.named) {
    const bool known =
        std::ranges::any_of(rows, [&](const Convention* row) { return knows(*row, key); });
    if (!known) fail_unknown(rows, key, given);
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

/// One side of a window. Nothing (unbounded) for None, and for negative numbers, as in flash-attn
/// and others; in libraries whose masks have a shape, a negative side is beyond the diagonal.
Side Call::side(const Python& given, Index least) const {
  if (is_none(given)) return std::nullopt;
  const Index out = number(given, std::numeric_limits<Index>::min());
  if (out < 0) return source_.library.shaped ? Side(out) : std::nullopt;
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

std::vector<Index> Call::one_or_list(const Python& given) const {
  const auto one = number_in(source_.text, given);
  return one ? std::vector{number(given, 0)} : list(given);
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

/// Reads (L, R) or, if `both`, a single W for both sides.
void Call::take_pair(const Python& given, bool both, ParsedCall& parsed) {
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

/// Reads (L, R), of which a negative side is beyond the diagonal.
void Call::take_signed_pair(const Python& given, ParsedCall& parsed) {
  const Python pair = value(given);
  if (pair.is_word("None")) return;
  if (pair.kind != Python::Kind::kList || pair.items.size() != 2) {
    source_.fail(given.position, "expected (L, R)");
  }
  const auto side = [&](const Python& one) {
    return is_none(one) ? Side() : Side(number(one, -kMaxArgument));
  };
  const Side left = side(pair.items[0]), right = side(pair.items[1]);
  const Side end = parsed.causal ? Side(0) : right;
  if (left && end && *left + *end < 0) return;
  parsed.left = left;
  parsed.right = right;
}

void Call::take_unread(const Argument& argument, const Python& given) const {
  if (is_default(argument, value(given))) return;
  source_.fail(given.position,
               fmt::format("{} changes the mask in a way that is not read; leave it at {}",
                           argument.name, argument.fallback));
}

/// Reads the number of keys of an array [B, S, H, D]: empty((B, S, H, D)), or any other name.
void Call::take_new_keys(const Python& given, ParsedCall& parsed) const {
  const Python array = value(given);
  if (array.is_word("None")) return;
  const bool shaped = array.kind == Python::Kind::kCall && !array.items.empty();
  const auto shape = shaped ? numbers_in(source_.text, array.items.front()) : std::nullopt;
  if (!shape || shape->size() < 3) {
    source_.fail(given.position, "expected None, or an array as empty((B, S, H, D))");
  }
  parsed.new_keys = shape->at(shape->size() - 3);
}

/// Counts the keys of documents that lie in pages; without lengths each has one query.
void Call::take_pages(ParsedCall& parsed) const {
  if (!parsed.pages || !parsed.last_page || !parsed.page_size) return;
  const std::vector<Index>&pages = *parsed.pages, &last = *parsed.last_page;
  if (pages.size() != last.size()) {
    source_.fail(call_.position,
                 fmt::format("{} documents of pages, {} last pages", pages.size(), last.size()));
  }
  std::vector<Index> keys;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (last[i] > *parsed.page_size) {
      source_.fail(call_.position,
                   fmt::format("{} keys in a last page of {}", last[i], *parsed.page_size));
    }
    keys.push_back(pages[i] == 0 ? 0 : (pages[i] - 1) * *parsed.page_size + last[i]);
  }
  if (!parsed.lengths) parsed.lengths = std::vector<Index>(keys.size(), 1);
  parsed.key_lengths = std::move(keys);
}

void Call::take_mask_type(const Python& given, ParsedCall& parsed) {
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
  parsed.align = !parsed.causal                   ? Align::kUnset
                 : type.ends_with("bottom_right") ? Align::kBottomRight
                                                  : Align::kTopLeft;
}

/// Reads an offset: a number, KV_LEN - Q_LEN, or KV_LEN - Q_LEN plus or minus a number.
void Call::take_offset(const Python& given, ParsedCall& parsed) {
  const Python out = value(given);
  const bool sum = (out.is_binary("+") || out.is_binary("-")) &&
                   out.items[0].kind == Python::Kind::kOperator &&
                   number_in(source_.text, out.items[1]);
  if (sum) {
    take_offset(out.items[0], parsed);
    const Index by = *number_in(source_.text, out.items[1]);
    parsed.offset += out.text == "-" ? -by : by;
    return;
  }
  const bool moved = out.is_binary("-") &&
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

void Call::take_chunk(const Argument& argument, const Python& given, ParsedCall& parsed) {
  parsed.chunk = is_none(given) ? std::nullopt : Side(number(given, 0));
  if (parsed.chunk == Index{0} && argument.fallback == "0") parsed.chunk.reset();
  if (parsed.chunk == Index{0}) source_.fail(given.position, "0: expected at least 1");
  if (parsed.chunk && argument.meaning == ArgumentMeaning::kCausalChunk) parsed.causal = true;
}

void Call::take_alignment(const Python& given, ParsedCall& parsed) {
  const Python out = value(given);
  const bool top = out.text.ends_with("TOP_LEFT");
  if (!top && !out.text.ends_with("BOTTOM_RIGHT")) {
    source_.fail(given.position, "expected TOP_LEFT or BOTTOM_RIGHT");
  }
  parsed.align = top ? Align::kTopLeft : Align::kBottomRight;
}

/// Reads an alignment, which a causal mask type overrides.
void Call::take_bottom_right(const Python& given, ParsedCall& parsed) {
  if (parsed.align != Align::kUnset || is_none(given)) return;
  parsed.align = boolean(given) ? Align::kBottomRight : Align::kTopLeft;
}

void Call::take(const Argument& argument, const Python& given, ParsedCall& parsed) {
  if (source_.given.empty()) source_.subject = argument.name;
  switch (argument.meaning) {
    case ArgumentMeaning::kCausal:
      parsed.causal = boolean(given);
      return;
    case ArgumentMeaning::kKeys:
      parsed.keys = is_none(given) ? std::nullopt : Side(number(given, 1));
      return;
    case ArgumentMeaning::kKeysAround:
      if (!is_none(given)) parsed.both = number(given, 1) - 1;
      return;
    case ArgumentMeaning::kSides:
      return take_pair(given, false, parsed);
    case ArgumentMeaning::kSidesOrBoth:
      return take_pair(given, true, parsed);
    case ArgumentMeaning::kSignedSides:
      return take_signed_pair(given, parsed);
    case ArgumentMeaning::kLeft:
      parsed.left = side(given, 0);
      return;
    case ArgumentMeaning::kLeftKeys:
      parsed.left = is_none(given) ? std::nullopt : Side(number(given, 1) - 1);
      return;
    case ArgumentMeaning::kRight:
      parsed.right = is_none(given) ? std::nullopt : Side(number(given, 0));
      return;
    case ArgumentMeaning::kChunk:
    case ArgumentMeaning::kCausalChunk:
      return take_chunk(argument, given, parsed);
    case ArgumentMeaning::kMaskType:
      return take_mask_type(given, parsed);
    case ArgumentMeaning::kAlignment:
      return take_alignment(given, parsed);
    case ArgumentMeaning::kBottomRight:
      return take_bottom_right(given, parsed);
    case ArgumentMeaning::kOffset:
      return take_offset(given, parsed);
    case ArgumentMeaning::kLengths:
      parsed.lengths = list(given);
      return;
    case ArgumentMeaning::kKeyLengths:
      if (!is_none(given)) parsed.key_lengths = list(given);
      return;
    case ArgumentMeaning::kKeyStride:
      parsed.key_stride = number(given, 0);
      return;
    case ArgumentMeaning::kKeyStarts:
      parsed.key_starts = list(given);
      return;
    case ArgumentMeaning::kEnds:
      if (!is_none(given)) parsed.lengths = differences(given);
      return;
    case ArgumentMeaning::kKeyEnds:
      if (!is_none(given)) parsed.key_lengths = differences(given);
      return;
    case ArgumentMeaning::kValidQueries:
      if (!is_none(given)) parsed.valid_queries = list(given);
      return;
    case ArgumentMeaning::kValidKeys:
      if (!is_none(given)) parsed.valid_keys = list(given);
      return;
    case ArgumentMeaning::kUsedQueries:
      if (!is_none(given)) parsed.used_queries = one_or_list(given);
      return;
    case ArgumentMeaning::kUsedKeys:
      if (!is_none(given)) parsed.used_keys = one_or_list(given);
      return;
    case ArgumentMeaning::kNewKeys:
      return take_new_keys(given, parsed);
    case ArgumentMeaning::kPageEnds:
      parsed.pages = differences(given);
      return;
    case ArgumentMeaning::kLastPage:
      parsed.last_page = list(given);
      return;
    case ArgumentMeaning::kPageSize:
      parsed.page_size = number(given, 1);
      return;
    case ArgumentMeaning::kUnread:
      return take_unread(argument, given);
    case ArgumentMeaning::kMask:  // read by the library's reader
    case ArgumentMeaning::kNothing:
      return;
  }
}

/// Removes the shape of the mask if it is the first value; then the alignment is top-left.
void Call::drop_shape(const Convention& row, std::vector<const Python*>& values,
                      ParsedCall& parsed) {
  if (values.empty()) return;
  const bool window = std::ranges::any_of(row.arguments, [](const Argument& argument) {
    return argument.meaning == ArgumentMeaning::kSides;
  });
  const auto tuples = std::ranges::count_if(
      values, [&](const Python* item) { return value(*item).kind == Python::Kind::kList; });
  const bool shaped =
      value(*values.front()).kind == Python::Kind::kList && tuples > (window ? 1 : 0);
  if (!shaped && values.front()->kind != Python::Kind::kWord) return;
  values.erase(values.begin());
  parsed.align = Align::kTopLeft;
}

/// Reads positional arguments. Those before the arguments of the table are tensors and shapes.
void Call::take_positional(const Convention& row, ParsedCall& parsed) {
  std::vector<const Python*> values;
  for (const Python& item : call_.items) {
    if (!item.is_word("...")) values.push_back(&item);
  }
  if (named(call_, "shape")) {
    parsed.align = Align::kTopLeft;
  } else if (source_.library.shaped) {
    drop_shape(row, values, parsed);
  } else if (!row.leading.empty()) {
    const auto leading = static_cast<std::size_t>(std::ranges::count(row.leading, ',')) + 1;
    values.erase(values.begin(),
                 values.begin() + static_cast<std::ptrdiff_t>(std::min(leading, values.size())));
  }
  if (!values.empty() && !source_.library.by_position && !call_.text.empty()) {
    source_.fail(values.front()->position,
                 fmt::format("give arguments of {} after {} by name", row.call, row.leading));
  }
  std::size_t next = 0;
  for (const Python* item : values) {
    // In A.from_seqlens([3, 5]).make_local_attention(4) the lists are arguments of from_seqlens,
    // and the number of the method after it. So a number skips arguments that take lists.
    const bool is_number = number_in(source_.text, *item).has_value();
    while (next < row.arguments.size() && (named(call_, row.arguments[next].name) ||
                                           (is_number && takes_list(row.arguments[next])))) {
      ++next;
    }
    if (next == row.arguments.size()) {
      source_.fail(item->position, fmt::format("{} takes {} argument{} here", row.call, next,
                                               next == 1 ? "" : "s"));
    }
    check_place(row, row.arguments[next], *item);
    take(row.arguments[next++], *item, parsed);
  }
  check_required(row, next);
}

/// Fails if a flag or a pair stands where the row has a number that says nothing about the mask:
/// versions of the library have their arguments in another order. A mask is read by name alone.
void Call::check_place(const Convention& row, const Argument& argument, const Python& given) const {
  const Python out = value(given);
  if (argument.meaning == ArgumentMeaning::kMask && !out.is_word("None")) {
    source_.fail(given.position, fmt::format("give {} by name", argument.name));
  }
  const bool flag = out.is_word("True") || out.is_word("False");
  const bool takes_flag = argument.fallback == "True" || argument.fallback == "False";
  const bool pair = out.kind == Python::Kind::kList;
  if (argument.meaning != ArgumentMeaning::kNothing || takes_flag || !(flag || pair)) return;
  source_.fail(given.position, fmt::format("no value of {}; give arguments of {} after {} by name",
                                           argument.name, row.call, row.leading));
}

/// Fails if a required argument is missing. The first `given` arguments were given by position.
void Call::check_required(const Convention& row, std::size_t given) const {
  if (call_.text.empty() || source_.library.shaped) return;
  for (const Argument& argument : row.arguments.subspan(given)) {
    const bool due = argument.fallback.empty() && argument.meaning != ArgumentMeaning::kNothing;
    if (due && !named(call_, argument.name)) {
      source_.fail(call_.position, fmt::format("{} needs {}", row.call, argument.name));
    }
  }
}

/// Sets what the library assumes about the mask when no argument says otherwise, such as the
/// default causal=True.
void Call::take_defaults(const Convention& row, ParsedCall& parsed) {
  parsed.causal = row.causal;
  parsed.align = source_.library.shaped ? Align::kUnset : row.align;
  for (const Argument& argument : row.arguments) {
    Python fallback;
    fallback.text = argument.fallback;
    if (argument.meaning == ArgumentMeaning::kCausal && argument.fallback == "True") {
      parsed.causal = true;
    } else if (argument.meaning == ArgumentMeaning::kAlignment) {
      take_alignment(fallback, parsed);
    } else if (argument.meaning == ArgumentMeaning::kMaskType) {
      std::erase(fallback.text, '"');
      take_mask_type(fallback, parsed);
    }
  }
}

void Call::check(const Convention& row) const {
  for (const auto& [key, given] : call_.named) {
    if (!knows(row, key)) fail_unknown({&row}, key, given);
  }
  for (const Argument& argument : row.arguments) {
    const Python* given = named(call_, argument.name);
    if (given && argument.meaning == ArgumentMeaning::kUnread) take_unread(argument, *given);
  }
}

ParsedCall Call::read(const Convention& row) {
  ParsedCall parsed;
  take_defaults(row, parsed);
  take_positional(row, parsed);
  // Reads keywords in the order of the table: an argument comes after those that override it.
  for (const Argument& argument : row.arguments) {
    if (const Python* given = named(call_, argument.name)) take(argument, *given, parsed);
  }
  take_pages(parsed);
  if (source_.library.settle) source_.library.settle(source_, call_.position, parsed);
  return parsed;
}

}  // namespace

void LibrarySource::fail(Index position, const std::string& why) const {
  const std::string message = fmt::format("{}: {}", subject, why);
  if (given.empty()) throw Error(Errc::kInvalidArgument, message);
  throw PipelineError(message, given, position);
}

void LibrarySource::count(Index position) const {
  constexpr int kMostParts = 1000;
  if (++parts > kMostParts) fail(position, fmt::format("more than {} parts", kMostParts));
}

LibrarySource read_library_source(const Library& library, std::string_view given) {
  return {library, given, parse_python(given, "translate")};
}

const Python* named(const Python& call, std::string_view name) {
  // If an argument is set twice, the last value counts.
  const auto found =
      std::ranges::find(call.named.rbegin(), call.named.rend(), name, &NamedPython::first);
  return found == call.named.rend() ? nullptr : &found->second;
}

const Python* given_argument(const LibrarySource& source, std::string_view name) {
  const Python* given = named(source.text.last, name);
  return given && !resolved(source.text, *given).is_word("None") ? given : nullptr;
}

const Python* called_mask(const LibrarySource& source, const Python& call) {
  static constexpr std::string_view kIndices[] = {"b", "h", "q_idx", "kv_idx"};
  if (call.kind != Python::Kind::kCall) return nullptr;
  const auto function = source.text.names.find(call.text);
  if (function == source.text.names.end()) return nullptr;
  const Python::Kind kind = function->second.kind;
  if (kind == Python::Kind::kNumber || kind == Python::Kind::kList) return nullptr;
  const bool indices = std::ranges::equal(
      call.items, kIndices,
      [](const Python& item, std::string_view name) { return item.is_word(name); });
  if (!indices)
    source.fail(call.position, fmt::format("expected {}(b, h, q_idx, kv_idx)", call.text));
  return &function->second;
}

MaskForm form_of_call(const LibrarySource& source, const Python& call) {
  Call reader(source, call);
  const ParsedCall parsed = reader.read(reader.row());
  if ((parsed.used_queries || parsed.used_keys || parsed.new_keys > 0) && !parsed.lengths) {
    source.fail(call.position,
                "the last key that is used is aligned to the last query: their numbers in the "
                "arrays are needed, which maskctl.capture reads");
  }
  return form_of_parsed(source, call.position, parsed);
}

void check_arguments(const LibrarySource& source, const Convention& row, const Python& call) {
  Call(source, call).check(row);
}

ParsedCall parsed_call(const LibrarySource& source, const Convention& row, const Python& call) {
  return Call(source, call).read(row);
}

void narrow(const LibrarySource& source, MaskForm& form, const MaskForm& by, Index position) {
  if (form.banded() && by.banded() && form.align != by.align) {
    source.fail(position, "masks joined by & must have one offset");
  }
  if (by.chunk && form.chunk) source.fail(position, "two masks with chunks");
  if (by.banded()) form.align = by.align;
  form.left = narrower(form.left, by.left);
  form.right = narrower(form.right, by.right);
  if (by.chunk) form.chunk = by.chunk;
}

Chain chain_of_call(const LibrarySource& source, const Python& call) {
  if (call.kind != Python::Kind::kCall) {
    source.fail(call.position, "expected arguments or a call");
  }
  return chain_of(form_of_call(source, call));
}

Chain chain_of_call(const LibrarySource& source) { return chain_of_call(source, source.text.last); }

Chain read_call(const Library& library, std::string_view text) {
  return chain_of_call(read_library_source(library, text));
}

}  // namespace maskctl
