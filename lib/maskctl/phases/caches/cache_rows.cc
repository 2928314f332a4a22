#include "maskctl/phases/caches/cache_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/phases/caches/rows.h"

namespace maskctl {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(Errc::kInvalidArgument, why); }

std::string shown(std::string_view text) { return printable(std::string(text)); }

/// The value of a name in a list of names; refuses others.
template <typename Value, std::size_t n>
Value value_of(std::string_view key, std::string_view text,
               const std::array<std::pair<std::string_view, Value>, n>& values) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : values) {
    if (name == text) return value;
    names.push_back(name);
  }
  refuse(fmt::format("{}={}: expected {}", key, shown(text), joined(names, ", ")));
}

Index number_of(std::string_view key, std::string_view text, Index low) {
  const auto number = whole_number_from(text);
  if (number && *number >= low && *number < Cache::kAll) return *number;
  refuse(fmt::format("{}={}: expected a whole number of at least {}", key, shown(text), low));
}

/// Reads "RULE[/WINDOW][@OF]", as "window/128@slots".
SlotMask mask_from(std::string_view key, std::string_view text, const CacheSizes& sizes) {
  using Rule = SlotMask::Rule;
  using Of = SlotMask::Of;
  static constexpr std::array<std::pair<std::string_view, Rule>, 4> kRules{
      {{"declared", Rule::kDeclared},
       {"window", Rule::kWindow},
       {"causal", Rule::kCausal},
       {"open", Rule::kOpen}}};
  static constexpr std::array<std::pair<std::string_view, Of>, 4> kOf{
      {{"positions", Of::kPositions},
       {"slots", Of::kSlots},
       {"first-slots", Of::kFirstSlots},
       {"mixed", Of::kMixed}}};
  SlotMask out;
  const std::size_t at = text.find('@');
  if (at != text.npos) {
    out.of = value_of(key, text.substr(at + 1), kOf);
    text = text.substr(0, at);
  }
  const std::size_t slash = text.find('/');
  out.rule = value_of(key, text.substr(0, slash), kRules);
  if (slash != text.npos) {
    if (out.rule != Rule::kWindow) refuse(fmt::format("{}: only a window has a size", key));
    out.window = number_of(key, text.substr(slash + 1), 1);
  } else if (out.rule == Rule::kWindow) {
    if (!sizes.window) refuse(fmt::format("{}=window: expected a size, as window/128", key));
    out.window = *sizes.window;
  }
  if (out.rule == Rule::kOpen) out.of = Of::kPositions;
  return out;
}

/// The part KEY=VALUE of a description; sizes are read before a row makes its cache, the rest
/// after it.
struct Setting {
  std::string_view key, value;
};

bool read_size(const Setting& one, CacheSizes& sizes) {
  if (one.key == "window") {
    sizes.window = number_of(one.key, one.value, 1);
  } else if (one.key == "chunk") {
    sizes.chunk = number_of(one.key, one.value, 1);
  } else if (one.key == "sinks") {
    sizes.sinks = number_of(one.key, one.value, 0);
  } else if (one.key == "page") {
    sizes.page = number_of(one.key, one.value, 1);
  } else if (one.key == "slots") {
    sizes.slots = number_of(one.key, one.value, 1);
  } else {
    return false;
  }
  return true;
}

void change(const Setting& one, const CacheSizes& sizes, Cache& cache) {
  using Reads = Cache::Reads;
  using Order = Cache::Order;
  using Rollback = Cache::Rollback;
  using Drafts = Cache::Drafts;
  static constexpr std::array<std::pair<std::string_view, Reads>, 2> kReads{
      {{"kept", Reads::kKept}, {"written", Reads::kWritten}}};
  static constexpr std::array<std::pair<std::string_view, Order>, 3> kOrders{
      {{"position", Order::kPosition}, {"time", Order::kTime}, {"ring", Order::kRing}}};
  static constexpr std::array<std::pair<std::string_view, Rollback>, 4> kRollbacks{
      {{"exact", Rollback::kExact},
       {"loses", Rollback::kLoses},
       {"refuses", Rollback::kRefuses},
       {"never", Rollback::kNever}}};
  static constexpr std::array<std::pair<std::string_view, Drafts>, 2> kDrafts{
      {{"depth", Drafts::kDepth}, {"slot", Drafts::kSlot}}};
  if (one.key == "last") {
    cache.last = number_of(one.key, one.value, 0);
  } else if (one.key == "reads") {
    cache.reads = value_of(one.key, one.value, kReads);
  } else if (one.key == "order") {
    cache.order = value_of(one.key, one.value, kOrders);
  } else if (one.key == "mask") {
    cache.several = cache.one = mask_from(one.key, one.value, sizes);
  } else if (one.key == "one") {
    cache.one = mask_from(one.key, one.value, sizes);
  } else if (one.key == "rollback") {
    cache.rollback = value_of(one.key, one.value, kRollbacks);
  } else if (one.key == "drafts") {
    cache.drafts = value_of(one.key, one.value, kDrafts);
  } else {
    refuse(
        fmt::format("a cache has no {}: expected window, chunk, sinks, page, slots, last, "
                    "reads, order, mask, one, rollback or drafts",
                    shown(one.key)));
  }
}

/// What stands behind the colon. Where a key comes twice, nobody knows which is meant.
std::vector<Setting> settings_of(std::string_view text) {
  std::vector<Setting> out;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t mark = part.find('=');
    if (mark == part.npos || mark == 0) {
      refuse(fmt::format("{}: expected KEY=VALUE in a cache", shown(part)));
    }
    const Setting one{part.substr(0, mark), part.substr(mark + 1)};
    if (std::ranges::any_of(out, [&](const Setting& two) { return two.key == one.key; })) {
      refuse(fmt::format("{} twice in a cache", shown(one.key)));
    }
    out.push_back(one);
  }
  return out;
}

const char* kind_text(LayerKind kind) {
  return kind == LayerKind::kFull      ? "that sees all keys before it"
         : kind == LayerKind::kSliding ? "with a window"
                                       : "with chunks";
}

}  // namespace

CacheSizes sizes_of(const Chain& chain) {
  CacheSizes out;
  for (const Step& step : chain) {
    if (const auto* window = step.get_if<step::Window>()) {
      if (window->left && !window->is_per_batch()) out.window = *window->left + 1;
    } else if (const auto* chunk = step.get_if<step::Chunk>()) {
      if (!chunk->is_per_batch()) out.chunk = chunk->size;
    } else if (const auto* sinks = step.get_if<step::Sinks>()) {
      if (sinks->each.empty()) out.sinks = sinks->n;
    }
  }
  return out;
}

LayerKind kind_of(const CacheSizes& sizes) {
  return sizes.window ? LayerKind::kSliding : sizes.chunk ? LayerKind::kChunked : LayerKind::kFull;
}

std::vector<const CacheRow*> cache_rows() {
  std::vector<const CacheRow*> out;
  for (const auto rows :
       {caches::plain(), caches::transformers(), caches::mlx(), caches::servers()}) {
    for (const CacheRow& row : rows) out.push_back(&row);
  }
  return out;
}

std::vector<const CacheRow*> rows_named(std::string_view name, LayerKind kind) {
  std::vector<const CacheRow*> out;
  std::vector<std::string_view> names;
  const auto add = [&names](std::string_view one) {
    if (!one.empty() && std::ranges::find(names, one) == names.end()) names.push_back(one);
  };
  for (const CacheRow* row : cache_rows()) {
    if (row->name == name) return {row};
    const bool is_one = !name.empty() && (row->family == name || row->holder == name);
    if (is_one && row->serves(kind)) out.push_back(row);
    add(row->family);
    add(row->holder);
  }
  if (!out.empty()) return out;
  if (std::ranges::find(names, name) != names.end()) {
    refuse(fmt::format("{} has no cache for a layer {}: name another", name, kind_text(kind)));
  }
  for (const CacheRow* row : cache_rows()) add(row->name);
  refuse(fmt::format("unknown cache '{}': expected one of {}", shown(name), joined(names, ", ")));
}

Cache cache_of(const CacheRow& row, const CacheSizes& sizes) {
  if (row.make == nullptr) refuse(fmt::format("{}: {}", row.name, row.note));
  const bool local = !row.full && (row.sliding || row.chunked);
  if (local && !(row.sliding && sizes.window) && !(row.chunked && sizes.chunk)) {
    refuse(fmt::format("{} keeps what a window or a chunk needs: expected window=N{}", row.name,
                       row.chunked ? " or chunk=N" : ""));
  }
  Cache out = row.make(sizes);
  if (out.last < 0) {
    refuse(fmt::format("{}: a window of {} has no room for {}", row.name,
                       counted(sizes.window.value_or(0), "key"), counted(sizes.sinks, "sink")));
  }
  out.name = row.name;
  return out;
}

std::vector<Cache> read_caches(std::string_view text, CacheSizes sizes) {
  const std::size_t colon = text.find(':');
  std::vector<Setting> changes;
  if (colon != text.npos) {
    for (const Setting& one : settings_of(text.substr(colon + 1))) {
      if (!read_size(one, sizes)) changes.push_back(one);
    }
  }
  std::vector<Cache> out;
  for (const CacheRow* row : rows_named(text.substr(0, colon), kind_of(sizes))) {
    out.push_back(cache_of(*row, sizes));
    for (const Setting& one : changes) change(one, sizes, out.back());
  }
  return out;
}

}  // namespace maskctl
