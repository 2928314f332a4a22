// The backends of this build, and which one a call gets.
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "maskctl/attention/problems/kernels.h"

namespace maskctl::attention {

/// One folder of kernels.
struct BackendRow {
  Backend backend;
  std::string_view name;
  const Kernels* kernels;
  /// Why none of its kernels can run on this machine, as in "no CUDA device was found"; empty when
  /// they can, as they always can by default.
  std::string (*unavailable)() = [] { return std::string(); };
  /// How many devices it has on this machine, and how a thread chooses one of them.
  int (*devices)() = [] { return 1; };
  void (*use_device)(int n) = [](int) {};
  /// Computes calls whole and in float64, so that the others can be judged by it.
  bool is_reference = false;
  /// Whether its kernels read the hints of configs; if not, an operation has only one config on it.
  bool is_tuned = false;
};

/// Fastest first. A backend that cannot run a kernel falls back to those after it.
std::span<const BackendRow> backends();

/// Throws Error(kUnsupported) for a backend that has no row.
std::span<const BackendRow>::iterator row_of(std::span<const BackendRow> rows, Backend backend);
inline const BackendRow& backend_row(Backend backend) { return *row_of(backends(), backend); }

/// Whether a backend has a kernel at all; a problem may still be refused.
template <class Problem, class... Arrays>
bool supports(const BackendRow& row, Kernel<Problem, Arrays...> Kernels::*kernel) {
  return (row.kernels->*kernel).run != nullptr;
}

/// Why a backend cannot run a kernel on a problem; empty when it can.
template <class Problem, class... Arrays>
std::string refusal(const BackendRow& row, Kernel<Problem, Arrays...> Kernels::*kernel,
                    const Problem& problem) {
  std::string reason = row.unavailable();
  if (!reason.empty()) return reason;
  if (!supports(row, kernel)) return "it has no such kernel";
  const auto unsupported = (row.kernels->*kernel).unsupported;
  return unsupported ? unsupported(problem) : "";
}

/// Tells the context that `used` runs a kernel instead of `asked`. Throws Error(kUnsupported) when
/// nobody listens.
void report_fallback(const Context& context, std::string_view kernel, const BackendRow& asked,
                     const BackendRow& used, const std::string& reason);
[[noreturn]] void refuse_kernel(std::string_view kernel, const BackendRow& asked,
                                const std::string& reason);

/// The row of `rows` that runs a kernel: the one the context asks for, or the first after it that
/// can, which is reported. Throws Error(kUnsupported) when none can.
template <class Problem, class... Arrays>
const BackendRow& choose_backend(std::span<const BackendRow> rows, const Context& context,
                                 std::string_view name, Kernel<Problem, Arrays...> Kernels::*kernel,
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

/// Runs one kernel of a call on the backend that it gets, within the limits of the context.
template <class Problem, class... Arrays>
void run_kernel(const Context& context, std::string_view name,
                Kernel<Problem, Arrays...> Kernels::*kernel, const Problem& problem,
                const std::type_identity_t<Arrays>&... arrays) {
  const WorkScope scope(context.limits());
  throw_if_stopped();
  const BackendRow& row = choose_backend(backends(), context, name, kernel, problem);
  (row.kernels->*kernel).run(problem, arrays..., context);
}

}  // namespace maskctl::attention
