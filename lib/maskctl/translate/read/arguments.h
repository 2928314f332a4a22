// Reads the values of a call's arguments by their meaning; private to the layer.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/translate/conventions.h"
#include "maskctl/translate/read/call.h"

namespace maskctl {

class ArgumentReader {
 public:
  explicit ArgumentReader(const LibrarySource& source) : source_(source) {}

  /// Puts what the argument says into `parsed`; fails for values that it cannot have.
  void take(const Argument& argument, const Python& given, ParsedCall& parsed) const;
  /// Fails unless the argument, which is not read, has its default.
  void take_unread(const Argument& argument, const Python& given) const;

 private:
  void take_keys(const Argument& argument, const Python& given, ParsedCall& parsed) const;
  void take_word(const Python& given, ParsedCall& parsed) const;
  void take_chunk(const Argument& argument, const Python& given, ParsedCall& parsed) const;
  void take_alignment(const Python& given, ParsedCall& parsed) const;
  void take_bottom_right(const Python& given, ParsedCall& parsed) const;
  void take_pair(const Python& value, bool both, ParsedCall& parsed) const;
  void take_signed_pair(const Python& value, ParsedCall& parsed) const;
  void take_mask_type(const Python& value, ParsedCall& parsed) const;
  void take_offset(const Python& value, ParsedCall& parsed) const;
  void take_new_keys(const Python& given, ParsedCall& parsed) const;

  Python value(const Python& given) const { return resolved(source_.text, given); }
  bool is_none(const Python& given) const { return value(given).is_word("None"); }
  std::optional<Index> side(const Python& given, Index least) const;
  Index number(const Python& given, Index least) const;
  bool boolean(const Python& given) const;
  std::vector<Index> list(const Python& given) const;
  std::vector<Index> one_or_list(const Python& given) const;
  std::vector<Index> differences(const Python& given) const;

  const LibrarySource& source_;
};

}  // namespace maskctl
