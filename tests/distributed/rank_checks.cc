#include "distributed/rank_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "attention/small_calls.h"
#include "maskctl/attention/sharded/gather.h"
#include "maskctl/attention/sharded/rank_call.h"
#include "maskctl/attention/sharded/usual_specs.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/ejkernel/mask_info/sharding.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/tensor/convert.h"
#include "support/tensors.h"

namespace maskctl::rank_test {
namespace {

using namespace attention;

/// Meshes of n devices, as texts, that split batches (dp), heads (tp) and sequences (sp).
std::vector<std::string> meshes(Index n) {
  if (n == 1) return {"dp=1"};
  if (n == 2) return {"dp=2", "tp=2", "sp=2"};
  if (n == 4) return {"dp=2+tp=2", "dp=2+sp=2", "tp=2+sp=2", "sp=4"};
  return {fmt::format("sp={}", n)};
}

struct Call {
  std::string name;
  const Operation* operation;
  NamedArguments arguments;
  std::optional<Sharding> sharding = {};  // absent: the usual sharding of the mesh
};

/// Adds document ids to a call; a MaskInfo of these ids says how they are split over the mesh.
void add_documents(Call& call, bool sequence_parallel) {
  const std::vector<Index>& shape = call.arguments.arrays.at("query").shape();
  Tensor ids(DType::kInt32, {shape[0], shape[1]});
  for (Index i = 0; i < ids.elements(); ++i) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i / 3);
  }
  MaskInfoExtras extras;
  extras.axes.batch = std::string("dp");  // the meshes have no axis 'fsdp', the default
  const MaskSharding split = get_shardings(MaskInfo::from_segments(ids, nullptr, false, extras),
                                           call.sharding->mesh, sequence_parallel);
  std::vector<std::optional<PartitionSpec>> specs;
  for (const Field& field : call.operation->fields) {
    if (!field.is_array) continue;
    const bool given = specs.size() < 3;
    specs.push_back(given                            ? call.sharding->in_specs[specs.size()]
                    : field.name == "q_segment_ids"  ? split.q_segment_ids
                    : field.name == "kv_segment_ids" ? split.kv_segment_ids
                                                     : std::nullopt);
  }
  call.name += " with documents";
  call.sharding->in_specs = std::move(specs);
  call.arguments.arrays["q_segment_ids"] = call.arguments.arrays["kv_segment_ids"] = ids;
}

/// The calls in the distributed snippets of ejkernel's documentation that have `ranks` devices.
std::vector<Call> snippets(Index ranks) {
  std::vector<Call> calls;
  const auto add = [&](const char* name, const char* mesh, PartitionSpec spec,
                       AxisExtents extents) {
    Call call{fmt::format("snippet of {}", name), find_operation(name), {}};
    add_random_arrays(*call.operation, {.extents = std::move(extents), .seed = 2}, call.arguments);
    call.sharding = Sharding{mesh_from_text(mesh), {spec, spec, spec}, {spec}};
    calls.push_back(std::move(call));
  };
  const AxisName whole;
  if (ranks == 4) {
    // The snippet for a ring:
    // mesh = jax.sharding.Mesh(devices, axis_names=('sp',))
    // with mesh: output = ring_attention(query, key, value, axis_name='sp', causal=True)
    add("ring_attention", "sp=4", {{whole, "sp", whole, whole}},
        {{"B", 1}, {"Tq", 16}, {"Tk", 16}, {"Hq", 2}, {"Hkv", 2}, {"D", 8}, {"Dv", 8}});
    calls.back().arguments.options = {{"axis_name", "sp"}, {"causal", "true"}};
  }
  if (ranks == 8) {
    // mesh = Mesh(devices.reshape(2, 4), axis_names=('dp', 'tp'))
    // output = flash_attention(query, key, value, mesh=mesh,
    //     in_specs=(P('dp', None, 'tp', None), ...), out_specs=P('dp', None, 'tp', None))
    add("flash_attention", "dp=2+tp=4", {{"dp", whole, "tp", whole}},
        {{"B", 4}, {"Tq", 10}, {"Tk", 10}, {"Hq", 8}, {"Hkv", 4}, {"D", 8}, {"Dv", 8}});
    // The same call with document ids, which are split as mask_info.get_shardings(mesh=mesh) says.
    calls.push_back(calls.back());
    add_documents(calls.back(), false);
    // A ring call with document ids, which are split as
    // mask_info.get_shardings(mesh=mesh, sequence_parallel=True) says.
    add("ring_attention", "dp=2+sp=4+tp=1", {{"dp", "sp", whole, whole}},
        {{"B", 4}, {"Tq", 16}, {"Tk", 16}, {"Hq", 2}, {"Hkv", 2}, {"D", 8}, {"Dv", 8}});
    calls.back().arguments.options = {{"axis_name", "sp"}, {"causal", "true"}};
    add_documents(calls.back(), true);
  }
  return calls;
}

/// A call of nearly every operation, with extents that 2 and 4 devices divide.
std::vector<Call> small_calls() {
  std::vector<Call> calls;
  for (const Operation* form : maskctl::attention_test::forms()) {
    if (form->has("cu_seqlens") && !form->has("key_value") && !form->has("x")) continue;
    calls.push_back({std::string(form->name), form, maskctl::attention_test::small_call(*form)});
    if (form->name == "short_convolution") {  // sequences packed into a row are one batch entry
      calls.back().arguments = {};
      add_random_arrays(*form, {.extents = {{"B", 4}, {"T", 6}, {"C", 8}, {"W", 3}}, .seed = 3},
                        calls.back().arguments);
    }
    if (!form->has("group_sizes")) continue;
    calls.back().arguments.arrays["lhs"] = random_normal({8, 6}, 1);  // 2 and 4 divide 8 rows
  }
  return calls;
}

/// Ring calls of 12 tokens per rank: each way to assign queries, with bias, sinks, windows,
/// segments or dropout.
std::vector<Call> ring_calls(Index ranks) {
  const Operation& ring = *find_operation("ring_attention");
  const Index n = 12 * ranks;
  const auto call = [&](const std::string& name, std::map<std::string, std::string> options) {
    Call out{"ring_attention " + name, &ring, {}};
    out.arguments.options = std::move(options);
    add_random_arrays(
        ring,
        {.extents = {{"B", 2}, {"Tq", n}, {"Tk", n}, {"Hq", 4}, {"Hkv", 2}, {"D", 8}, {"Dv", 6}},
         .seed = 7},
        out.arguments);
    return out;
  };
  std::vector<Call> calls;
  for (const char* assign : {"contiguous", "zigzag", "striped", "cost", "balanced"}) {
    calls.push_back(call(assign, {{"assign", assign}, {"causal", "true"}}));
    calls.back().arguments.arrays["bias"] = random_normal({2, 4, n, n}, 3);
    calls.back().arguments.arrays["softmax_aux"] = random_normal({4, 2}, 4);
    calls.push_back(call(std::string(assign) + " window", {{"assign", assign},
                                                           {"causal", "true"},
                                                           {"sliding_window", "3"},
                                                           {"logits_soft_cap", "2"}}));
  }
  Tensor ids(DType::kInt32, {2, n});
  for (Index i = 0; i < 2 * n; ++i) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i / 5 % 4 - 1);
  }
  calls.push_back(call("segments", {{"empty_row", "mean"}, {"causal", "true"}}));
  calls.back().arguments.arrays["q_segment_ids"] = ids;
  calls.push_back(call("dropout", {{"deterministic", "false"}, {"pdrop", "0.3"}}));
  return calls;
}

/// Calls of operations other than ring attention that the ranks along the mesh axis sp share: each
/// rank has a part of the queries, or of the rows of groups.
std::vector<Call> shared_calls(Index ranks) {
  std::vector<Call> calls;
  const auto add = [&](const char* name, const char* what, AxisExtents extents) -> NamedArguments& {
    Call call{fmt::format("{} {}", name, what), find_operation(name), {}};
    add_random_arrays(*call.operation, {.extents = std::move(extents), .seed = 6}, call.arguments);
    return calls.emplace_back(std::move(call)).arguments;
  };
  const Index n = 10 * ranks;
  const AxisExtents sequences = {{"B", 2},   {"Tq", n}, {"Tk", 23}, {"Hq", 4},
                                 {"Hkv", 2}, {"D", 8},  {"Dv", 6}};
  add("blocksparse_attention", "window", sequences).options["sliding_window"] = "4";
  NamedArguments& biased = add("blocksparse_attention", "bias and sinks", sequences);
  biased.arrays["bias"] = random_normal({2, 4, n, 23}, 3);
  biased.arrays["softmax_aux"] = random_normal({4, 2}, 4);
  biased.options = {{"causal", "false"}, {"chunk_size", "7"}};
  add("blocksparse_attention", "one bias for all queries", sequences).arrays["bias"] =
      random_normal({2, 4, 1, 23}, 3);

  const AxisExtents rows = {{"M", 50}, {"K", 6}, {"N", 5}, {"G", 2 * ranks}};
  Tensor sizes(DType::kInt32, {2 * ranks}), many(DType::kInt32, {2 * ranks + 3});
  Tensor ids(DType::kInt32, {50});
  for (Index g = 0; g < 2 * ranks; ++g) {
    sizes.as<std::int32_t>()[static_cast<std::size_t>(g)] = static_cast<std::int32_t>(g % 3);
    many.as<std::int32_t>()[static_cast<std::size_t>(g + 2)] = static_cast<std::int32_t>(1 + g % 2);
  }
  many.as<std::int32_t>()[0] = 3;
  for (Index row = 0; row < 50; ++row) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(row)] =
        static_cast<std::int32_t>(row * 7 % (2 * ranks));
  }
  add("grouped_matmul", "sizes that leave rows", rows).arrays["group_sizes"] = sizes;
  NamedArguments& by_id = add("grouped_matmul", "ids", rows);
  by_id.arrays["group_ids"] = ids;
  by_id.arrays["existing_out"] = random_normal({50, 5}, 2);
  NamedArguments& part = add("grouped_matmul", "a part of the groups", rows);
  part.arrays["group_sizes"] = many;
  part.arrays["group_offset"] = maskctl::test::i32({2});
  part.arrays["existing_out"] = random_normal({50, 5}, 2);
  part.options["existing_out_mode"] = "keep_unprocessed";
  return calls;
}

/// Ring calls under the masks of samples/, cut to lengths that the ranks divide.
std::vector<Call> sample_calls(Index ranks) {
  struct Sample {
    const char* file;
    std::optional<ArrayKind> as;
    std::vector<std::string> steps;
  };
  const std::vector<Sample> samples = {
      {"packed.npy", ArrayKind::kSegments, {"causal"}},
      {"padded.npy", ArrayKind::kPadding, {"causal"}},
      {"window_sinks.npy", {}, {}},
      {"leaked.npy", {}, {}},
      {"heads.npy", {}, {}},
      {"cross.npy", {}, {}},
  };
  std::vector<Call> calls;
  for (const Sample& sample : samples) {
    MaskReadOptions options;
    options.as = sample.as;
    Mask mask = read_mask(MASKCTL_SOURCE_DIR "/samples/" + std::string(sample.file), options).mask;
    if (!sample.steps.empty()) mask = maskctl::apply(std::move(mask), load_chain(sample.steps, {}));
    // Cuts queries and keys to multiples of the number of ranks.
    const Index queries = mask.queries() / ranks * ranks, keys = mask.keys() / ranks * ranks;
    mask = sliced(mask, {0, mask.batch()}, {0, mask.heads()}, {0, queries}, {0, keys});
    Call call{
        "ring_attention under " + std::string(sample.file), find_operation("ring_attention"), {}};
    add_random_arrays(*call.operation,
                      {.extents = {{"B", mask.batch()},
                                   {"Tq", queries},
                                   {"Tk", keys},
                                   {"Hq", std::max<Index>(mask.heads(), 2)},
                                   {"Hkv", std::max<Index>(mask.heads(), 2)},
                                   {"D", 8},
                                   {"Dv", 8}},
                       .seed = 5},
                      call.arguments);
    call.arguments.mask = std::move(mask);
    calls.push_back(std::move(call));
  }
  return calls;
}

double difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return INFINITY;
  const Tensor wide_a = astype(a, DType::kFloat64), wide_b = astype(b, DType::kFloat64);
  double worst = 0;
  for (std::size_t i = 0; i < wide_a.as<double>().size(); ++i) {
    const double x = wide_a.as<double>()[i], y = wide_b.as<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    worst = std::max(worst, std::isfinite(x - y) ? std::abs(x - y) : INFINITY);
  }
  return worst;
}

/// Cuts the parts that this rank needs out of whole arrays.
NamedResults parts_of(const RankCall& call, const std::map<std::string, Tensor>& whole,
                      const std::map<std::string, std::vector<Index>>& outlines) {
  NamedResults parts;
  for (const auto& [name, shape] : outlines) {
    const ArrayPlace place = call.place(name);
    std::vector<Index> at, extent;
    const Tensor& array = whole.at(name);
    std::vector<Index> part_shape;
    for (const auto& ranges : place) {
      Index sum = 0;
      for (const Range& range : ranges) sum += range.size();
      part_shape.push_back(sum);
    }
    Tensor part(array.dtype(), part_shape);
    // Copies element by element, to share no code with what is tested.
    const std::size_t size = static_cast<std::size_t>(size_bytes(array.dtype()));
    for (Index n = 0; n < part.elements(); ++n) {
      Index rest = n, offset = 0, stride = 1;
      for (std::size_t axis = part_shape.size(); axis-- > 0;) {
        Index position = rest % part_shape[axis];
        rest /= part_shape[axis];
        for (const Range& range : place[axis]) {
          if (position < range.size()) {
            offset += (range.begin + position) * stride;
            break;
          }
          position -= range.size();
        }
        stride *= array.shape()[axis];
      }
      std::memcpy(part.bytes().data() + static_cast<std::size_t>(n) * size,
                  array.bytes().data() + static_cast<std::size_t>(offset) * size, size);
    }
    parts[name] = std::move(part);
  }
  return parts;
}

/// Moves the arrays that ranks get in parts, which are floats, out of `arguments`; returns their
/// shapes. Every rank has integers and the bias whole.
std::map<std::string, std::vector<Index>> outline(const Operation& operation,
                                                  NamedArguments& arguments) {
  std::map<std::string, std::vector<Index>> outlines;
  for (const auto& [name, array] : arguments.arrays) {
    const Field* const field = operation.find(name, true);
    if (!field || field->is(kIntegers) || name == "bias" || array.rank() == 0) continue;
    outlines[name] = array.shape();
  }
  for (const auto& [name, shape] : outlines) arguments.arrays.erase(name);
  return outlines;
}

std::string check(Communicator& world, const Call& call, const std::string& mesh, Backend backend) {
  NamedArguments whole = call.arguments;
  if (call.operation->has_gradients()) whole.gradient_seed = 9;
  NamedArguments arguments = whole;
  arguments.context.backend = backend;
  const auto outlines = outline(*call.operation, arguments);
  const Sharding sharding =
      call.sharding ? *call.sharding
                    : usual_sharding(*call.operation, mesh_from_text(mesh), outlines, arguments);
  RankCall ranked(*call.operation, arguments, outlines, sharding, world);
  const PlacedResults parts = ranked.run(parts_of(ranked, whole.arrays, outlines));
  const NamedResults seen = assembled(world, parts);
  if (world.rank() != 0) return "";
  for (const auto& [name, expected] : run(*call.operation, whole)) {
    if (!seen.contains(name)) return name + " is missing";
    const double worst = difference(seen.at(name), expected);
    if (worst > 2e-5) return fmt::format("{} differs by {}", name, worst);
  }
  const bool is_ring =
      mesh == fmt::format("sp={}", world.size()) && call.operation->has("ring_size");
  if (!is_ring) return "";
  whole.context.backend = backend;
  whole.options["ring_size"] = std::to_string(world.size());
  if (maskctl::attention_test::same_bits(run(*call.operation, whole), seen)) return "";
  return "other bits than a ring inside the process";
}

/// Whether the mesh can split the call; if not, every rank refuses it alike.
bool splits(const Call& call, const std::string& mesh) {
  try {
    NamedArguments arguments = call.arguments;
    const auto outlines = outline(*call.operation, arguments);
    usual_sharding(*call.operation, mesh_from_text(mesh), outlines, arguments);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether assembled() joins parts that are stripes of a middle axis. The last of several ranks
/// repeats the part of the first, which must not be read.
bool parts_come_together(Communicator& world) {
  const std::vector<Index> shape = {2, 3, 1500, 1024};
  const Index owners = std::max<Index>(world.size() - 1, 1), own = world.rank() % owners;
  PlacedArray result{Tensor(), shape, {{{0, 2}}, {{0, 3}}, {}, {{0, 1024}}}, world.rank() < owners};
  for (Index row = own; row < shape[2]; row += owners) result.place[2].push_back({row, row + 1});
  const Index rows = std::ssize(result.place[2]);
  result.part = Tensor(DType::kInt32, {2, 3, rows, 1024});
  const auto elements = result.part.as<std::int32_t>();
  for (Index i = 0; result.is_first && i < result.part.elements(); ++i) {
    const Index row = i / 1024 % rows * owners + own;
    elements[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>((i / 1024 / rows * 1500 + row) * 1024 + i % 1024);
  }
  const NamedResults whole = assembled(world, {{"numbers", std::move(result)}});
  if (whole.empty()) return true;
  std::int32_t next = 0;
  const auto in_order = [&next](std::int32_t number) { return number == next++; };
  return std::ranges::all_of(whole.at("numbers").as<std::int32_t>(), in_order);
}

}  // namespace

bool messages_arrive(Communicator& world, Index bytes) {
  const Index rank = world.rank(), size = world.size();
  const auto byte_of = [](Index sender, std::size_t i) {
    return static_cast<std::byte>(i % 251 + static_cast<std::size_t>(sender));
  };
  std::vector<std::byte> sent(static_cast<std::size_t>(bytes)), received(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = byte_of(rank, i);
  world.send((rank + 1) % size, sent);
  world.receive((rank + size - 1) % size, received);
  world.finish();
  bool same = true;
  for (std::size_t i = 0; i < received.size(); ++i) {
    same = same && received[i] == byte_of((rank + size - 1) % size, i);
  }
  const std::vector<std::string> all = gathered_texts(world, same ? "" : "other bytes");
  return std::ranges::all_of(all, &std::string::empty);
}

std::vector<std::string> failures(Communicator& world, Backend backend) {
  std::vector<std::string> failed;
  if (!messages_arrive(world, 10'007)) failed.emplace_back("a message arrives as other bytes");
  if (!parts_come_together(world)) failed.emplace_back("parts come together as another array");
  const auto run = [&](const Call& call, const std::string& mesh) {
    std::string problem;
    try {
      problem = check(world, call, mesh, backend);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (!problem.empty())
      failed.push_back(fmt::format("{}, mesh {}: {}", call.name, mesh, problem));
  };
  int checked = 0;
  for (const std::string& mesh : meshes(world.size())) {
    for (const Call& call : small_calls()) {
      const bool odd = world.size() != 1 && world.size() != 2 && world.size() != 4;
      if (odd || mesh == "sp=4" || !splits(call, mesh)) continue;
      if (call.operation->has("axis_name") || !unavailable(*call.operation, backend).empty())
        continue;
      run(call, mesh), ++checked;
    }
  }
  for (const std::string& mesh : meshes(world.size())) {
    if (mesh.find("sp=") == mesh.npos) continue;
    for (const Call& call : ring_calls(world.size())) run(call, mesh), ++checked;
  }
  for (const Call& call : shared_calls(world.size())) {
    run(call, fmt::format("sp={}", world.size())), ++checked;
  }
  for (const Call& call : snippets(world.size())) run(call, "of the snippet"), ++checked;
  const std::string line = fmt::format("sp={}", world.size());
  for (const Call& call : sample_calls(world.size())) run(call, line), ++checked;
  if (checked < 7) failed.push_back(fmt::format("only {} checks ran", checked));
  return failed;
}

}  // namespace maskctl::rank_test
