// A SOURCE text to the arrays it names, and their mask.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/io/mask_arrays.h"
#include "maskctl/mask/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Puts the name of the source before messages of the mask layer, which knows none.
template <typename F>
auto named(const std::string& source, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(source)) throw;
    throw Error(error.code(), fmt::format("{}: {}", source, message));
  }
}

struct TwoSources {
  std::string q, kv;
};

/// Takes "NAME=SOURCE" off the front of `text`, and the comma after it.
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

/// "q=SOURCE,kv=SOURCE" in either order; nothing for a single SOURCE.
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

bool holds_runs(const NpzArchive& archive) {
  const auto has = [&](const char* key) { return archive.contains(key); };
  return has("indptr") && has("begin") && has("end") && has("shape");
}

LoadedMask load_runs(const NpzArchive& archive, const MaskReadOptions& options) {
  LoadedMask out;
  const auto array = [&](const char* key) { return archive.read(key, options.read, &out.notes); };
  const RunArrays runs{array("indptr"), array("begin"), array("end"), array("shape")};
  out.mask = named(archive.name(), [&] { return mask_from_runs(runs); });
  out.kind = Kind::kRuns;
  out.dtype = name(runs.begin.dtype());
  const auto shape = as_int64(runs.shape, "shape");
  out.array_shape.assign(shape.begin(), shape.end());
  return out;
}

std::string only_key(const NpzArchive& archive) {
  const auto& keys = archive.keys();
  if (keys.size() == 1) return keys[0];
  if (keys.empty()) {
    throw Error(Errc::kFormat, fmt::format("{}: holds no arrays", archive.name()));
  }
  std::string names;
  for (const std::string& key : keys) names += (names.empty() ? "" : ", ") + key;
  throw Error(Errc::kInvalidArgument, fmt::format("{0}: {1} arrays ({2}); choose one: {0}:{3}",
                                                  archive.name(), keys.size(), names, keys[0]));
}

/// Arrays of one axis that both sides fit, of the kinds that take two arrays.
Kind choose_kind_of_two(OpenArray& q, OpenArray& kv, const MaskReadOptions& options,
                        std::vector<std::string>& notes) {
  constexpr std::array kTwo{Kind::kSegments, Kind::kCuSeqlens, Kind::kPairs};
  if (options.as) {
    if (std::ranges::find(kTwo, *options.as) != kTwo.end()) return *options.as;
    throw Error(Errc::kInvalidArgument,
                fmt::format("q=,kv= gives two arrays, but the kind {} has one; expected {}",
                            name(*options.as), as_options(kTwo)));
  }
  const auto fits = [&](OpenArray& array, Kind kind) {
    const auto kinds = fitting_kinds(array.load(options.read, notes));
    return std::ranges::find(kinds, kind) != kinds.end();
  };
  std::vector<Kind> kinds;
  for (const Kind kind : kTwo) {
    if (fits(q, kind) && fits(kv, kind)) kinds.push_back(kind);
  }
  if (kinds.size() == 1) return kinds[0];
  throw Error(Errc::kInvalidArgument, fmt::format("{} and {} fit several kinds; say which: {}",
                                                  q.name, kv.name, as_options(kinds)));
}

LoadedMask load_two(const TwoSources& sources, const MaskReadOptions& options) {
  if (sources.q == "-" && sources.kv == "-") {
    throw Error(Errc::kInvalidArgument,
                "q=-,kv=- reads standard input twice; give one of them a file");
  }
  std::vector<std::string> notes;
  OpenArray q = open_array(sources.q, read_array(sources.q, options.read, &notes));
  OpenArray kv = open_array(sources.kv, read_array(sources.kv, options.read, &notes));
  const Kind kind = choose_kind_of_two(q, kv, options, notes);
  LoadedMask out = load_sequences(q, kv, kind, options);
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  return out;
}

void check_polarity(Kind kind, const MaskReadOptions& options) {
  if (!options.keep_value_is_zero) return;
  if (kind == Kind::kDense || kind == Kind::kPadding || kind == Kind::kKeyPadding) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("--keep-value 0 has no meaning for the kind {}; it is for dense, padding "
                          "and key-padding",
                          name(kind)));
}

LoadedMask load_one(OpenArray array, const MaskReadOptions& options,
                    std::vector<std::string> notes) {
  const Kind kind = choose_kind(array, options, notes);
  check_polarity(kind, options);
  if (kind == Kind::kRuns) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: one array cannot be runs; expected an .npz "
                            "of indptr, begin, end and shape",
                            array.name));
  }
  LoadedMask out = named(array.name, [&] {
    if (kind == Kind::kDense) return load_dense(array, options);
    if (kind == Kind::kPadding || kind == Kind::kKeyPadding) {
      return load_padding(array, kind, options);
    }
    return load_sequences(array, array, kind, options);
  });
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  return out;
}

LoadedMask load_archive(ByteSource source, const std::string& member,
                        const MaskReadOptions& options) {
  const NpzArchive archive(std::move(source), options.read);
  const bool runs_wanted = !options.as || *options.as == Kind::kRuns;
  if (member.empty() && runs_wanted && holds_runs(archive)) {
    check_polarity(Kind::kRuns, options);
    return load_runs(archive, options);
  }
  const std::string key = member.empty() ? only_key(archive) : member;
  std::vector<std::string> notes;
  Tensor tensor = archive.read(key, options.read, &notes);
  return load_one(open_array(fmt::format("{}:{}", archive.name(), key), std::move(tensor)), options,
                  std::move(notes));
}

/// A large pipe lets the writer run on while rows are packed. Where it is refused, or standard
/// input is no pipe, reading works as before.
void enlarge_stdin_pipe() {
  constexpr int kPipeBytes = 1 << 20;  // the most that Linux grants everyone
  (void)fcntl(STDIN_FILENO, F_SETPIPE_SZ, kPipeBytes);
}

LoadedMask load_source(const std::string& source, const MaskReadOptions& options) {
  if (const auto two = two_sources(source)) return load_two(*two, options);
  const SourceName name = parse_source_name(source);
  if (name.path == "-") enlarge_stdin_pipe();
  ByteSource bytes(name.path);
  if (sniff(bytes) == Content::kZip) return load_archive(std::move(bytes), name.member, options);
  if (!name.member.empty()) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{}: is no .npz, so it has no array '{}'", bytes.name(), name.member));
  }
  std::vector<std::string> notes;
  auto reader = std::make_shared<NpyReader>(std::move(bytes), options.read, &notes);
  return load_one(open_array(std::move(reader)), options, std::move(notes));
}

/// The mask in the shape asked for: an axis of 1 is repeated, all else must agree.
Mask in_shape(const Mask& mask, const std::vector<Index>& shape, Index max_bytes) {
  const auto planes = checked_mul(shape[0], shape[1]);
  const auto fits = [](Index has, Index wanted) { return has == wanted || has == 1; };
  if (!fits(mask.batch(), shape[0]) || !fits(mask.heads(), shape[1]) ||
      mask.queries() != shape[2] || mask.keys() != shape[3]) {
    throw Error(Errc::kShape,
                fmt::format("the mask is {}, but --shape asks for {}+{}+{}+{}", shape_text(mask),
                            shape[0], shape[1], shape[2], shape[3]));
  }
  if (!planes || *planes > max_bytes / 4) {
    throw Error(Errc::kLimit, fmt::format("--shape asks for {} batches of {} heads; that is too "
                                          "many for the limit of {} bytes",
                                          shape[0], shape[1], max_bytes));
  }
  return Mask::make(shape[0], shape[1], shape[2], shape[3],
                    [&](Index b, Index h) { return mask.plane(b, h); });
}

void check_shape_option(const std::optional<std::vector<Index>>& shape) {
  if (!shape) return;
  const bool negative = std::ranges::any_of(*shape, [](Index extent) { return extent < 0; });
  if (shape->size() == 4 && !negative) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("--shape has {} extents; expected B+H+Q+K, none negative", shape->size()));
}

}  // namespace

LoadedMask read_mask(const std::string& source, const MaskReadOptions& options) {
  check_shape_option(options.shape);
  LoadedMask out = load_source(source, options);
  if (options.shape) {
    out.mask =
        named(source, [&] { return in_shape(out.mask, *options.shape, options.read.max_bytes); });
  }
  return out;
}

}  // namespace maskctl
