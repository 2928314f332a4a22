// Replays golden/ops: every case on every backend that can run here, or on the chosen backend.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "conformance/mismatch.h"
#include "conformance/op_profiles.h"
#include "conformance/ops_mask.h"
#include "conformance/replay.h"
#include "conformance/value.h"
#include "maskctl/attention/calls/by_name.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/ejkernel/calls/call_masks.h"
#include "maskctl/io/formats/npz/npz.h"
#include "maskctl/tensor/convert.h"

namespace conformance {
namespace {

namespace fs = std::filesystem;
using maskctl::Index;
using maskctl::Tensor;
using maskctl::attention::Backend;
using maskctl::attention::NamedArguments;
using maskctl::attention::NamedResults;

struct Manifest {
  explicit Manifest(const std::string& path);
  Tensor array(const Value& key) const { return arrays.read(key.as<std::string>()); }

  std::string op;
  maskctl::NpzArchive arrays;
  Value::List cases;

 private:
  Manifest(const std::string& path, const Value& content);
};

Value content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Mismatch("cannot read " + path);
  Value content = parse_json({std::istreambuf_iterator<char>(file), {}});
  if (content.at("schema") != Value(std::int64_t{1})) {
    throw Mismatch("schema " + content.at("schema").text() + "; expected 1");
  }
  return content;
}

Manifest::Manifest(const std::string& path) : Manifest(path, content_of(path)) {}

Manifest::Manifest(const std::string& path, const Value& content)
    : op(content.at("op").as<std::string>()),
      arrays(maskctl::ByteSource(
          (fs::path(path).parent_path() / content.at("npz").as<std::string>()).string())),
      cases(content.at("cases").as<Value::List>()) {}

/// The value of an option as the library writes it: none, true, 0.5, 3+1, text.
std::string option_text(const Value& value, const OpProfile& profile) {
  if (value.is_none()) return "none";
  if (const auto* text = value.get_if<std::string>()) {
    const auto other = profile.values.find(*text);
    return other == profile.values.end() ? *text : other->second;
  }
  const auto* list = value.get_if<Value::List>();
  if (!list) return value.text();
  std::string out;
  for (const Value& part : *list) out += (out.empty() ? "" : "+") + option_text(part, profile);
  return out;
}

/// Collects the inputs that the tree of a mask names; they are not arguments of the operation.
void collect_mask_inputs(const Value& tree, std::set<std::string>& names) {
  if (const auto* list = tree.get_if<Value::List>()) {
    for (const Value& part : *list) collect_mask_inputs(part, names);
  } else if (const auto* dict = tree.get_if<Value::Dict>()) {
    for (const auto& [key, value] : *dict) {
      if (key == "input") names.insert(value.as<std::string>());
      collect_mask_inputs(value, names);
    }
  }
}

void read_mask(const Manifest& manifest, const Value& test, const Value& tree,
               NamedArguments& arguments) {
  const auto input = [&](const std::string& name) {
    return manifest.array(test.at("inputs").at(name));
  };
  const Tensor &query = arguments.arrays.at("query"), &key = arguments.arrays.at("key");
  arguments.static_mask =
      maskctl::attention::static_mask(mask_of_tree(tree, query.extent(2), key.extent(2), input));
}

NamedArguments arguments_of(const Manifest& manifest, const Value& test, const OpProfile& profile) {
  NamedArguments out;
  out.options = profile.fixed;
  for (const auto& [name, value] : test.at("params").as<Value::Dict>()) {
    if (profile.is_argument(name)) out.options[name] = option_text(value, profile);
  }
  const Value* tree = test.at("params").find("mask");
  std::set<std::string> of_mask;
  if (tree) collect_mask_inputs(*tree, of_mask);
  for (const auto& [name, key] : test.at("inputs").as<Value::Dict>()) {
    if (!of_mask.contains(name)) out.arrays[name] = manifest.array(key);
  }
  if (tree) read_mask(manifest, test, *tree, out);
  return out;
}

/// The first `count` rows of the leading axis; only these are compared.
Tensor leading(const Tensor& tensor, Index count) {
  std::vector<Index> shape = tensor.shape();
  shape[0] = std::min(shape[0], count);
  Tensor out(tensor.dtype(), shape);
  std::ranges::copy(tensor.bytes().first(out.bytes().size()), out.bytes().begin());
  return out;
}

struct Tolerance {
  double relative, absolute;
};

/// Throws Mismatch unless abs(seen - expected) <= absolute + relative * abs(expected) everywhere;
/// NaN always fails.
void compare_close(const Tensor& expected, const Tensor& seen, const Tolerance& tolerance) {
  if (expected.shape() != seen.shape()) {
    throw Mismatch(fmt::format("expected {}, got {}", maskctl::shape_text(expected.shape()),
                               maskctl::shape_text(seen.shape())));
  }
  const Tensor a = astype(seen, maskctl::DType::kFloat64);
  const Tensor b = astype(expected, maskctl::DType::kFloat64);
  Index bad = 0, worst = 0;
  double excess = -1;
  for (Index i = 0; i < a.elements(); ++i) {
    const double x = a.as<double>()[static_cast<std::size_t>(i)];
    const double y = b.as<double>()[static_cast<std::size_t>(i)];
    const double error = std::abs(x - y);
    if (error <= tolerance.absolute + tolerance.relative * std::abs(y)) continue;
    ++bad;
    if (!(error <= excess)) {
      excess = error;
      worst = i;
    }
  }
  if (bad == 0) return;
  throw Mismatch(fmt::format("{} of {} elements are off; element {}: expected {:.7g}, got {:.7g}",
                             bad, a.elements(), worst,
                             b.as<double>()[static_cast<std::size_t>(worst)],
                             a.as<double>()[static_cast<std::size_t>(worst)]));
}

/// Compares integers exactly, and also caches, whose values are copied and not computed.
void compare(const std::string& name, const Tensor& expected, const Tensor& seen,
             const Tolerance& tolerance) {
  const bool exact = !is_floating(expected.dtype()) || name == "kv_cache";
  compare_close(expected, seen, exact ? Tolerance{0, 0} : tolerance);
}

/// Compares all expected arrays; returns what differs, or "" when all agree.
std::string problem_of(const Manifest& manifest, const Value& test, const NamedResults& results) {
  const Value& tol = test.at("tol");
  const Tolerance tolerance{tol.at("rtol").number(), tol.at("atol").number()};
  const Value* rows = test.at("params").find("valid_rows");
  std::string problem;
  for (const auto& [name, key] : test.at("expected").as<Value::Dict>()) {
    try {
      const auto found = results.find(name);
      if (found == results.end()) throw Mismatch("not computed");
      const Tensor expected = manifest.array(key);
      const bool cut = rows && name == "out";
      compare(name, expected, cut ? leading(found->second, expected.extent(0)) : found->second,
              tolerance);
    } catch (const Mismatch& mismatch) {
      problem += fmt::format("{}{}: {}", problem.empty() ? "" : "; ", name, mismatch.what());
    }
  }
  return problem;
}

std::string problem_on(Backend backend, const Manifest& manifest, const Value& test) {
  try {
    const OpProfile& profile = op_profile(manifest.op);
    const auto* operation = maskctl::attention::find_operation(profile.function);
    if (!operation) throw Mismatch("no function " + quoted(profile.function));
    NamedArguments arguments = arguments_of(manifest, test, profile);
    arguments.context.backend = backend;
    return problem_of(manifest, test, run(*operation, arguments));
  } catch (const std::exception& error) {
    return error.what();
  }
}

bool is_wanted(const maskctl::attention::BackendRow& row, const Filter& filter) {
  if (!filter.backend.empty()) return row.name == filter.backend;
  return row.unavailable().empty();
}

void replay(const Manifest& manifest, const Filter& filter, Report& report) {
  for (const Value& test : manifest.cases) {
    const std::string& name = test.at("id").as<std::string>();
    if (!filter.id.empty() && filter.id != name) continue;
    std::string line;
    for (const auto& row : maskctl::attention::backends()) {
      if (!is_wanted(row, filter)) continue;
      const std::string problem = problem_on(row.backend, manifest, test);
      if (!problem.empty())
        line += fmt::format("{}{}: {}", line.empty() ? "" : " | ", row.name, problem);
    }
    if (line.empty()) {
      ++report.passed;
    } else {
      report.failures.push_back(name + ": " + line);
    }
  }
}

}  // namespace

Report replay_ops(const std::string& folder, const Filter& filter) {
  return replay_manifests(folder, filter, [&](const std::string& manifest, Report& report) {
    replay(Manifest(manifest), filter, report);
  });
}

}  // namespace conformance
