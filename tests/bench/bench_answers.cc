// Times the C++ work behind a call of the Python module: reading an array of 64 x 64 cells, and a
// command's answer about it. What the module takes beyond this is the cost of the binding.
#include <array>
#include <vector>

#include "app/cli/commands/command.h"
#include "app/session/session.h"
#include "bench.h"
#include "maskctl/io/masks/mask_io.h"

namespace {

using namespace maskctl;

constexpr Index kSize = 64;

std::vector<char> causal_cells() {
  std::vector<char> out(kSize * kSize);
  for (Index q = 0; q < kSize; ++q) {
    for (Index k = 0; k <= q; ++k) out[static_cast<std::size_t>(q * kSize + k)] = 1;
  }
  return out;
}

LoadedMask read(const std::vector<char>& cells) {
  const std::array<Index, 2> shape{kSize, kSize}, strides{kSize, 1};
  const NamedView view{"",
                       {reinterpret_cast<const std::byte*>(cells.data()),
                        DType::kBool,
                        {shape.begin(), shape.end()},
                        {strides.begin(), strides.end()},
                        {}}};
  return read_mask("mask", {&view, 1}, {});
}

app::Answer answer(const char* command, const LoadedMask& mask) {
  app::OptionList list;
  const app::Run run = app::find_command(command)->declare(list);
  for (const app::Option& option : list.options()) {
    if (option.operand) option.take("mask");
  }
  app::Session session({}, {});
  session.give("mask", mask);
  return run(session);
}

void print(const char* name, const std::function<void()>& call) {
  constexpr int kRuns = 200;
  const int repeats = bench::repeats_for(call);
  bench::Times times;
  for (int i = 0; i < kRuns; ++i) times.runs.push_back(bench::seconds(call, repeats));
  std::printf("%s\t%.9f\n", name, times.least());
}

}  // namespace

int main() {
  const std::vector<char> cells = causal_cells();
  const LoadedMask mask = read(cells);
  bench::require(mask.mask.count() == kSize * (kSize + 1) / 2, "count");
  bench::require(answer("check", mask).status == 0, "check");
  print("Mask", [&] { bench::keep(read(cells)); });
  for (const char* command : {"stats", "check"}) {
    print(command, [&] { bench::keep(answer(command, mask)); });
  }
}
