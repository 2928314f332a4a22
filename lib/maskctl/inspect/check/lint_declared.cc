// Which queries a chain declares to be padding.
#include "maskctl/inspect/check/lint.h"

namespace maskctl {
namespace {

/// The steps that say which tokens are padding, for queries too, and those that move cells.
Chain declaring(const Chain& chain);

struct Declares {
  std::optional<Step> operator()(const step::Pad& rule) const {
    if (!rule.is_lengths && !rule.both) return std::nullopt;  // flags of keys
    step::Pad both = rule;
    both.both = true;
    return Step{both};
  }
  std::optional<Step> operator()(const step::Within& rule) const {
    step::Within documents = rule;
    documents.chain.clear();
    return Step{documents};
  }
  std::optional<Step> operator()(const step::Scoped& rule) const {
    step::Scoped inside = rule;
    inside.chain = declaring(rule.chain);
    return inside.chain.empty() ? std::nullopt : std::optional(Step{inside});
  }
  std::optional<Step> operator()(const step::Document& rule) const { return Step{rule}; }
  std::optional<Step> operator()(const step::DocumentLengths& rule) const { return Step{rule}; }
  std::optional<Step> operator()(const step::KvLengths& rule) const { return Step{rule}; }
  std::optional<Step> operator()(const step::Slice& rule) const { return Step{rule}; }
  template <typename Other>
  std::optional<Step> operator()(const Other&) const {
    return std::nullopt;
  }
};

Chain declaring(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (auto kept = std::visit(Declares{}, step.rule)) out.push_back(std::move(*kept));
  }
  return out;
}

}  // namespace

Mask declared_queries(const Mask& mask, const Chain& chain) {
  return maskctl::apply(full_like(mask), declaring(chain));
}

}  // namespace maskctl
