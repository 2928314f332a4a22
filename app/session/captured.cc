#include "app/session/captured.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>

#include "app/session/loader.h"
#include "app/session/sources.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

constexpr std::string_view kUnread = "unread";

ReadOptions read_options(const Session& session) {
  return {session.settings().max_bytes, session.settings().strict};
}

/// The part of a key before its last '/', which HDF5 also has at its beginning, and the part after
/// it.
struct GroupKey {
  std::string group, name;
};

GroupKey group_key(std::string_view key) {
  if (key.starts_with('/')) key.remove_prefix(1);
  const std::size_t slash = key.rfind('/');
  if (slash == key.npos) return {"", std::string(key)};
  return {std::string(key.substr(0, slash)), std::string(key.substr(slash + 1))};
}

/// "model.layers.0" of "model.layers.0#2".
std::string layer_of(const std::string& group) {
  const std::size_t mark = group.rfind('#');
  if (mark == group.npos || mark == 0) return group;
  return whole_number_from(group.substr(mark + 1)) ? group.substr(0, mark) : group;
}

/// The groups of a container in the order of the file; empty where it is no captured run.
std::vector<GroupKey> groups_of(const Container& container) {
  std::vector<GroupKey> out;
  for (const std::string& key : container.keys()) {
    GroupKey one = group_key(key);
    if (one.group.empty()) return {};
    if (one.name != kUnread) {
      const auto kind = kind_of_names([&](std::string_view name) {
        return container.contains(fmt::format("{}/{}", one.group, name));
      });
      if (kind != ArrayKind::kRuns) return {};
      one.name.clear();
    }
    const bool known = std::ranges::any_of(out, [&](const GroupKey& each) {
      return each.group == one.group && each.name == one.name;
    });
    if (!known) out.push_back(std::move(one));
  }
  return out;
}

std::vector<GroupKey> groups_of(const std::string& source, Session& session) {
  return groups_of(*session.containers().open(source, read_options(session)));
}

std::string text_of(const Tensor& bytes, const std::string& source) {
  if (bytes.dtype() != DType::kUInt8 || bytes.rank() != 1) {
    throw Error(Errc::kFormat, source + ": expected the bytes of a text, uint8 [n]");
  }
  const auto text = bytes.as<std::uint8_t>();
  return {text.begin(), text.end()};
}

CapturedLayer& layer_named(const std::string& name, std::vector<CapturedLayer>& layers) {
  const auto known = std::ranges::find(layers, name, &CapturedLayer::name);
  return known == layers.end() ? layers.emplace_back(CapturedLayer{name, {}, {}}) : *known;
}

}  // namespace

bool is_captured(const std::string& source, Session& session) {
  std::error_code failed;
  if (session.given(source) || is_generator(source) || !names_one_source(source)) return false;
  if (!std::filesystem::is_regular_file(source, failed)) return false;
  try {
    return !groups_of(source, session).empty();
  } catch (const Error& error) {
    if (error.code() == Errc::kCancelled) throw;
    return false;  // whoever reads it as a mask says what is wrong with it
  }
}

std::vector<CapturedLayer> read_captured(const std::string& source, Session& session) {
  SourceOptions how;
  how.as = ArrayKind::kRuns;
  Loader loader(how, session);
  std::vector<CapturedLayer> out;
  for (const GroupKey& one : groups_of(source, session)) {
    CapturedLayer& layer = layer_named(layer_of(one.group), out);
    const std::string name = source + ":" + one.group;
    if (one.name == kUnread) {
      layer.unread = text_of(loader.array(name + "/" + one.name), name);
    } else {
      layer.masks.push_back(loader.read(name).mask);
    }
  }
  return out;
}

void write_captured(const std::string& dest, std::span<const CapturedLayer> layers,
                    const WriteOptions& options, const Session& session) {
  std::deque<Tensor> held;
  std::vector<ArrayRef> arrays;
  const auto add = [&](std::string name, Tensor tensor) {
    arrays.push_back({std::move(name), &held.emplace_back(std::move(tensor))});
  };
  for (const CapturedLayer& layer : layers) {
    for (std::size_t i = 0; i < layer.masks.size(); ++i) {
      const std::string group = i == 0 ? layer.name : fmt::format("{}#{}", layer.name, i + 1);
      RunArrays runs = runs_from_mask(layer.masks[i], session.settings().max_bytes);
      add(group + "/indptr", std::move(runs.indptr));
      add(group + "/begin", std::move(runs.begin));
      add(group + "/end", std::move(runs.end));
      add(group + "/shape", std::move(runs.shape));
    }
    if (layer.unread.empty()) continue;
    Tensor text = Tensor::unwritten(DType::kUInt8, {std::ssize(layer.unread)});
    std::ranges::copy(layer.unread, text.as<std::uint8_t>().begin());
    add(fmt::format("{}/{}", layer.name, kUnread), std::move(text));
  }
  write_arrays(dest, arrays, options);
}

}  // namespace maskctl::app
