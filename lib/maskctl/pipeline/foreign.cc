#include "maskctl/pipeline/foreign.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/inspect/mask_arguments.h"
#include "maskctl/pipeline/diagnostic.h"
#include "maskctl/pipeline/foreign_text.h"

namespace maskctl {
namespace {

/// What an argument says.
enum class Role {
  kCausal,
  kKeys,       // W keys, the own one included
  kInclusive,  // W or (L, R): W keys before the own one; with a pair both sides
  kEither,     // W: both sides unless causal; or (L, R)
  kExclusiveLeft,
  kRight,
  kChunk,
  kMaskType,
  kAlignment,
  kBottomRight,
};

struct Parameter {
  Library library;
  std::string_view name;
  Role role;
};
constexpr Parameter kParameters[] = {
    {Library::kHf, "sliding_window", Role::kKeys},
    {Library::kHf, "attention_chunk_size", Role::kChunk},
    {Library::kHf, "is_causal", Role::kCausal},
    {Library::kFa, "causal", Role::kCausal},
    {Library::kFa, "window_size", Role::kInclusive},
    {Library::kFa, "attention_chunk", Role::kChunk},
    {Library::kTe, "attn_mask_type", Role::kMaskType},
    {Library::kTe, "window_size", Role::kInclusive},
    {Library::kTe, "bottom_right_diagonal", Role::kBottomRight},
    {Library::kCudnn, "diagonal_band_left_bound", Role::kExclusiveLeft},
    {Library::kCudnn, "diagonal_band_right_bound", Role::kRight},
    {Library::kCudnn, "diagonal_alignment", Role::kAlignment},
    {Library::kFlashinfer, "causal", Role::kCausal},
    {Library::kFlashinfer, "window_left", Role::kInclusive},
    {Library::kVllm, "sliding_window", Role::kKeys},
    {Library::kFlashmask, "causal", Role::kCausal},
    {Library::kFlashmask, "window_size", Role::kKeys},
    {Library::kEjkernel, "causal", Role::kCausal},
    {Library::kEjkernel, "sliding_window", Role::kEither},
    {Library::kEjkernel, "chunk_size", Role::kChunk},
    {Library::kEjkernelFlash, "causal", Role::kCausal},
    {Library::kEjkernelFlash, "sliding_window", Role::kEither},
    {Library::kEjkernelRagged, "sliding_window", Role::kKeys},
};

/// -1 of flash-attn: unbounded.
std::optional<Index> fa_side(std::optional<Index> side) {
  return side && *side < 0 ? std::nullopt : side;
}

/// What the arguments said, before the rules of the library join them.
struct Said {
  bool causal = false;
  std::optional<Index> left, right;
  std::optional<Index> both_unless_causal;
  std::optional<Index> keys;
  std::optional<Index> chunk;
  Align align = Align::kUnset;
};

void take_mask_type(ForeignText& text, Said& said) {
  const Index begin = text.position();
  const char quote = text.peek() == '"' || text.peek() == '\'' ? text.peek() : '\0';
  if (quote) text.take(quote);
  const std::string type = text.word();
  if (quote) text.need(quote);
  const bool known = type == "no_mask" || type == "padding" || type.ends_with("causal") ||
                     type.ends_with("causal_bottom_right");
  if (!known) {
    text.fail_at(begin,
                 "expected no_mask, padding, causal, padding_causal, causal_bottom_right or "
                 "padding_causal_bottom_right");
  }
  said.causal = type.find("causal") != type.npos;
  said.align =
      type.ends_with("bottom_right") || !said.causal ? Align::kBottomRight : Align::kTopLeft;
}

void take_alignment(ForeignText& text, Said& said) {
  const Index begin = text.position();
  const std::string value = text.word();
  if (value.ends_with("TOP_LEFT")) {
    said.align = Align::kTopLeft;
  } else if (value.ends_with("BOTTOM_RIGHT")) {
    said.align = Align::kBottomRight;
  } else {
    text.fail_at(begin, "expected TOP_LEFT or BOTTOM_RIGHT");
  }
}

void take_pair(ForeignText& text, Said& said, bool either) {
  const bool is_pair = text.peek() == '(' || text.peek() == '[';
  const auto [left, right] = text.pair();
  said.left = fa_side(left);
  said.right = fa_side(right);
  if (!is_pair && either) {
    said.both_unless_causal = said.left;
    said.left.reset();
  }
}

void take_value(ForeignText& text, Role role, Said& said) {
  switch (role) {
    case Role::kCausal:
      said.causal = text.boolean();
      return;
    case Role::kKeys:
      said.keys = text.number();
      return;
    case Role::kInclusive:
      return take_pair(text, said, false);
    case Role::kEither:
      return take_pair(text, said, true);
    case Role::kExclusiveLeft:
      said.left = text.required_number() - 1;
      return;
    case Role::kRight:
      said.right = text.number();
      return;
    case Role::kChunk:
      said.chunk = text.number();
      return;
    case Role::kMaskType:
      return take_mask_type(text, said);
    case Role::kAlignment:
      return take_alignment(text, said);
    case Role::kBottomRight:
      said.align = text.boolean() ? Align::kBottomRight : Align::kTopLeft;
      return;
  }
}

const Parameter& parameter_of(ForeignText& text, Library library) {
  text.at_end();
  const Index begin = text.position();
  const std::string word = text.word();
  std::vector<std::string_view> names;
  for (const Parameter& parameter : kParameters) {
    if (parameter.library != library) continue;
    if (parameter.name == word) return parameter;
    names.push_back(parameter.name);
  }
  text.fail_at(begin, fmt::format("unknown argument '{}' of {}; {}", shown(word),
                                  info_of(library).name, hint(word, names)));
}

Said read_keywords(ForeignText& text, Library library) {
  Said said;
  said.causal = library == Library::kHf || library == Library::kVllm ||
                library == Library::kFlashmask || library == Library::kEjkernelRagged;
  said.align = info_of(library).align;
  while (!text.at_end()) {
    const Parameter& parameter = parameter_of(text, library);
    text.need('=');
    text.at_end();
    const Index begin = text.position();
    take_value(text, parameter.role, said);
    const bool too_small = (said.keys && *said.keys < 1) || (said.left && *said.left < 0) ||
                           (said.chunk && *said.chunk < 1) || (said.right && *said.right < 0) ||
                           (said.both_unless_causal && *said.both_unless_causal < 0);
    if (too_small) text.fail_at(begin, fmt::format("too small for {}", parameter.name));
    if (!text.at_end()) text.need(',');
  }
  return said;
}

Chain chain_of_said(const Said& said) {
  MaskArguments mask;
  mask.align = said.align;
  mask.left = said.left;
  mask.right = said.right;
  if (said.keys) mask.left = said.causal ? *said.keys - 1 : *said.keys;
  if (said.keys && !said.causal) mask.right = *said.keys;
  if (said.both_unless_causal) {
    mask.left = said.both_unless_causal;
    mask.right = said.both_unless_causal;
  }
  if (said.causal) mask.right = 0;
  mask.chunk = said.chunk;
  return chain_of(mask);
}

/// (L, R), (window_left=L, window_right=R), (W), (): as many numbers as there are.
std::vector<Index> call_numbers(ForeignText& text) {
  std::vector<Index> out;
  if (!text.take('(')) return out;
  while (!text.take(')')) {
    if (!out.empty()) text.take(',');
    if (text.take(')')) break;
    const Index begin = text.position();
    if (text.take('(')) {
      out.push_back(text.required_number());
      text.need(',');
      out.push_back(text.required_number());
      text.need(')');
      continue;
    }
    const std::string word = text.word();
    if (text.take('=')) {
      out.push_back(text.required_number());
      continue;
    }
    ForeignText number(word, "translate");
    const auto value = word.empty() ? std::nullopt : number.number();
    if (!value) text.fail_at(begin, "expected a whole number");
    out.push_back(*value);
  }
  return out;
}

void need_numbers(ForeignText& text, Index begin, const std::vector<Index>& numbers,
                  std::size_t count, Index least) {
  const bool small = std::ranges::any_of(numbers, [least](Index n) { return n < least; });
  if (numbers.size() == count && !small) return;
  if (count == 0) text.fail_at(begin, "expected no numbers");
  text.fail_at(begin, fmt::format("expected {} {} of at least {} and no others", count,
                                  count == 1 ? "number" : "numbers", least));
}

Chain parse_xformers(std::string_view given) {
  ForeignText text(given, "translate");
  text.at_end();
  const Index begin = text.position();
  const std::string name = text.word();
  const auto numbers = call_numbers(text);
  MaskArguments mask;
  mask.align = name.find("BottomRight") != name.npos ? Align::kBottomRight : Align::kTopLeft;
  const bool local = name.find("Local") != name.npos;
  if (name == "LocalAttentionFromBottomRightMask") {
    need_numbers(text, begin, numbers, 2, 0);
    mask.left = numbers[0];
    mask.right = numbers[1];
  } else if (name.starts_with("LowerTriangular") || name.find("Causal") != name.npos) {
    need_numbers(text, begin, numbers, local ? 1 : 0, 1);
    mask.right = 0;
    if (local) mask.left = numbers[0] - 1;
  } else {
    text.fail_at(begin, fmt::format("unknown class '{}'; known: LowerTriangularMask, "
                                    "LowerTriangularFromBottomRightMask, "
                                    "LowerTriangularFromBottomRightLocalAttentionMask(W), "
                                    "LocalAttentionFromBottomRightMask(L, R)",
                                    shown(name)));
  }
  if (!text.at_end()) text.fail("expected the end");
  return chain_of(mask);
}

}  // namespace

Chain parse_foreign(Library library, std::string_view text) {
  switch (library) {
    case Library::kCkTile:
      return parse_ck_tile(text);
    case Library::kFlex:
      return parse_mask_expression(text);
    case Library::kXformers:
      return parse_xformers(text);
    case Library::kSplash:
      return parse_splash(text);
    default:
      break;
  }
  ForeignText keywords(text, "translate");
  return chain_of_said(read_keywords(keywords, library));
}

Chain parse_ck_tile(std::string_view given) {
  std::string_view body = given;
  if (body.starts_with("-mask=")) body.remove_prefix(6);
  ForeignText text(body, "ck_tile");
  const std::string kind = text.word();
  MaskArguments mask;
  mask.align = kind == "b" || kind == "xb" || kind == "2" ? Align::kBottomRight : Align::kTopLeft;
  if (text.at_end()) {
    if (kind.empty() || kind == "0") return {};
    if (kind != "t" && kind != "b" && kind != "1" && kind != "2") {
      text.fail_at(0, "expected 0, 1, 2, t, b, t:L,R, b:L,R, xt:W, xb:W or g:Y,X");
    }
    mask.right = 0;
    return chain_of(mask);
  }
  text.need(':');
  const Index first = text.required_number();
  if (kind == "xt" || kind == "xb") {
    mask.right = 0;
    if (first > 0) {
      mask.left = first / 2;
      mask.right = first - 1 - first / 2;
    }
  } else if (kind == "t" || kind == "b" || kind == "g") {
    text.need(',');
    const Index second = text.required_number();
    mask.left = kind == "g" ? std::optional(first - 1) : fa_side(first);
    mask.right = kind == "g" ? std::optional(second - 1) : fa_side(second);
    if (kind != "g" && text.take(',')) mask.sinks = std::max<Index>(text.required_number(), 0);
    if (mask.left && *mask.left < 0) text.fail_at(2, "g:Y,X needs Y of at least 1");
    if (mask.right && *mask.right < 0) text.fail_at(2, "g:Y,X needs X of at least 1");
    if (mask.sinks > 0 && !mask.causal()) text.fail_at(2, "sink tokens need a right side of 0");
  } else {
    text.fail_at(0, "expected t, b, xt, xb or g before ':'");
  }
  if (!text.at_end()) text.fail("expected the end");
  return chain_of(mask);
}

}  // namespace maskctl
