// Reads a call from values: as the expressions that its text would have, by the same row.
#include "maskctl/translate/given_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/kv_lengths.h"
#include "maskctl/mask/steps/query_lengths.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/translate/read/call.h"

namespace maskctl {
namespace {

Python python_number(Index value) {
  Python out;
  out.kind = Python::Kind::kNumber;
  out.number = value;
  return out;
}

Python python_list(const std::vector<Index>& values) {
  Python out;
  out.kind = Python::Kind::kList;
  for (const Index value : values) out.items.push_back(python_number(value));
  return out;
}

/// A value as the expression that a text would have: an array of numbers as a list, others as
/// empty(SHAPE), an object as a name.
Python python_of(const GivenArgument& argument) {
  if (const auto* text = std::get_if<std::string>(&argument.value)) {
    const PythonText parsed = parse_python(*text, argument.name);
    return resolved(parsed, parsed.last);
  }
  if (const auto* array = std::get_if<GivenArray>(&argument.value)) {
    if (array->numbers && array->shape.empty()) return python_number(array->numbers->front());
    if (array->numbers && array->shape.size() == 1) return python_list(*array->numbers);
    Python out;
    out.kind = Python::Kind::kCall;
    out.text = "empty";
    out.items.push_back(python_list(array->shape));
    return out;
  }
  Python out;
  out.text = "...";
  return out;
}

/// Whether the value can be read at all for what the argument means.
bool readable(const GivenArgument& argument, ArgumentMeaning meaning) {
  if (std::holds_alternative<GivenObject>(argument.value)) return false;
  const auto* array = std::get_if<GivenArray>(&argument.value);
  if (!array || meaning == ArgumentMeaning::kNewKeys) return true;
  return array->numbers && array->shape.size() < 2;
}

std::string text_of(const GivenArgument& argument) {
  const auto* text = std::get_if<std::string>(&argument.value);
  return text ? fmt::format("{}={}", argument.name, printable(*text)) : argument.name;
}

const Convention& row_of_function(const Library& library, std::string_view function) {
  const auto rows = rows_of(library, function);
  if (!rows.empty() && !function.empty()) return *rows.front();
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: no function {} is known", library.name, printable(function)));
}

const Argument* argument_of(const Convention& row, std::string_view name) {
  const auto found = std::ranges::find(row.arguments, name, &Argument::name);
  return found == row.arguments.end() ? nullptr : &*found;
}

/// Arguments that mean nothing without another that is absent: ends of queries without ends of
/// keys, or the reverse; keys behind those in a cache whose number is not given.
std::vector<std::string> alone(const Convention& row, const Python& call) {
  const auto given = [&](ArgumentMeaning meaning) -> const Argument* {
    for (const Argument& argument : row.arguments) {
      const Python* value = argument.meaning == meaning ? named(call, argument.name) : nullptr;
      if (value && !value->is_word("None")) return &argument;
    }
    return nullptr;
  };
  const bool both = std::ranges::find(row.arguments, ArgumentMeaning::kKeyEnds,
                                      &Argument::meaning) != row.arguments.end();
  const Argument* ends = given(ArgumentMeaning::kEnds);
  const Argument* key_ends = given(ArgumentMeaning::kKeyEnds);
  const Argument* fresh = given(ArgumentMeaning::kNewKeys);
  std::vector<std::string> out;
  if (both && ends && !key_ends) out.emplace_back(ends->name);
  if (key_ends && !ends) out.emplace_back(key_ends->name);
  if (fresh && !given(ArgumentMeaning::kUsedKeys)) out.emplace_back(fresh->name);
  return out;
}

/// The numbers `by` plus the offsets of a step, which are an array or a single number.
NamedArray moved(std::vector<Index> by, const NamedArray& offsets, Index offset = 0) {
  for (Index& n : by) n += of_batch(offsets, 0, offset);
  return fields::numbers(by);
}

/// Moves the diagonal of each step by a number for each batch entry.
void move_diagonal(Chain& chain, const std::vector<Index>& by) {
  for (Step& step : chain) {
    if (auto* causal = step.get_if<step::Causal>()) causal->offsets = moved(by, causal->offsets);
    if (auto* window = step.get_if<step::Window>()) window->offsets = moved(by, {}, window->offset);
    if (auto* chunk = step.get_if<step::Chunk>()) chunk->offsets = moved(by, {}, chunk->offset);
  }
}

/// The steps for arrays of which each batch entry uses the first queries and keys: the last query
/// that is used is aligned to the last key.
Chain chain_of_used(const LibrarySource& source, const ParsedCall& parsed, CallSize size,
                    Index& batches) {
  std::vector<Index> queries = parsed.used_queries.value_or(std::vector{size.queries});
  std::vector<Index> keys = parsed.used_keys.value_or(std::vector{size.keys});
  for (Index& n : keys) n += parsed.new_keys;
  const std::size_t entries = std::max(queries.size(), keys.size());
  if (queries.size() == 1) queries.resize(entries, queries.front());
  if (keys.size() == 1) keys.resize(entries, keys.front());
  if (queries.size() != keys.size()) {
    source.fail(0,
                fmt::format("{} numbers of queries and {} of keys", queries.size(), keys.size()));
  }
  const auto fits = [](Index most) { return [most](Index n) { return n <= most; }; };
  if (!std::ranges::all_of(queries, fits(size.queries)) ||
      !std::ranges::all_of(keys, fits(size.keys))) {
    source.fail(0, fmt::format("more are used than the {} queries and {} keys that there are",
                               size.queries, size.keys));
  }
  batches = static_cast<Index>(entries);
  std::vector<Index> shift;
  for (std::size_t i = 0; i < entries; ++i) shift.push_back(keys[i] - queries[i]);
  MaskForm form = form_of_parsed(source, 0, parsed);
  form.align = Align::kTopLeft;
  form.chunk_align = Align::kUnset;
  Chain out = chain_of(form);
  move_diagonal(out, shift);
  out.push_back({step::KvLengths{fields::numbers(keys)}});
  if (parsed.used_queries) out.push_back({step::QueryLengths{fields::numbers(queries)}});
  return out;
}

/// The call with the arguments that its row reads; the names of the others go to `unread`.
Python call_with(const Convention& row, std::span<const GivenArgument> arguments,
                 std::vector<std::string>& unread) {
  Python call;
  call.kind = Python::Kind::kCall;
  call.text = std::string(row.call);
  for (const GivenArgument& given : arguments) {
    if (leads(row, given.name)) continue;
    const Argument* argument = argument_of(row, given.name);
    if (!argument && !given.at_default) unread.push_back(text_of(given));
    if (!argument || argument->meaning == ArgumentMeaning::kNothing) continue;
    if (given.at_default && argument->meaning >= ArgumentMeaning::kUnread) continue;
    const bool reads = readable(given, argument->meaning);
    if (reads && argument->meaning < ArgumentMeaning::kUnread) {
      call.named.push_back({given.name, python_of(given)});
    } else if (!reads || !is_default(*argument, python_of(given))) {
      unread.push_back(text_of(given));
    }
  }
  for (std::string& name : alone(row, call)) unread.push_back(std::move(name));
  return call;
}

}  // namespace

GivenCall read_call(const Library& library, std::string_view function,
                    std::span<const GivenArgument> arguments, CallSize size) {
  const Convention& row = row_of_function(library, function);
  GivenCall out;
  const Python call = call_with(row, arguments, out.unread);
  if (!out.unread.empty()) return out;
  const LibrarySource source{.library = library, .given = {}, .text = {}, .subject = call.text};
  ParsedCall parsed = parsed_call(source, row, call);
  if (row.lone_query_sees_all && size.queries == 1) parsed.causal = false;
  source.subject = call.text;
  const bool used = parsed.used_queries || parsed.used_keys;
  Index batches = 1;
  const Chain chain = used && !parsed.lengths ? chain_of_used(source, parsed, size, batches)
                                              : chain_of(form_of_parsed(source, 0, parsed));
  out.mask = maskctl::apply(full_mask(batches, 1, size.queries, size.keys), chain);
  return out;
}

std::vector<std::string_view> mask_arguments(const Library& library, std::string_view function) {
  std::vector<std::string_view> out;
  for (const Argument& argument : row_of_function(library, function).arguments) {
    if (argument.meaning != ArgumentMeaning::kNothing) out.push_back(argument.name);
  }
  return out;
}

}  // namespace maskctl
