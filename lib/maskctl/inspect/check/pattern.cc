#include "maskctl/inspect/check/pattern.h"

#include <algorithm>
#include <utility>

#include "maskctl/inspect/check/family.h"
#include "maskctl/inspect/check/opened_rows.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {

Index tokens_and_regions(const Chain& chain) {
  Index out = 0;
  for (const Step& step : chain) {
    if (const Chain* inner = chain_of(step)) out += tokens_and_regions(*inner);
    if (const auto* global = step.get_if<step::Global>()) out += std::ssize(global->tokens);
    out += step.is<step::Region>();
  }
  return out;
}

Index exceptions_of(const Recognised& found) {
  return found.residue.cells + tokens_and_regions(found.chain);
}

bool names_arrays(const Chain& chain) {
  return recognition::has_arrays(chain) || std::ranges::any_of(chain, [](const Step& step) {
           const Chain* inner = chain_of(step);
           return inner && names_arrays(*inner);
         });
}

Mask made_by(const Chain& chain, const Pattern& pattern) {
  const Mask out = maskctl::apply(full_like(pattern.mask), chain);
  return pattern.opened ? zip(Op::kSub, out, *pattern.opened) : out;
}

namespace {

Chain without_tokens_and_regions(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (tokens_and_regions({step}) == 0) out.push_back(step);
  }
  return out;
}

}  // namespace

Pattern pattern_of(const Mask& given, const Mask* tokens, recognition::KnownPlanes& known) {
  Pattern out{.mask = without_opened_padding(given, opened_rows(given, tokens))};
  const Mask& mask = out.mask;
  if (mask.count() != given.count()) out.opened = zip(Op::kSub, given, mask);
  const Recognised all = recognise(mask, {.guess = false}, known);
  out.found = regions_as_cells(all, mask);
  out.explained = all.residue.cells == 0 && !all.irregular && !names_arrays(all.chain);
  out.is_rule = out.explained && tokens_and_regions(all.chain) == 0;
  if (out.opened) out.found.residue = residue_of(mask, made_by(out.found.chain, out));
  if (!out.is_rule && !out.opened) {
    if (auto leaked = leaked_by_rules(mask)) {
      out.found = *std::move(leaked);
      out.explained = false;
      return out;
    }
  }
  // Global tokens and regions may stand for what are only single cells. So prefer the steps without
  // them, or no steps, if that leaves no more exceptions.
  for (Chain plain : {without_tokens_and_regions(out.found.chain), Chain{}}) {
    if (plain == out.found.chain) continue;
    const Mask steps = made_by(plain, out);
    const Index most = exceptions_of(out.found);
    // The number of cells that differ is at least the difference of the counts.
    if (std::abs(steps.count() - mask.count()) > most) continue;
    Residue residue = residue_of(mask, steps);
    if (residue.cells > most) continue;
    out.found = {std::move(plain), std::move(residue)};
  }
  return out;
}

namespace {

/// The rows and columns of the cells that the steps open and the mask closes; nothing if others are
/// not explained either.
std::optional<recognition::Hull> closed_corner(const Pattern& pattern) {
  const Mask closed = zip(Op::kSub, made_by(pattern.found.chain, pattern), pattern.mask);
  if (closed.count() == 0 || closed.count() != pattern.found.residue.cells) return std::nullopt;
  return recognition::hull_of(*closed.plane(0, 0));
}

/// The keys that a window of the steps reaches back, at most; nothing without one.
std::optional<Index> reach_of(const Chain& chain) {
  std::optional<Index> out;
  for (const Step& step : chain) {
    const auto* window = step.get_if<step::Window>();
    if (window != nullptr && window->left && (!out || *window->left < *out)) out = window->left;
  }
  return out;
}

/// The steps with a further border of documents at a token.
Chain split_at(Chain chain, Index token, Index tokens) {
  for (Step& step : chain) {
    auto* documents = step.get_if<step::DocumentLengths>();
    if (documents == nullptr) continue;
    Index begin = 0;
    for (auto length = documents->lengths.begin(); length != documents->lengths.end(); ++length) {
      if (token < begin + *length) {
        const Index before = token - begin, after = *length - before;
        *length = after;
        if (before > 0) documents->lengths.insert(length, before);
        return chain;
      }
      begin += *length;
    }
    return chain;
  }
  chain.insert(chain.begin(), Step(step::DocumentLengths{{token, tokens - token}}));
  return chain;
}

}  // namespace

std::optional<Pattern> with_border(const Pattern& pattern) {
  const Mask& mask = pattern.mask;
  if (mask.queries() != mask.keys() || mask.distinct().size() > 1) return std::nullopt;
  const auto reach = reach_of(pattern.found.chain);
  const auto corner = reach ? closed_corner(pattern) : std::nullopt;
  // The queries between see both sides of the border, and are fewer than the window has keys.
  if (!corner || corner->q.begin <= corner->k.end || corner->q.begin - corner->k.end > *reach) {
    return std::nullopt;
  }
  Pattern out = pattern;
  out.found.chain = split_at(pattern.found.chain, corner->k.end, mask.keys());
  const Mask steps = made_by(out.found.chain, out);
  if (zip(Op::kSub, steps, mask).count() > 0) return std::nullopt;
  out.found.residue = residue_of(mask, steps);
  out.explained = out.is_rule = false;
  return out;
}

}  // namespace maskctl
