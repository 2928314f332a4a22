// The chain of within as it is for each document; private to mask.
#pragma once

#include <utility>
#include <vector>

#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// In a chain that is applied to documents, they take the place of batch entries: of a list each
/// document has its own number, and batch: names documents. Steps that have documents themselves
/// are left as they are.
class DocumentChains {
 public:
  /// Throws Error(kInvalidArgument) for lists of other than 1 or `documents` numbers, and for
  /// batch: of documents that are none.
  DocumentChains(const Chain& chain, Index documents);

  /// Whether the documents have different chains.
  bool differ() const { return differ_; }
  /// The chain of one document, whose steps have no lists.
  Chain of(Index document) const;

 private:
  struct List {
    const Field* field;
    std::vector<Index> numbers;  // one per document
  };
  struct Part {
    Step step;
    std::vector<List> lists = {};
    std::vector<Index> members = {};          // the documents that batch: names
    std::vector<DocumentChains> inside = {};  // the chain of the step, if it has one to be changed
  };
  static void take_list(Part& part, const Field& field, Index documents);

  std::vector<Part> parts_;
  bool differ_ = false;
};

}  // namespace maskctl::step
