#include "app/cli/commands/attention/rank_arrays.h"

#include <fmt/format.h>

#include "app/cli/commands/attention/hashes.h"
#include "maskctl/io/array_io.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {

bool RankArrays::takes(const attention::Field* field, std::string_view name,
                       std::string_view value) {
  if (is_generator(std::string(value))) return false;
  return field ? !field->is(attention::kIntegers) : name.starts_with("cotangent_");
}

void RankArrays::open(const std::string& name, const std::string& source, Loader& loader) {
  File file{loader.array_source(source), hash_of_file(parse_source_name(source).path)};
  files_.emplace(name, std::move(file));
}

RankArrays::Outlines RankArrays::outlines() const {
  Outlines outlines;
  for (const auto& [name, file] : files_) outlines[name] = file.array.shape();
  for (const auto& [name, random] : random_) outlines[name] = random.shape;
  return outlines;
}

std::string RankArrays::text() const {
  std::string text;
  for (const auto& [name, file] : files_) {
    text += fmt::format("{} {} {}, content {:016x}\n", name, maskctl::name(file.array.dtype()),
                        shape_text(file.array.shape()), file.hash);
  }
  for (const auto& [name, random] : random_) {
    text += fmt::format("{} {} {} random {}\n", name, maskctl::name(random.dtype),
                        shape_text(random.shape), random.seed);
  }
  return text;
}

attention::NamedResults RankArrays::read(const attention::RankCall& call) {
  attention::NamedResults parts;
  for (auto& [name, file] : files_) parts[name] = file.array.read(call.place(name));
  for (const auto& [name, random] : random_) {
    parts[name] = attention::random_part(random, call.place(name));
  }
  return parts;
}

}  // namespace maskctl::app
