// Reads the tokens of a mask as strings from text files, to label its axes.
#pragma once

#include <memory>
#include <string>

#include "maskctl/mask/mask.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app {

/// A text file with one token per line.
struct TokenFile {
  std::string name;
  AxisLabels labels;
};

/// The tokens of the queries and of the keys, which may be the same file. Null: not known.
struct Tokens {
  std::shared_ptr<const TokenFile> q, k;
  /// Labels the axes of a figure. The tokens must outlive it.
  void label(Figure& figure) const;
};

/// Reads "FILE" for both axes, or "q=FILE,kv=FILE"; returns no tokens if `files` is empty. Lines
/// end with LF or CR LF. Throws like read_text_file().
Tokens read_tokens(const std::string& files, Index max_bytes);

/// Returns the tokens that fit a mask: one per query, one per key. A file given for both axes
/// labels each axis whose length it has. Throws Error(kShape) if a file fits no axis it was given
/// for.
Tokens tokens_of(const Tokens& given, const Mask& mask);
/// Like tokens_of(), but drops the tokens of an axis that they do not fit instead of throwing.
Tokens fitting_tokens(const Tokens& given, const Mask& mask);

}  // namespace maskctl::app
