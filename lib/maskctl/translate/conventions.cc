#include "maskctl/translate/conventions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/translate/libraries.h"

namespace maskctl {
namespace {

template <typename... T>
std::span<const Library* const> rows_of(library::List<T...>) {
  static const std::array kRows = {&library::row_of<T>()...};
  return kRows;
}

/// Windows of programs that belong to none of the libraries.
constexpr std::array kReferenceWindows = {
    WindowConvention{"Mistral reference, decode", "sliding_window=W", WindowRule::kKeys,
                     "mistral-inference#60: a rotating cache of W"},
    WindowConvention{"Mistral reference, prefill", "sliding_window=W", WindowRule::kInclusive,
                     "mistral-inference#60: triu(diagonal=-W)"}};

}  // namespace

std::span<const Library* const> libraries() { return rows_of(library::Libraries{}); }

const Library* find_library(std::string_view name) {
  const auto found = std::ranges::find(libraries(), name, &Library::name);
  return found == libraries().end() ? nullptr : *found;
}

std::string_view meaning(ArgumentMeaning of) {
  static constexpr std::string_view kMeanings[] = {
      "True: no key after the query's own",
      "W: W keys including the query's own; without causal, W on either side",
      "W: W - 1 keys on either side of the query's own",
      "(L, R): L keys before the query's own, R after it",
      "(L, R): L keys before the query's own, R after it; a single W is (W, W)",
      "(L, R), None is no end; a negative side is beyond the diagonal, L + R < 0 no window",
      "L: L keys before the query's own",
      "L: L - 1 keys before the query's own",
      "R: R keys after the query's own",
      "N: the keys in the query's chunk of N",
      "N: the keys in the query's chunk of N, none after its own",
      "causal: no key after the query's own; None or full: all keys",
      "causal or not, and the alignment",
      "TOP_LEFT or BOTTOM_RIGHT",
      "True: bottom-right",
      "N: queries sit N keys later",
      "lengths of documents",
      "lengths of the documents' keys",
      "N: the keys of document i start at i N",
      "where the documents' keys start, the number of all keys last",
      "where documents end, 0 first",
      "where the documents' keys end, 0 first",
      "queries of each batch entry that are not padding",
      "keys of each batch entry that are not padding",
      "queries of each document or batch entry that are used",
      "keys of each document or batch entry that are used",
      "keys put behind those that are used",
      "where the documents' pages end, 0 first",
      "keys in the last page of each document",
      "keys in a page",
      "changes the mask; read at its default alone",
      "a mask of its own",
      "no part of the mask",
  };
  static_assert(std::size(kMeanings) == static_cast<std::size_t>(ArgumentMeaning::kNothing) + 1);
  return kMeanings[static_cast<std::size_t>(of)];
}

step::Window window_of(WindowRule rule, Index w) {
  const bool counts_own = rule == WindowRule::kKeys || rule == WindowRule::kKeysBoth;
  const Index least = counts_own ? 1 : 0;
  if (w < least) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a window of {}: expected at least {}", w, least));
  }
  step::Window out;
  const bool both = rule == WindowRule::kBoth || rule == WindowRule::kKeysBoth;
  out.left = counts_own ? w - 1 : w;
  out.right = both ? *out.left : 0;
  out.spelling = both ? step::Window::Spelling::kBoth : step::Window::Spelling::kKeys;
  return out;
}

std::vector<WindowConvention> window_conventions() {
  std::vector<WindowConvention> out;
  for (const Library* library : libraries()) {
    out.insert(out.end(), library->windows.begin(), library->windows.end());
  }
  out.insert(out.end(), kReferenceWindows.begin(), kReferenceWindows.end());
  std::ranges::stable_sort(out, {}, &WindowConvention::rule);
  return out;
}

}  // namespace maskctl
