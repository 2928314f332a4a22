#include "app/cli/commands/attention/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "app/session/save.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::app {
namespace {

/// Statistics of a part of an array: minimum, maximum, sum, and numbers of elements. The statistics
/// of two parts can be merged.
struct Figures {
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  Index finite = 0, elements = 0;

  void add(const Tensor& part) {
    const Tensor values = astype(part, DType::kFloat64);
    for (const double x : values.as<double>()) {
      if (std::isfinite(x)) add({x, x, x, 1, 0});
    }
    elements += part.elements();
  }
  void add(const Figures& other) {
    least = std::min(least, other.least), most = std::max(most, other.most);
    sum += other.sum, finite += other.finite, elements += other.elements;
  }
  ArraySummary summary(const std::string& name, DType dtype, std::vector<Index> shape) const {
    ArraySummary out{name, std::string(maskctl::name(dtype)), std::move(shape)};
    if (finite > 0) {
      out.least = least, out.most = most, out.mean = sum / static_cast<double>(finite);
    }
    out.not_finite = elements - finite;
    return out;
  }
};

/// The statistics of every rank; rank 0 receives all of them.
std::vector<Figures> gathered(attention::Communicator& world, const Figures& own) {
  std::vector<Figures> all;
  const std::string bytes(reinterpret_cast<const char*>(&own), sizeof(own));
  for (const std::string& text : attention::gathered_texts(world, bytes)) {
    std::memcpy(&all.emplace_back(), text.data(), sizeof(Figures));
  }
  return all;
}

using Give = std::function<void(const std::function<void(const Tensor& band)>& take)>;

/// A stream that writes an array. Arrays of floats are converted to `wanted`, if given.
ArrayStream stream_of(const std::string& name, DType dtype, std::vector<Index> shape,
                      std::optional<DType> wanted, Give give) {
  const DType written = wanted && is_floating(dtype) ? *wanted : dtype;
  return {{name, written, std::move(shape)},
          [dtype, written, give = std::move(give)](const WriteBytes& write) {
            give([&](const Tensor& band) {
              write(written == dtype ? band.bytes() : astype(band, written).bytes());
            });
          }};
}

void write_streams(std::span<const ArrayStream> arrays, const OutputOptions& output,
                   const Session& session) {
  const WriteOptions options = write_options(output, session);
  if (parse_dest_name(output.dest).is_container()) {
    return write_arrays(output.dest, arrays, options);
  }
  const auto out = std::ranges::find_if(
      arrays, [](const ArrayStream& array) { return array.spec.name == "out"; });
  write_array(output.dest, *out, options);  // a .npy file holds one array
}

}  // namespace

std::vector<ArraySummary> summaries_of(const attention::NamedResults& results) {
  std::vector<ArraySummary> summaries;
  for (const auto& [name, tensor] : results) {
    Figures figures;
    figures.add(tensor);
    summaries.push_back(figures.summary(name, tensor.dtype(), tensor.shape()));
  }
  return summaries;
}

std::vector<ArraySummary> summaries_of(const attention::PlacedResults& results,
                                       attention::Communicator& world) {
  std::vector<ArraySummary> summaries;
  for (const auto& [name, result] : results) {
    Figures own, all;
    if (result.is_first) own.add(result.part);
    for (const Figures& figures : gathered(world, own)) all.add(figures);
    summaries.push_back(all.summary(name, result.part.dtype(), result.shape));
  }
  return summaries;
}

std::string summaries_text(std::span<const ArraySummary> arrays) {
  std::string out = fmt::format("{:<24}{:<10}{:<22}{:>12}{:>12}{:>12}\n", "array", "dtype", "shape",
                                "min", "mean", "max");
  for (const ArraySummary& array : arrays) {
    out += fmt::format("{:<24}{:<10}{:<22}{:>12.5g}{:>12.5g}{:>12.5g}", array.name, array.dtype,
                       shape_text(array.shape), array.least, array.mean, array.most);
    if (array.not_finite > 0) out += fmt::format("  {} not finite", array.not_finite);
    out += "\n";
  }
  return out;
}

void check_destination(const OutputOptions& output) {
  if (output.dest.empty()) return;
  check_dest(output.dest,
             {.force = output.force, .append = output.append, .replace_file = output.replace_file});
}

void write_results(const attention::NamedResults& results, const OutputOptions& output,
                   const Session& session) {
  std::vector<ArrayStream> arrays;
  for (const auto& result : results) {
    const Tensor& tensor = result.second;
    arrays.push_back(stream_of(result.first, tensor.dtype(), tensor.shape(), output.dtype,
                               [&tensor](const auto& take) { take(tensor); }));
  }
  write_streams(arrays, output, session);
}

void write_results(const attention::PlacedResults& results, const OutputOptions& output,
                   const Session& session, attention::Communicator& world) {
  attention::at_rank_0(world, results, [&](const attention::GiveBands& give) {
    std::vector<ArrayStream> arrays;
    for (const auto& [name, result] : results) {
      arrays.push_back(stream_of(name, result.part.dtype(), result.shape, output.dtype,
                                 [&give, name = name](const auto& take) { give(name, take); }));
    }
    write_streams(arrays, output, session);
  });
}

}  // namespace maskctl::app
