// The strings of the tokens of a mask, from text files.
#pragma once

#include <memory>
#include <string>

#include "maskctl/mask/mask.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app {

/// A text file with a token on each line.
struct TokenFile {
  std::string name;
  AxisLabels labels;
};

/// The tokens along both axes, which may be those of one file; null = not known.
struct Tokens {
  std::shared_ptr<const TokenFile> q, k;
  /// Labels the axes of a figure, which they must outlive.
  void label(Figure& figure) const;
};

/// Reads "FILE", for both axes, or "q=FILE,kv=FILE"; no tokens for an empty text. Lines end with LF
/// or CR LF. Throws as read_text_file().
Tokens read_tokens(const std::string& files, Index max_bytes);

/// The tokens that fit a mask: one for each query, one for each key. A file for both axes labels
/// those of as many cells. Throws Error(kShape) for a file that fits none.
Tokens tokens_of(const Tokens& given, const Mask& mask);
/// tokens_of(), but without the tokens of an axis that they do not fit.
Tokens fitting_tokens(const Tokens& given, const Mask& mask);

}  // namespace maskctl::app
