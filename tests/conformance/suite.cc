#include "conformance/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "conformance/mismatch.h"

namespace conformance {
namespace {

namespace fs = std::filesystem;
using maskctl::DType;
using maskctl::Index;
using maskctl::Tensor;

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Mismatch("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Value manifest_of(const std::string& path) {
  Value content = parse_json(file_text(path));
  if (content.at("schema") != Value(std::int64_t{1})) {
    throw Mismatch("schema " + content.at("schema").text() + "; expected 1");
  }
  return content;
}

Case case_of(const Value& entry) {
  Case out{entry.at("id").as<std::string>(), {}, {}, entry.at("expected").as<Value::Dict>()};
  for (const auto& [name, key] : entry.at("inputs").as<Value::Dict>()) {
    out.inputs[name] = key.as<std::string>();
  }
  for (const Value& step : entry.at("chain").as<Value::List>()) {
    out.chain.push_back({step.at("op").as<std::string>(), step.at("args")});
  }
  return out;
}

std::string beside(const std::string& manifest, const std::string& name) {
  return (fs::path(manifest).parent_path() / name).string();
}

Tensor bfloat16_of(const Tensor& bits) {
  Tensor out(DType::kBFloat16, bits.shape());
  std::ranges::copy(bits.bytes(), out.bytes().begin());
  return out;
}

}  // namespace

Suite::Suite(const std::string& manifest) : Suite(manifest, manifest_of(manifest)) {}

Suite::Suite(const std::string& manifest, const Value& content)
    : name_(content.at("suite").as<std::string>()),
      archive_(maskctl::ByteSource(beside(manifest, content.at("npz").as<std::string>()))) {
  for (const auto& [key, declared] : content.at("arrays").as<Value::Dict>()) {
    arrays_[key] = declared;
  }
  for (const Value& entry : content.at("cases").as<Value::List>()) {
    cases_.push_back(case_of(entry));
  }
}

Tensor Suite::array(const std::string& key) const {
  const auto found = arrays_.find(key);
  if (found == arrays_.end()) throw Mismatch("the manifest declares no array " + key);
  const Value& declared = found->second;
  Tensor tensor = archive_.read(key);
  Value::List shape(tensor.shape().begin(), tensor.shape().end());
  if (declared.at("shape") != Value(shape) ||
      declared.at("dtype") != Value(std::string(maskctl::name(tensor.dtype())))) {
    throw Mismatch(fmt::format("array {} of the .npz is not the one of the manifest", key));
  }
  const Value* bits_of = declared.find("bits_of");
  if (!bits_of) return tensor;
  if (*bits_of != Value("bfloat16") || tensor.dtype() != DType::kUInt16) {
    throw Mismatch("array " + key + " holds bits of " + bits_of->text());
  }
  return bfloat16_of(tensor);
}

}  // namespace conformance
