// ROCm's ck_tile: the FMHA runner, whose option for masks is one word, such as t:127,0.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/text.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/text.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

void write_ck_tile(const Chain&, const MaskForm& mask, const StepName&, Translation& out) {
  if (!mask.rest.empty()) return refuse(out, mask.rest);
  if (mask.chunk) return refuse(out, "no mask for chunks");
  if (mask.prefix > 0) return refuse(out, refusal::kOpenKeys);
  if (mask.padded()) return refuse(out, "padding is group mode: give lengths as documents");
  if (mask.off_diagonal()) {
    return refuse(out, refusal::kOffDiagonal);
  }
  if (mask.sinks > 0 && mask.documents) {
    return refuse(out, "sink tokens would be the first of each document, not of the first only");
  }
  if (mask.documents && (!mask.kv_lengths.empty() || mask.lengths.empty())) {
    return refuse(out, "group mode takes one list of lengths");
  }
  const auto side = [](std::optional<Index> n) { return n.value_or(-1); };
  const char type = mask.align == Align::kBottomRight ? 'b' : 't';
  std::string text = "0";
  if (mask.sinks > 0) {
    text = fmt::format("{}:{},{},{}", type, side(mask.left), side(mask.right), mask.sinks);
    out.notes.emplace_back("the third number (sink tokens) needs a version that has it");
  } else if (mask.causal() && !mask.left) {
    text = type;
  } else if (mask.banded()) {
    text = fmt::format("{}:{},{}", type, side(mask.left), side(mask.right));
  }
  out.code = {fmt::format("tile_example_fmha_fwd -mask={}", text)};
  if (mask.documents) {
    out.code.front() += fmt::format(" -mode=1 -s={}", joined(mask.lengths, ","));
    out.notes.emplace_back("group mode: one sequence for each document");
  }
}

/// The options of the runner that concern the mask: the text of -mask and, in group mode, the
/// lengths of -s.
struct CkTileOptions {
  std::string_view mask;
  std::vector<Index> lengths = {};
};

CkTileOptions ck_tile_options(std::string_view given) {
  const std::size_t at = given.find("-mask=");
  if (at == given.npos) return {given};
  CkTileOptions out{given.substr(at + 6)};
  out.mask = out.mask.substr(0, out.mask.find(' '));
  const std::size_t sizes = given.find("-s=");
  if (given.find("-mode=1") == given.npos || sizes == given.npos) return out;
  LibraryText list(given.substr(sizes + 3, given.find(' ', sizes) - sizes - 3), "ck_tile");
  do {
    out.lengths.push_back(list.required_number());
  } while (list.take(','));
  return out;
}

/// Reads the numbers after t, b or g: L,R and perhaps a number of sink tokens, or Y,X.
void read_ck_tile_sides(LibraryText& text, bool keys, Index first, MaskForm& mask) {
  const auto side = [](Index n) { return n < 0 ? std::nullopt : std::optional(n); };
  text.need(',');
  const Index second = text.required_number();
  mask.left = keys ? std::optional(first - 1) : side(first);
  mask.right = keys ? std::optional(second - 1) : side(second);
  if (!keys && text.take(',')) mask.sinks = std::max<Index>(text.required_number(), 0);
  if (mask.left && *mask.left < 0) text.fail_at(2, "g:Y,X needs Y of at least 1");
  if (mask.right && *mask.right < 0) text.fail_at(2, "g:Y,X needs X of at least 1");
  if (mask.sinks > 0 && !mask.causal()) text.fail_at(2, "sink tokens need a right side of 0");
}

/// Reads what follows the kind in the text of a mask, such as ":127,0" in "t:127,0".
void read_ck_tile_numbers(LibraryText& text, std::string_view kind, MaskForm& mask) {
  text.need(':');
  const Index first = text.required_number();
  if (kind == "t" || kind == "b" || kind == "g") {
    read_ck_tile_sides(text, kind == "g", first, mask);
  } else if (kind == "xt" || kind == "xb") {
    mask.right = 0;
    if (first > 0) {
      mask.left = first / 2;
      mask.right = first - 1 - first / 2;
    }
  } else {
    text.fail_at(0, "expected t, b, xt, xb or g before ':'");
  }
  if (!text.at_end()) text.fail("expected the end");
}

/// Reads the mask of the option, or of a whole command line of the runner:
///   0 or empty     full
///   1 or t         causal, aligned top-left
///   2 or b         causal, aligned bottom-right
///   t:L,R b:L,R    window; a third number is a count of sink tokens
///   xt:W xb:W      xformers' window: W keys around the query
///   g:Y,X          keys q - Y + 1 to q + X - 1
Chain read_ck_tile(const Library&, std::string_view given) {
  const CkTileOptions options = ck_tile_options(given);
  LibraryText text(options.mask, "ck_tile");
  const std::string kind = text.word();
  MaskForm mask;
  mask.documents = mask.inside = !options.lengths.empty();
  mask.lengths = options.lengths;
  const bool bottom = kind == "b" || kind == "xb" || kind == "2";
  if (!mask.documents) mask.align = bottom ? Align::kBottomRight : Align::kTopLeft;
  if (!text.at_end()) {
    read_ck_tile_numbers(text, kind, mask);
  } else if (kind.empty() || kind == "0") {
    mask.align = Align::kUnset;
  } else if (kind == "t" || kind == "b" || kind == "1" || kind == "2") {
    mask.right = 0;
  } else {
    text.fail_at(0, "expected 0, 1, 2, t, b, t:L,R, b:L,R, xt:W, xb:W or g:Y,X");
  }
  return chain_of(mask);
}

constexpr Library kCkTile = {.name = "ck_tile",
                             .title = "ROCm ck_tile FMHA runner",
                             .empty_row = "not stated",
                             .dense = "-bias=e with -inf in closed cells",
                             .reader = read_ck_tile,
                             .writer = write_ck_tile};

}  // namespace

const Library& row(const CkTile*) { return kCkTile; }

}  // namespace maskctl::library
