// The mask classes of JAX splash attention, read as a chain of steps.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/inspect/mask_arguments.h"
#include "maskctl/pipeline/diagnostic.h"
#include "maskctl/pipeline/foreign.h"
#include "maskctl/pipeline/foreign_text.h"
#include "maskctl/pipeline/values.h"

namespace maskctl {
namespace {

using Side = std::optional<Index>;

/// What stands between the parentheses of one class.
struct SplashCall {
  std::vector<std::pair<std::string, std::string>> tuples;  // a shape, the sides of a window
  Side number;
  Index offset = 0;  // is added to the query
  Align align = Align::kUnset;
};

void take_offset(ForeignText& text, SplashCall& call) {
  const Index begin = text.position();
  std::string value = text.word();
  while (text.peek() != ',' && text.peek() != ')' && !text.at_end()) {
    const std::string more = text.word();
    if (more.empty()) break;
    value += more;
  }
  const auto number = integer_from(value);
  if (!number && value != "KV_LEN-Q_LEN") {
    text.fail_at(begin, "expected a number or KV_LEN - Q_LEN");
  }
  call.offset = number.value_or(0);
  call.align = number ? Align::kTopLeft : Align::kBottomRight;
}

/// A tuple or a number; a name may stand before it: shape=, window_size=, chunk_size= are told by
/// their form.
void take_value(ForeignText& text, SplashCall& call) {
  Index begin = text.position();
  std::string word = text.word();
  if (!word.empty() && text.take('=')) {
    if (word == "offset") return take_offset(text, call);
    begin = text.position();
    word = text.word();
  }
  if (word.empty() && text.take('(')) {
    std::string first = text.word();
    text.need(',');
    call.tuples.emplace_back(std::move(first), text.word());
    return text.need(')');
  }
  call.number = integer_from(word);
  if (!call.number) text.fail_at(begin, "expected a number or (L, R)");
}

SplashCall call_of(ForeignText& text) {
  SplashCall out;
  if (!text.take('(') || text.take(')')) return out;
  do {
    take_value(text, out);
  } while (text.take(','));
  text.need(')');
  return out;
}

/// "4" or "None".
Side side_of(ForeignText& text, Index begin, const std::string& word) {
  const auto number = integer_from(word);
  if ((number && *number >= 0) || word == "None") return number;
  text.fail_at(begin, "expected 2 numbers of at least 0, or None");
}

Side narrower(Side a, Side b) { return a && b ? std::min(*a, *b) : a ? a : b; }

/// Keeps -left <= key - (query + offset) <= right.
void keep(MaskArguments& mask, Side left, Side right, Index offset) {
  if (left) mask.left = narrower(mask.left, *left - offset);
  if (right) mask.right = narrower(mask.right, *right + offset);
}

void take_class(ForeignText& text, MaskArguments& mask) {
  text.at_end();
  const Index begin = text.position();
  const std::string name = text.word();
  SplashCall call = call_of(text);
  const bool has_shape = call.tuples.size() > (name == "LocalMask" ? 1 : 0);
  if (has_shape && call.align == Align::kUnset) call.align = Align::kTopLeft;
  if (mask.banded() && mask.align != call.align) {
    text.fail_at(begin, "masks joined by & must have one offset");
  }
  mask.align = call.align;
  if (name == "CausalMask") {
    if (call.number) text.fail_at(begin, "expected no numbers");
    keep(mask, std::nullopt, 0, call.offset);
  } else if (name == "LocalMask") {
    if (call.tuples.empty()) text.fail_at(begin, "expected 2 numbers: LocalMask((L, R))");
    const auto& [left, right] = call.tuples.back();
    keep(mask, side_of(text, begin, left), side_of(text, begin, right), call.offset);
  } else if (name == "ChunkedCausalMask") {
    if (!call.number || *call.number < 1) text.fail_at(begin, "expected 1 number of at least 1");
    keep(mask, std::nullopt, 0, 0);
    mask.chunk = call.number;
  } else if (name != "FullMask") {
    text.fail_at(begin, fmt::format("unknown mask '{}'; known: FullMask, CausalMask, "
                                    "LocalMask((L, R)), ChunkedCausalMask(N)",
                                    shown(name)));
  }
}

}  // namespace

Chain parse_splash(std::string_view given) {
  if (const auto at = given.find('='); given.substr(0, at).find('(') == given.npos) {
    given.remove_prefix(at == given.npos ? 0 : at + 1);  // "mask = ..."
  }
  ForeignText text(given, "translate");
  MaskArguments mask;
  do {
    take_class(text, mask);
  } while (text.take('&'));
  if (!text.at_end()) text.fail("expected '&' or the end");
  return chain_of(mask);
}

}  // namespace maskctl
