// Reads calls of libraries as their conventions say; private to the layer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/translate/conventions.h"
#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/read/python_text.h"

namespace maskctl {

/// The text to read for a library. fail() throws with a caret in it.
struct LibrarySource {
  const Library& library;
  std::string_view given;  // empty for a call that a program makes; then errors have no caret
  PythonText text;

  [[noreturn]] void fail(Index position, const std::string& why) const;
  /// Counts parts that have been read and fails at too many: names can expand to each other
  /// exponentially.
  void count(Index position) const;
  mutable int parts = 0;
  /// What the message of fail() begins with; without a text, the argument that is read.
  mutable std::string subject = "translate";
};
LibrarySource read_library_source(const Library& library, std::string_view given);

/// The values of the arguments of one call.
struct ParsedCall {
  bool causal = false;
  std::optional<Index> left, right, keys, both, chunk;
  bool sides_given = false;
  Align align = Align::kUnset;
  Index offset = 0;
  std::optional<std::vector<Index>> lengths, key_lengths, key_starts, valid_queries, valid_keys;
  std::optional<std::vector<Index>> used_queries, used_keys;
  std::optional<std::vector<Index>> pages, last_page;  // of each document
  std::optional<Index> key_stride, page_size;
  Index new_keys = 0;
};

/// The keyword argument `name` of the call; null if it is absent.
const Python* named(const Python& call, std::string_view name);
/// The keyword argument `name` of the last call in the text; null if it is absent or None.
const Python* given_argument(const LibrarySource& source, std::string_view name);

/// The rows for a call that is written with this name. If the name contains a module that has rows
/// of its own, only the rows of that module.
std::vector<const Convention*> rows_of(const Library& library, std::string_view name);
/// Whether an argument is one of Convention::leading, by either name.
bool leads(const Convention& row, std::string_view argument);
/// Whether a value is the default of the argument.
bool is_default(const Argument& argument, const Python& value);

/// For a call of a function of (b, h, q_idx, kv_idx) that the text defines, the expression it
/// returns; null for other calls.
const Python* called_mask(const LibrarySource& source, const Python& call);

/// The values of the arguments of a call of this row, and the mask that they mean.
ParsedCall parsed_call(const LibrarySource& source, const Convention& row, const Python& call);
MaskForm form_of_parsed(const LibrarySource& source, Index position, const ParsedCall& parsed);
/// Fails for arguments of the call that the row does not know, or does not read; for calls of which
/// the library reads a single argument itself.
void check_arguments(const LibrarySource& source, const Convention& row, const Python& call);
/// The form of the mask that a call means. Keywords without a call are read as a call without a
/// name.
MaskForm form_of_call(const LibrarySource& source, const Python& call);
/// Narrows `form` to cells that `by` keeps too. Throws an error at `position` of the text if they
/// align queries and keys in different ways, or if both have chunks.
void narrow(const LibrarySource& source, MaskForm& form, const MaskForm& by, Index position);
Chain chain_of_call(const LibrarySource& source, const Python& call);
/// The chain of the last call in the text.
Chain chain_of_call(const LibrarySource& source);
/// Reads the text for libraries whose texts are just calls.
Chain read_call(const Library& library, std::string_view text);

}  // namespace maskctl
