// Declares the options of a call.
#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "app/cli/commands/attention/call.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/base/text.h"

namespace maskctl::app {
namespace {

attention::Backend backend_at(std::size_t i) {
  return *attention::backend_from_name(attention::backend_names()[i]);
}

constexpr std::string_view kLayouts[] = {"bthd", "bhtd"};

}  // namespace

void declare_backend(OptionList& list, const std::string& name, const std::string& help,
                     attention::Backend& target) {
  list.choice(name, attention::backend_names(), help,
              [&target](std::size_t i) { target = backend_at(i); });
}

void declare_backends(OptionList& list, std::vector<attention::Backend>& targets) {
  list.value("--backend", "NAME+NAME",
             fmt::format("{} (cpu)", joined(attention::backend_names(), ", ")),
             [&targets](const std::string& text) {
               targets.clear();
               for (const std::string& part : parse_list(text)) {
                 targets.push_back(
                     backend_at(parse_choice(part, "--backend", attention::backend_names())));
               }
             });
}

attention::Layout parse_layout(std::string_view text, std::string_view option) {
  return static_cast<attention::Layout>(parse_choice(text, option, kLayouts));
}

void declare_layout(OptionList& list, const std::string& help,
                    std::optional<attention::Layout>& target) {
  list.choice("--layout", kLayouts, help,
              [&target](std::size_t i) { target = static_cast<attention::Layout>(i); });
}

void declare_random_dtype(OptionList& list, std::optional<DType>& target) {
  list.value("--random-dtype", "TYPE", "type of random arrays (float32)",
             [&target](const std::string& text) { target = parse_dtype(text, "--random-dtype"); });
}

void declare_call(OptionList& list, CallOptions& call) {
  list.operands("NAME=VALUE", call.words, false);
  declare_source(list, call.source);
  list.text("--axes", "Tq=64+D=128", "extents of the random arrays that stand in for missing ones",
            call.axes);
  declare_random_dtype(list, call.random_dtype);
  declare_layout(list,
                 "axes of given arrays and of results: time or heads first (default: that of the "
                 "operation, bthd except for blocksparse_attention)",
                 call.layout);
  // A negative seed means its 32-bit two's complement, as in JAX.
  list.integer("--seed", std::numeric_limits<std::int32_t>::min(), "seed of random arrays (0)",
               [&call](Index n) {
                 call.seed = n < 0 ? static_cast<std::uint32_t>(n) : static_cast<std::uint64_t>(n);
               });
}

}  // namespace maskctl::app
