#include "app/session/tokens.h"

#include <fmt/format.h>

#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/base/text_file.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl::app {
namespace {

using TokenFilePtr = std::shared_ptr<const TokenFile>;

TokenFilePtr read_file(const std::string& name, Index max_bytes) {
  const std::string text = read_text_file(name, max_bytes, "tokens");
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  for (std::string_view& line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
  }
  return std::make_shared<const TokenFile>(TokenFile{name, axis_labels(lines)});
}

bool fits(const TokenFilePtr& file, Index cells) {
  return file && std::ssize(file->labels.texts) == cells;
}

[[noreturn]] void refuse(const TokenFile& file, const std::string& expected) {
  throw Error(Errc::kShape, fmt::format("{}: {}, but the mask has {}: expected a line for each",
                                        printable(file.name),
                                        counted(std::ssize(file.labels.texts), "token"), expected));
}

}  // namespace

void Tokens::label(Figure& figure) const {
  if (q) figure.q_labels = &q->labels;
  if (k) figure.k_labels = &k->labels;
}

Tokens read_tokens(const std::string& files, Index max_bytes) {
  if (files.empty()) return {};
  if (const auto two = two_sources(files)) {
    return {read_file(two->q, max_bytes), read_file(two->kv, max_bytes)};
  }
  const TokenFilePtr one = read_file(files, max_bytes);
  return {one, one};
}

Tokens tokens_of(const Tokens& given, const Mask& mask) {
  const std::string queries = counted(mask.queries(), "query", "queries");
  const std::string keys = counted(mask.keys(), "key");
  const bool q = fits(given.q, mask.queries()), k = fits(given.k, mask.keys());
  if (given.q && given.q == given.k) {
    if (!q && !k) refuse(*given.q, queries + " and " + keys);
  } else {
    if (given.q && !q) refuse(*given.q, queries);
    if (given.k && !k) refuse(*given.k, keys);
  }
  return fitting_tokens(given, mask);
}

Tokens fitting_tokens(const Tokens& given, const Mask& mask) {
  return {fits(given.q, mask.queries()) ? given.q : nullptr,
          fits(given.k, mask.keys()) ? given.k : nullptr};
}

}  // namespace maskctl::app
