// Writes digests and records into the text of a manifest; everything else stays unchanged.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/golden/manifest.h"

namespace maskctl {
namespace {

/// The byte offset of a line and column; columns count code points.
std::size_t byte_at(const std::string& text, Index line, Index column) {
  std::size_t at = 0;
  for (Index n = 1; n < line && at < text.size(); ++n) {
    const std::size_t end = text.find('\n', at);
    at = end == text.npos ? text.size() : end + 1;
  }
  const auto continues = [&] {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  for (Index n = 1; n < column && at < text.size(); ++n) {
    do ++at;
    while (continues());
  }
  return at;
}

struct Edit {
  std::size_t begin = 0, end = 0;  // byte range in the old text
  std::string text;
};

Edit replacing(const std::string& text, const TextRegion& region, std::string with) {
  return {byte_at(text, region.begin_line, region.begin_column),
          byte_at(text, region.end_line, region.end_column), std::move(with)};
}

std::string record_text(const GoldenRecord& record) {
  const auto& [batch, heads, queries, keys] = record.shape;
  std::string out = fmt::format("{{ shape = [{}, {}, {}, {}], open = {}", batch, heads, queries,
                                keys, record.open);
  if (record.pipeline) out += ", pipeline = " + toml_text(*record.pipeline);
  if (record.rows.empty()) return out + " }";
  out += ", rows = [\n";
  for (const std::string& row : record.rows) out += "  " + toml_text(row) + ",\n";
  return out + "] }";
}

/// The end of the line on which the value ends, if the line on which it begins starts with `key`
/// and at most a comment follows the value: another key can be inserted below. Nothing otherwise.
std::optional<std::size_t> end_of_line(const std::string& text, const TextRegion& value,
                                       std::string_view key) {
  const std::size_t begin = text.find_first_not_of(" \t", byte_at(text, value.begin_line, 1));
  const std::size_t after = byte_at(text, value.end_line, value.end_column);
  const std::size_t end = std::min(text.find('\n', after), text.size());
  const std::size_t rest = std::min(text.find_first_not_of(" \t\r", after), end);
  const bool alone = begin != text.npos && text.compare(begin, key.size(), key) == 0 &&
                     (rest == end || text[rest] == '#');
  return alone ? std::optional(end) : std::nullopt;
}

/// The edit that inserts a record below `expect`, or else below `source`. None if both share their
/// lines with other keys.
std::vector<Edit> adding(const std::string& text, const GoldenEntry& entry,
                         const GoldenRecord& record) {
  auto at = end_of_line(text, entry.expect_region, "expect");
  if (!at) at = end_of_line(text, entry.source_region, "source");
  if (!at) return {};
  return {{*at, *at, "\nwas = " + record_text(record)}};
}

}  // namespace

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string with_values(const Manifest& manifest,
                        const std::map<std::string, GoldenValue>& values) {
  std::string text = manifest.text;
  std::vector<Edit> edits;
  for (const GoldenEntry& entry : manifest.entries) {
    const auto at = values.find(entry.name);
    const auto* expected = entry.find(GoldenEntry::Expect::kSha256);
    if (at == values.end() || !expected) continue;
    edits.push_back(replacing(text, expected->region, toml_text(at->second.digest)));
    if (entry.was) {
      edits.push_back(replacing(text, entry.was_region, record_text(at->second.was)));
    } else {
      std::ranges::move(adding(text, entry, at->second.was), std::back_inserter(edits));
    }
  }
  std::ranges::sort(edits, std::greater(), &Edit::begin);
  for (const Edit& edit : edits) text.replace(edit.begin, edit.end - edit.begin, edit.text);
  return text;
}

}  // namespace maskctl
