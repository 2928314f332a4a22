// Masks that have a name, in attention-gym and elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/tree.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/read/comparison.h"
#include "maskctl/translate/read/expression.h"

namespace maskctl {
namespace {

/// The call of a named mask, with numbers as arguments.
struct NamedMask {
  const LibrarySource& source;
  const Python& given;
  Align rows;

  std::vector<Index> numbers() const;
  Index one(Index least) const;
};

/// The numbers of all arguments. 3+5 is a list of two numbers here, as in pipelines.
std::vector<Index> NamedMask::numbers() const {
  std::vector<Index> out;
  std::vector<const Python*> rest;
  rest.reserve(given.items.size() + given.named.size());
  for (const Python& item : given.items) rest.push_back(&item);
  for (const auto& [key, item] : given.named) rest.push_back(&item);
  std::ranges::reverse(rest);
  while (!rest.empty()) {
    const Python* item = rest.back();
    rest.pop_back();
    if (item->is_binary("+")) {
      rest.insert(rest.end(), {&item->items[1], &item->items[0]});
      continue;
    }
    const auto number = number_in(source.text, *item);
    if (!number) source.fail(item->position, "expected a whole number");
    out.push_back(*number);
  }
  return out;
}

Index NamedMask::one(Index least) const {
  const std::vector<Index> all = numbers();
  if (all.size() == 1 && all.front() >= least) return all.front();
  source.fail(given.position, fmt::format("expected one number of at least {} in (...)", least));
}

Step causal_of(const NamedMask& mask) { return step::Causal{mask.rows, {}}; }

Step window_with(const NamedMask& mask, WindowRule rule, Index width) {
  step::Window out = window_of(rule, width);
  out.align = mask.rows;
  return out;
}

MaskPart dilated_window(const NamedMask& mask) {
  const std::vector<Index> all = mask.numbers();
  if (all.size() != 2 || all[0] < 0 || all[1] < 1) {
    mask.source.fail(mask.given.position, "expected (window_size, dilation)");
  }
  return {{window_with(mask, WindowRule::kBoth, all[0]), {step::Dilated{all[1]}}}};
}

/// A window, and global tokens, which see and are seen by all tokens.
MaskPart global_window(const NamedMask& mask) {
  const auto at = [&](const char* index) {
    Python out, word;
    out.kind = Python::Kind::kSubscript;
    word.text = index;
    out.items = {mask.given.items[1], word};
    return out;
  };
  const bool two = mask.given.items.size() == 2;
  const auto width = two ? number_in(mask.source.text, mask.given.items[0]) : std::nullopt;
  const auto tokens =
      two ? Comparisons(mask.source, mask.rows).global(at("q_idx"), at("kv_idx")) : std::nullopt;
  if (!width || *width < 0 || !tokens) {
    mask.source.fail(mask.given.position,
                     "expected (window_size, is_global) with is_global as numbers");
  }
  MaskPart out{{window_with(mask, WindowRule::kBoth, *width)}, false, true};
  append(out.chain, tokens->yes->chain);
  return out;
}

/// A mask that a pipeline names, of numbers of at least 1; $0 stands for the first.
MaskPart of_steps(const NamedMask& mask, std::string_view arguments, std::string_view pipeline) {
  const std::vector<Index> all = mask.numbers();
  const auto count = static_cast<std::size_t>(std::ranges::count(arguments, ',')) + 1;
  if (all.size() != count || std::ranges::any_of(all, [](Index n) { return n < 1; })) {
    mask.source.fail(mask.given.position, fmt::format("expected ({})", arguments));
  }
  std::string text(pipeline);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string place = fmt::format("${}", i);
    for (std::size_t at = text.find(place); at != text.npos; at = text.find(place)) {
      text.replace(at, place.size(), std::to_string(all[i]));
    }
  }
  return {steps_of(text)};
}

/// attention-gym's natten.py, whose kernels have one more key where their number is even. It clamps
/// rows by the canvas' width.
MaskPart natten(const NamedMask& mask) {
  const std::vector<Index> all = mask.numbers();
  const bool square = all.size() == 4 && all[0] == all[1] && all[2] > 0 && all[3] > 0;
  if (!square) {
    mask.source.fail(mask.given.position,
                     "expected (canvas_w, canvas_h, kernel_w, kernel_h) of a square canvas");
  }
  return {steps_of(fmt::format("neighbourhood:shape={0}+{0},window={1}+{2}", all[0],
                               all[2] / 2 * 2 + 1, all[3] / 2 * 2 + 1))};
}

/// attention-gym's shared_prefix.py: documents, each of which continues its prefix document.
MaskPart shared_prefix(const NamedMask& mask) {
  const bool two = mask.given.items.size() == 2;
  const auto offsets = two ? numbers_in(mask.source.text, mask.given.items[0]) : std::nullopt;
  const auto prefixes = two ? numbers_in(mask.source.text, mask.given.items[1]) : std::nullopt;
  if (!offsets || !prefixes || offsets->size() != prefixes->size() + 1 || offsets->front() != 0) {
    mask.source.fail(mask.given.position,
                     "expected (offsets, prefix_document_id) as numbers, one offset more");
  }
  step::Tree rule;
  rule.after = *prefixes;
  for (std::size_t i = 1; i < offsets->size(); ++i) {
    rule.lens.push_back((*offsets)[i] - (*offsets)[i - 1]);
    const Index prefix = (*prefixes)[i - 1];
    const bool known = prefix >= 0 && prefix < static_cast<Index>(i);
    if (rule.lens.back() < 1 || !known || (*prefixes)[static_cast<std::size_t>(prefix)] != prefix) {
      mask.source.fail(mask.given.position,
                       "expected documents of tokens, each behind its prefix document");
    }
  }
  return {{{std::move(rule)}}};
}

struct Name {
  std::string_view name;
  MaskPart (*read)(const NamedMask& mask);
};
constexpr Name kNames[] = {
    {"causal", [](const NamedMask& mask) { return MaskPart{{causal_of(mask)}}; }},
    {"sliding_window",
     [](const NamedMask& mask) {
       return MaskPart{{window_with(mask, WindowRule::kInclusive, mask.one(0))}};
     }},
    {"prefix_lm",
     [](const NamedMask& mask) {
       return MaskPart{{causal_of(mask), {step::Prefix{mask.one(0)}}}, false, true};
     }},
    {"prefix",
     [](const NamedMask& mask) {
       return MaskPart{{{step::Prefix{mask.one(0)}}}, true};
     }},
    {"sinks",
     [](const NamedMask& mask) {
       return MaskPart{{{step::Sinks{mask.one(0)}}}, true};
     }},
    {"document",
     [](const NamedMask& mask) { return MaskPart{{{step::DocumentLengths{mask.numbers()}}}}; }},
    {"doc",
     [](const NamedMask& mask) { return MaskPart{{{step::DocumentLengths{mask.numbers()}}}}; }},
    {"chunked",
     [](const NamedMask& mask) {
       return MaskPart{{{step::Chunk{mask.one(1), 0}}}};
     }},
    {"chunk",
     [](const NamedMask& mask) {
       return MaskPart{{{step::Chunk{mask.one(1), 0}}}};
     }},
    {"dilated", [](const NamedMask& mask) { return MaskPart{{{step::Dilated{mask.one(1)}}}}; }},
    {"noop", [](const NamedMask&) { return all_cells(); }},
    {"full", [](const NamedMask&) { return all_cells(); }},
    {"True", [](const NamedMask&) { return all_cells(); }},
    {"False", [](const NamedMask&) { return no_cells(); }},
    {"natten", natten},
    {"shared_prefix", shared_prefix},
    {"block_diffusion",
     [](const NamedMask& mask) {
       return of_steps(mask, "seq_len, block_size", "block-diffusion:size=$1");
     }},
    {"dilated_sliding_window", dilated_window},
    {"global_sliding_window", global_window}};

/// The name without prefix and suffix: "sliding_window" for "generate_sliding_window_mask_mod".
std::string_view stripped(std::string_view name) {
  if (name.starts_with("generate_")) name.remove_prefix(9);
  for (const std::string_view tail : {"_mod", "_mask"}) {
    if (name.ends_with(tail)) name.remove_suffix(tail.size());
  }
  return name;
}

}  // namespace

MaskPart named_mask(const LibrarySource& source, const Python& given, Align rows) {
  if (given.kind != Python::Kind::kCall && given.kind != Python::Kind::kWord) {
    source.fail(given.position, "expected a mask");
  }
  const std::string_view name = last_name(given.text), plain = stripped(name);
  const auto found = std::ranges::find(kNames, plain, &Name::name);
  if (found != std::end(kNames)) return found->read({source, given, rows});
  std::vector<std::string_view> names = {"and_masks", "or_masks"};
  for (const Name& one : kNames) names.push_back(one.name);
  source.fail(given.position,
              fmt::format("unknown mask '{}'; {}", printable(name), hint(plain, names)));
}

}  // namespace maskctl
