// Holds what a library's text is read as against the library's rule, cell by cell.
#pragma once

#include <functional>
#include <string>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "translate/libraries.h"

namespace maskctl::test {

/// Whether key k is open for query q, of so many queries and keys.
using Rule = std::function<bool(Index q, Index k, Index queries, Index keys)>;

inline void check_chain(const Chain& chain, const Rule& rule, Index queries, Index keys) {
  const Mask mask = maskctl::apply(Mask(full_plane(queries, keys)), chain);
  for (Index q = 0; q < queries; ++q) {
    for (Index k = 0; k < keys; ++k) {
      INFO(to_text(chain) << " on " << queries << "x" << keys << " at " << q << "," << k);
      REQUIRE((mask.plane(0, 0)->count({q, q + 1}, {k, k + 1}) == 1) == rule(q, k, queries, keys));
    }
  }
}

/// Checks what is read against the rule for all sizes to 7 x 7: Q = K, Q < K (a cache) and Q > K.
inline void check_read(const Library& library, const std::string& text, const Rule& rule) {
  INFO(text);
  const Chain chain = library.read(text);
  for (Index queries = 1; queries <= 7; ++queries) {
    for (Index keys = 1; keys <= 7; ++keys) check_chain(chain, rule, queries, keys);
  }
}

inline Translation written(const std::string& pipeline, const Library& library) {
  return translate(bound(pipeline), library, [](const Step& step) { return to_text(Chain{step}); });
}

inline std::string code(const Translation& translation) {
  std::string out;
  for (const std::string& line : translation.code) out += line + "\n";
  return out;
}

inline std::string refused_with(const Library& library, const std::string& text) {
  try {
    library.read(text);
  } catch (const PipelineError& error) {
    return error.what();
  }
  return "";
}

}  // namespace maskctl::test
