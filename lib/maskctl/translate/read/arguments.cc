// Reads the values of a call's arguments by their meaning.
#include "maskctl/translate/read/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

using Side = std::optional<Index>;

}  // namespace

Index ArgumentReader::number(const Python& given, Index least) const {
  const auto out = number_in(source_.text, given);
  if (!out) source_.fail(given.position, "expected a whole number");
  if (*out < least) {
    source_.fail(given.position, fmt::format("{}: expected at least {}", *out, least));
  }
  return *out;
}

/// One side of a window. Nothing (unbounded) for None, and for negative numbers, as in flash-attn
/// and others; in libraries whose masks have a shape, a negative side is beyond the diagonal.
Side ArgumentReader::side(const Python& given, Index least) const {
  if (is_none(given)) return std::nullopt;
  const Index out = number(given, std::numeric_limits<Index>::min());
  if (out < 0) return source_.library.shaped ? Side(out) : std::nullopt;
  if (out < least) {
    source_.fail(given.position, fmt::format("{}: expected at least {}", out, least));
  }
  return out;
}

bool ArgumentReader::boolean(const Python& given) const {
  const Python out = value(given);
  if (out.is_word("True") || out.is_word("true")) return true;
  if (out.is_word("False") || out.is_word("false")) return false;
  if (out.kind == Python::Kind::kNumber && (out.number == 0 || out.number == 1))
    return out.number == 1;
  source_.fail(given.position, "expected True or False");
}

std::vector<Index> ArgumentReader::list(const Python& given) const {
  const auto out = numbers_in(source_.text, given);
  if (!out) {
    source_.fail(given.position, "expected a list of numbers, as in torch.tensor([0, 3, 8])");
  }
  if (std::ranges::any_of(*out, [](Index n) { return n < 0; })) {
    source_.fail(given.position, "expected numbers of at least 0");
  }
  return *out;
}

std::vector<Index> ArgumentReader::one_or_list(const Python& given) const {
  const auto one = number_in(source_.text, given);
  return one ? std::vector{number(given, 0)} : list(given);
}

std::vector<Index> ArgumentReader::differences(const Python& given) const {
  const std::vector<Index> ends = list(given);
  std::vector<Index> out;
  const bool ascends = !ends.empty() && ends.front() == 0 && std::ranges::is_sorted(ends);
  if (!ascends)
    source_.fail(given.position, "expected numbers that start at 0 and do not decrease");
  for (std::size_t i = 1; i < ends.size(); ++i) out.push_back(ends[i] - ends[i - 1]);
  return out;
}

/// Reads (L, R) or, if `both`, a single W for both sides.
void ArgumentReader::take_pair(const Python& given, bool both, ParsedCall& parsed) const {
  const Python pair = value(given);
  if (pair.is_word("None")) return;
  parsed.sides_given = true;
  if (pair.kind == Python::Kind::kList && pair.items.size() == 2) {
    parsed.left = side(pair.items[0], 0);
    parsed.right = side(pair.items[1], 0);
  } else if (both && number_in(source_.text, given)) {
    parsed.both = number(given, 0);
  } else {
    source_.fail(given.position, both ? "expected (L, R) or W" : "expected (L, R)");
  }
}

/// Reads (L, R), of which a negative side is beyond the diagonal.
void ArgumentReader::take_signed_pair(const Python& given, ParsedCall& parsed) const {
  const Python pair = value(given);
  if (pair.is_word("None")) return;
  if (pair.kind != Python::Kind::kList || pair.items.size() != 2) {
    source_.fail(given.position, "expected (L, R)");
  }
  const auto side = [&](const Python& one) {
    return is_none(one) ? Side() : Side(number(one, -kMaxArgument));
  };
  const Side left = side(pair.items[0]), right = side(pair.items[1]);
  const Side end = parsed.causal ? Side(0) : right;
  if (left && end && *left + *end < 0) return;
  parsed.left = left;
  parsed.right = right;
}

void ArgumentReader::take_unread(const Argument& argument, const Python& given) const {
  if (is_default(argument, value(given))) return;
  source_.fail(given.position,
               fmt::format("{} changes the mask in a way that is not read; leave it at {}",
                           argument.name, argument.fallback));
}

/// Reads the number of keys of an array [B, S, H, D]: empty((B, S, H, D)), or any other name.
void ArgumentReader::take_new_keys(const Python& given, ParsedCall& parsed) const {
  const Python array = value(given);
  if (array.is_word("None")) return;
  const bool shaped = array.kind == Python::Kind::kCall && !array.items.empty();
  const auto shape = shaped ? numbers_in(source_.text, array.items.front()) : std::nullopt;
  if (!shape || shape->size() < 3) {
    source_.fail(given.position, "expected None, or an array as empty((B, S, H, D))");
  }
  parsed.new_keys = shape->at(shape->size() - 3);
}

void ArgumentReader::take_mask_type(const Python& given, ParsedCall& parsed) const {
  const Python out = value(given);
  std::string type(last_name(out.text));
  static constexpr std::string_view kTypes[] = {"no_mask",
                                                "padding",
                                                "causal",
                                                "padding_causal",
                                                "causal_bottom_right",
                                                "padding_causal_bottom_right"};
  if (type == "causal_padding") type = "padding_causal";
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) {
    source_.fail(given.position,
                 "expected no_mask, padding, causal, padding_causal, causal_bottom_right or "
                 "padding_causal_bottom_right");
  }
  parsed.causal = type.find("causal") != type.npos;
  parsed.align = !parsed.causal                   ? Align::kUnset
                 : type.ends_with("bottom_right") ? Align::kBottomRight
                                                  : Align::kTopLeft;
}

/// Reads a number of keys; -1 is no window where that is the default.
void ArgumentReader::take_keys(const Argument& argument, const Python& given,
                               ParsedCall& parsed) const {
  const bool none = argument.fallback == "-1" && number_in(source_.text, given) == Index{-1};
  parsed.keys = none || is_none(given) ? std::nullopt : Side(number(given, 1));
}

/// Reads "causal", MaskType.CAUSAL and the like, or a word that says that all keys are seen.
void ArgumentReader::take_word(const Python& given, ParsedCall& parsed) const {
  const Python out = value(given);
  const std::string_view word = last_name(out.text);
  parsed.causal = word == "causal" || word == "CAUSAL";
  const bool full = word == "None" || word == "full" || word == "FULL";
  if (!parsed.causal && !full) source_.fail(given.position, "expected causal or full");
}

/// Reads an offset: a number, KV_LEN - Q_LEN, or KV_LEN - Q_LEN plus or minus a number.
void ArgumentReader::take_offset(const Python& given, ParsedCall& parsed) const {
  const Python out = value(given);
  const bool sum = (out.is_binary("+") || out.is_binary("-")) &&
                   out.items[0].kind == Python::Kind::kOperator &&
                   number_in(source_.text, out.items[1]);
  if (sum) {
    take_offset(out.items[0], parsed);
    const Index by = *number_in(source_.text, out.items[1]);
    parsed.offset += out.text == "-" ? -by : by;
    return;
  }
  const bool moved = out.is_binary("-") &&
                     (out.items[0].is_word("KV_LEN") || out.items[0].is_word("kv_len")) &&
                     (out.items[1].is_word("Q_LEN") || out.items[1].is_word("q_len"));
  if (moved) {
    parsed.align = Align::kBottomRight;
    return;
  }
  if (!number_in(source_.text, given)) {
    source_.fail(given.position, "expected a number or KV_LEN - Q_LEN");
  }
  parsed.offset = *number_in(source_.text, given);
  parsed.align = Align::kTopLeft;
}

void ArgumentReader::take_chunk(const Argument& argument, const Python& given,
                                ParsedCall& parsed) const {
  parsed.chunk = is_none(given) ? std::nullopt : Side(number(given, 0));
  if (parsed.chunk == Index{0} && argument.fallback == "0") parsed.chunk.reset();
  if (parsed.chunk == Index{0}) source_.fail(given.position, "0: expected at least 1");
  if (parsed.chunk && argument.meaning == ArgumentMeaning::kCausalChunk) parsed.causal = true;
}

void ArgumentReader::take_alignment(const Python& given, ParsedCall& parsed) const {
  const Python out = value(given);
  const bool top = out.text.ends_with("TOP_LEFT");
  if (!top && !out.text.ends_with("BOTTOM_RIGHT")) {
    source_.fail(given.position, "expected TOP_LEFT or BOTTOM_RIGHT");
  }
  parsed.align = top ? Align::kTopLeft : Align::kBottomRight;
}

/// Reads an alignment, which a causal mask type overrides.
void ArgumentReader::take_bottom_right(const Python& given, ParsedCall& parsed) const {
  if (parsed.align != Align::kUnset || is_none(given)) return;
  parsed.align = boolean(given) ? Align::kBottomRight : Align::kTopLeft;
}

void ArgumentReader::take(const Argument& argument, const Python& given, ParsedCall& parsed) const {
  if (source_.given.empty()) source_.subject = argument.name;
  switch (argument.meaning) {
    case ArgumentMeaning::kCausal:
      parsed.causal = boolean(given);
      return;
    case ArgumentMeaning::kKeys:
      return take_keys(argument, given, parsed);
    case ArgumentMeaning::kKeysAround:
      if (!is_none(given)) parsed.both = number(given, 1) - 1;
      return;
    case ArgumentMeaning::kSides:
      return take_pair(given, false, parsed);
    case ArgumentMeaning::kSidesOrBoth:
      return take_pair(given, true, parsed);
    case ArgumentMeaning::kSignedSides:
      return take_signed_pair(given, parsed);
    case ArgumentMeaning::kLeft:
      parsed.left = side(given, 0);
      return;
    case ArgumentMeaning::kLeftKeys:
      parsed.left = is_none(given) ? std::nullopt : Side(number(given, 1) - 1);
      return;
    case ArgumentMeaning::kRight:
      parsed.right = argument.fallback == "-1" ? side(given, 0)
                     : is_none(given)          ? std::nullopt
                                               : Side(number(given, 0));
      return;
    case ArgumentMeaning::kChunk:
    case ArgumentMeaning::kCausalChunk:
      return take_chunk(argument, given, parsed);
    case ArgumentMeaning::kCausalWord:
      return take_word(given, parsed);
    case ArgumentMeaning::kMaskType:
      return take_mask_type(given, parsed);
    case ArgumentMeaning::kAlignment:
      return take_alignment(given, parsed);
    case ArgumentMeaning::kBottomRight:
      return take_bottom_right(given, parsed);
    case ArgumentMeaning::kOffset:
      return take_offset(given, parsed);
    case ArgumentMeaning::kLengths:
      parsed.lengths = list(given);
      return;
    case ArgumentMeaning::kKeyLengths:
      if (!is_none(given)) parsed.key_lengths = list(given);
      return;
    case ArgumentMeaning::kKeyStride:
      parsed.key_stride = number(given, 0);
      return;
    case ArgumentMeaning::kKeyStarts:
      parsed.key_starts = list(given);
      return;
    case ArgumentMeaning::kEnds:
      if (!is_none(given)) parsed.lengths = differences(given);
      return;
    case ArgumentMeaning::kKeyEnds:
      if (!is_none(given)) parsed.key_lengths = differences(given);
      return;
    case ArgumentMeaning::kValidQueries:
      if (!is_none(given)) parsed.valid_queries = list(given);
      return;
    case ArgumentMeaning::kValidKeys:
      if (!is_none(given)) parsed.valid_keys = list(given);
      return;
    case ArgumentMeaning::kUsedQueries:
      if (!is_none(given)) parsed.used_queries = one_or_list(given);
      return;
    case ArgumentMeaning::kUsedKeys:
      if (!is_none(given)) parsed.used_keys = one_or_list(given);
      return;
    case ArgumentMeaning::kNewKeys:
      return take_new_keys(given, parsed);
    case ArgumentMeaning::kPageEnds:
      parsed.pages = differences(given);
      return;
    case ArgumentMeaning::kLastPage:
      parsed.last_page = list(given);
      return;
    case ArgumentMeaning::kPageSize:
      parsed.page_size = number(given, 1);
      return;
    case ArgumentMeaning::kUnread:
      return take_unread(argument, given);
    case ArgumentMeaning::kMask:  // read by the library's reader
    case ArgumentMeaning::kNothing:
      return;
  }
}

}  // namespace maskctl
