#include "app/reports/figures.h"

#include <fmt/format.h>

#include <iterator>

#include "maskctl/tensor/convert.h"

namespace maskctl::app {

std::string percent(Index part, Index whole) {
  if (whole == 0) return "-";
  if (part == 0) return "0 %";
  if (part == whole) return "100 %";
  const double value = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (value < 0.01) return fmt::format("{:.2g} %", value);
  if (value > 99.99) return ">99.99 %";
  return fmt::format("{:.2f} %", value);
}

std::string bytes_text(Index bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024; value /= 1024) ++unit;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

namespace {

template <class Values>
std::string in_rows(const Values& values, const Tensor& of) {
  const auto columns = static_cast<std::size_t>(of.rank() > 1 ? of.extent(of.rank() - 1) : 1);
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += fmt::format("{}{}", values[i], (i + 1) % columns ? ' ' : '\n');
  }
  return out;
}

}  // namespace

std::string rows_text(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return in_rows(as_int64(tensor, "values"), tensor);
  const Tensor floats = astype(tensor, DType::kFloat32);
  return in_rows(floats.as<float>(), tensor);
}

}  // namespace maskctl::app
