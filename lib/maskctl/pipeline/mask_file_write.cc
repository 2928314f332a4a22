// Writes the file of a mask: its steps as text, and the arrays that they read.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/inspect/count/digest.h"
#include "maskctl/io/formats/safetensors/safetensors.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/steps/combine.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/pipeline/mask_file.h"

namespace maskctl {
namespace {

/// The mask with one head where all heads are equal, and one batch where all batches are: steps
/// repeat them.
Mask without_copies(const Mask& mask) {
  bool one_head = mask.heads() > 0, one_batch = mask.batch() > 0;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      one_head &= mask.index_of(b, h) == mask.index_of(b, 0);
      one_batch &= mask.index_of(b, h) == mask.index_of(0, h);
    }
  }
  return Mask::make(one_batch ? 1 : mask.batch(), one_head ? 1 : mask.heads(), mask.queries(),
                    mask.keys(), [&](Index b, Index h) { return mask.plane(b, h); });
}

Tensor shape_array(const Mask& mask) {
  Tensor out(DType::kInt64, {4});
  const Index extents[] = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  std::ranges::copy(extents, out.as<std::int64_t>().begin());
  return out;
}

/// The cells of a mask as the arrays NAME/..., runs or bits, whichever take fewer bytes.
std::vector<NamedTensor> cell_arrays(const std::string& name, const Mask& mask, Index max_bytes) {
  const Index extents[] = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  const Index bits = bit_bytes(extents);
  try {
    RunArrays runs = runs_from_mask(mask, std::min(bits, max_bytes));
    return {{name + "/indptr", std::move(runs.indptr)},
            {name + "/begin", std::move(runs.begin)},
            {name + "/end", std::move(runs.end)},
            {name + "/shape", std::move(runs.shape)}};
  } catch (const Error& error) {
    if (error.code() != Errc::kLimit) throw;
  }
  return {{name + "/bits", bits_from_mask(mask, max_bytes)}, {name + "/shape", shape_array(mask)}};
}

/// The step that keeps the cells of documents by their ids; nothing if the mask has other cells.
std::optional<Step> document_step(const Mask& mask) {
  Nearest ids = nearest_segments(mask);
  if (ids.changed > 0) return std::nullopt;
  step::Document out;
  for (Tensor* side : {&ids.q, &ids.kv}) {
    if (side->extent(0) == 1) side->reshape({side->elements()});
  }
  out.shared = same_elements(ids.q, ids.kv);
  out.q.array = std::move(ids.q);
  if (!out.shared) out.kv.array = std::move(ids.kv);
  return out;
}

/// The step that makes the mask of one in which all is open. Cells are stored as ids where that is
/// exact, since ids say what is meant.
Step first_step(const Mask& start, Index max_bytes) {
  const Mask mask = without_copies(start);
  cell_arrays("", mask, max_bytes);  // throws if the mask has more runs than could be written
  const auto documents = mask.heads() == 1 ? document_step(mask) : std::nullopt;
  return documents ? *documents : Step(step::Combine{Op::kAnd, mask, ""});
}

/// The same steps from a start that is open everywhere.
MaskSteps from_open(const MaskSteps& steps, Index max_bytes) {
  MaskSteps out{full_like(steps.start), steps.chain};
  const Index open = steps.start.count();
  if (open == steps.start.cells()) return out;
  out.chain.insert(out.chain.begin(),
                   open == 0 ? Step(step::Not{}) : first_step(steps.start, max_bytes));
  return out;
}

std::string shape_list(const Mask& mask) {
  return fmt::format("[{}, {}, {}, {}]", mask.batch(), mask.heads(), mask.queries(), mask.keys());
}

}  // namespace

NamedSteps named_steps(const MaskSteps& steps, Index max_bytes) {
  NamedSteps out{from_open(steps, max_bytes), {}, {}};
  const auto as_it_is = [](const std::string& name) { return name; };
  ArrayNames names(as_it_is, ArrayNames::Sources::kRename);
  names.name(out.steps.chain);
  out.arrays = names.arrays();
  out.masks = names.masks();
  return out;
}

std::vector<NamedTensor> stored_arrays(const NamedSteps& named, Index max_bytes) {
  std::vector<NamedTensor> out;
  for (const ArrayNames::Named& one : named.arrays) out.push_back({one.name, one.array});
  for (const ArrayNames::NamedOther& one : named.masks) {
    std::ranges::move(cell_arrays(one.name, one.mask, max_bytes), std::back_inserter(out));
  }
  return out;
}

void write_mask_file(const std::string& path, const MaskSteps& steps,
                     const MaskFileOptions& options) {
  const NamedSteps named = named_steps(steps, options.max_bytes);
  const Mask mask = maskctl::apply(named.steps.start, named.steps.chain);
  std::vector<Metadata> metadata = {{"format", std::string(kMaskFormat)},
                                    {"shape", shape_list(mask)},
                                    {"pipeline", to_text(named.steps.chain)},
                                    {"digest", file_digest(mask, options.max_bytes)},
                                    {"writer", "maskctl " MASKCTL_VERSION}};
  if (!same_shape(mask, named.steps.start)) {
    metadata.insert(metadata.begin() + 2, {"start", shape_list(named.steps.start)});
  }
  const std::vector<NamedTensor> stored = stored_arrays(named, options.max_bytes);
  std::vector<ArrayRef> arrays;
  for (const NamedTensor& array : stored) arrays.push_back({array.name, &array.tensor});
  write_safetensors(path, arrays, metadata, options.force);
}

void write_mask_file(const std::string& path, const Mask& mask, const MaskFileOptions& options) {
  write_mask_file(path, {mask, {}}, options);
}

}  // namespace maskctl
