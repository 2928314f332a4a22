// Reads calls of libraries by their conventions; private to the layer.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/translate/conventions.h"
#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/read/python_text.h"

namespace maskctl {

/// A text for a library; failures have a caret in it.
struct LibrarySource {
  const Library& library;
  std::string_view given;
  PythonText text;

  [[noreturn]] void fail(Index position, const std::string& why) const;
  /// Counts a part that has been read: names may expand to each other many times over.
  void count(Index position) const;
  mutable int parts = 0;
};
LibrarySource read_library_source(const Library& library, std::string_view given);

/// What the arguments of one call say.
struct ParsedCall {
  bool causal = false;
  std::optional<Index> left, right, keys, both, chunk;
  bool sides_given = false;
  Align align = Align::kUnset;
  Index offset = 0;
  std::optional<std::vector<Index>> lengths, key_lengths, key_starts, valid_queries, valid_keys;
  std::optional<Index> key_stride;
};

/// A keyword argument of the call; null where it is absent.
const Python* named(const Python& call, std::string_view name);
/// A keyword argument of the last call in the text; null where it is absent or None.
const Python* given_argument(const LibrarySource& source, std::string_view name);

/// What a function of b, h, q_idx and kv_idx returns that is called with them; null for the calls
/// of others.
const Python* called_mask(const LibrarySource& source, const Python& call);

/// The mask that the call makes; keywords alone are read as a call without a name.
MaskForm form_of_call(const LibrarySource& source, const Python& call);
/// Keeps what `by` keeps too. Both must count from one diagonal.
void narrow(const LibrarySource& source, MaskForm& form, const MaskForm& by, Index position);
Chain chain_of_call(const LibrarySource& source, const Python& call);
/// The steps of the last call in the text.
Chain chain_of_call(const LibrarySource& source);
/// For libraries whose texts are calls and nothing else.
Chain read_call(const Library& library, std::string_view text);

}  // namespace maskctl
