// maskctl verify: proof that a backend, or an output made elsewhere, obeys a mask.
#include "maskctl/attention/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/attention_call.h"
#include "app/cli/attention_commands.h"
#include "app/cli/attention_json.h"
#include "app/cli/output.h"
#include "maskctl/base/error.h"

namespace maskctl::app {
namespace {

using attention::VerifyCheck;

std::string checks_text(const std::vector<VerifyCheck>& checks) {
  static constexpr const char* kStates[] = {"ok", "FAILED", "skipped"};
  std::string out;
  for (const VerifyCheck& check : checks) {
    out += fmt::format("{:<18}{:<9}{}\n", check.name,
                       kStates[static_cast<std::size_t>(check.state)], check.detail);
  }
  return out;
}

/// Arguments that close no cell.
constexpr std::string_view kOpen[] = {"query",
                                      "key",
                                      "value",
                                      "key_value",
                                      "w_kc",
                                      "w_vc",
                                      "b_q",
                                      "b_k",
                                      "bias",
                                      "softmax_aux",
                                      "softmax_scale",
                                      "logits_soft_cap",
                                      "empty_row",
                                      "q_blocksize",
                                      "kv_blocksize",
                                      "ring_size",
                                      "query_chunk_size",
                                      "key_chunk_size"};

/// Whether the mask alone says what is open.
bool mask_alone(const VerifyOptions& options) {
  return options.call.mask != "none" &&
         std::ranges::all_of(options.call.words, [](const std::string& word) {
           return std::ranges::count(kOpen, word.substr(0, word.find('='))) > 0;
         });
}

bool has_word(const VerifyOptions& options, std::string_view start) {
  return std::ranges::any_of(options.call.words,
                             [start](const std::string& word) { return word.starts_with(start); });
}

/// A name is letters, digits and underscores: anything else before '=' belongs to a file.
attention::NamedResults given_results(const VerifyOptions& options, Loader& loader) {
  attention::NamedResults out;
  for (const std::string& given : options.given) {
    const std::size_t mark = given.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
    const bool named = mark != given.npos && mark > 0 && given[mark] == '=';
    const std::string name = named ? given.substr(0, mark) : "out";
    if (out.contains(name)) {
      throw Error(Errc::kInvalidArgument, fmt::format("--given: {} is given twice", name));
    }
    if (name.starts_with("grad_") && has_word(options, "query=") &&
        !has_word(options, "cotangent_")) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("--given {}: gradients of what? give cotangent_out=SOURCE", given));
    }
    out[name] = loader.array(named ? given.substr(mark + 1) : given);
  }
  return out;
}

}  // namespace

std::vector<VerifyCheck> verify_checks(const VerifyOptions& options, const GlobalOptions& globals) {
  attention::VerifyRequest request;
  request.operation = &operation_named(options.operation);
  CallOptions call = options.call;
  if (call.mask == "none") call.mask.clear();
  Loader loader(call.source, globals);
  request.arguments = read_call(*request.operation, call, loader);
  request.backend = options.backend;
  request.against = options.against;
  request.gradients = !options.no_gradients;
  request.seed = options.call.seed;
  if (options.relative || options.absolute) {
    request.tolerance = {options.relative.value_or(0), options.absolute.value_or(0)};
  }
  if (mask_alone(options)) request.declared = request.arguments.mask;
  if (options.given.empty()) return attention::verify(request);
  return verify_given(request, given_results(options, loader));
}

int verify(const VerifyOptions& options, const GlobalOptions& globals) {
  const std::vector<VerifyCheck> checks = verify_checks(options, globals);
  const std::string operation(operation_named(options.operation).name);
  write_stdout(options.json ? verify_json(operation, checks) : checks_text(checks));
  return all_passed(checks) ? 0 : 1;
}

}  // namespace maskctl::app
