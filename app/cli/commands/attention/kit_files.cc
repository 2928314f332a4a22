#include "app/cli/commands/attention/kit_files.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/kit/expected.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

/// A time that a file says; 0 for what is none.
double seconds_of(const Tensor& array) {
  if (array.elements() != 1 || !is_floating(array.dtype())) return 0;
  const double seconds = astype(array, DType::kFloat64).as<double>()[0];
  return seconds > 0 && std::isfinite(seconds) ? seconds : 0;
}

}  // namespace

void write_case(const std::string& path, const kit::MadeCase& made, bool solved, bool force) {
  constexpr Index kMostMaskBytes = Index{1} << 24;
  std::vector<NamedTensor> arrays;
  for (const auto* group : {&made.arrays, &made.step_arrays}) {
    for (const auto& [name, array] : *group) arrays.push_back({name, array});
  }
  arrays.push_back({"mask", dense_from_mask(made.mask, kMostMaskBytes)});
  if (solved) {
    kit::Expected expected = kit::expected(made);
    const auto add = [&arrays](const std::string& name, kit::Bounded result) {
      arrays.push_back({"expected_" + name, std::move(result.values)});
      arrays.push_back({"tolerance_" + name, std::move(result.tolerance)});
    };
    add("out", std::move(expected.out));
    add("lse", std::move(expected.lse));
    if (expected.grad_query) {
      add("grad_query", *std::move(expected.grad_query));
      add("grad_key", *std::move(expected.grad_key));
      add("grad_value", *std::move(expected.grad_value));
    }
  }
  write_npz(path, arrays, {.force = force});
}

void write_json(const std::string& path, const Json& json, bool force) {
  AtomicFile file(path, force);
  const std::string text = text_of(json);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

GivenResults read_results(const std::string& path, const ReadOptions& options) {
  GivenResults given;
  attention::NamedResults& out = given.results;
  const auto container = open_container(path, options);
  for (const std::string& key : container->keys()) {
    const bool known = key == "out" || key == "lse" || key == "grad_query" || key == "grad_key" ||
                       key == "grad_value";
    if (known) out[key] = read_array(path + ":" + key, options);
    if (key == "seconds") given.seconds = seconds_of(read_array(path + ":" + key, options));
  }
  if (out.contains("out")) return given;
  if (container->holds_one_array()) {
    throw Error(Errc::kFormat, "wrote an array without a name; expected an .npz with out");
  }
  const std::string keys = joined(container->keys(), ", ");
  throw Error(Errc::kFormat, fmt::format("wrote an .npz without out; it has {}",
                                         keys.empty() ? "no array" : printable(keys)));
}

}  // namespace maskctl::app
