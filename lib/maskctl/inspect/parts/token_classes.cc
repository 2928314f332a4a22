#include "maskctl/inspect/parts/token_classes.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"

namespace maskctl {

std::pair<TokenClasses::Key, TokenClasses::Key> TokenClasses::key_of(const PartSide& side) {
  const auto of = [](const Indices& indices) {
    Key out;
    for (const Progression& one : indices) out.emplace_back(one.begin, one.step, one.count);
    return out;
  };
  return {of(side.tokens), of(side.places)};
}

std::vector<std::size_t> TokenClasses::add(const PartSide& side, const std::string& part) {
  const auto known = known_.find(key_of(side));
  if (known != known_.end()) return known->second;
  std::vector<PartSide> layers;
  std::map<Index, std::size_t> times;
  IndexReader places(side.places);
  for (const Progression& one : side.tokens) {
    for (Index i = 0; i < one.count; ++i) {
      const Index token = one.at(i), place = places.next();
      if (token < 0 || token >= std::ssize(class_of_)) {
        throw Error(Errc::kInvalidArgument,
                    fmt::format("{}: token {} among its {}, expected 0 to {}", part, token, side_,
                                std::ssize(class_of_) - 1));
      }
      std::size_t layer = 0;
      if (stamp_.empty()) stamp_.resize(class_of_.size(), 0);
      auto& stamp = stamp_[as_size(token)];
      if (stamp == stamps_) layer = ++times[token];
      stamp = stamps_;
      if (layers.size() <= layer) layers.resize(layer + 1);
      append_index(token, layers[layer].tokens);
      append_index(place, layers[layer].places);
    }
  }
  ++stamps_;
  std::vector<std::size_t>& out = known_[key_of(side)];
  for (PartSide& layer : layers) {
    out.push_back(lists_.size());
    lists_.push_back(std::move(layer));
  }
  return out;
}

void TokenClasses::close() {
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> joined;
  members_.resize(1);
  for (std::size_t list = 0; list < lists_.size(); ++list) {
    std::pair<std::uint32_t, std::uint32_t> last{~0U, 0};
    for (const Progression& one : lists_[list].tokens) {
      for (Index i = 0; i < one.count; ++i) {
        std::uint32_t& in = class_of_[as_size(one.at(i))];
        if (in != last.first) {
          const auto [at, is_new] = joined.try_emplace({in, list}, members_.size());
          if (is_new) {
            members_.push_back(members_[in]);
            members_.back().push_back(list);
          }
          last = {in, at->second};
        }
        in = last.second;
      }
    }
  }
  tokens_.resize(members_.size());
  for (std::size_t token = 0; token < class_of_.size(); ++token) {
    append_index(static_cast<Index>(token), tokens_[class_of_[token]]);
  }
  classes_of_.resize(lists_.size());
  for (std::uint32_t in = 0; in < members_.size(); ++in) {
    if (tokens_[in].empty()) continue;
    for (const std::size_t list : members_[in]) classes_of_[list].push_back(in);
  }
}

Indices TokenClasses::other_tokens(const std::set<std::uint32_t>& classes) const {
  Indices out;
  for (std::size_t token = 0; token < class_of_.size(); ++token) {
    if (!classes.contains(class_of_[token])) append_index(static_cast<Index>(token), out);
  }
  return out;
}

Indices TokenClasses::places(std::uint32_t of, std::size_t list) {
  if (asked_ != list) {
    place_.resize(class_of_.size());
    IndexReader places(lists_[list].places);
    for (const Progression& one : lists_[list].tokens) {
      for (Index i = 0; i < one.count; ++i) {
        place_[as_size(one.at(i))] = static_cast<std::int32_t>(places.next());
      }
    }
    asked_ = list;
  }
  Indices out;
  for (const Progression& one : tokens_[of]) {
    for (Index i = 0; i < one.count; ++i) append_index(place_[as_size(one.at(i))], out);
  }
  return out;
}

}  // namespace maskctl
