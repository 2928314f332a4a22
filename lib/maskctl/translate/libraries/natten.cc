// NATTEN: neighbourhoods in grids of one to three dimensions, and standard attention.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/text.h"
#include "maskctl/mask/steps/neighbourhood.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kNattenGrid[] = {{"kernel_size", kMask, ""},
                                    {"stride", kMask, "1"},
                                    {"dilation", kMask, "1"},
                                    {"is_causal", kMask, "False"},
                                    {"additional_keys", kMask, "None"},
                                    {"additional_values", kNothing, "None"},
                                    {"attention_kwargs", kNothing, "None"}};
constexpr Argument kNattenFlags[] = {{"is_causal", kCausal, "False"}};
constexpr Argument kNattenDocuments[] = {
    {"cumulative_seqlen_Q", kEnds, ""},
    {"cumulative_seqlen_KV", kKeyEnds, ""},
    {.name = "max_seqlen_Q", .fallback = "", .text = "{longest_q}"},
    {.name = "max_seqlen_KV", .fallback = "", .text = "{longest_k}"}};
constexpr Argument kNattenOthers[] = {{"scale", kNothing, "None"},
                                      {"seqlens_Q", kUnread, "None"},
                                      {"seqlens_KV", kUnread, "None"},
                                      {"backend", kNothing, "None"},
                                      {"q_tile_size", kNothing, "None"},
                                      {"kv_tile_size", kNothing, "None"},
                                      {"run_persistent_kernel", kNothing, "True"},
                                      {"kernel_schedule", kNothing, "None"},
                                      {"torch_compile", kNothing, "False"},
                                      {"return_lse", kNothing, "False"}};
constexpr auto kNattenDense = joined_lists(kNattenFlags, kNattenOthers);
constexpr auto kNattenPacked = joined_lists(kNattenDocuments, kNattenFlags, kNattenOthers);

constexpr Convention natten_attention(std::span<const Argument> arguments, bool documents) {
  return {.call = "attention",
          .documents = documents,
          .leading = "q, k, v",
          .names = "query, key, value",
          .arguments = arguments,
          .overrides = "which diagonal is causal where Q != K is not stated",
          .source = "natten 0.21.7 src/natten/functional.py at 8c8729f4"};
}
constexpr Convention natten_grid(std::string_view call) {
  return {.call = call,
          .leading = "q, k, v",
          .names = "query, key, value",
          .arguments = kNattenGrid,
          .overrides =
              "numbers, or one per dimension; kernel_size keys around the query's own, as "
              "many at the borders; the grid is that of q, [B, X, Y, heads, head_dim]",
          .source = "natten 0.21.7 src/natten/functional.py, csrc reference/mask.hpp at 8c8729f4",
          .written = false};
}
constexpr Convention kNattenCalls[] = {natten_attention(kNattenDense, false),
                                       natten_attention(kNattenPacked, true), natten_grid("na1d"),
                                       natten_grid("na2d"), natten_grid("na3d")};

/// The call of a grid.
class NattenGrid {
 public:
  NattenGrid(const LibrarySource& source, std::size_t dimensions)
      : source_(source), call_(source.text.last), dimensions_(dimensions) {}
  Chain read() const;

 private:
  const Python* argument(std::size_t place) const;
  std::vector<Index> numbers(std::size_t place, Index least) const;
  std::vector<Index> extents() const;

  const LibrarySource& source_;
  const Python& call_;
  std::size_t dimensions_;
};

/// An argument after q, k and v, by its place or its name.
const Python* NattenGrid::argument(std::size_t place) const {
  const Python* out = named(call_, kNattenGrid[place].name);
  return out || call_.items.size() <= 3 + place ? out : &call_.items[3 + place];
}

/// An argument as one number per dimension; empty if it is absent or says the default.
std::vector<Index> NattenGrid::numbers(std::size_t place, Index least) const {
  const Python* given = argument(place);
  if (!given) return {};
  Python value = resolved(source_.text, *given);
  std::vector<Python> items =
      value.kind == Python::Kind::kList ? value.items : std::vector<Python>(dimensions_, value);
  std::vector<Index> out;
  for (const Python& item : items) {
    const Python one = resolved(source_.text, item);
    const bool flag = one.is_word("True") || one.is_word("False");
    const auto number = flag ? Index{one.is_word("True")} : number_in(source_.text, one);
    if (!number || *number < least) {
      source_.fail(given->position, fmt::format("{}: expected numbers of at least {}",
                                                kNattenGrid[place].name, least));
    }
    out.push_back(*number);
  }
  if (out.size() != dimensions_) {
    source_.fail(given->position, fmt::format("{}: {} numbers for {} dimensions",
                                              kNattenGrid[place].name, out.size(), dimensions_));
  }
  const Index plain = place == 3 ? 0 : 1;
  const bool says = place == 0 || std::ranges::any_of(out, [=](Index n) { return n != plain; });
  return says ? out : std::vector<Index>{};
}

/// The extents of the grid, from q = empty((B, X, Y, heads, head_dim)) or q.unflatten(1, (X, Y));
/// empty for a line whose length is not given.
std::vector<Index> NattenGrid::extents() const {
  if (const auto q = source_.text.names.find("q"); q != source_.text.names.end()) {
    const std::vector<Python>& items = q->second.items;
    const bool split = last_name(q->second.text) == "unflatten" && items.size() == 2;
    auto shape = items.empty() ? std::nullopt : numbers_in(source_.text, items.back());
    if (shape && !split && shape->size() == dimensions_ + 3) {
      shape->assign(shape->begin() + 1, shape->end() - 2);
    }
    if (shape && shape->size() == dimensions_) return *shape;
  }
  if (dimensions_ == 1) return {};
  source_.fail(call_.position,
               fmt::format("the grid is not known: put q = q.unflatten(1, ({})) before the call",
                           dimensions_ == 2 ? "X, Y" : "X, Y, Z"));
}

Chain NattenGrid::read() const {
  const Convention& known = kNattenCalls[dimensions_ + 1];
  for (const auto& [key, value] : call_.named) {
    const bool fits =
        leads(known, key) ||
        std::ranges::find(kNattenGrid, key, &Argument::name) != std::end(kNattenGrid) ||
        std::ranges::find(kNattenOthers, key, &Argument::name) != std::end(kNattenOthers);
    if (!fits) source_.fail(value.position, fmt::format("{} has no argument {}", known.call, key));
  }
  if (const Python* more = argument(4); more && !resolved(source_.text, *more).is_word("None")) {
    source_.fail(more->position, "additional_keys are keys outside the grid, which are not read");
  }
  step::Neighbourhood rule;
  rule.shape = extents();
  rule.window = numbers(0, 2);
  if (rule.window.empty()) source_.fail(call_.position, "kernel_size is missing");
  rule.stride = numbers(1, 1);
  rule.dilation = numbers(2, 1);
  rule.causal = numbers(3, 0);
  // On a line of any length a causal neighbourhood is a window, which other libraries have too.
  const bool window =
      rule.shape.empty() && rule.stride.empty() && rule.dilation.empty() && !rule.causal.empty();
  if (window) {
    return {{step::Window{
        .left = rule.window.front() - 1, .right = 0, .spelling = step::Window::Spelling::kKeys}}};
  }
  return {{std::move(rule)}};
}

Chain read_natten(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const std::string_view name = last_name(source.text.last.text);
  for (std::size_t dimensions = 1; dimensions <= 3; ++dimensions) {
    if (name == kNattenCalls[dimensions + 1].call) return NattenGrid(source, dimensions).read();
  }
  return chain_of_call(source);
}

std::string natten_tuple(const std::vector<Index>& values) {
  return values.size() == 1 ? std::to_string(values.front())
                            : fmt::format("({})", joined(values, ", "));
}

void write_grid(const step::Neighbourhood& rule, Translation& out) {
  if (std::ranges::any_of(rule.window, [](Index n) { return n < 2; })) {
    return refuse(out, "a kernel_size has at least 2 keys");
  }
  if (!rule.shape.empty()) {
    for (const char* name : {"q", "k", "v"}) {
      out.code.push_back(
          fmt::format("{0} = {0}.unflatten(1, ({1},))", name, joined(rule.shape, ", ")));
    }
  }
  std::string call =
      fmt::format("na{}d(q, k, v, kernel_size={}", rule.window.size(), natten_tuple(rule.window));
  if (!rule.stride.empty()) call += ", stride=" + natten_tuple(rule.stride);
  if (!rule.dilation.empty()) call += ", dilation=" + natten_tuple(rule.dilation);
  if (!rule.causal.empty()) {
    std::vector<std::string_view> flags;
    for (const Index flag : rule.causal) flags.push_back(flag ? "True" : "False");
    const std::string text(joined(flags, ", "));
    call += flags.size() == 1 ? ", is_causal=" + text : fmt::format(", is_causal=({})", text);
  }
  out.code.push_back(call + ")");
}

void write_natten(const Chain& chain, const MaskForm& form, const StepName& name,
                  Translation& out) {
  if (chain.size() == 1) {
    if (const auto* rule = chain.front().get_if<step::Neighbourhood>()) {
      return write_grid(*rule, out);
    }
  }
  if (form.banded() && form.align != Align::kUnset && form.kv_lengths.empty()) {
    return refuse(out, refusal::kDiagonalUnknown);
  }
  const bool window = form.rest.empty() && form.causal() && form.left.value_or(0) > 0 &&
                      !form.chunk && !form.documents && !form.padded() && !form.opens_first_keys();
  if (!window) {
    if (!form.kv_lengths.empty() && form.banded()) return refuse(out, refusal::kDiagonalUnknown);
    return write_call(chain, form, name, out);
  }
  write_grid({.window = {*form.left + 1}, .causal = {1}}, out);
  out.notes.push_back(fmt::format("for at least {} tokens", *form.left + 1));
}

constexpr Library kNatten = {.name = "natten",
                             .title = "NATTEN",
                             .empty_row = "cannot occur",
                             .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
                             .calls = kNattenCalls,
                             .reader = read_natten,
                             .writer = write_natten};

}  // namespace

const Library& row(const Natten*) { return kNatten; }

}  // namespace maskctl::library
