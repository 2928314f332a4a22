// Writes error messages with the line that they are about, safe to print to a terminal.
#include "maskctl/pipeline/parse/diagnostic.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "maskctl/base/printable.h"

namespace maskctl {
namespace {

constexpr std::size_t kSidePoints = 50;   // the most code points shown left and right of the caret
constexpr std::size_t kLongestWord = 64;  // bytes; longer words are not compared with known names

using Points = std::vector<std::string>;  // for each code point, the text to print

Points code_points(std::string_view text) {
  Points points;
  while (!text.empty()) {
    const std::size_t n = std::max<std::size_t>(first_code_point(text).bytes, 1);
    points.push_back(text[0] == '\t' ? " " : printable(text.substr(0, n)));
    text.remove_prefix(n);
  }
  return points;
}

std::string joined(const Points& points, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t i = begin; i < end; ++i) out += points[i];
  return out;
}

/// How many columns of a terminal a text takes, of which each code point is taken for one.
std::size_t columns_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
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
  const std::string before = prefix + joined(left, skip, left.size());
  return before + joined(right, 0, keep) + (cut ? "..." : "") + "\n" +
         std::string(columns_of(before), ' ') + "^";
}

}  // namespace

PipelineError::PipelineError(const std::string& message, std::string_view text, Index position,
                             std::vector<Remedy> remedies)
    : Error(Errc::kInvalidArgument, message, std::move(remedies)),
      display_(display_of(text, static_cast<std::size_t>(std::max<Index>(position, 0)))),
      position_(position) {}

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
    {"flexattention", "flex"},
    {"FlexAttention", "flex"},
    {"flash-attn", "fa"},
    {"flash_attn", "fa"},
    {"flash-attention", "fa"},
    {"flash_attention", "fa"},
    {"flashattention", "fa"},
    {"flashattn", "fa"},
    {"transformers", "hf"},
    {"huggingface", "hf"},
    {"megatron", "te"},
    {"transformer-engine", "te"},
    {"transformer_engine", "te"},
    {"transformerengine", "te"},
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

/// The only candidate that begins with a word of several letters.
std::optional<std::string_view> only_beginning_with(std::string_view word,
                                                    std::span<const std::string_view> candidates) {
  std::optional<std::string_view> out;
  for (const std::string_view candidate : candidates) {
    if (word.size() < 3 || !candidate.starts_with(word)) continue;
    if (out) return std::nullopt;
    out = candidate;
  }
  return out;
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best = synonym_of(word, candidates);
  std::size_t fewest = 3;
  if (best || word.size() > kLongestWord) return best;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edits(word, candidate);
    if (distance < fewest && 2 * distance <= word.size()) {
      fewest = distance;
      best = candidate;
    }
  }
  return best ? best : only_beginning_with(word, candidates);
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
