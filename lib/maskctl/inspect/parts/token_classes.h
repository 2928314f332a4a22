// Tokens by the lists of parts that hold them; private to parts.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "maskctl/inspect/parts/parts.h"

namespace maskctl {

/// The lists of tokens that parts have on one side, each once, and the classes of tokens that are
/// in the same lists.
class TokenClasses {
 public:
  TokenClasses(Index tokens, const char* side) : class_of_(as_size(tokens)), side_(side) {}

  /// The numbers of a part's list; one in which tokens recur is several lists, each of which has
  /// them once. Throws Error(kInvalidArgument) for tokens that are not among all.
  std::vector<std::size_t> add(const PartSide& side, const std::string& part);
  /// Puts tokens into classes, after all lists were added. Class 0 is in no list.
  void close();

  const PartSide& list(std::size_t number) const { return lists_[number]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }
  /// The lists of a class, ascending, and its tokens, ascending.
  const std::vector<std::size_t>& lists(std::uint32_t of) const { return members_[of]; }
  const Indices& tokens(std::uint32_t of) const { return tokens_[of]; }
  const std::vector<std::uint32_t>& classes(std::size_t list) const { return classes_of_[list]; }
  /// Where a list has the tokens of a class.
  Indices places(std::uint32_t of, std::size_t list);
  /// The tokens of all classes but some.
  Indices other_tokens(const std::set<std::uint32_t>& classes) const;

 private:
  using Key = std::vector<std::tuple<Index, Index, Index>>;
  static std::pair<Key, Key> key_of(const PartSide& side);

  std::vector<std::uint32_t> class_of_;  // of each token
  const char* side_;
  std::vector<std::uint32_t> stamp_;  // the last list that had a token
  std::uint32_t stamps_ = 1;
  std::vector<PartSide> lists_;
  std::map<std::pair<Key, Key>, std::vector<std::size_t>> known_;
  std::vector<std::vector<std::size_t>> members_;
  std::vector<Indices> tokens_;
  std::vector<std::vector<std::uint32_t>> classes_of_;
  std::vector<std::int32_t> place_;  // of each token of the list that was asked last
  std::size_t asked_ = ~std::size_t{0};
};

/// Reads indices one after another.
class IndexReader {
 public:
  explicit IndexReader(const Indices& indices) : indices_(indices) {}
  Index next() {
    if (at_ == indices_[one_].count) {
      ++one_;
      at_ = 0;
    }
    return indices_[one_].at(at_++);
  }

 private:
  const Indices& indices_;
  std::size_t one_ = 0;
  Index at_ = 0;
};

}  // namespace maskctl
