// Fuzz inputs made from the files of a corpus. Seed and number decide the input, whatever ran
// before.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace maskctl::fuzz {

/// Takes a file of the corpus and changes it: flips bits, sets integers to extremes, removes ranges
/// or copies them from this or another file, replaces numbers in text, cuts off the end.
class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, std::uint64_t seed, std::uint64_t number);
  std::string input();

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
  const std::string& any_file() { return corpus_[below(corpus_.size())]; }
  std::string any_range(const std::string& bytes, std::size_t most);
  void change(std::string& bytes);
  void set_extreme(std::string& bytes);
  void change_number(std::string& bytes);

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
};

}  // namespace maskctl::fuzz
