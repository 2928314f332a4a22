#include "maskctl/inspect/check/exceptions.h"

#include <algorithm>

#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/cells.h"

namespace maskctl {
namespace {

/// Answers questions about one cell of a plane: about the keys that its query sees, and the queries
/// that see its key.
class Around {
 public:
  Around(const PlanePtr& plane, Index query, Index key, std::optional<Index> shift = {})
      : plane_(plane),
        queries_(plane->queries()),
        keys_(plane->keys()),
        shift_(shift.value_or(keys_ - queries_)),
        query_(query),
        key_(key) {}

  bool is_open() const { return plane_->count({query_, query_ + 1}, {key_, key_ + 1}) == 1; }
  /// Whether the plane has a single query and the cell is at an end of a run of open keys: exactly
  /// one of its two neighbours is open. In a single row, a run may end anywhere.
  bool ends_only_row() const {
    const Range next{std::max<Index>(key_ - 1, 0), std::min(key_ + 2, keys_)};
    const Index others = plane_->count({0, 1}, next) - (is_open() ? 1 : 0);
    return queries_ == 1 && 0 < others && others < next.size() - 1;
  }
  bool is_future() const { return key_ > query_ + shift_; }

  bool in_group() const {
    const Index self = query_ + shift_, first = std::min(self, key_), last = std::max(self, key_);
    return first >= shift_ && last < shift_ + queries_ &&
           plane_->classify({first - shift_, last - shift_ + 1}, {first, last + 1}) == Fill::kFull;
  }

  /// Whether every query that sees any key sees this one.
  bool is_seen_by_all() const {
    const Index seen = column(key_)->count();
    return seen == queries_ || seen == queries_ - count_empty_rows(*plane_);
  }

  /// Whether the query sees all that the key's token sees, and all queries that see the query's
  /// token also see the key.
  bool in_order() const {
    if (key_ < shift_) return false;  // the key's token is no query, so what it sees is unknown
    const PlanePtr seen = row(key_ - shift_), sees = column(query_ + shift_);
    return combine(Op::kSub, seen, row(query_))->count() == 0 &&
           combine(Op::kSub, sees, column(key_))->count() == 0;
  }

  /// Whether all tokens between key and query that the query sees also see the key.
  bool is_seen_between() const {
    return tokens_seen(key_ + 1, query_ + shift_, [this](Range tokens) {
      return plane_->count(tokens, {key_, key_ + 1}) == tokens.size();
    });
  }

  /// Whether a token links query and key: the query sees it and it sees the key or, unless the key
  /// is later than the query, it sees both. (Later tokens of a causal mask see both anyway.)
  bool is_linked() const {
    if (!is_future() && combine(Op::kAnd, column(query_ + shift_), column(key_))->count() > 0) {
      return true;
    }
    return !tokens_seen(0, keys_, [this](Range tokens) {
      return plane_->count(tokens, {key_, key_ + 1}) == 0;
    });
  }

 private:
  /// Whether holds(tokens) is true for each run of tokens in [first, last) that the query sees, as
  /// far as these tokens are queries too.
  template <typename Holds>
  bool tokens_seen(Index first, Index last, const Holds& holds) const {
    bool all = true;
    recognition::each_run(*plane_, {query_, query_ + 1}, [&](Range, const Band& run) {
      const Range tokens{std::max({run.begin, first, shift_}) - shift_,
                         std::min({run.end, last, shift_ + queries_}) - shift_};
      if (tokens.begin < tokens.end) all = all && holds(tokens);
    });
    return all;
  }

  PlanePtr row(Index query) const { return plane_->sliced({query, query + 1}, {0, keys_}); }
  PlanePtr column(Index key) const { return plane_->sliced({0, queries_}, {key, key + 1}); }

  const PlanePtr& plane_;
  Index queries_, keys_, shift_, query_, key_;
};

}  // namespace

bool is_in_group(const PlanePtr& plane, Index query, Index key) {
  return plane->queries() <= plane->keys() && Around(plane, query, key).in_group();
}

bool is_exception(const PlanePtr& plane, Index query, Index key, std::optional<Index> shift) {
  if (plane->queries() > plane->keys()) return true;  // then queries are not tokens among the keys
  const Around around(plane, query, key, shift);
  if (around.ends_only_row()) return false;
  if (!around.is_open()) return around.is_linked();
  if (around.in_group() || around.is_seen_by_all()) return false;
  return around.is_future() || !around.in_order() || !around.is_seen_between();
}

}  // namespace maskctl
