// Looks up library calls in the table of conventions; private to the layer.
#pragma once

#include <string_view>

#include "maskctl/translate/conventions.h"
#include "maskctl/translate/mask_form.h"
#include "maskctl/translate/read/python_text.h"

namespace maskctl {

/// Reads a library's text; failures have a caret in it.
struct LibrarySource {
  Library library;
  std::string_view given;
  PythonText text;

  [[noreturn]] void fail(Index position, const std::string& why) const;
  /// Counts a part that has been read: names may expand to each other many times over.
  void count(Index position) const;
  mutable int parts = 0;
};
LibrarySource read_library_source(Library library, std::string_view given);

/// The mask that the call makes; keywords alone are read as a call without a name.
MaskForm form_of_call(const LibrarySource& source, const Python& call);

}  // namespace maskctl
