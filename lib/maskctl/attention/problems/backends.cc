#include "maskctl/attention/problems/backends.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/base/error.h"

namespace maskctl::attention {

std::span<const BackendRow>::iterator row_of(std::span<const BackendRow> rows, Backend backend) {
  const auto row = std::ranges::find(rows, backend, &BackendRow::backend);
  if (row != rows.end()) return row;
  throw Error(Errc::kUnsupported, fmt::format("backend number {} is not part of this build",
                                              static_cast<int>(backend)));
}

std::string_view name(Backend backend) { return backend_row(backend).name; }

std::span<const std::string_view> backend_names() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    names.reserve(backends().size());
    for (const BackendRow& row : backends()) names.push_back(row.name);
    std::ranges::reverse(names);
    return names;
  }();
  return kNames;
}

std::optional<Backend> backend_from_name(std::string_view name) {
  const auto row = std::ranges::find(backends(), name, &BackendRow::name);
  return row == backends().end() ? std::nullopt : std::optional(row->backend);
}

std::string unavailable(Backend backend) { return backend_row(backend).unavailable(); }

void report_fallback(const Context& context, std::string_view kernel, const BackendRow& asked,
                     const BackendRow& used, const std::string& reason) {
  if (!context.fallback) {
    throw Error(Errc::kUnsupported, fmt::format("{} cannot run on {}: {}; ask for {}", kernel,
                                                asked.name, reason, used.name));
  }
  context.fallback(fmt::format("{}: {} instead of {}: {}", kernel, used.name, asked.name, reason));
}

void refuse_kernel(std::string_view kernel, const BackendRow& asked, const std::string& reason) {
  throw Error(Errc::kUnsupported, fmt::format("{} cannot run on {}: {}; no other backend can",
                                              kernel, asked.name, reason));
}

}  // namespace maskctl::attention
