// Masks that have a name, in attention-gym and elsewhere.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/first_keys.h"
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

Step causal_of(const NamedMask& mask) {
  return step::Causal{mask.rows == Align::kTopLeft ? Align::kUnset : mask.rows, {}};
}

MaskPart dilated_window(const NamedMask& mask) {
  const std::vector<Index> all = mask.numbers();
  if (all.size() != 2 || all[0] < 0 || all[1] < 1) {
    mask.source.fail(mask.given.position, "expected (window_size, dilation)");
  }
  return {{{window_of(WindowRule::kBoth, all[0])}, {step::Dilated{all[1]}}}};
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
  MaskPart out{{{window_of(WindowRule::kBoth, *width)}}, false, true};
  append(out.chain, tokens->yes->chain);
  return out;
}

struct Name {
  std::string_view name;
  MaskPart (*read)(const NamedMask& mask);
};
constexpr Name kNames[] = {
    {"causal", [](const NamedMask& mask) { return MaskPart{{causal_of(mask)}}; }},
    {"sliding_window",
     [](const NamedMask& mask) {
       return MaskPart{{{window_of(WindowRule::kInclusive, mask.one(0))}}};
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
