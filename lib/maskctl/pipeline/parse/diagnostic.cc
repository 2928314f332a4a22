// Writes error messages with the line that they are about, safe to print to a terminal.
#include "maskctl/pipeline/parse/diagnostic.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace maskctl {
namespace {

constexpr std::size_t kShownPoints = 60;  // the most code points of the user's text in a message
constexpr std::size_t kSidePoints = 50;   // the most code points shown left and right of the caret
constexpr std::size_t kLongestWord = 64;  // bytes; longer words are not compared with known names

/// The number of bytes of the valid UTF-8 code point that starts at `at`; 0 if it is not valid.
std::size_t code_point_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  const std::size_t n = lead < 0x80   ? 1
                        : lead < 0xC2 ? 0
                        : lead < 0xE0 ? 2
                        : lead < 0xF0 ? 3
                        : lead < 0xF5 ? 4
                                      : 0;
  if (n == 0 || at + n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  if (n < 3) return n;
  const unsigned char second = byte(at + 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool too_large = lead == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : n;
}

/// True for C0, DEL and C1 control characters (some terminals obey C1 too), and for characters that
/// change the direction of text or break the line.
bool is_control(std::string_view point) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(point[i]); };
  if (point.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (point.size() == 2) return byte(0) == 0xC2 && byte(1) < 0xA0;
  if (point.size() != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && (byte(2) >= 0xA8 && byte(2) <= 0xAE)) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

using Points = std::vector<std::string>;  // for each code point, the text to print

Points code_points(std::string_view text) {
  Points points;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = code_point_bytes(text, at);
    const std::string_view point = text.substr(at, std::max<std::size_t>(n, 1));
    points.emplace_back(point == "\t" ? " " : n == 0 || is_control(point) ? "?" : point);
    at += point.size();
  }
  return points;
}

std::string joined(const Points& points, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t i = begin; i < end; ++i) out += points[i];
  return out;
}

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The bytes of the line that contains `position`.
Range line_at(std::string_view text, std::size_t position) {
  const std::size_t before = text.substr(0, position).rfind('\n');
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  std::size_t end = std::min(text.find('\n', position), text.size());
  if (end > position && text[end - 1] == '\r') --end;
  return {static_cast<Index>(begin), static_cast<Index>(end)};
}

std::string line_number(std::string_view text, std::size_t begin) {
  if (text.find('\n') == std::string_view::npos) return "";
  const std::string_view before = text.substr(0, begin);
  return "line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ": ";
}

std::string display_of(std::string_view text, std::size_t position) {
  position = std::min(position, text.size());
  const Range line = line_at(text, position);
  const auto begin = static_cast<std::size_t>(line.begin);
  const auto end = static_cast<std::size_t>(line.end);
  // Decodes only the bytes near the position, so that an error in a very long line costs little.
  std::size_t first = position - begin > 4 * kSidePoints ? position - 4 * kSidePoints : begin;
  while (first > begin && continues(text[first])) --first;
  const Points left = code_points(text.substr(first, position - first));
  const Points right =
      code_points(text.substr(position, std::min(end - position, 4 * kSidePoints)));
  const std::size_t skip = left.size() > kSidePoints ? left.size() - kSidePoints : 0;
  const std::size_t keep = std::min(right.size(), kSidePoints);

  std::string prefix = "  " + line_number(text, begin);
  if (first > begin || skip > 0) prefix += "...";
  const bool cut = keep < right.size() || end - position > 4 * kSidePoints;
  return prefix + joined(left, skip, left.size()) + joined(right, 0, keep) + (cut ? "..." : "") +
         "\n" + std::string(prefix.size() + left.size() - skip, ' ') + "^";
}

}  // namespace

PipelineError::PipelineError(const std::string& message, std::string_view text, Index position,
                             std::vector<Remedy> remedies)
    : Error(Errc::kInvalidArgument, message, std::move(remedies)),
      display_(display_of(text, static_cast<std::size_t>(std::max<Index>(position, 0)))),
      position_(position) {}

std::string shown(std::string_view text) {
  // A code point has at most four bytes, so the rest of a long text need not be decoded.
  const Points points = code_points(text.substr(0, 4 * kShownPoints + 4));
  if (points.size() <= kShownPoints) return joined(points, 0, points.size());
  return joined(points, 0, kShownPoints) + "...";
}

namespace {

/// The optimal string alignment distance: insertions, deletions, substitutions and swaps of
/// neighbours.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

/// A word that other programs use, and the name that maskctl has for the same thing.
struct Synonym {
  std::string_view word, name;
};
constexpr Synonym kSynonyms[] = {
    // words for steps
    {"sliding_window", "window"},
    {"sliding-window", "window"},
    {"swa", "window"},
    {"local", "window"},
    {"band", "window"},
    {"segments", "doc"},
    {"segment_ids", "doc"},
    {"document", "doc"},
    {"documents", "doc"},
    {"packed", "doc"},
    {"cu_seqlens", "doc"},
    {"varlen", "doc"},
    {"padding", "pad"},
    {"key_padding", "pad"},
    {"chunked", "chunk"},
    {"prefix_lm", "prefix"},
    {"prefix-lm", "prefix"},
    {"attention_sinks", "sinks"},
    {"stride", "dilated"},
    {"invert", "not"},
    {"head", "heads"},
    {"rescue", "open"},
    {"tril", "causal"},
    // words for commands
    {"draw", "show"},
    {"plot", "show"},
    {"view", "show"},
    {"print", "show"},
    {"visualize", "show"},
    {"compare", "diff"},
    {"explain", "why"},
    {"generate", "gen"},
    {"make", "gen"},
    {"transform", "apply"},
    {"merge", "combine"},
    {"detect", "recognise"},
    {"identify", "recognise"},
    {"validate", "check"},
    {"steps", "ops"},
    {"run", "attend"},
    {"benchmark", "bench"},
    {"describe", "info"},
    {"inspect", "info"},
    {"count", "stats"},
    {"export", "convert"},
    // words for libraries
    {"torch", "sdpa"},
    {"pytorch", "sdpa"},
    {"flex_attention", "flex"},
    {"flash-attn", "fa"},
    {"flash_attn", "fa"},
    {"flash-attention", "fa"},
    {"transformers", "hf"},
    {"huggingface", "hf"},
    {"megatron", "te"},
    {"transformer-engine", "te"},
    {"transformer_engine", "te"},
    // words for operations
    {"flash-attn", "flash_attention"},
    {"flash_attn", "flash_attention"},
    {"flash-attention", "flash_attention"},
    {"flash", "flash_attention"},
    {"sdpa", "scaled_dot_product_attention"},
    {"ring", "ring_attention"},
    {"paged_attention", "page_attention"},
    {"nsa", "native_sparse_attention"},
    {"mla", "mla_attention"},
    {"gla", "gla_attention"},
    {"lightning", "lightning_attention"},
    {"attn", "attention"},
    // words for backends
    {"gpu", "cuda"},
    // words for kinds of arrays
    {"mask", "dense"},
    {"bool", "dense"},
    {"additive", "bias"},
    {"segment_ids", "segments"},
    {"document_ids", "segments"},
    {"position_ids", "positions"},
    {"token_type_ids", "token-types"},
    {"key_padding_mask", "key-padding"},
    // words for what the command `seq` makes
    {"lengths", "lens"},
    {"positions", "position-ids"},
    {"position_ids", "position-ids"},
    {"segment_ids", "sequence-ids"},
    {"cu_seqlens", "cu-seqlens"},
    {"chunks", "chunk-indices"},
    // words for dtypes
    {"bf16", "bfloat16"},
    {"fp16", "float16"},
    {"f16", "float16"},
    {"half", "float16"},
    {"fp32", "float32"},
    {"f32", "float32"},
    {"float", "float32"},
    {"fp64", "float64"},
    {"f64", "float64"},
    {"double", "float64"},
    {"int", "int64"},
    {"fp8", "float8_e4m3fn"},
    {"float8", "float8_e4m3fn"},
    {"e4m3", "float8_e4m3fn"},
    {"e5m2", "float8_e5m2"},
};

std::optional<std::string_view> synonym_of(std::string_view word,
                                           std::span<const std::string_view> candidates) {
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.word != word) continue;
    const auto found = std::ranges::find(candidates, synonym.name);
    if (found != candidates.end()) return *found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best = synonym_of(word, candidates);
  std::size_t fewest = 3;
  if (best || word.size() > kLongestWord) return best;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edits(word, candidate);
    if (distance < fewest && distance < std::max(word.size(), candidate.size())) {
      fewest = distance;
      best = candidate;
    }
  }
  return best;
}

std::string hint(std::string_view word, std::span<const std::string_view> candidates) {
  std::string out;
  if (const auto near = nearest(word, candidates)) {
    return out.append("did you mean '").append(*near).append("'?");
  }
  for (const std::string_view candidate : candidates) {
    out.append(out.empty() ? "known: " : ", ").append(candidate);
  }
  return out;
}

}  // namespace maskctl
