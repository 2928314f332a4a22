// Mutants that misread an argument of a step of the mask.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/mask/steps/within.h"
#include "maskctl/tensor/convert.h"
#include "maskctl/verify/mutants/kinds.h"

namespace maskctl::attention {
namespace {

/// Appends the steps of type Rule, including those inside other steps.
template <typename Rule>
void collect(Chain& chain, std::vector<Rule*>& out) {
  for (Step& step : chain) {
    if (Rule* rule = step.get_if<Rule>()) out.push_back(rule);
    if (auto* scoped = step.get_if<step::Scoped>()) collect(scoped->chain, out);
    if (auto* within = step.get_if<step::Within>()) collect(within->chain, out);
  }
}

/// Changes one of the steps of type Rule, and applies the steps. `change` returns a sentence, or ""
/// if it leaves the step as it is.
template <typename Rule, typename Change>
std::string with_changed(const DeclaredCall& declared, Draw& draw, KernelCall& call,
                         const Change& change) {
  Chain steps = declared.call().steps;
  std::vector<Rule*> rules;
  collect(steps, rules);
  if (rules.empty()) return "";
  std::string text = change(*draw.of(rules));
  if (!text.empty()) call.mask = declared.made_by(steps);
  return text;
}

/// Changes a number and returns text about it: "window left 128 instead of 127".
std::string other_number(std::string_view what, Index& number, Index by) {
  number += by;
  return fmt::format("{} {} instead of {}", what, number, number - by);
}

std::string window_side(const DeclaredCall& declared, Draw& draw, KernelCall& call, Index by) {
  return with_changed<step::Window>(declared, draw, call, [&](step::Window& window) -> std::string {
    const bool left = draw.coin();
    std::optional<Index>& side = left ? window.left : window.right;
    const bool per_batch = !(left ? window.lefts : window.rights).empty();
    if (!side || *side + by < 0 || per_batch) return "";
    window.spelling = step::Window::Spelling::kSides;
    return other_number(left ? "window left" : "window right", *side, by);
  });
}

std::string step_lost(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  Chain steps = declared.call().steps;
  if (steps.empty()) return "";
  const Index at = draw.below(static_cast<Index>(steps.size()));
  const std::string text = to_text(Chain{steps[as_size(at)]}, "file");
  // If the changed step makes a mask of another shape, the later steps do not fit it.
  const Mask before = declared.made_by({steps.begin(), steps.begin() + at});
  if (!same_shape(before, maskctl::apply(before, steps[as_size(at)]))) return "";
  steps.erase(steps.begin() + at);
  call.mask = declared.made_by(steps);
  return fmt::format("without {}", text);
}

std::string head_without_step(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const MutantCall& about = declared.call();
  if (about.heads * about.batch == 1) return "";
  KernelCall without{.mask = declared.mask()};
  const std::string text = step_lost(declared, draw, without);
  if (text.empty()) return "";
  const Index b = draw.below(about.batch), h = draw.below(about.heads);
  call.mask = with_plane(declared.mask(), about.batch, about.heads, b, h, without.mask.plane(b, h));
  return fmt::format("batch {}, head {} {}", b, h, text);
}

constexpr Index kFarthest = 8;

/// Moves the border between two documents of a list of lengths by up to kFarthest tokens, and
/// returns where it was and by how much; nothing if no border can move so.
std::optional<std::pair<Index, Index>> move_border(std::vector<Index>& lengths, Draw& draw) {
  if (lengths.size() < 2) return std::nullopt;
  const auto at = as_size(draw.below(static_cast<Index>(lengths.size()) - 1));
  Index border = 0;
  for (std::size_t i = 0; i <= at; ++i) border += lengths[i];
  const bool right = draw.coin();
  const Index most = std::min(kFarthest, lengths[right ? at + 1 : at] - 1);
  if (most < 1) return std::nullopt;
  const Index by = draw.between(1, most) * (right ? 1 : -1);
  lengths[at] += by;
  lengths[at + 1] -= by;
  return std::pair{border, by};
}

std::string border_text(Index border, Index by) {
  return fmt::format("a document begins at token {} instead of {}", border + by, border);
}

/// Moves the place where the ids of a row change. Ids are [S] or [B,S].
std::string move_id_border(NamedArray& ids, NamedArray* others, Draw& draw) {
  std::vector<std::int32_t> values = as_int32(ids.array, "ids");
  const Index length = ids.array.extent(ids.array.rank() - 1);
  const Index rows = length > 0 ? ids.array.elements() / length : 0;
  if (length < 2) return "";
  const Index row = draw.below(rows);
  std::vector<Index> borders;
  for (Index i = 1; i < length; ++i) {
    const auto at = as_size(row * length + i);
    if (values[at] != values[at - 1]) borders.push_back(i);
  }
  if (borders.empty()) return "";
  const Index border = draw.of(borders);
  const Index by = draw.between(1, kFarthest) * (draw.coin() ? 1 : -1);
  if (border + by < 1 || border + by >= length) return "";
  const std::int32_t id = values[as_size(row * length + border - (by > 0 ? 1 : 0))];
  for (Index i = std::min(border, border + by); i < std::max(border, border + by); ++i) {
    values[as_size(row * length + i)] = id;
  }
  const bool same_others = others && same_elements(others->array, ids.array);
  Tensor moved(DType::kInt32, ids.array.shape());
  std::ranges::copy(values, moved.as<std::int32_t>().begin());
  ids = {std::move(moved), ""};
  if (same_others) *others = ids;
  return border_text(border, by);
}

std::string border_of_lengths(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<step::DocumentLengths>(
      declared, draw, call, [&](step::DocumentLengths& documents) -> std::string {
        const auto moved = move_border(documents.lengths, draw);
        return moved ? border_text(moved->first, moved->second) : "";
      });
}

std::string border_of_within(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<step::Within>(declared, draw, call, [&](step::Within& within) -> std::string {
    if (within.lengths.empty()) {
      return within.q.empty()
                 ? ""
                 : move_id_border(within.q, within.shared ? nullptr : &within.kv, draw);
    }
    std::vector<Index>& lengths = within.kv_lengths.empty() ? within.lengths : within.kv_lengths;
    const auto moved = move_border(lengths, draw);
    return moved ? border_text(moved->first, moved->second) : "";
  });
}

std::string border_of_ids(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<step::Document>(declared, draw, call, [&](step::Document& documents) {
    return move_id_border(documents.q, documents.shared ? nullptr : &documents.kv, draw);
  });
}

std::string border_moved(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  for (const auto change : {border_of_lengths, border_of_within, border_of_ids}) {
    if (std::string text = change(declared, draw, call); !text.empty()) return text;
  }
  return "";
}

std::string joined_text(std::size_t at) {
  return fmt::format("documents {} and {} are one", at, at + 1);
}

std::string documents_joined(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  const auto join = [&draw](std::vector<Index>& lengths, std::vector<Index>* others) {
    if (lengths.size() < 2) return std::string();
    const auto at = as_size(draw.below(static_cast<Index>(lengths.size()) - 1));
    for (std::vector<Index>* list : {&lengths, others}) {
      if (!list || list->empty()) continue;
      (*list)[at] += (*list)[at + 1];
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    return joined_text(at);
  };
  std::string text = with_changed<step::DocumentLengths>(
      declared, draw, call,
      [&](step::DocumentLengths& documents) { return join(documents.lengths, nullptr); });
  if (!text.empty()) return text;
  return with_changed<step::Within>(declared, draw, call, [&](step::Within& within) {
    return join(within.lengths, &within.kv_lengths);
  });
}

/// Opens the cells of a document of one query, as kernels for decoding do that apply no mask.
std::string single_query(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  Chain steps = declared.call().steps;
  std::vector<step::Within*> all;
  collect(steps, all);
  if (all.empty()) return "";
  const step::Within& within = *draw.of(all);
  if (within.kv_lengths.size() != within.lengths.size()) return "";
  Index query = 0, key = 0;
  PlanePtr opened = empty_plane(declared.queries(), declared.keys());
  Index found = 0;
  for (std::size_t i = 0; i < within.lengths.size(); ++i) {
    const Index queries = within.lengths[i], keys = within.kv_lengths[i];
    if (queries == 1) {
      ++found;
      opened = combine(
          Op::kOr, opened,
          rectangle(declared.queries(), declared.keys(), {query, query + 1}, {key, key + keys}));
    }
    query += queries;
    key += keys;
  }
  if (found == 0) return "";
  call.mask = zip(Op::kOr, declared.mask(), Mask(opened));
  return fmt::format("{} of one query {} all keys of {}", found == 1 ? "a document" : "documents",
                     found == 1 ? "sees" : "see", found == 1 ? "its own" : "their own");
}

template <typename Rule>
std::string first_keys(const DeclaredCall& declared, Draw& draw, KernelCall& call,
                       std::string_view what, Index by) {
  return with_changed<Rule>(declared, draw, call, [&](Rule& rule) -> std::string {
    if (!rule.each.empty() || rule.n + by < 0 || rule.n + by > declared.keys()) return "";
    return other_number(what, rule.n, by);
  });
}

std::string chunk_moved(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<step::Chunk>(declared, draw, call, [&](step::Chunk& chunk) -> std::string {
    if (!chunk.offsets.empty() || !chunk.origins.empty()) return "";
    const Index origin = draw.between(1, std::max<Index>(1, chunk.size - 1));
    Tensor array(DType::kInt64, {1});
    array.as<std::int64_t>()[0] = origin;
    chunk.origins = {std::move(array), fmt::format("{}", origin)};
    return fmt::format("chunk origin {} instead of 0", origin);
  });
}

std::string chunk_size(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<step::Chunk>(declared, draw, call, [&](step::Chunk& chunk) -> std::string {
    const Index by = chunk.size > 1 && draw.coin() ? -1 : 1;
    return chunk.sizes.empty() ? other_number("chunk size", chunk.size, by) : "";
  });
}

template <typename Rule>
std::string turn(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<Rule>(declared, draw, call, [](Rule& rule) {
    const bool bottom = rule.align == Align::kBottomRight;
    rule.align = bottom ? Align::kTopLeft : Align::kBottomRight;
    return std::string(bottom ? "aligned top-left" : "aligned bottom-right");
  });
}

std::string alignment(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  if (declared.queries() == declared.keys()) return "";
  for (const auto change : {turn<step::Causal>, turn<step::Window>, turn<step::Chunk>}) {
    if (std::string text = change(declared, draw, call); !text.empty()) return text;
  }
  return "";
}

std::string padding_moved(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<step::Pad>(declared, draw, call, [&](step::Pad& pad) -> std::string {
    if (!pad.is_lengths || pad.valid.empty()) return "";
    std::vector<std::int64_t> lengths = as_int64(pad.valid.array, "lengths");
    const auto at = as_size(draw.below(static_cast<Index>(lengths.size())));
    const Index by = draw.coin() ? 1 : -1;
    lengths[at] += by;
    const Index most = pad.both ? std::min(declared.queries(), declared.keys()) : declared.keys();
    if (lengths[at] < 0 || lengths[at] > most) return "";
    Tensor array(DType::kInt64, pad.valid.array.shape());
    std::ranges::copy(lengths, array.as<std::int64_t>().begin());
    pad.valid = {std::move(array), ""};
    return fmt::format("{} valid keys instead of {} in batch {}", lengths[at], lengths[at] - by,
                       at);
  });
}

std::string padding_side(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return with_changed<step::Pad>(declared, draw, call, [](step::Pad& pad) -> std::string {
    if (!pad.is_lengths) return "";
    pad.left = !pad.left;
    return pad.left ? "padding on the left instead of the right"
                    : "padding on the right instead of the left";
  });
}

template <Index kBy>
std::string window(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return window_side(declared, draw, call, kBy);
}
template <Index kBy>
std::string prefix(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return first_keys<step::Prefix>(declared, draw, call, "prefix", kBy);
}
std::string sink_lost(const DeclaredCall& declared, Draw& draw, KernelCall& call) {
  return first_keys<step::Sinks>(declared, draw, call, "sinks", -1);
}

constexpr MutantKind kStepKinds[] = {
    kind_row(MutantGroup::kMask, "step-lost", "a step of the mask is not applied", step_lost,
             "a step"),
    kind_row(MutantGroup::kMask, "head-without-step", "one head of one batch entry lacks a step",
             head_without_step, "a step, and several heads or batch entries"),
    kind_row(MutantGroup::kMask, "window-wider", "one side of a window is a key wider", window<1>,
             "a window"),
    kind_row(MutantGroup::kMask, "window-narrower", "one side of a window is a key narrower",
             window<-1>, "a window"),
    kind_row(MutantGroup::kMask, "border-moved",
             "a border between documents is moved by 1 to 8 tokens", border_moved, "documents"),
    kind_row(MutantGroup::kMask, "documents-joined", "two documents are taken for one",
             documents_joined, "documents with lengths"),
    kind_row(MutantGroup::kMask, "single-query-unmasked",
             "documents of one query see all their keys", single_query,
             "documents of one query with other numbers of keys"),
    kind_row(MutantGroup::kMask, "prefix-shorter", "the prefix is a key shorter", prefix<-1>,
             "a prefix"),
    kind_row(MutantGroup::kMask, "prefix-longer", "the prefix is a key longer", prefix<1>,
             "a prefix"),
    kind_row(MutantGroup::kMask, "sink-lost",
             "the last of the first keys that all queries see is lost", sink_lost,
             "sinks, as a step"),
    kind_row(MutantGroup::kMask, "chunk-moved", "chunks begin at another key", chunk_moved,
             "chunks that begin at key 0"),
    kind_row(MutantGroup::kMask, "chunk-size", "chunks are a token longer or shorter", chunk_size,
             "chunks"),
    kind_row(MutantGroup::kMask, "alignment", "the diagonal ends in the other corner", alignment,
             "other numbers of queries and keys, and a step with a diagonal"),
    kind_row(MutantGroup::kMask, "padding-moved",
             "one key of padding is seen, or one valid key is not", padding_moved,
             "padding with lengths"),
    kind_row(MutantGroup::kMask, "padding-side", "padding is taken to be on the other side",
             padding_side, "padding with lengths"),
};

}  // namespace

std::span<const MutantKind> step_kinds() { return kStepKinds; }

}  // namespace maskctl::attention
