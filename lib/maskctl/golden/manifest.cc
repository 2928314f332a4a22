// Parses manifests. This is the only file that includes toml++, which is header-only: nothing is
// linked or loaded at start.
#include "maskctl/golden/manifest.h"

#include <fmt/format.h>

// In release builds, toml++ lets the compiler assume that its assertions hold. A malicious file can
// break one of them, with a key that starts with a character not allowed in keys, and cause
// undefined behaviour. With NDEBUG undefined nothing is assumed, and the parser reports an error.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/golden/text_file.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

using Expect = GoldenEntry::Expect;

constexpr std::string_view kEntryKeys[] = {
    "name",  "source", "as",   "transforms", "pad_id", "keep_value", "closed_below",
    "shape", "batch",  "head", "kernel",     "expect", "was"};
constexpr std::string_view kExpectKeys[] = {"drawing", "sha256", "stats",
                                            "array",   "holds",  "verdict"};
constexpr std::string_view kWasKeys[] = {"shape", "open", "pipeline", "rows"};
constexpr std::string_view kTopKeys[] = {"golden"};

Index line_of(const toml::node& node) { return static_cast<Index>(node.source().begin.line); }

TextRegion region_of(const toml::node& node) {
  const toml::source_region& at = node.source();
  return {static_cast<Index>(at.begin.line), static_cast<Index>(at.begin.column),
          static_cast<Index>(at.end.line), static_cast<Index>(at.end.column)};
}

/// Reads one table of the manifest. `path` is at the start of every message.
class Reader {
 public:
  Reader(const std::string& path, const toml::table& table) : path_(path), table_(table) {}

  [[noreturn]] void refuse(Index line, const std::string& why) const {
    throw Error(Errc::kFormat, fmt::format("{}:{}: {}", path_, line, why));
  }

  void only(std::span<const std::string_view> known) const {
    for (const auto& [key, node] : table_) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      refuse(static_cast<Index>(key.source().begin.line),
             fmt::format("key '{}' is unknown; {}", printable(key.str()), hint(key.str(), known)));
    }
  }

  std::string text(const char* key, bool required) const {
    const toml::node* node = table_.get(key);
    if (!node) {
      if (required) refuse(line_of(table_), fmt::format("key '{}' is missing", key));
      return "";
    }
    return text_of(*node, key);
  }

  std::vector<std::string> texts(const char* key) const {
    const toml::node* node = table_.get(key);
    if (!node) return {};
    const toml::array* list = node->as_array();
    if (!list) return {text_of(*node, key)};
    std::vector<std::string> out;
    for (const toml::node& item : *list) out.push_back(text_of(item, key));
    return out;
  }

  /// The position of the value of a key in the text.
  TextRegion region(const char* key) const {
    const toml::node* node = table_.get(key);
    return node ? region_of(*node) : TextRegion{};
  }

  /// The line of the value of a key; 0 if the key is absent.
  Index line(const char* key) const {
    const toml::node* node = table_.get(key);
    return node ? line_of(*node) : 0;
  }

  Index integer(const char* key, Index low, Index fallback) const {
    const toml::node* node = table_.get(key);
    if (!node) return fallback;
    const auto value = node->is_integer() ? node->value<std::int64_t>() : std::nullopt;
    if (!value || *value < low || *value > kMaxArgument) {
      refuse(line_of(*node),
             fmt::format("key '{}': expected an integer from {} to {}", key, low, kMaxArgument));
    }
    return *value;
  }

  Index count(const char* key) const {
    const toml::node* node = table_.get(key);
    const auto value = node && node->is_integer() ? node->value<std::int64_t>() : std::nullopt;
    if (value && *value >= 0) return *value;
    refuse(node ? line_of(*node) : line_of(table_),
           fmt::format("key '{}': expected a number of cells", key));
  }

  std::optional<double> number(const char* key) const {
    const toml::node* node = table_.get(key);
    if (!node) return std::nullopt;
    const auto value = node->is_number() ? node->value<double>() : std::nullopt;
    if (!value || !(*value < 0)) {
      refuse(line_of(*node), fmt::format("key '{}': expected a number below 0", key));
    }
    return value;
  }

  std::optional<std::vector<Index>> shape(const char* key) const {
    const toml::node* node = table_.get(key);
    if (!node) return std::nullopt;
    std::vector<Index> out;
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& item : *list) out.push_back(item.value<std::int64_t>().value_or(-1));
    }
    const bool counts = std::ranges::all_of(
        out, [](Index extent) { return extent >= 0 && extent <= kMaxArgument; });
    if (out.size() == 4 && counts) return out;
    refuse(line_of(*node),
           fmt::format("key '{}': expected [B, H, Q, K], as [2, 1, 512, 512]", key));
  }

  /// All keys of the table with their values, written as on the command line.
  std::vector<std::pair<std::string, std::string>> words() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (node.is_string()) {
        out.emplace_back(name, *node.value<std::string>());
      } else if (node.is_integer()) {
        out.emplace_back(name, std::to_string(*node.value<std::int64_t>()));
      } else if (node.is_floating_point()) {
        out.emplace_back(name, fmt::format("{}", *node.value<double>()));
      } else if (node.is_boolean()) {
        out.emplace_back(name, *node.value<bool>() ? "true" : "false");
      } else {
        refuse(line_of(node), fmt::format("key '{}': expected a text or a number", name));
      }
    }
    return out;
  }

  bool has(const char* key) const { return table_.contains(key); }

  const toml::table& table(const char* key) const {
    const toml::node* node = table_.get(key);
    if (!node) refuse(line_of(table_), fmt::format("key '{}' is missing", key));
    if (!node->is_table()) {
      const char* example =
          std::string_view(key) == "was" ? "shape = [1, 1, 8, 8], open = 36" : "sha256 = \"\"";
      refuse(line_of(*node), fmt::format("key '{}': expected a table, as {{ {} }}", key, example));
    }
    return *node->as_table();
  }

 private:
  std::string text_of(const toml::node& node, const char* key) const {
    const auto value = node.is_string() ? node.value<std::string>() : std::nullopt;
    if (!value) refuse(line_of(node), fmt::format("key '{}': expected a text", key));
    return *value;
  }

  const std::string& path_;
  const toml::table& table_;
};

bool is_digest(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

GoldenEntry::Expected read_expected(const Reader& reader, Expect expect, const char* key) {
  GoldenEntry::Expected out{expect, "", {}, reader.region(key)};
  const Index line = out.region.begin_line;
  if (expect == Expect::kHolds) {
    out.holds = reader.texts(key);
    if (out.holds.empty()) {
      reader.refuse(line, "key 'holds': expected expectations, as [\"causal\"]");
    }
    return out;
  }
  out.value = reader.text(key, true);
  if (expect == Expect::kVerdict && out.value != "obeys") {
    reader.refuse(line, "key 'verdict': expected \"obeys\"");
  }
  if (out.value.empty() && expect != Expect::kSha256) {
    reader.refuse(line, fmt::format("key '{}': expected a file name", key));
  }
  if (expect == Expect::kSha256 && !out.value.empty() && !is_digest(out.value)) {
    reader.refuse(line,
                  "key 'sha256': expected 64 hexadecimal digits in lower case, or \"\" for golden "
                  "update to fill in");
  }
  return out;
}

std::vector<GoldenEntry::Expected> read_expect(const std::string& path, const toml::table& table) {
  const Reader reader(path, table);
  reader.only(kExpectKeys);
  std::vector<GoldenEntry::Expected> out;
  for (std::size_t i = 0; i < std::size(kExpectKeys); ++i) {
    if (!reader.has(kExpectKeys[i].data())) continue;
    out.push_back(read_expected(reader, static_cast<Expect>(i), kExpectKeys[i].data()));
  }
  if (!out.empty()) return out;
  reader.refuse(line_of(table),
                "key 'expect': expected one or more of drawing, sha256, stats, array, holds, "
                "verdict");
}

GoldenRecord read_record(const std::string& path, const toml::table& table) {
  const Reader reader(path, table);
  reader.only(kWasKeys);
  GoldenRecord out;
  const auto shape = reader.shape("shape");
  if (!shape) reader.refuse(line_of(table), "key 'shape' is missing");
  std::copy_n(shape->begin(), out.shape.size(), out.shape.begin());
  out.open = reader.count("open");
  if (reader.has("pipeline")) out.pipeline = reader.text("pipeline", true);
  out.rows = reader.texts("rows");
  return out;
}

GoldenEntry read_entry(const std::string& path, const toml::table& table) {
  const Reader reader(path, table);
  reader.only(kEntryKeys);
  GoldenEntry entry;
  entry.line = line_of(table);
  entry.name = reader.text("name", true);
  if (entry.name.empty()) reader.refuse(entry.line, "key 'name': expected a name");
  entry.source = reader.text("source", true);
  entry.as = reader.text("as", false);
  entry.as_line = reader.line("as");
  entry.transforms = reader.texts("transforms");
  entry.transforms_line = reader.line("transforms");
  entry.pad_id = static_cast<std::int32_t>(reader.integer("pad_id", -(Index{1} << 31), -1));
  entry.keep_value_is_zero = reader.integer("keep_value", 0, 1) == 0;
  entry.closed_below = reader.number("closed_below");
  entry.shape = reader.shape("shape");
  entry.batch = reader.integer("batch", 0, 0);
  entry.head = reader.integer("head", 0, 0);
  entry.expected = read_expect(path, reader.table("expect"));
  entry.source_region = reader.region("source");
  entry.expect_region = reader.region("expect");
  if (reader.has("kernel")) entry.kernel = Reader(path, reader.table("kernel")).words();
  const bool judged = entry.find(Expect::kVerdict) != nullptr;
  if (judged != reader.has("kernel")) {
    reader.refuse(entry.line, "a kernel and expect = { verdict = \"obeys\" } go together");
  }
  if (!reader.has("was")) return entry;
  entry.was = read_record(path, reader.table("was"));
  entry.was_region = reader.region("was");
  if (!entry.find(Expect::kSha256)) {
    reader.refuse(entry.was_region.begin_line, "key 'was' says of which mask expect.sha256 is");
  }
  return entry;
}

/// The position after the string that begins at `at`, with one quote or three. A string that is not
/// closed ends with its line, or with three quotes at the end of the text.
std::size_t past_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string triple(3, quote);
  const bool lines = text.substr(at, 3) == triple;
  for (at += lines ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (lines ? text.substr(at, 3) == triple : text[at] == quote || text[at] == '\n') {
      return at + (lines ? 3 : 1);
    }
  }
  return text.size();
}

/// Refuses characters outside ASCII, except in strings and comments: some of them lead to undefined
/// behaviour in toml++.
void refuse_stray_letters(const std::string& path, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (at < text.size()) {
    if (text[at] == '"' || text[at] == '\'') {
      at = past_string(text, at);
    } else if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (static_cast<unsigned char>(text[at++]) >= 0x80) {
      const auto line = std::ranges::count(text.substr(0, at), '\n') + 1;
      throw Error(Errc::kFormat, fmt::format("{}:{}: a letter outside ASCII is outside quotes; "
                                             "quote the key or value",
                                             path, line));
    }
  }
}

toml::table parsed(const std::string& path, const std::string& text) {
  refuse_stray_letters(path, text);
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    std::string why(error.description());
    if (!why.empty()) why[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(why[0])));
    std::replace(why.begin(), why.end(), '\n', ' ');
    throw Error(Errc::kFormat, fmt::format("{}:{}: {}", path, error.source().begin.line, why));
  }
}

}  // namespace

const GoldenEntry::Expected* GoldenEntry::find(Expect wanted) const {
  const auto at = std::ranges::find(expected, wanted, &Expected::expect);
  return at == expected.end() ? nullptr : &*at;
}

Manifest parse_manifest(const std::string& path, std::string text) {
  const toml::table root = parsed(path, text);
  const Reader reader(path, root);
  reader.only(kTopKeys);
  const toml::node* node = root.get("golden");
  const toml::array* list = node ? node->as_array() : nullptr;
  if (!list) {
    throw Error(Errc::kFormat,
                fmt::format("{}: no golden masks; start each with a line [[golden]]", path));
  }
  Manifest out{path, std::move(text), {}};
  std::set<std::string> names;
  for (const toml::node& item : *list) {
    const toml::table* table = item.as_table();
    if (!table) reader.refuse(line_of(item), "key 'golden': expected tables, each [[golden]]");
    out.entries.push_back(read_entry(path, *table));
    const GoldenEntry& entry = out.entries.back();
    if (!names.insert(entry.name).second) {
      reader.refuse(entry.line,
                    fmt::format("key 'name': '{}' appears twice", printable(entry.name)));
    }
  }
  return out;
}

Manifest read_manifest(const std::string& path) {
  return parse_manifest(path, read_text_file(path));
}

}  // namespace maskctl
