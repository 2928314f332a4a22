// What may come next on a command line: the answers that the scripts for shells ask for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace maskctl::app {

/// The part of a word that is being completed, and what stands before it and stays.
struct Part {
  std::string done, text;

  /// The part that begins `n` bytes later.
  Part after(std::size_t n) const { return {done + text.substr(0, n), text.substr(n)}; }
};

/// The words that the last word of a line may become.
class Completions {
 public:
  /// The shell adds the names of its files, which it knows how to quote.
  enum class Paths { kNone, kFiles, kFolders };
  struct Candidate {
    std::string word, help;
  };

  std::span<const Candidate> candidates() const { return candidates_; }
  Paths paths() const { return paths_; }

  /// Adds a text if it continues the part.
  void add(const Part& part, std::string_view text, std::string_view help = {});
  /// Adds files, or only folders. Shells complete whole words, so what follows a prefix is listed
  /// here.
  void add_paths(const Part& part, bool folders_only = false);

 private:
  std::vector<Candidate> candidates_;
  Paths paths_ = Paths::kNone;
};

/// Completes the last of the words that follow the name of the program. Reads headers of files that
/// the word names, never the data of an array. Throws nothing: what cannot be read gives nothing.
Completions complete(std::span<const std::string> words);

/// What `maskctl __complete WORD...` prints: a line "WORD TAB HELP" for each candidate, and a line
/// "TAB files" or "TAB directories" where the shell adds those.
std::string completion_text(std::span<const std::string> words);

}  // namespace maskctl::app
