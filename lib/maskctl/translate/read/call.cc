#include "maskctl/translate/read/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/base/printable.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/translate/read/arguments.h"

namespace maskctl {
namespace {

bool takes_list(const Argument& argument) {
  static constexpr ArgumentMeaning kLists[] = {
      ArgumentMeaning::kLengths, ArgumentMeaning::kKeyLengths, ArgumentMeaning::kKeyStarts,
      ArgumentMeaning::kEnds, ArgumentMeaning::kKeyEnds};
  return std::ranges::find(kLists, argument.meaning) != std::end(kLists);
}

/// The call of a variable as one of the constructor that made it, with the arguments of both; those
/// of the call come last, as they count.
Python with_constructor(const LibrarySource& source, const Python& call) {
  const auto made = source.text.names.find(call.text);
  if (made == source.text.names.end() || made->second.kind != Python::Kind::kCall) return call;
  const Python& constructor = made->second;
  Python out = call;
  out.text = last_name(constructor.text);
  if (rows_of(source.library, out.text).empty()) return out;
  for (const Python& item : constructor.items) {
    const bool plain = item.kind == Python::Kind::kNumber || item.kind == Python::Kind::kWord;
    if (plain && !item.is_word("True") && !item.is_word("False")) continue;
    source.fail(item.position,
                fmt::format("give arguments of {} by name", last_name(constructor.text)));
  }
  out.named.insert(out.named.begin(), constructor.named.begin(), constructor.named.end());
  return out;
}

class Call {
 public:
  Call(const LibrarySource& source, const Python& call)
      : source_(source), call_(with_constructor(source, call)), arguments_(source) {}
  ParsedCall read(const Convention& row);
  const Convention& row() const;
  void check(const Convention& row) const;

 private:
  [[noreturn]] void fail_unknown(const std::vector<const Convention*>& rows, const std::string& key,
                                 const Python& given) const;
  bool knows(const Convention& row, std::string_view name) const;
  void take_positional(const Convention& row, ParsedCall& parsed);
  void take_pages(ParsedCall& parsed) const;
  void take_defaults(const Convention& row, ParsedCall& parsed);
  void drop_shape(const Convention& row, std::vector<const Python*>& values, ParsedCall& parsed);
  void check_place(const Convention& row, const Argument& argument, const Python& given) const;
  void check_required(const Convention& row, std::size_t given) const;

  Python value(const Python& given) const { return resolved(source_.text, given); }

  const LibrarySource& source_;
  Python call_;
  ArgumentReader arguments_;
};

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
  const std::string& name = call_.text;
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

/// " after query, key" for what stands before the named arguments; empty for nothing.
std::string after_leading(const Convention& row) {
  return row.leading.empty() ? "" : fmt::format(" after {}", row.leading);
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
                 fmt::format("give arguments of {}{} by name", row.call, after_leading(row)));
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
    arguments_.take(row.arguments[next++], *item, parsed);
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
  source_.fail(given.position, fmt::format("no value of {}; give arguments of {}{} by name",
                                           argument.name, row.call, after_leading(row)));
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
  static constexpr ArgumentMeaning kWords[] = {
      ArgumentMeaning::kAlignment, ArgumentMeaning::kMaskType, ArgumentMeaning::kCausalWord};
  for (const Argument& argument : row.arguments) {
    Python fallback;
    fallback.text = argument.fallback;
    std::erase(fallback.text, '"');
    const bool is_true = argument.fallback == "True" || argument.fallback == "1";
    if (argument.meaning == ArgumentMeaning::kCausal && is_true) {
      parsed.causal = true;
    } else if (std::ranges::find(kWords, argument.meaning) != std::end(kWords)) {
      arguments_.take(argument, fallback, parsed);
    }
  }
}

void Call::check(const Convention& row) const {
  for (const auto& [key, given] : call_.named) {
    if (!knows(row, key)) fail_unknown({&row}, key, given);
  }
  for (const Argument& argument : row.arguments) {
    const Python* given = named(call_, argument.name);
    if (given && argument.meaning == ArgumentMeaning::kUnread) {
      arguments_.take_unread(argument, *given);
    }
  }
}

ParsedCall Call::read(const Convention& row) {
  ParsedCall parsed;
  take_defaults(row, parsed);
  take_positional(row, parsed);
  // Reads keywords in the order of the table: an argument comes after those that override it.
  for (const Argument& argument : row.arguments) {
    if (const Python* given = named(call_, argument.name)) {
      arguments_.take(argument, *given, parsed);
    }
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
