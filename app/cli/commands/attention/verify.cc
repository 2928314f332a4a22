// maskctl verify: tests whether a backend, or an output computed elsewhere, obeys a mask.
#include "maskctl/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/commands/attention/call.h"
#include "app/cli/commands/attention/layout.h"
#include "app/cli/commands/attention/verify.h"
#include "app/cli/commands/attention/verify_answer.h"
#include "app/cli/parser/groups.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/io/array_io.h"
#include "maskctl/io/formats/container.h"
#include "maskctl/verify/solve/explain.h"

namespace maskctl::app {
namespace {

using attention::JudgedCall;
using attention::NamedResults;
using attention::Operation;
using attention::Verdict;
using attention::VerifyRequest;

/// True if only the mask closes cells, and no other argument of the call does.
bool mask_alone(const attention::Operation& operation, const VerifyOptions& options) {
  std::vector<std::string_view> names;
  names.reserve(options.call.words.size());
  for (const std::string& word : options.call.words) {
    names.push_back(std::string_view(word).substr(0, word.find('=')));
  }
  return options.call.mask != "none" && attention::mask_alone(operation, names);
}

bool has_word(const VerifyOptions& options, std::string_view start) {
  return std::ranges::any_of(options.call.words,
                             [start](const std::string& word) { return word.starts_with(start); });
}

/// The NAME of "NAME=SOURCE"; empty for a SOURCE alone. A name has only lower-case letters, digits
/// and underscores, so that a "=" in a file name is not mistaken for it.
std::string name_of(const std::string& word) {
  const std::size_t mark = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
  const bool named = mark != word.npos && mark > 0 && word[mark] == '=';
  return named ? word.substr(0, mark) : "";
}

/// The path of a container, alone or with a group of its arrays: "call.h5", "call.h5:/layer0".
/// Nothing for other words.
std::optional<SourceName> container_in(const std::string& word) {
  if (!name_of(word).empty()) return std::nullopt;
  SourceName out = parse_source_name(word);
  std::error_code failed;
  if (!std::filesystem::is_regular_file(out.path, failed)) return std::nullopt;
  if (!out.member.empty() && !out.member.ends_with('/')) out.member += '/';
  return out;
}

/// Adds the arrays of a container, or of a group in it, to the options, by their names: arguments
/// of the operation to the words of the call, results to `given`. Names that are already on the
/// command line are skipped.
void take_arrays(const SourceName& named, Session& session, VerifyOptions& options) {
  const std::string& path = named.path;
  const ReadOptions how{session.settings().max_bytes, session.settings().strict};
  const auto container = open_container(ByteSource(path), how);
  const Operation& operation = operation_named(options.operation);
  const auto without_slash = [](const std::string& text) {
    return text.starts_with('/') ? text.substr(1) : text;
  };
  bool any = false;
  std::map<std::string, std::string> taken;  // keys by the names of their arrays
  for (const std::string& key : container->keys()) {
    if (!without_slash(key).starts_with(without_slash(named.member))) continue;
    const std::string plain = key.substr(key.rfind('/') + 1);
    const std::string name(full_name(plain));
    const bool judged = is_result(name);
    const bool is_argument = operation.find(name, true) || name.starts_with("cotangent_");
    if (!judged && !is_argument) continue;
    any = true;
    if (const auto [at, fresh] = taken.try_emplace(name, key); !fresh) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{}: {} and {} are both {}; name the group of one call, as {}:GROUP",
                              printable(path), printable(at->second), printable(key), name,
                              printable(path)));
    }
    const std::string word = fmt::format("{}={}:{}", name, path, key);
    const auto is_named = [&](const std::string& other) {
      return full_name(name_of(other)) == name;
    };
    auto& words = judged ? options.given : options.call.words;
    if (std::ranges::none_of(words, is_named)) words.push_back(word);
  }
  if (any) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("{}: no array has the name of an argument or a result, as q, k, v and out; "
                  "there are {}",
                  path, joined(container->keys(), ", ")));
}

/// Returns the options with containers replaced by their arrays, and short names replaced by full
/// ones (q by query).
VerifyOptions with_arrays(VerifyOptions options, Session& session) {
  std::vector<SourceName> containers;
  std::erase_if(options.call.words, [&containers](const std::string& word) {
    const auto container = container_in(word);
    if (container) containers.push_back(*container);
    return container.has_value();
  });
  for (std::string& word : options.call.words) {
    const std::string name = name_of(word);
    std::error_code failed;
    if (name.empty() && has_array_suffix(word) && !std::filesystem::exists(word, failed)) {
      throw Error(Errc::kIo, fmt::format("cannot read {}: No such file", printable(word)));
    }
    word = std::string(full_name(name)) + word.substr(name.size());
  }
  for (const SourceName& one : containers) take_arrays(one, session, options);
  return options;
}

CallOptions call_of(const VerifyOptions& options) {
  CallOptions call = options.call;
  if (call.mask == "none") call.mask.clear();
  return call;
}

attention::NamedResults given_results(const VerifyOptions& options, Loader& loader) {
  attention::NamedResults out;
  for (const std::string& given : options.given) {
    const std::string word = name_of(given);
    const std::string name = word.empty() ? "out" : std::string(full_name(word));
    if (out.contains(name)) {
      throw Error(Errc::kInvalidArgument, fmt::format("--given: {} is given twice", name));
    }
    if (name.starts_with("grad_") && has_word(options, "query=") &&
        !has_word(options, "cotangent_")) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--given {}: gradients of what? give cotangent_out=SOURCE", given));
    }
    Tensor array = loader.array(word.empty() ? given : given.substr(word.size() + 1));
    out[name] =
        transposed(operation_named(options.operation), name, std::move(array), options.call.layout);
  }
  return out;
}

/// Throws if a required input is missing: it would be random, and an output computed elsewhere
/// would not match.
void check_inputs(const attention::Operation& operation, const VerifyOptions& options) {
  const auto is_given = [&](std::string_view name) {
    return has_word(options, std::string(name) + "=");
  };
  std::string missing;
  for (const attention::Field& field : form_of(operation, is_given).fields) {
    if (!field.is(attention::kRequired) || is_given(field.name)) continue;
    missing += fmt::format("{}{}=SOURCE", missing.empty() ? "" : " ", field.name);
  }
  if (missing.empty()) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("verify --given: judged against what? give the inputs of the kernel too: "
                          "{}",
                          missing));
}

/// Builds the call from the options. Results of --given are not among its arguments.
JudgedCall judged_call(const VerifyOptions& options, Loader& loader) {
  JudgedCall out;
  VerifyRequest& request = out.request;
  request.operation = &operation_named(options.operation);
  request.arguments = read_call(*request.operation, call_of(options), loader);
  request.backend = options.backend;
  request.against = options.against;
  request.gradients = !options.no_gradients;
  request.seed = options.call.seed;
  if (options.relative || options.absolute) {
    request.tolerance = {options.relative.value_or(0), options.absolute.value_or(0)};
  }
  if (mask_alone(*request.operation, options)) request.declared = request.arguments.mask;
  if (loader.own_steps(options.call.mask)) {
    out.steps = loader.whole_chain(options.call.mask, loader.chain());
  }
  return out;
}

/// Collects, at rank 0, the positions where the ranks' ranges of queries and keys begin.
attention::Borders borders_of(const attention::RankCall& call, attention::Communicator& world) {
  std::string own;
  for (const Range& range : call.ring().share("Tq")) own += fmt::format("q{} ", range.begin);
  for (const Range& range : call.ring().share("Tk")) own += fmt::format("k{} ", range.begin);
  attention::Borders borders;
  for (const std::string& text : attention::gathered_texts(world, own)) {
    for (std::size_t at = 0; at < text.size(); at = text.find(' ', at) + 1) {
      const Index border = std::strtoll(text.c_str() + at + 1, nullptr, 10);
      if (border > 0) (text[at] == 'q' ? borders.queries : borders.keys).insert(border);
    }
  }
  return borders;
}

/// Each rank computes its share, forward and backward. Rank 0 tests the assembled results: first
/// all of them, then those next to each border between the ranks' ranges of queries and keys.
VerifyAnswer verify_over_ranks(const VerifyOptions& options, Session& session,
                               attention::Communicator& world) {
  const attention::Operation& operation = operation_named(options.operation);
  Loader loader(options.call.source, session);
  RankArrays arrays;
  attention::NamedArguments arguments = read_call(operation, call_of(options), loader, &arrays);
  arguments.context.backend = options.backend;
  if (!options.no_gradients && operation.has_gradients()) {
    arguments.gradient_seed = options.call.seed;
  }
  SplitCall split(operation, options.ranks, std::move(arguments), std::move(arrays), world);
  const NamedResults results = assembled(world, split.ranked().run(split.read()));
  const attention::Borders borders = borders_of(split.ranked(), world);
  if (world.rank() != 0) return {};
  const JudgedCall call = judged_call(options, loader);
  return answered(options, {.report = judge_shards(call, results, borders)}, session);
}

}  // namespace

void declare_verify(OptionList& list, VerifyOptions& verify) {
  list.operand("SOURCE", verify.call.mask);
  declare_call(list, verify.call);
  list.text("--op", "OPERATION", "the operation to call (flash_attention)", verify.operation);
  declare_backend(list, "--backend", "the backend to judge (cpu)", verify.backend);
  declare_backend(list, "--against", "the backend to compare it with (reference)", verify.against);
  list.repeated("--given", "[NAME=]SOURCE",
                "judge this output instead, or the result of that name (lse, grad_query with "
                "cotangent_out=); give query, key and value too; may be repeated",
                verify.given);
  list.flag(
      "--solve",
      "solve the mask that the output obeys from the arrays, cell by cell; -o writes it; exit "
      "2 where rows are ambiguous, or no cell is told in half of them",
      verify.solve);
  list.number("--rtol", "relative tolerance; without both, those of docs/numerics.md",
              [&verify](double x) { verify.relative = x; });
  list.number("--atol", "absolute tolerance, times the largest value if that is above 1",
              [&verify](double x) { verify.absolute = x; });
  list.flag("--no-gradients", "forward only", verify.no_gradients);
  declare_ranks(list, verify.ranks);
  declare_output(list, verify.output);
  list.json("maskctl.verify/1", verify.json);
}

int status_of(Verdict verdict) {
  if (verdict == Verdict::kObeys) return 0;
  return verdict == Verdict::kUnclear ? 2 : 1;
}

attention::FullVerdict full_verdict(const VerifyOptions& as_written, Session& session) {
  if (as_written.solve) attention::require_solver();
  const VerifyOptions options = with_arrays(as_written, session);
  if (options.solve && options.given.empty()) {
    throw Error(Errc::kInvalidArgument,
                "verify --solve: from which output? give that of the kernel: --given SOURCE");
  }
  if (options.given.empty()) require_backend(options.backend, "--backend");
  if (!options.solve) require_backend(options.against, "--against");
  if (!options.given.empty()) check_inputs(operation_named(options.operation), options);
  Loader loader(options.call.source, session);
  const JudgedCall call = judged_call(options, loader);
  if (options.given.empty()) return {.report = judge_backend(call, !options.output.dest.empty())};
  const NamedResults given = given_results(options, loader);
  return options.solve ? solve_fully(call, given) : judge_fully(call, given);
}

namespace {

/// Does what `verify` does: full_verdict(), or over the ranks of a mesh; writes the mask of -o.
VerifyAnswer verified(const VerifyOptions& options, Session& session) {
  const RankOptions& ranks = options.ranks;
  check_ranks(ranks, "verify",
              !options.given.empty() || options.solve
                  ? "--given cannot be combined with --mesh: one process judges an output"
              : options.call.layout ? kUnfitLayout
                                    : "");
  if (!ranks.given()) return answered(options, full_verdict(options, session), session);
  require_backend(options.backend, "--backend");
  VerifyAnswer out;
  out.answer = over_ranks(ranks, options.backend, session,
                          [&](attention::Communicator& world, Session& own) {
                            VerifyAnswer mine = verify_over_ranks(options, own, world);
                            if (world.rank() == 0) out = mine;
                            return std::move(mine.answer);
                          });
  return out;
}

Answer run(const VerifyOptions& options, Session& session) {
  return verified(options, session).answer;
}

}  // namespace

std::function<VerifyAnswer(Session&)> declare_verify_with_masks(OptionList& list) {
  auto options = std::make_shared<VerifyOptions>();
  declare_verify(list, *options);
  return [options](Session& session) { return verified(*options, session); };
}

extern const Command kVerify = command<VerifyOptions, declare_verify, run>({
    .name = "verify",
    .group = kJudge,
    .operands = "SOURCE|none [FILE] [NAME=VALUE...]",
    .summary = "proof that a backend or an output obeys a mask",
    .examples = "  maskctl verify gen:causal:n=128\n"
                "  maskctl verify seg.npy --as segments -t causal --op ring_attention ring_size=4\n"
                "  mpirun -n 4 maskctl verify gen:causal:n=256 --op ring_attention --mesh sp=4\n"
                "  maskctl verify mask.npy query=q.npy key=k.npy value=v.npy --given out.npy\n"
                "  maskctl verify mask.npy call.npz   with q, k, v and out, or gradients too\n"
                "  maskctl verify mask.npy call.npz --solve -o applied.npy\n",
    .negative = "the kernel applied another mask or none",
});

}  // namespace maskctl::app
