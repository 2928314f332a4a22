// The options of the command kit, and the cases that they choose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/parser/option_list.h"
#include "app/reports/kit_report.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::app {

struct KitOptions {
  enum class Format : std::uint8_t { kText, kJson, kJunit };

  std::string action;  // "list", "make", "judge" or "run"
  std::string folder;
  DType dtype = DType::kFloat32;
  std::vector<std::string> rules, without;
  std::string program, library, baseline;
  std::optional<attention::Backend> backend;
  std::optional<Index> seconds;  // that the program may take for a case
  std::optional<Format> format;
  bool force = false;
  bool json = false;  // also where the format is kJson
};

inline constexpr std::string_view kKitActions[] = {"list", "make", "judge", "run"};
inline constexpr Index kKitSeconds = 600;

void declare_kit(OptionList& list, KitOptions& options);
/// Throws Error(kInvalidArgument) for options that the action would not read.
void check_kit(const KitOptions& options);
/// The cases of --rule without those of --without, in the order of the rules. Throws
/// Error(kInvalidArgument) for a choice that no rule and no case has, and if none is left.
std::vector<KitChoice> chosen_cases(const KitOptions& options);

}  // namespace maskctl::app
