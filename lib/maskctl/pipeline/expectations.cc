#include "maskctl/pipeline/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/printable.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/parse/arguments.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

constexpr std::array kInfos = std::to_array<ExpectationInfo>({
    {"no-empty-rows", "every query sees a key"},
    {"no-leak[:SRC]",
     "no open cell joins two documents of segment ids (q=SRC,kv=SRC for two "
     "sides; ,pad-id=N for another id of padding), positions=SRC or cu_seqlens=SRC"},
    {"causal[:align=,offset=]", "no key after the query"},
    {"window:keys=N", "every open cell is inside the window; so for any step that closes cells"},
    {"symmetric", "(q, k) is open where (k, q) is"},
    {"block-aligned:N", "every block of N x N, or QxK, is all open or all closed"},
    {"row-safe:block=N", "each row has a key in the first block that a kernel computes for it"},
    {"density:MIN..MAX", "the share of open cells, as 0.25 or 25%"},
    {"subset-of:SRC", "no cell is open that is closed in SRC"},
    {"covers:PIPELINE", "every cell that the steps leave open is open, as sinks and own blocks"},
    {"equals:PIPELINE", "the mask equals the steps applied to an all-open mask"},
});

struct NameAndRest {
  std::string_view name, rest;
  bool has_rest = false;
};

NameAndRest name_and_rest(std::string_view text) {
  const std::size_t end = text.find_first_of(": |{");
  const bool has_rest = end != std::string_view::npos && text[end] == ':';
  return {text.substr(0, end), has_rest ? text.substr(end + 1) : "", has_rest};
}

[[noreturn]] void refuse(std::string_view text, std::string_view why,
                         std::vector<Remedy> remedies = {}) {
  throw Error(Errc::kInvalidArgument, fmt::format("expectation {}: {}", printable(text), why),
              std::move(remedies));
}

/// The text after the name of the expectation, unchanged. Quotes around all of it, as people write
/// them for a shell, are removed as in a pipeline.
std::string whole_argument(const std::string& text, std::string_view rest) {
  if (!rest.starts_with('"') && !rest.starts_with('\'')) return std::string(rest);
  const Pipeline parsed = parse(text, "expectation");
  if (parsed.steps.size() != 1 || parsed.steps[0].has_nested || parsed.steps[0].args.size() != 1 ||
      !parsed.steps[0].args[0].key.empty()) {
    refuse(text, "expected one argument, quoted as a whole or not at all");
  }
  return parsed.steps[0].args[0].value;
}

expect::Rule parse_block_aligned(std::string_view text, std::string_view rest) {
  const auto size = block_size_from(rest);
  if (!size) refuse(text, "expected block-aligned:N or block-aligned:QxK");
  return expect::BlockAligned{*size};
}

expect::Rule parse_row_safe(std::string_view text, std::string_view rest) {
  constexpr std::string_view kKey = "block=";
  const auto size =
      rest.starts_with(kKey) ? block_size_from(rest.substr(kKey.size())) : std::nullopt;
  if (!size) refuse(text, "expected row-safe:block=N or row-safe:block=QxK");
  return expect::RowSafe{*size};
}

/// The number that "0.25" or "25%" means; nothing for an empty text.
std::optional<double> share(std::string_view text, std::string_view part) {
  if (part.empty()) return std::nullopt;
  const bool percent = part.ends_with('%');
  if (percent) part.remove_suffix(1);
  auto value = real_from(part);
  if (value && percent) *value /= 100.0;
  if (!value || *value < 0 || *value > 1) {
    refuse(text, "expected density:MIN..MAX, each from 0 to 1 or in percent");
  }
  return value;
}

expect::Rule parse_density(std::string_view text, std::string_view rest) {
  const std::size_t dots = rest.find("..");
  if (dots == std::string_view::npos || rest.size() == 2) {
    refuse(text, "expected density:MIN..MAX, of which one may be left out");
  }
  const expect::Density out{share(text, rest.substr(0, dots)), share(text, rest.substr(dots + 2))};
  if (out.min && out.max && *out.min > *out.max) refuse(text, "MIN is greater than MAX");
  return out;
}

/// The form of documents (ids, positions or cumulative lengths) that a key of the expectation
/// no-leak stands for; nothing for an unknown key.
std::optional<DocumentForm> form_of(std::string_view key) {
  if (key.empty() || key == "segments") return DocumentForm::kSegments;
  if (key == "positions") return DocumentForm::kPositions;
  if (key == "cu_seqlens" || key == "cu-seqlens") return DocumentForm::kCuSeqlens;
  return std::nullopt;
}

/// Removes pad-id=N from the arguments and returns N; nothing if it is absent.
std::optional<Index> take_pad_id(const std::string& text, std::vector<Arg>& args) {
  const auto at = std::ranges::find(args, "pad-id", &Arg::key);
  if (at == args.end()) return std::nullopt;
  const auto id = integer_from(at->value);
  if (!id) refuse(text, fmt::format("pad-id={}: expected a whole number", printable(at->value)));
  args.erase(at);
  return id;
}

/// Parses the arguments of no-leak: nothing, one SRC, q=SRC with kv=SRC, or positions= or
/// cu_seqlens=.
expect::Rule parse_no_leak(const std::string& text, bool has_rest,
                           const ExpectationContext& context) {
  if (!has_rest) {
    if (context.documents) return expect::NoLeak{*context.documents};
    refuse(text, "no documents are known, and no-leak:SRC names none", {{Remedy::kGiveDocuments}});
  }
  Pipeline parsed = parse(text, "expectation");
  if (parsed.steps.size() != 1 || parsed.steps[0].has_nested) refuse(text, "expected no-leak:SRC");
  std::vector<Arg>& args = parsed.steps[0].args;
  DocumentSource out;
  const auto pad_id = take_pad_id(text, args);
  out.pad_id = static_cast<std::int32_t>(pad_id.value_or(context.bind.pad_id));
  out.text = text.substr(text.find(':') + 1);
  const auto value_of = [&](std::string_view key) -> const std::string* {
    const auto at = std::ranges::find(args, key, &Arg::key);
    return at == args.end() ? nullptr : &at->value;
  };
  const std::string *q = value_of("q"), *kv = value_of("kv");
  if (q && kv && args.size() == 2) {
    out.q = context.bind.read_array(*q);
    out.kv = context.bind.read_array(*kv);
    return expect::NoLeak{std::move(out)};
  }
  if (q || kv || args.size() != 1) refuse(text, "expected one SRC, or q=SRC,kv=SRC");
  const auto form = form_of(args[0].key);
  if (!form) {
    refuse(text, "expected SRC, segments=, positions=, cu_seqlens=, or q= with kv=");
  }
  if (pad_id && form != DocumentForm::kSegments) {
    refuse(text, fmt::format("pad-id= goes with segment ids, not with {}", name(*form)));
  }
  out.form = *form;
  out.q = context.bind.read_array(args[0].value);
  return expect::NoLeak{std::move(out)};
}

expect::Rule parse_step(const std::string& text, const ExpectationContext& context) {
  const Pipeline parsed = parse(text, "expectation");
  if (parsed.steps.size() != 1) {
    refuse(text, "one step is expected; for a whole pipeline write equals:PIPELINE");
  }
  return expect::Within{bind(parsed, context.bind)};
}

[[noreturn]] void refuse_name(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(std::size(kInfos));
  for (const ExpectationInfo& info : kInfos) {
    names.push_back(info.usage.substr(0, info.usage.find_first_of(":[")));
  }
  throw Error(Errc::kInvalidArgument,
              fmt::format("unknown expectation '{}'; {}", printable(name), hint(name, names)));
}

expect::Rule parse_rule(const std::string& text, const ExpectationContext& context) {
  const auto [name, rest, has_rest] = name_and_rest(text);
  if (name == "no-empty-rows" || name == "symmetric") {
    if (has_rest) refuse(text, fmt::format("{} takes no arguments", name));
    if (name == "symmetric") return expect::Symmetric{};
    return expect::NoEmptyRows{};
  }
  if (name == "no-leak") return parse_no_leak(text, has_rest, context);
  if (name == "block-aligned") return parse_block_aligned(text, rest);
  if (name == "row-safe") return parse_row_safe(text, rest);
  if (name == "density") return parse_density(text, rest);
  if (name == "subset-of") {
    if (rest.empty()) refuse(text, "expected subset-of:SOURCE");
    return expect::SubsetOf{context.bind.read_mask(whole_argument(text, rest))};
  }
  if (name == "equals" || name == "covers") {
    if (rest.empty()) refuse(text, fmt::format("expected {}:PIPELINE", name));
    const std::string pipeline = whole_argument(text, rest);
    Chain chain = load_chain(std::span(&pipeline, 1), context.bind);
    if (name == "covers") return expect::Covers{std::move(chain)};
    return expect::Equals{std::move(chain)};
  }
  const StepInfo* info = find_step(name);
  if (info && info->kind == StepKind::kAnd) return parse_step(text, context);
  if (info) {
    refuse(text,
           fmt::format("{} opens cells or has a rule of its own; write equals:PIPELINE", name));
  }
  refuse_name(name);
}

}  // namespace

std::span<const ExpectationInfo> expectation_infos() { return kInfos; }

Expectation parse_expectation(const std::string& text, const ExpectationContext& context) {
  return {parse_rule(text, context), text};
}

}  // namespace maskctl
