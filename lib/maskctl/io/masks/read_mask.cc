// Reads the arrays that a SOURCE text names, and makes their mask.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/io/formats/container_cache.h"
#include "maskctl/io/masks/array_choices.h"
#include "maskctl/io/masks/array_group.h"
#include "maskctl/io/masks/block_lists_io.h"
#include "maskctl/io/masks/group_arrays.h"
#include "maskctl/io/masks/mask_arrays.h"
#include "maskctl/io/masks/view_container.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/requests.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Calls f and puts the name of the source in front of its error messages: the mask layer does not
/// know it.
template <typename F>
auto named(const std::string& source, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (message.starts_with(source)) throw;
    throw error.within(source);
  }
}

/// Removes "NAME=SOURCE" and the comma after it from the front of `text`; returns NAME and SOURCE.
std::pair<std::string, std::string> take_item(std::string_view& text) {
  const std::size_t equals = text.find('=');
  std::string key(text.substr(0, equals));
  text.remove_prefix(equals == std::string_view::npos ? text.size() : equals + 1);
  const bool quoted = !text.empty() && (text[0] == '"' || text[0] == '\'');
  const std::size_t close = quoted ? text.find(text[0], 1) : std::string_view::npos;
  std::string value;
  if (close != std::string_view::npos) {
    value = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
  } else {
    value = text.substr(0, text.find(','));
    text.remove_prefix(value.size());
  }
  if (!text.empty()) text.remove_prefix(1);
  return {std::move(key), std::move(value)};
}

std::string joined(const std::string& group, const std::string& key) {
  return group.empty() ? key : group + "/" + key;
}

bool holds(const Container& container, const std::string& group,
           std::initializer_list<const char*> keys) {
  return std::ranges::all_of(
      keys, [&](const char* key) { return container.contains(joined(group, key)); });
}

void check_polarity(ArrayKind kind, const MaskReadOptions& options) {
  if (options.closed_below && options.as && kind != ArrayKind::kBias) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("numbers that close are for biases, not for the kind {}", name(kind)),
                {{Remedy::kReadAs, name(ArrayKind::kBias)}});
  }
  if (!options.keep_value_is_zero) return;
  if (kind == ArrayKind::kDense || kind == ArrayKind::kPadding || kind == ArrayKind::kKeyPadding)
    return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("0 cannot mean open in the kind {}; that is for dense, padding and "
                          "key-padding",
                          name(kind)));
}

LoadedMask load_object(Container& container, const std::string& group, const ObjectKind& object,
                       const MaskReadOptions& options) {
  check_polarity(object.kind, options);
  LoadedMask out = object.read(container, group, options.read);
  out.kind = object.kind;
  return out;
}

/// Chooses the only kind of two arrays (q and kv) that both arrays fit, or the one asked for.
ArrayKind choose_kind_of_two(OpenArray& q, OpenArray& kv, const MaskReadOptions& options,
                             std::vector<std::string>& notes) {
  constexpr std::array kTwo{ArrayKind::kSegments, ArrayKind::kPositions, ArrayKind::kCuSeqlens,
                            ArrayKind::kPairs};
  if (options.as) {
    if (has_two_sides(*options.as)) return *options.as;
    throw Error(Errc::kInvalidArgument,
                fmt::format("q=,kv= gives two arrays, but the kind {} has one", name(*options.as)),
                read_as(kTwo));
  }
  const auto fits = [&](OpenArray& array, ArrayKind kind) {
    const auto kinds = fitting_kinds(array.load(options.read, notes));
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  std::vector<ArrayKind> kinds;
  for (const ArrayKind kind : kTwo) {
    if (fits(q, kind) && fits(kv, kind)) kinds.push_back(kind);
  }
  if (kinds.size() == 1) return kinds[0];
  throw Error(Errc::kInvalidArgument, fmt::format("{} and {} fit several kinds", q.name, kv.name),
              read_as(kinds));
}

LoadedMask load_two(OpenArray q, OpenArray kv, const MaskReadOptions& options,
                    std::vector<std::string> notes) {
  const ArrayKind kind = choose_kind_of_two(q, kv, options, notes);
  check_polarity(kind, options);
  LoadedMask out = load_sequences(q, kv, kind, options);
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  return out;
}

LoadedMask load_two(const TwoSources& sources, const MaskReadOptions& options) {
  if (sources.q == "-" && sources.kv == "-") {
    throw Error(Errc::kInvalidArgument,
                "q=-,kv=- reads standard input twice; give one of them a file");
  }
  std::vector<std::string> notes;
  OpenArray q = open_array(sources.q, read_array(sources.q, options.read, &notes));
  OpenArray kv = open_array(sources.kv, read_array(sources.kv, options.read, &notes));
  return load_two(std::move(q), std::move(kv), options, std::move(notes));
}

LoadedMask load_one(OpenArray array, const MaskReadOptions& options,
                    std::vector<std::string> notes) {
  const ArrayKind kind = choose_kind(array, options, notes);
  check_polarity(kind, options);
  LoadedMask out = named(array.name, [&] { return load_array(array, kind, options); });
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  return out;
}

/// Refuses several arrays that are not those of one mask. For a file, the message lists them by the
/// SOURCE texts that name them. A pipe can be read only once; for it, Container::only_key lists
/// just the names.
void refuse_several(const Container& container, const ReadOptions& options) {
  if (dynamic_cast<const ViewContainer*>(&container)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: {} arrays ({}); expected one, or those of one mask: q and kv; "
                            "or arrays with the names of a kind, such as {}",
                            container.name(), container.keys().size(),
                            printable_list(container.keys()), array_names(ArrayKind::kRuns)));
  }
  constexpr std::size_t kListed = 12;
  const auto choices = array_choices(container.name(), options);
  if (choices.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(choices.size(), kListed); ++i) {
    list += (i > 0 ? ", " : "") + to_text(choices[i]);
  }
  if (choices.size() > kListed) list += fmt::format(", and {} more", choices.size() - kListed);
  throw Error(Errc::kInvalidArgument,
              fmt::format("{}: {} arrays: {}", container.name(), choices.size(), list),
              {{Remedy::kChooseArray}});
}

/// Refuses a mask as steps, of which the arrays alone would be read as another mask, and a file
/// that should be one and is not.
void refuse_mask_file(const Container& container, const std::string& member,
                      const MaskReadOptions& options) {
  const std::string_view format = mask_file_format(container);
  if (!format.empty() && member.empty()) {
    throw Error(Errc::kUnsupported,
                fmt::format("{}: holds a mask as steps ({}), which read_mask_file() reads",
                            container.name(), printable(format)));
  }
  if (!options.as) return;
  throw Error(Errc::kFormat,
              fmt::format("{}: {}", container.name(),
                          member.empty()
                              ? fmt::format("no format {}1 in its metadata; expected a file that "
                                            "was written as the kind mask",
                                            kMaskFileFormat)
                              : "the kind mask is a whole file; name no array of it"));
}

/// Loads the array, or the group of arrays, that `member` names in a container. An empty name means
/// the group of all arrays.
LoadedMask load_container(Container& container, const std::string& member,
                          const MaskReadOptions& options) {
  const bool one = !member.empty() && container.contains(member);
  const auto wanted = [&](ArrayKind kind) { return !options.as || *options.as == kind; };
  for (const ObjectKind* object : options.objects) {
    if (!one && wanted(object->kind) && object->is_in(container, member)) {
      return load_object(container, member, *object, options);
    }
  }
  if (wanted(ArrayKind::kMaskFile)) refuse_mask_file(container, member, options);
  if (const auto kind = one ? std::nullopt : grouped_kind(container, member);
      kind && wanted(*kind)) {
    check_polarity(*kind, options);
    return lists_blocks(*kind) ? load_block_lists(container, member, *kind, options)
                               : load_group(container, member, *kind, options);
  }
  const bool two_wanted =
      !one && (options.as ? has_two_sides(*options.as) : container.keys().size() == 2);
  std::vector<std::string> notes;
  if (two_wanted && holds(container, member, {"q", "kv"})) {
    const std::string q = joined(member, "q");
    const std::string kv = joined(member, "kv");
    std::vector<Tensor> read = container.read({q, kv}, options.read, notes);
    return load_two(open_array(container.name() + ":" + q, std::move(read[0])),
                    open_array(container.name() + ":" + kv, std::move(read[1])), options,
                    std::move(notes));
  }
  if (member.empty() && container.keys().size() > 1) refuse_several(container, options.read);
  const std::string& key = member.empty() ? container.only_key() : member;
  OpenArray array = container.open(key, options.read, notes);
  return load_one(std::move(array), options, std::move(notes));
}

/// Enlarges the pipe on standard input, so that its writer can go on while rows are packed. Errors
/// are ignored: a smaller pipe works too.
void enlarge_stdin_pipe() {
  constexpr int kPipeBytes = 1 << 20;  // the most that Linux allows without privileges
  (void)fcntl(STDIN_FILENO, F_SETPIPE_SZ, kPipeBytes);
}

LoadedMask load_source(const std::string& source, const MaskReadOptions& options) {
  if (const auto two = two_sources(source)) return load_two(*two, options);
  const SourceName name = parse_source_name(source);
  if (name.path == "-") enlarge_stdin_pipe();
  ContainerCache only_here;
  ContainerCache& containers = options.containers ? *options.containers : only_here;
  const auto container = containers.open(name.path, options.read);
  return load_container(*container, name.member, options);
}

/// The mask in the shape asked for: an axis of extent 1 is repeated, all others must agree.
Mask in_shape(const Mask& mask, const std::vector<Index>& shape, Index max_bytes) {
  const auto planes = checked_mul(shape[0], shape[1]);
  const auto fits = [](Index has, Index wanted) { return has == wanted || has == 1; };
  if (!fits(mask.batch(), shape[0]) || !fits(mask.heads(), shape[1]) ||
      !fits(mask.queries(), shape[2]) || mask.keys() != shape[3]) {
    throw Error(Errc::kShape,
                fmt::format("the mask is {}, but the shape asked for is {}+{}+{}+{}",
                            shape_text(mask), shape[0], shape[1], shape[2], shape[3]));
  }
  if (!planes || *planes > max_bytes / 4) {
    throw Error(Errc::kLimit,
                fmt::format("{} batches of {} heads are asked for; that is too many "
                            "for the limit of {} bytes",
                            shape[0], shape[1], max_bytes),
                {{Remedy::kRaiseMemoryLimit}});
  }
  const Mask rows = mask.queries() == shape[2] ? mask : repeated_queries(mask, shape[2]);
  return Mask::make(shape[0], shape[1], shape[2], shape[3],
                    [&](Index b, Index h) { return rows.plane(b, h); });
}

/// True if arrays of this kind have axes of the mask (batch, heads, queries, keys).
bool has_axes(ArrayKind kind) {
  return kind != ArrayKind::kCuSeqlens && kind != ArrayKind::kPairs && kind != ArrayKind::kBits &&
         kind != ArrayKind::kRuns && kind != ArrayKind::kIntervals &&
         kind != ArrayKind::kMaskFile && !is_packed(kind);
}

void check_shape_option(const std::optional<std::vector<Index>>& shape) {
  if (!shape) return;
  const bool negative = std::ranges::any_of(*shape, [](Index extent) { return extent < 0; });
  if (shape->size() == 4 && !negative) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("the shape has {} extents; expected B+H+Q+K, none negative", shape->size()));
}

/// Calls load() and brings its mask into the shape of the options, if they have one.
template <typename F>
LoadedMask in_wanted_shape(const std::string& source, const MaskReadOptions& options,
                           const F& load) {
  check_shape_option(options.shape);
  LoadedMask out = load();
  if (has_axes(out.kind)) out.rank = std::ssize(out.array_shape);
  if (options.shape && is_packed(out.kind) && (*options.shape)[0] > 1) {
    out.q_segment_ids.reset(), out.kv_segment_ids.reset();  // those of all entries, end to end
    out.mask = named(source, [&] {
      return batches_of(out.mask, (*options.shape)[0], (*options.shape)[2], (*options.shape)[3]);
    });
  }
  if (options.shape) {
    out.steps.reset();  // they make a mask of the shape in the file
    out.mask =
        named(source, [&] { return in_shape(out.mask, *options.shape, options.read.max_bytes); });
  }
  return out;
}

}  // namespace

std::optional<TwoSources> two_sources(std::string_view text) {
  if (!text.starts_with("q=") && !text.starts_with("kv=")) return std::nullopt;
  const std::string whole(text);
  const auto first = take_item(text);
  const auto second = take_item(text);
  const bool complete = text.empty() && !first.second.empty() && !second.second.empty();
  if (complete && first.first == "q" && second.first == "kv")
    return {{first.second, second.second}};
  if (complete && first.first == "kv" && second.first == "q")
    return {{second.second, first.second}};
  throw Error(Errc::kInvalidArgument,
              fmt::format("'{}' does not name two arrays; expected q=SOURCE,kv=SOURCE", whole));
}

std::string_view mask_file_format(const Container& container) {
  for (const auto& [key, value] : container.metadata()) {
    if (key == "format" && value.starts_with(kMaskFileFormat)) return value;
  }
  return {};
}

bool holds_block_lists(const std::string& source) {
  const SourceName name = parse_source_name(source);
  std::error_code failed;
  if (!std::filesystem::is_regular_file(name.path, failed)) return false;
  const auto container = open_container(name.path, {});
  const bool one = !name.member.empty() && container->contains(name.member);
  const auto kind = one ? std::nullopt : grouped_kind(*container, name.member);
  return kind && lists_blocks(*kind);
}

LoadedMask read_mask(const std::string& source, const MaskReadOptions& options) {
  return in_wanted_shape(source, options, [&] { return load_source(source, options); });
}

LoadedMask read_mask(const std::string& name, std::span<const NamedView> arrays,
                     const MaskReadOptions& options) {
  ViewContainer container(name, arrays);
  return in_wanted_shape(name, options, [&] { return load_container(container, "", options); });
}

}  // namespace maskctl
