// What may come next in a text that the user types.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace maskctl::app {

/// The word to complete, in two parts: `done` stays unchanged, `text` is to be completed.
struct Part {
  std::string done, text;

  /// The same word with the first `n` bytes of `text` moved to `done`.
  Part after(std::size_t n) const { return {done + text.substr(0, n), text.substr(n)}; }
};

/// The candidates for the word to complete.
class Completions {
 public:
  /// Whether the shell also adds names of files or folders. The shell lists them itself, because it
  /// knows how to quote them.
  enum class Paths { kNone, kFiles, kFolders };
  struct Candidate {
    std::string word, help;
  };

  std::span<const Candidate> candidates() const { return candidates_; }
  Paths paths() const { return paths_; }

  /// Adds `text` if it begins with the text of the part.
  void add(const Part& part, std::string_view text, std::string_view help = {});
  /// Adds names of files, or only folders. The shell does this if they are whole words; after a
  /// prefix such as "gen:" or "q=", the files are listed here.
  void add_paths(const Part& part, bool folders_only = false);

 private:
  std::vector<Candidate> candidates_;
  Paths paths_ = Paths::kNone;
};

}  // namespace maskctl::app
