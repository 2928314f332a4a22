// Runs an operation once for each shard of a mesh and puts the results together.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "maskctl/attention/runtime/op_info.h"
#include "maskctl/attention/sharded/slices.h"
#include "maskctl/mask/block_map.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

/// A mesh of simulated devices and what each array is split over. in_specs follow the order of the
/// operation's tensors; missing entries and nullopt follow from the others.
struct Sharding {
  Mesh mesh;
  std::vector<std::optional<PartitionSpec>> in_specs;
  std::vector<PartitionSpec> out_specs;  // of out; ragged_page_attention_v3: of the cache too
};

/// Throws Error(kInvalidArgument) unless there are info.least_specs .. `most` in_specs and
/// info.out_specs out_specs.
void check_spec_counts(const OpInfo& info, const Sharding& sharding, std::size_t most);

/// Arrays that live as long as a changed copy of a call.
struct OwnedArrays {
  std::list<Tensor> tensors;
  std::list<Mask> masks;
  std::list<MaskInfo> infos;
  std::list<BlockMap> block_maps;

  // Copies.
  Tensor* keep(const Tensor& tensor) { return &tensors.emplace_back(tensor); }
  Mask* keep(const Mask& mask) { return &masks.emplace_back(mask); }
  MaskInfo* keep(const MaskInfo& info) { return &infos.emplace_back(info); }
  BlockMap* keep(const BlockMap& map) { return &block_maps.emplace_back(map); }
};

/// An array of a result, named and labelled.
struct ResultArray {
  std::string_view name, labels;
  Tensor* tensor;
};

/// Collects the arrays of a result that are present: `visit` calls f(name, array, labels), or
/// f(name, array) for gradients, whose labels are those of their inputs.
template <class Visit>
std::vector<ResultArray> result_arrays(Visit&& visit) {
  std::vector<ResultArray> arrays;
  visit([&](std::string_view name, auto& array, std::string_view labels = {}) {
    if constexpr (requires { array.has_value(); }) {
      if (array) arrays.push_back({name, labels, &*array});
    } else {
      arrays.push_back({name, labels, &array});
    }
  });
  return arrays;
}

/// One call of an operation on all shards. Op describes the operation (runtime/module.h). Arrays
/// are cut by their labels, each part runs on its own without collectives (ring_attention brings
/// its ring), and what several devices would compute twice is computed once. Equal to the unsharded
/// call up to rounding.
template <class Op>
class ShardMap {
 public:
  using Inputs = typename Op::Inputs;
  using Options = typename Op::Options;

  /// Checks the specs. The arrays of the call must outlive this.
  ShardMap(const Inputs& inputs, const Options& options, const Sharding& sharding)
      : inputs_(inputs),
        options_(options),
        plan_(Op::kInfo.id, sharding.mesh, Op::kInfo.splittable, Op::kInfo.collective) {
    if constexpr (requires { Op::complete(inputs_, options_, owned_); }) {
      Op::complete(inputs_, options_, owned_);
    }
    add_arrays(sharding);
    if constexpr (requires { Op::check_sharding(inputs_, options_, sharding, plan_); }) {
      Op::check_sharding(inputs_, options_, sharding, plan_);
    }
    shards_ = plan_.shards();
  }

  std::size_t size() const { return shards_.size(); }

  /// `run` gets the inputs and options of each shard and gives its output. Arrays that the
  /// operation updates are updated in place.
  template <class Run>
  auto forward(Run&& run) {
    using Output = std::invoke_result_t<Run, Inputs&, const Options&>;
    std::optional<Output> whole;
    for (const Shard& shard : shards_) {
      Part part(*this, shard);
      Output out = run(part.inputs, part.options);
      if (!whole) whole = blank_output(out, shard);
      const auto parts = arrays_of(out);
      const auto wholes = arrays_of(*whole);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        Tensor& target = *wholes[i].tensor;
        put(*parts[i].tensor, shard.part(target.shape(), parts[i].labels), target);
      }
      for (const auto& [array, labels, copy] : part.updated) {
        put(*copy, shard.part(array->shape(), labels), *array);
      }
    }
    return std::move(*whole);
  }

  /// `run` gets the inputs, the forward output, the cotangents and the options of each shard and
  /// gives its gradients. Parts of one array that several shards read are summed in f32.
  template <class Output, class Run>
  auto backward(const Output& forward, const Cotangents& cotangents, Run&& run) {
    using Gradients =
        std::invoke_result_t<Run, Inputs&, const Output&, const Cotangents&, const Options&>;
    std::optional<Gradients> whole;
    std::vector<Tensor> sums;
    for (const Shard& shard : shards_) {
      Part part(*this, shard);
      const Output out = cut(forward, shard);
      OwnedArrays owned;
      const Cotangents d = cut(forward, cotangents, shard, owned);
      Gradients gradients = run(part.inputs, out, d, part.options);
      const auto parts = gradients_of(gradients);
      if (sums.empty()) {
        for (const ResultArray& array : parts) {
          sums.emplace_back(DType::kFloat32, input_named(array.name).array->shape());
        }
      }
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string_view labels = input_named(parts[i].name).labels;
        add(astype(*parts[i].tensor, DType::kFloat32), shard.part(sums[i].shape(), labels),
            sums[i]);
      }
      if (!whole) whole = std::move(gradients);
    }
    const auto wholes = gradients_of(*whole);
    for (std::size_t i = 0; i < wholes.size(); ++i) {
      *wholes[i].tensor = astype(sums[i], wholes[i].tensor->dtype());
    }
    return std::move(*whole);
  }

 private:
  struct InputArray {
    std::string_view name, labels;
    const Tensor* array;
  };
  const InputArray& input_named(std::string_view name) const {
    return *std::ranges::find(inputs_by_name_, name, &InputArray::name);
  }

  struct Update {
    Tensor* whole;
    std::string_view labels;
    Tensor* part;
  };

  /// The call of one shard: copies whose arrays are cut.
  struct Part {
    Part(const ShardMap& map, const Shard& shard) : inputs(map.inputs_), options(map.options_) {
      Op::arrays(inputs, options, [&](std::string_view, auto& array, std::string_view labels) {
        if (array) cut(array, labels, shard);
      });
      if constexpr (requires { Op::localise(inputs, options, shard, map.plan_, owned); }) {
        Op::localise(inputs, options, shard, map.plan_, owned);
      }
    }
    void cut(const Tensor*& array, std::string_view labels, const Shard& shard) {
      array = &owned.tensors.emplace_back(shard_of(*array, labels, shard));
    }
    void cut(Tensor*& array, std::string_view labels, const Shard& shard) {
      Tensor* copy = &owned.tensors.emplace_back(shard_of(*array, labels, shard));
      updated.push_back({array, labels, copy});
      array = copy;
    }
    void cut(const Mask*& mask, std::string_view, const Shard& shard) {
      mask = &owned.masks.emplace_back(shard_of(*mask, shard));
    }
    void cut(const MaskInfo*& info, std::string_view, const Shard& shard) {
      info = &owned.infos.emplace_back(shard_of(*info, shard));
    }
    void cut(const BlockMap*&, std::string_view, const Shard&) {}  // the same for all

    Inputs inputs;
    Options options;
    OwnedArrays owned;
    std::vector<Update> updated;
  };

  void add_arrays(const Sharding& sharding) {
    std::size_t number = 0;
    Op::arrays(inputs_, options_, [&](std::string_view name, auto& array, std::string_view labels) {
      if constexpr (std::is_convertible_v<decltype(array), const Tensor*>) {
        const std::size_t at = number++;
        const bool given = at < sharding.in_specs.size() && sharding.in_specs[at];
        if (array) add_array(name, *array, labels, given ? &*sharding.in_specs[at] : nullptr);
      } else if (array) {
        add_mask(name, *array);
      }
    });
    check_spec_counts(Op::kInfo, sharding, number);
    std::string_view out_labels = Op::kOutLabels;
    if constexpr (requires { Op::out_labels(inputs_); }) out_labels = Op::out_labels(inputs_);
    plan_.add_output("out", out_labels, sharding.out_specs[0]);
    if constexpr (requires { Op::kUpdateLabels; }) {
      plan_.add_output("the updated array", Op::kUpdateLabels, sharding.out_specs[1]);
    }
  }
  void add_array(std::string_view name, const Tensor& array, std::string_view labels,
                 const PartitionSpec* spec) {
    plan_.add_input(name, array.shape(), labels, spec);
    inputs_by_name_.push_back({name, labels, &array});
  }
  void add_mask(std::string_view name, const Mask& mask) {
    const Index shape[] = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
    plan_.add_input(name, shape, "b H q k", nullptr);
  }
  void add_mask(std::string_view, const BlockMap&) {}
  void add_mask(std::string_view name, const MaskInfo& info) {
    if (info.fields().attention_mask) add_mask(name, info.fields().attention_mask->mask());
    for (const Array& ids : {info.fields().q_segment_ids, info.fields().q_positions}) {
      if (ids) plan_.add_input(name, ids->shape(), "b q", nullptr);
    }
    for (const Array& ids : {info.fields().kv_segment_ids, info.fields().kv_positions}) {
      if (ids) plan_.add_input(name, ids->shape(), "b k", nullptr);
    }
  }

  template <class Output>
  static std::vector<ResultArray> arrays_of(Output& output) {
    return result_arrays([&](auto&& f) { Op::outputs(output, f); });
  }
  template <class Gradients>
  static std::vector<ResultArray> gradients_of(Gradients& gradients) {
    return result_arrays([&](auto&& f) { Op::gradients(gradients, f); });
  }

  /// Arrays of the whole, of what one shard gave.
  template <class Output>
  static Output blank_output(const Output& part, const Shard& shard) {
    Output whole = part;
    for (const ResultArray& array : arrays_of(whole)) {
      *array.tensor =
          Tensor(array.tensor->dtype(), shard.whole(array.tensor->shape(), array.labels));
    }
    return whole;
  }

  template <class Output>
  static Output cut(const Output& whole, const Shard& shard) {
    Output part = whole;
    for (const ResultArray& array : arrays_of(part)) {
      *array.tensor = shard_of(*array.tensor, array.labels, shard);
    }
    return part;
  }

  /// Cotangents have the labels of their outputs.
  template <class Output>
  static Cotangents cut(const Output& forward, const Cotangents& whole, const Shard& shard,
                        OwnedArrays& owned) {
    Output labelled = forward;
    Cotangents part;
    for (const ResultArray& array : arrays_of(labelled)) {
      const auto take_part = [&](std::string_view name, const Tensor* from, const Tensor*& to) {
        if (array.name != name || !from) return;
        to = &owned.tensors.emplace_back(shard_of(*from, array.labels, shard));
      };
      take_part("out", whole.out, part.out);
      take_part("lse", whole.lse, part.lse);
      take_part("final_state", whole.final_state, part.final_state);
    }
    return part;
  }

  Inputs inputs_;
  Options options_;
  OwnedArrays owned_;
  ShardPlan plan_;
  std::vector<InputArray> inputs_by_name_;
  std::vector<Shard> shards_;
};

}  // namespace maskctl::attention
