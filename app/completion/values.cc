#include "app/completion/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/completion/pipelines.h"
#include "maskctl/attention/calls/operation.h"
#include "maskctl/attention/problems/context.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/golden/manifest.h"
#include "maskctl/inspect/check/finding.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/io/formats/hdf5/hdf5_helper.h"
#include "maskctl/io/kinds/kind.h"
#include "maskctl/pipeline/steps/step_infos.h"
#include "maskctl/tensor/element_types.h"
#include "maskctl/translate/conventions.h"
#include "maskctl/verify/mutants/mutants.h"

namespace maskctl::app {
namespace {

namespace fs = std::filesystem;

/// Splits the word to complete after the last `mark` in it, so that only the text behind the mark
/// is completed.
Part after_last(const Part& part, char mark) { return part.after(part.text.rfind(mark) + 1); }

/// The names of the arrays in a container; nothing for a pipe, which would block.
std::vector<std::string> keys_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return {};
  try {
    set_hdf5_helper("", 1);  // stop reading an HDF5 file after 1 s without progress
    const auto container = open_container(path, {});
    return container->holds_one_array() ? std::vector<std::string>() : container->keys();
  } catch (const std::exception&) {
    return {};  // no names if the file cannot be read
  }
}

void files(const Part& part, const LineBefore&, Completions& out) { out.add_paths(part); }

void folders(const Part& part, const LineBefore&, Completions& out) { out.add_paths(part, true); }

void source(const Part& part, const LineBefore&, Completions& out) { complete_source(part, out); }

void pipeline(const Part& part, const LineBefore&, Completions& out) {
  complete_pipeline(part, out);
}

void expectation(const Part& part, const LineBefore&, Completions& out) {
  complete_expectation(part, out);
}

void generator(const Part& part, const LineBefore&, Completions& out) {
  complete_generator(part, out);
}

void step_name(const Part& part, const LineBefore&, Completions& out) {
  for (const StepInfo& info : step_infos()) out.add(part, info.name, info.meaning);
}

void finding(const Part& part, const LineBefore&, Completions& out) {
  for (const LintRule& rule : lint_rules()) out.add(part, rule.id, rule.summary);
}

void kind(const Part& part, const LineBefore&, Completions& out) {
  for (const ArrayKind each : all_kinds()) out.add(part, name(each));
}

void dtype(const Part& part, const LineBefore&, Completions& out) {
  for (const ElementType& type : kElementTypes) out.add(part, type.name);
}

void library(const Part& part, const LineBefore&, Completions& out) {
  const Part last = after_last(part, '+');
  for (const Library* one : libraries()) out.add(last, one->name, one->title);
}

void backend(const Part& part, const LineBefore&, Completions& out) {
  const Part last = after_last(part, '+');
  for (const std::string_view name : attention::backend_names()) out.add(last, name);
}

void operation(const Part& part, const LineBefore&, Completions& out) {
  for (const attention::Operation* row : attention::operations()) {
    out.add(part, row->name, row->summary);
  }
}

/// The operation that the line names; else flash_attention, which is the default of verify.
const attention::Operation& operation_of(const LineBefore& line) {
  for (const std::string& word : line.words) {
    if (const auto* found = attention::find_operation(word)) return *found;
  }
  return *attention::find_operation("flash_attention");
}

bool is_flag(const attention::Operation& row, const attention::Field& field) {
  const attention::AnyValue call = row.copy_call(row.empty_call());
  return std::holds_alternative<bool*>(field.slot(call.get()));
}

/// Completes "NAME=VALUE", where NAME is an argument of the operation.
void argument(const Part& part, const LineBefore& line, Completions& out) {
  const attention::Operation& row = operation_of(line);
  const std::size_t equals = part.text.find('=');
  for (const attention::Field& field : row.fields) {
    if (!field.listed()) continue;
    if (equals == part.text.npos) {
      out.add(part, fmt::format("{}=", field.name), field.is_array ? field.axes : field.help);
    } else if (field.name == part.text.substr(0, equals)) {
      const Part value = part.after(equals + 1);
      for (const std::string_view word : field.words) out.add(value, word);
      if (is_flag(row, field)) complete_choice("true|false", value, out);
      if (field.is_array) complete_source(value, out);
    }
  }
}

/// Completes "NAME=SOURCE", where NAME is an array of a merge, or a file that holds such arrays.
void merged(const Part& part, const LineBefore&, Completions& out) {
  const std::size_t equals = part.text.find('=');
  if (equals != part.text.npos) return complete_source(part.after(equals + 1), out);
  for (const char* name : {"part0_out", "part0_lse", "part1_out", "part1_lse", "out", "lse"}) {
    out.add(part, fmt::format("{}=", name));
  }
  out.add_paths(part);
}

/// Completes "[NAME=]SOURCE", where NAME is a result of the operation.
void result(const Part& part, const LineBefore& line, Completions& out) {
  const std::size_t equals = part.text.find('=');
  if (equals != part.text.npos) return complete_source(part.after(equals + 1), out);
  const attention::Operation& row = operation_of(line);
  for (const attention::ResultField& field : row.outputs)
    out.add(part, fmt::format("{}=", field.name));
  for (const attention::ResultField& field : row.gradients) {
    out.add(part, fmt::format("grad_{}=", field.name));
  }
  complete_source(part, out);
}

/// Completes the name of an entry in the manifests that the line names; for `golden init`, a
/// SOURCE.
void entry(const Part& part, const LineBefore& line, Completions& out) {
  if (std::ranges::find(line.words, "init") != line.words.end()) return complete_source(part, out);
  for (const std::string& word : line.words) {
    std::error_code failed;
    if (!word.ends_with(".toml") || !fs::is_regular_file(word, failed)) continue;
    for (const GoldenEntry& each : read_manifest(word).entries)
      out.add(part, each.name, each.source);
  }
}

void mutant(const Part& part, const LineBefore&, Completions& out) {
  for (const attention::MutantKindInfo& kind : attention::mutant_kinds()) {
    out.add(part, kind.name, kind.meaning);
  }
}

/// How to complete a value, given the placeholder of its option or the name of its operand. Numbers
/// are not in the table, as they have no candidates.
struct Row {
  std::string_view placeholder;
  void (*complete)(const Part& part, const LineBefore& line, Completions& out);
};
constexpr Row kRows[] = {
    {"SOURCE", source},     {"A", source},
    {"B", source},          {"MAP", source},
    {"OUT", source},        {"SRC", source},
    {"DEST", files},        {"FILE", files},
    {"FILE.png", files},    {"FILE.xml", files},
    {"MANIFEST", files},    {"DIR", folders},
    {"FOLDER", folders},    {"KIND", kind},
    {"TYPE", dtype},        {"PIPELINE", pipeline},
    {"STEP", generator},    {"EXPECTATION", expectation},
    {"NAME", step_name},    {"OPERATION", operation},
    {"ENTRY", entry},       {"NAME=VALUE", argument},
    {"LIBRARY", library},   {"LIBRARY+...", library},
    {"NAME+NAME", backend}, {"[NAME=]SOURCE", result},
    {"MUTANT", mutant},     {"NAME=SOURCE", merged},
    {"ID", finding},
};

/// True for a choice that is typed literally: "all" in "N|all", but not N.
bool is_literal(std::string_view choice) {
  return !choice.empty() &&
         choice.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == choice.npos;
}

}  // namespace

void complete_choice(std::string_view choices, const Part& part, Completions& out) {
  for (const std::string_view choice : split(choices, '|')) {
    if (is_literal(choice)) out.add(part, choice);
  }
}

void complete_source(const Part& part, Completions& out) {
  const std::string& text = part.text;
  if (text.starts_with("gen:")) return complete_generator(part.after(4), out);
  if (text.starts_with("q=")) {
    const std::size_t second = text.find(",kv=");
    return complete_source(part.after(second == text.npos ? 2 : second + 4), out);
  }
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos) {
    const auto keys = keys_of(text.substr(0, colon));
    for (const std::string& key : keys) out.add(part.after(colon + 1), key);
    if (!keys.empty()) return;  // FILE is a container: only names of its arrays can follow
  }
  out.add(part, "gen:", "a mask that is generated");
  out.add_paths(part);
}

void complete_value(std::string_view placeholder, const Part& part, const LineBefore& line,
                    Completions& out) {
  const auto row = std::ranges::find(kRows, placeholder, &Row::placeholder);
  if (row != std::end(kRows)) return row->complete(part, line, out);
  complete_choice(placeholder, part, out);
}

}  // namespace maskctl::app
