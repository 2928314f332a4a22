// Fuzz target: texts of mask pipelines are parsed, printed, bound to arrays, applied and printed
// again.
#include <cstdlib>

#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/generate.h"

using namespace maskctl;

namespace {

/// Stands in for reading an array file: the last letter of the name chooses among 8 shapes.
Tensor array_of(const std::string& source) {
  const int choice = source.empty() ? 0 : static_cast<unsigned char>(source.back()) % 8;
  const std::vector<std::vector<Index>> shapes = {{},      {1},  {12},   {1, 12},
                                                  {2, 12}, {13}, {3, 4}, {1, 1, 12, 12}};
  Tensor out(DType::kInt32, shapes[static_cast<std::size_t>(choice)]);
  std::int32_t next = choice - 2;
  for (std::int32_t& value : out.as<std::int32_t>()) value = next++ / 3;
  return out;
}

BindContext context() {
  BindContext out;
  out.read_array = array_of;
  out.read_mask = [](const std::string&) { return Mask(diagonal_band(12, 12, -2, 3)); };
  out.max_bytes = fuzz::kMaxBytes;
  return out;
}

void need(bool holds) {
  if (!holds) std::abort();
}

void check_text(const std::string& text) {
  const Pipeline pipeline = parse(text);
  const std::string printed = print(pipeline);
  need(parse(printed) == pipeline);
  need(print(parse(printed)) == printed);
  const Chain chain = bind(pipeline, context());
  if (!chain.empty()) parse(to_text(chain));
  const Mask start(diagonal_band(12, 12, -kUnbounded, 0));
  const Mask mask = maskctl::apply(start, chain);
  if (mask.cells() <= 1 << 20) dense_from_mask(mask, fuzz::kMaxBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  bool good = false;
  try {
    check_text(text);
    good = true;
  } catch (const Error&) {
  }
  try {
    generate(text, context());
    good = true;
  } catch (const Error&) {
  }
  return good ? 0 : -1;
}
