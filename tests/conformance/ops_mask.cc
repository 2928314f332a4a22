#include "conformance/ops_mask.h"

#include <optional>

#include "conformance/mismatch.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/tensor/convert.h"

namespace conformance {
namespace {

using maskctl::Index;
using maskctl::Tensor;
using maskctl::lazy::MaskPtr;
namespace lazy = maskctl::lazy;

class Tree {
 public:
  Tree(Index queries, Index keys, const std::function<Tensor(const std::string&)>& input)
      : queries_(queries), keys_(keys), input_(input) {}

  MaskPtr mask(const Value& tree) const {
    const std::string& type = tree.at("type").as<std::string>();
    if (type == "and") return mask(tree.at("left")) & mask(tree.at("right"));
    if (type == "or") return mask(tree.at("left")) | mask(tree.at("right"));
    if (type == "dense") return lazy::numpy_mask(flags(tree));
    if (type == "block") return lazy::numpy_mask(blocks(tree));
    if (type == "multi_head") return heads(tree.at("masks").as<Value::List>());
    return rule(type, tree);
  }

 private:
  MaskPtr rule(const std::string& type, const Value& tree) const {
    const std::vector<Index> shape{queries_, keys_};
    if (type == "full") return lazy::full_mask(shape);
    if (type == "causal") return lazy::causal_mask(shape, integer(tree, "offset"));
    if (type == "chunked_causal") {
      return lazy::chunked_causal_mask(shape, integer(tree, "chunk_size"));
    }
    if (type != "local") throw Mismatch("no mask of type " + quoted(type));
    return lazy::local_mask(shape, {side(tree, "left"), side(tree, "right")},
                            integer(tree, "offset"));
  }

  Tensor flags(const Value& tree) const {
    return astype(input_(tree.at("input").as<std::string>()), maskctl::DType::kBool);
  }

  Tensor blocks(const Value& tree) const {
    const Tensor map = flags(tree);
    const auto plane =
        maskctl::block_grid(queries_, keys_, integer(tree, "q_blocksize"),
                            integer(tree, "kv_blocksize"), map.as<std::uint8_t>(), map.extent(1));
    Tensor dense(maskctl::DType::kBool, {queries_, keys_});
    maskctl::dense_plane(*plane, dense.as<std::uint8_t>());
    return dense;
  }

  MaskPtr heads(const Value::List& trees) const {
    std::vector<MaskPtr> masks;
    for (const Value& tree : trees) masks.push_back(mask(tree));
    return lazy::multi_head_mask(std::move(masks));
  }

  static Index integer(const Value& tree, const char* name) {
    return tree.at(name).as<std::int64_t>();
  }
  static std::optional<Index> side(const Value& tree, const char* name) {
    if (tree.at(name).is_none()) return std::nullopt;
    return integer(tree, name);
  }

  Index queries_, keys_;
  const std::function<Tensor(const std::string&)>& input_;
};

}  // namespace

MaskPtr mask_of_tree(const Value& tree, Index queries, Index keys,
                     const std::function<Tensor(const std::string& name)>& input) {
  return Tree(queries, keys, input).mask(tree);
}

}  // namespace conformance
