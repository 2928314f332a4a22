// Makes a mask from one step and a size, and makes segment ids.
#include "maskctl/pipeline/steps/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "maskctl/base/checked.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/pipeline/parse/arguments.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/steps/segments.h"

namespace maskctl {
namespace {

constexpr std::string_view kPrefix = "gen:";
constexpr int kMaxNesting = 16;  // limit for a generator whose SOURCE is a generator, and so on

constexpr Field size_arg(std::string_view name, std::string_view help) {
  return {.name = name, .type = FieldType::kInteger, .help = help, .min = 1};
}
constexpr std::array kSize = {size_arg("n", "queries and keys; q= and k= where they differ"),
                              size_arg("b", "batches"), size_arg("h", "heads"),
                              size_arg("q", "queries"), size_arg("k", "keys")};

constexpr StepInfo kSizeOp{.name = "the size", .args = kSize};

constexpr std::array kSegmentArgs = {
    Field{.name = "docs",
          .type = FieldType::kInteger,
          .help = "number of documents",
          .required = true,
          .min = 1,
          .group = 1},
    Field{.name = "lens",
          .type = FieldType::kLengths,
          .help = "document lengths",
          .required = true,
          .group = 2},
    size_arg("n", "tokens, padding included"),
    size_arg("b", "batches"),
    Field{.name = "pad", .type = FieldType::kInteger, .help = "tokens of padding at the end"},
    Field{.name = "seed", .type = FieldType::kSeed, .help = "seed of the threefry stream"},
    Field{.name = "interleave",
          .type = FieldType::kChoice,
          .help = "draw the document of each token",
          .choices = "token"}};
constexpr std::array kGenerators = {
    StepInfo{.name = "full",
             .kind = StepKind::kOwn,
             .meaning = "every cell open",
             .formula = "true",
             .example = "full:n=8",
             .args = kSize},
    StepInfo{.name = "empty",
             .kind = StepKind::kOwn,
             .meaning = "every cell closed",
             .formula = "false",
             .example = "empty:n=8",
             .args = kSize},
    StepInfo{.name = "segments",
             .kind = StepKind::kOwn,
             .meaning = "segment ids 1, 2, ... of random or given documents, as int32 [b, n]",
             .formula = "id[token]; padding -1",
             .example = "segments:n=1024,docs=4",
             .args = kSegmentArgs}};
constexpr const StepInfo& kFull = kGenerators[0];
constexpr const StepInfo& kSegments = kGenerators[2];

struct Size {
  std::optional<Index> n, b, h, q, k;
};

bool owns(const StepInfo& info, std::string_view key) {
  return std::any_of(info.args.begin(), info.args.end(),
                     [&](const Field& arg) { return !arg.positional && arg.name == key; });
}

bool is_size_key(std::string_view key) {
  return std::any_of(kSize.begin(), kSize.end(), [&](const Field& arg) { return arg.name == key; });
}

Size read_size(const StepArguments& arguments) {
  const auto read = [&](std::string_view key) {
    return arguments.has(key) ? std::optional(arguments.integer(key)) : std::nullopt;
  };
  if (arguments.has("n") && (arguments.has("q") || arguments.has("k"))) {
    arguments.refuse("n", "n= gives queries and keys: it excludes q= and k=");
  }
  return {read("n"), read("b"), read("h"), read("q"), read("k")};
}

/// Refuses "causal:16" and names the key that was probably meant.
void check_bare_size(const Pipeline& pipeline, const StepText& step, const StepInfo& info) {
  const bool takes_bare = std::ranges::any_of(info.args, &Field::positional);
  if (takes_bare || info.name == "window") return;
  for (const Arg& arg : step.args) {
    if (!arg.key.empty() || !is_integer_text(arg.value)) continue;
    fail_at(pipeline, arg.position.begin,
            fmt::format("{} takes no bare value, got '{}'; for the size write n={}", info.name,
                        printable(arg.value), arg.value));
  }
}

/// "n=, or q= and k=": the keys for the size, without those that the step has as its own arguments.
std::string size_keys(const StepInfo& info) {
  if (info.make != nullptr && owns(info, "n"))
    return "q= and k= (n= belongs to " + std::string(info.name) + ")";
  if (info.make != nullptr && owns(info, "q"))
    return "n= (q= belongs to " + std::string(info.name) + ")";
  return "n=, or q= and k=";
}

/// Refuses "prefix:n=4,n=16": a key that is an argument of the step cannot also give the size.
void check_size_in_own_key(const Pipeline& pipeline, const StepText& step, const StepInfo& info) {
  for (const Arg& arg : step.args) {
    if (!is_size_key(arg.key) || !owns(info, arg.key)) continue;
    const auto first = std::ranges::find(step.args, arg.key, &Arg::key);
    if (&*first == &arg) continue;
    fail_at(pipeline, arg.position.begin,
            fmt::format("{}= of {} is given twice; the size is {}", arg.key, info.name,
                        size_keys(info)));
  }
}

/// Refuses n=1x1000 and n=1+1000 with what was meant.
void check_one_number(const Pipeline& pipeline, const StepText& size) {
  for (const Arg& arg : size.args) {
    const std::string_view text = arg.value;
    const std::size_t at = text.find_first_of("+x,");
    if (arg.key != "n" || at == text.npos) continue;
    const auto q = integer_from(text.substr(0, at)), k = integer_from(text.substr(at + 1));
    if (!q || !k) continue;
    fail_at(pipeline, arg.value_begin,
            fmt::format("n= is one number, of queries and keys, got '{}'; for {} and {} write "
                        "q={},k={}",
                        arg.value, counted(*q, "query", "queries"), counted(*k, "key"), *q, *k));
  }
}

/// Removes the size arguments from the step and reads them; keys that are arguments of the step
/// stay.
Size take_size(const Pipeline& pipeline, StepText& step, const StepInfo& info,
               const BindContext& context) {
  check_size_in_own_key(pipeline, step, info);
  StepText taken{.name = step.name, .position = step.position};
  std::vector<Arg> kept;
  for (Arg& arg : step.args) {
    (is_size_key(arg.key) && !owns(info, arg.key) ? taken.args : kept).push_back(std::move(arg));
  }
  step.args = std::move(kept);
  check_one_number(pipeline, taken);
  return read_size({pipeline, taken, kSizeOp, context});
}

Index last_extent(const Tensor& ids) { return ids.rank() == 0 ? 0 : ids.extent(ids.rank() - 1); }

/// Takes the size from the documents of a step if no size is given.
void infer_size(const Step& step, Size& size) {
  const auto documents = documents_in(step);
  if (!documents) return;
  if (!documents->q_ids) {
    if (size.n || size.q || size.k) return;
    const auto tokens = [](std::span<const Index> lengths) {
      return std::accumulate(lengths.begin(), lengths.end(), Index{0});
    };
    size.q = tokens(documents->q_lengths);
    size.k = tokens(documents->k_lengths);
    return;
  }
  if (!size.n && !size.q) size.q = last_extent(*documents->q_ids);
  if (!size.n && !size.k) size.k = last_extent(*documents->k_ids);
  if (!size.b && documents->q_ids->rank() == 2) size.b = documents->q_ids->extent(0);
}

Mask uniform_mask(const Size& size, Index queries, Index keys, bool open) {
  const PlanePtr plane = open ? full_plane(queries, keys) : empty_plane(queries, keys);
  return Mask::make(size.b.value_or(1), size.h.value_or(1), queries, keys,
                    [&](Index, Index) { return plane; });
}

/// Makes the mask to which the step is applied, all open or all closed. Checks first that its
/// planes can be listed and its cells counted.
Mask start_mask(const Pipeline& pipeline, const StepInfo& info, const Size& size, bool open,
                const BindContext& context) {
  const auto queries = size.n ? size.n : size.q, keys = size.n ? size.n : size.k;
  const Index at = pipeline.steps.front().position.begin;
  if (!queries || !keys) {
    fail_at(pipeline, at, fmt::format("{} needs a size: {}", info.name, size_keys(info)));
  }
  const Index extents[] = {size.b.value_or(1), size.h.value_or(1), *queries, *keys};
  const auto planes = checked_mul(extents[0], extents[1]);
  if (!checked_product(extents) || !planes || *planes > context.max_bytes / 8) {
    fail_at(pipeline, at,
            fmt::format("a mask of {} batches, {} heads, {} queries and {} keys is "
                        "too large",
                        extents[0], extents[1], extents[2], extents[3]));
  }
  return uniform_mask(size, *queries, *keys, open);
}

/// False for steps that open cells and for xor, which start from an empty mask.
bool starts_open(const StepInfo& info, const Step& step) {
  return step.row().meets(step) != Meets::kOpens && info.name != "xor";
}

/// Tokens per batch: n= if docs= is given, else the sum of the lengths and the padding.
Index segment_tokens(const StepArguments& arguments, const std::vector<Index>& lengths) {
  const Index pad = arguments.integer("pad");
  if (arguments.has("docs")) {
    if (!arguments.has("n")) arguments.refuse("docs", "segments with docs= needs n= too");
    const Index n = arguments.integer("n"), docs = arguments.integer("docs");
    if (docs > n - pad) {
      arguments.refuse("docs",
                       fmt::format("docs={} of segments: {} tokens minus {} of padding hold "
                                   "at most {}",
                                   docs, n, pad, std::max<Index>(n - pad, 0)));
    }
    return n;
  }
  // A text has room for at most 2^19 lengths, each below 2^31, so the sum cannot overflow.
  const Index sum = std::accumulate(lengths.begin(), lengths.end(), pad);
  if (arguments.has("n") && arguments.integer("n") != sum) {
    arguments.refuse("n", fmt::format("n={} of segments: lens= and pad= add up to {}",
                                      arguments.integer("n"), sum));
  }
  if (sum == 0) arguments.refuse("lens", "lens= of segments: no tokens");
  for (const char* key : {"seed", "interleave"}) {
    if (arguments.has(key)) {
      arguments.refuse(key, fmt::format("{}= of segments goes with docs=, not with lens=", key));
    }
  }
  return sum;
}

Tensor segments(const StepArguments& arguments, const BindContext& context) {
  const std::vector<Index> lengths = arguments.lengths("lens");
  const Index tokens = segment_tokens(arguments, lengths);
  const Index batches = arguments.has("b") ? arguments.integer("b") : 1;
  const auto elements = checked_mul(batches, tokens);
  if (!elements || *elements > context.max_bytes / 4) {
    throw Error(Errc::kLimit,
                fmt::format("gen: {} x {} segment ids need more than the limit of {} "
                            "bytes; a smaller n= needs less",
                            batches, tokens, context.max_bytes),
                {{Remedy::kRaiseMemoryLimit}});
  }
  const Index used = tokens - arguments.integer("pad");
  const Index docs = arguments.integer("docs");
  const std::uint64_t seed = arguments.seed("seed");
  Tensor ids = Tensor::unwritten(DType::kInt32, {batches, tokens});
  for (Index b = 0; b < batches; ++b) {
    throw_if_stopped();
    const auto row = ids.as<std::int32_t>().subspan(static_cast<std::size_t>(b * tokens),
                                                    static_cast<std::size_t>(tokens));
    if (arguments.has("interleave")) {
      arguments.choice("interleave");
      interleaved_ids(row.first(static_cast<std::size_t>(used)), docs, seed, b);
      std::fill(row.begin() + used, row.end(), -1);
    } else {
      ids_of_lengths(row, docs > 0 ? random_lengths(used, docs, seed, b) : lengths);
    }
  }
  return ids;
}

const StepInfo& find_generator(const Pipeline& pipeline, const StepText& step) {
  std::vector<std::string_view> names;
  for (const std::span<const StepInfo> table : {generators(), step_infos()}) {
    for (const StepInfo& info : table) {
      if (info.name == step.name) return info;
      names.push_back(info.name);
    }
  }
  fail_at(pipeline, step.position.begin,
          fmt::format("unknown step '{}'; {}", printable(step.name), hint(step.name, names)));
}

/// Limits how deep "gen:" may be nested, because each level is a recursive call.
void check_nesting(const Pipeline& pipeline) {
  int depth = 0;
  for (std::size_t at = 0; (at = pipeline.text.find(kPrefix, at)) != std::string::npos; ++at) {
    if (++depth > kMaxNesting) {
      fail_at(pipeline, static_cast<Index>(at),
              fmt::format("more than {} generators inside each other", kMaxNesting));
    }
  }
}

}  // namespace

std::span<const StepInfo> generators() { return kGenerators; }

bool is_generator(std::string_view source) { return source.starts_with(kPrefix); }

bool names_one_source(std::string_view source) {
  return !is_generator(source) && !source.starts_with("q=") && !source.starts_with("kv=");
}

namespace {

Pipeline parse_generator(std::string_view text) {
  if (is_generator(text)) text.remove_prefix(kPrefix.size());
  Pipeline pipeline = parse(text, "gen");
  check_nesting(pipeline);
  if (pipeline.steps.size() > 1) {
    fail_at(pipeline, pipeline.steps[1].position.begin,
            "one step makes a mask; give further steps by -t");
  }
  return pipeline;
}

MaskSteps parts_of(const Pipeline& pipeline, StepText& step, const StepInfo& info,
                   const BindContext& context) {
  if (info.make == nullptr) {
    const Size size = read_size({pipeline, step, info, context});
    return {start_mask(pipeline, info, size, &info == &kFull, context), {}};
  }
  Size size = take_size(pipeline, step, info, context);
  Step bound = StepArguments(pipeline, step, info, context).bound();
  infer_size(bound, size);
  Mask start = start_mask(pipeline, info, size, starts_open(info, bound), context);
  return {std::move(start), {std::move(bound)}};
}

}  // namespace

Generated generate(std::string_view text, const BindContext& context) {
  Pipeline pipeline = parse_generator(text);
  StepText& step = pipeline.steps.front();
  const StepInfo& info = find_generator(pipeline, step);
  check_bare_size(pipeline, step, info);
  if (&info == &kSegments) return segments({pipeline, step, info, context}, context);
  MaskSteps parts = parts_of(pipeline, step, info, context);
  return maskctl::apply(std::move(parts.start), parts.chain);
}

std::optional<MaskSteps> generate_parts(std::string_view text, const BindContext& context) {
  Pipeline pipeline = parse_generator(text);
  StepText& step = pipeline.steps.front();
  const StepInfo& info = find_generator(pipeline, step);
  check_bare_size(pipeline, step, info);
  if (&info == &kSegments) return std::nullopt;
  return parts_of(pipeline, step, info, context);
}

}  // namespace maskctl
