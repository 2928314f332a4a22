// The backends of this build, and the choice of the one that runs a call.
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "maskctl/attention/problems/kernels.h"

namespace maskctl::attention {

/// A backend: its name, its kernels and the devices that they run on.
struct BackendRow {
  Backend backend;
  std::string_view name;
  const Kernels* kernels;
  /// Why none of the kernels can run on this machine, as in "no CUDA device was found"; empty when
  /// they can. The default says that they always can.
  std::string (*unavailable)() = [] { return std::string(); };
  /// The number of devices of this backend on this machine, and a function that makes device n the
  /// current one of the calling thread.
  int (*devices)() = [] { return 1; };
  void (*use_device)(int n) = [](int) {};
  /// Whether the kernels compute in float64 without tiles, so that other backends are checked
  /// against them.
  bool is_reference = false;
  /// Whether the kernels read the hints of a config (such as tile sizes). If not, an operation has
  /// only one config on this backend.
  bool is_tuned = false;
};

/// All backends, the fastest first. If a call falls back, then only to a backend after the one that
/// it asks for.
std::span<const BackendRow> backends();

/// Returns the row of a backend in `rows`. Throws Error(kUnsupported) if there is none.
std::span<const BackendRow>::iterator row_of(std::span<const BackendRow> rows, Backend backend);
inline const BackendRow& backend_row(Backend backend) { return *row_of(backends(), backend); }

/// The table in which a backend has its kernels of one kind: Kernels, or that of a layer above,
/// which specialises this function.
template <class Table>
const Table& kernels_of(const BackendRow& row);
template <>
inline const Kernels& kernels_of<Kernels>(const BackendRow& row) {
  return *row.kernels;
}

/// Whether a backend has the kernel at all; refusal() says whether it also takes a given problem.
template <class Table, class Problem, class... Arrays>
bool supports(const BackendRow& row, Kernel<Problem, Arrays...> Table::*kernel) {
  return (kernels_of<Table>(row).*kernel).run != nullptr;
}

/// Why a backend cannot run a kernel on a problem; empty when it can.
template <class Table, class Problem, class... Arrays>
std::string refusal(const BackendRow& row, Kernel<Problem, Arrays...> Table::*kernel,
                    const Problem& problem) {
  std::string reason = row.unavailable();
  if (!reason.empty()) return reason;
  if (!supports(row, kernel)) return "it has no such kernel";
  const auto unsupported = (kernels_of<Table>(row).*kernel).unsupported;
  return unsupported ? unsupported(problem) : "";
}

/// Reports to context.fallback that `used` runs a kernel instead of `asked`. Throws
/// Error(kUnsupported) when the context has no such callback.
void report_fallback(const Context& context, std::string_view kernel, const BackendRow& asked,
                     const BackendRow& used, const std::string& reason);
[[noreturn]] void refuse_kernel(std::string_view kernel, const BackendRow& asked,
                                const std::string& reason);

/// The row of `rows` that runs a kernel: the backend that the context asks for or, if that cannot,
/// the first later row that can, which is reported. Throws Error(kUnsupported) when none can.
template <class Table, class Problem, class... Arrays>
const BackendRow& choose_backend(std::span<const BackendRow> rows, const Context& context,
                                 std::string_view name, Kernel<Problem, Arrays...> Table::*kernel,
                                 const Problem& problem) {
  const auto first = row_of(rows, context.backend);
  const std::string reason = refusal(*first, kernel, problem);
  if (reason.empty()) return *first;
  for (auto row = std::next(first); row != rows.end(); ++row) {
    if (!refusal(*row, kernel, problem).empty()) continue;
    report_fallback(context, name, *first, *row, reason);
    return *row;
  }
  refuse_kernel(name, *first, reason);
}

/// Runs one kernel on the backend that choose_backend() returns, with the threads, memory pool and
/// stop token of the context.
template <class Table, class Problem, class... Arrays>
void run_kernel(const Context& context, std::string_view name,
                Kernel<Problem, Arrays...> Table::*kernel, const Problem& problem,
                const std::type_identity_t<Arrays>&... arrays) {
  const WorkScope scope(context.limits());
  throw_if_stopped();
  const BackendRow& row = choose_backend(backends(), context, name, kernel, problem);
  (kernels_of<Table>(row).*kernel).run(problem, arrays..., context);
}

}  // namespace maskctl::attention
