// Loads SOURCEs as masks.
#include "app/session/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/session/ejkernel.h"
#include "maskctl/base/error.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/base/threads.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/mask_file.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

Tensor with_batch(Tensor ids) {
  if (ids.rank() == 1) ids.reshape({1, ids.extent(0)});
  return ids;
}

}  // namespace

MaskReadOptions Loader::options() const {
  MaskReadOptions out;
  out.as = source_.as;
  out.keep_value_is_zero = source_.keep_value_is_zero;
  out.pad_id = source_.pad_id;
  out.closed_below = source_.closed_below;
  out.shape = source_.shape;
  out.block = source_.block;
  out.read.max_bytes = session_.settings().max_bytes;
  out.read.strict = session_.settings().strict;
  out.containers = &session_.containers();
  out.objects = {&kMaskFile, ejkernel::stored_object()};
  return out;
}

bool Loader::generates(const std::string& source) const {
  return !session_.given(source) && is_generator(source);
}

LoadedMask Loader::read(const std::string& source, RowsSink rows_read) {
  const Stopwatch watch;
  MaskReadOptions how = options();
  how.rows_read = std::move(rows_read);
  LoadedMask loaded = read_as(source, how);
  if (session_.settings().verbose) {
    session_.note(fmt::format("{}: read as {} in {:.3f} s on {} threads", source, name(loaded.kind),
                              watch.seconds(), threads()));
  }
  return loaded;
}

Loader::Blocks Loader::blocks(const std::string& source) {
  const Given* const given = session_.given(source);
  const auto* const mask = given ? std::get_if<LoadedMask>(given) : nullptr;
  if (mask && !mask->blocks) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: a mask that was read as {}; expected lists or an array of blocks",
                            source, name(mask->kind)));
  }
  if (mask) return {mask->blocks->map, mask->blocks->size};
  if (given || is_generator(source) || !holds_block_lists(source)) return {array(source), {}};
  MaskReadOptions how;
  how.read = options().read;
  how.block = source_.block;
  LoadedMask loaded = read_mask(source, how);  // its notes are not printed: they are about the mask
  return {std::move(loaded.blocks->map), loaded.blocks->size};
}

LoadedMask Loader::read_segments(const std::string& source) {
  MaskReadOptions as_segments;
  as_segments.as = ArrayKind::kSegments;
  as_segments.pad_id = source_.pad_id;
  as_segments.read = options().read;
  return read_as(source, as_segments);
}

LoadedMask Loader::read_as(const std::string& source, const MaskReadOptions& options) {
  if (const Given* given = session_.given(source)) return from_given(*given, source, options);
  if (is_generator(source)) return from_generator(source, options);
  session_.take_stdin(source);
  MaskReadOptions with_progress = options;
  with_progress.progress = session_.progress("reading");
  LoadedMask loaded = read_mask(source, with_progress);
  session_.remember(source, loaded.steps);
  print(loaded.notes);
  return loaded;
}

LoadedMask Loader::from_given(const Given& given, const std::string& source,
                              const MaskReadOptions& options) {
  if (const auto* array = std::get_if<Tensor>(&given)) {
    const NamedView view{source, *array};
    LoadedMask loaded = read_mask(source, {&view, 1}, options);
    print(loaded.notes);
    return loaded;
  }
  const auto& mask = std::get<LoadedMask>(given);
  if (!options.as || *options.as == mask.kind) return mask;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: a mask that was read as {}, where {} is needed", source,
                          name(mask.kind), name(*options.as)));
}

LoadedMask Loader::from_generator(const std::string& source, const MaskReadOptions& options) {
  Generated made = generate(source, context());
  LoadedMask out;
  if (auto* ids = std::get_if<Tensor>(&made)) {
    if (options.as.value_or(ArrayKind::kSegments) != ArrayKind::kSegments) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: makes segment ids; leave out --as", source));
    }
    out.kind = ArrayKind::kSegments;
    out.dtype = name(ids->dtype());
    out.array_shape = ids->shape();
    out.mask = mask_from_segments(*ids, *ids, options.pad_id);
    out.q_segment_ids = with_batch(std::move(*ids));
    out.kv_segment_ids = out.q_segment_ids;
    return out;
  }
  out.mask = std::get<Mask>(std::move(made));
  if (options.as.value_or(ArrayKind::kDense) != ArrayKind::kDense) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: makes a mask, not {}", source, name(*options.as)));
  }
  out.dtype = "bool";
  out.array_shape = {out.mask.batch(), out.mask.heads(), out.mask.queries(), out.mask.keys()};
  return out;
}

Tensor Loader::array(const std::string& source) {
  if (const Given* given = session_.given(source)) {
    if (const auto* array = std::get_if<Tensor>(given)) return *array;
    throw Error(Errc::kInvalidArgument, fmt::format("{}: a mask; an array is needed here", source));
  }
  if (is_generator(source)) {
    Generated made = generate(source, context());
    if (auto* ids = std::get_if<Tensor>(&made)) return std::move(*ids);
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: makes a mask; an array is needed here", source));
  }
  session_.take_stdin(source);
  std::vector<std::string> notes;
  Tensor tensor = read_array(source, options().read, &notes);
  print(notes);
  return tensor;
}

std::optional<TwoSources> Loader::sides(const std::string& source) {
  if (session_.given(source) || is_generator(source)) return std::nullopt;
  if (const auto two = two_sources(source)) return two;
  const SourceName named = parse_source_name(source);
  std::error_code failed;
  if (!named.member.empty() || !std::filesystem::is_regular_file(named.path, failed)) {
    return std::nullopt;
  }
  std::optional<TwoSources> out(std::in_place);
  const auto container = session_.containers().open(named.path, options().read);
  for (const std::string& key : container->keys()) {
    const std::string name = key.substr(key.starts_with('/') ? 1 : 0);
    if (name != "q" && name != "kv") return std::nullopt;
    (name == "q" ? out->q : out->kv) = source + ":" + key;
  }
  return out->q.empty() || out->kv.empty() ? std::nullopt : out;
}

ArraySource Loader::array_source(const std::string& source) {
  if (parse_source_name(source).path == "-") {
    throw Error(Errc::kInvalidArgument,
                "standard input goes to one rank only; name a file that every rank can read");
  }
  std::vector<std::string> notes;
  ArraySource opened(source, options().read, &notes);
  print(notes);
  return opened;
}

BindContext Loader::context() {
  BindContext out;
  out.read_array = [this](const std::string& source) {
    return session_.array(source, [&] { return array(source); });
  };
  out.read_mask = [this](const std::string& source) {
    MaskReadOptions plain;
    plain.pad_id = source_.pad_id;
    plain.read = options().read;
    plain.objects = options().objects;
    return read_as(source, plain).mask;
  };
  out.pad_id = source_.pad_id;
  out.max_bytes = session_.settings().max_bytes;
  out.other_rules = ejkernel::other_rules;
  return out;
}

Chain Loader::chain() {
  if (source_.transforms.empty()) return {};
  return load_chain(source_.transforms, context());
}

std::optional<MaskSteps> Loader::own_steps(const std::string& source) {
  if (generates(source)) return generate_parts(source, context());
  const Given* const given = session_.given(source);
  if (!given) return session_.remembered(source);
  const auto* const mask = std::get_if<LoadedMask>(given);
  return mask ? mask->steps : std::nullopt;
}

std::optional<Chain> Loader::whole_chain(const std::string& source, const Chain& steps) {
  const auto parts = own_steps(source);
  if (!parts) return std::nullopt;
  const Index open = parts->start.count();
  if (open > 0 && open < parts->start.cells()) return std::nullopt;
  Chain out;
  if (open == 0) out.push_back(step::Not{});
  out.insert(out.end(), parts->chain.begin(), parts->chain.end());
  out.insert(out.end(), steps.begin(), steps.end());
  return out;
}

Mask Loader::transformed(Mask mask) {
  const Chain steps = chain();
  if (steps.empty()) return mask;
  return maskctl::apply(std::move(mask), steps);
}

void Loader::print(const std::vector<std::string>& notes) const {
  for (const std::string& text : notes) session_.note(text);
}

std::string with_pipeline(const std::string& name, const SourceOptions& source) {
  std::string out = name == "-" ? "standard input" : name;
  for (const std::string& transform : source.transforms) {
    if (!transform.empty()) out += " | " + transform;
  }
  std::ranges::replace(out, '\n', ' ');
  return out;
}

LoadedMask loaded_from(Mask mask) {
  LoadedMask out;
  out.array_shape = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  out.dtype = "bool";
  out.mask = std::move(mask);
  return out;
}

}  // namespace maskctl::app
