// maskctl completions: prints a shell's completion script. The scripts ask `maskctl __complete` for
// the candidates.
#include "app/cli/commands/command.h"
#include "app/cli/parser/values.h"

namespace maskctl::app {
namespace {

struct CompletionsOptions {
  std::string shell;
};

constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

// Bash splits words at ':' and '=' too, and replaces only the text after the last such character or
// open quote. So the script splits the line itself, and removes from each answer the part that Bash
// keeps.
constexpr std::string_view kBash = R"(# bash completion for maskctl
_maskctl() {
  local line=${COMP_LINE:0:COMP_POINT} word= quote= begun= c i keep=0 open=0 candidate paths=
  local -a words=()
  for ((i = 0; i < ${#line}; i++)); do
    c=${line:i:1}
    if [[ $quote ]]; then
      if [[ $c == "$quote" ]]; then quote=; else word+=$c; fi
    elif [[ $c == [\'\"] ]]; then
      quote=$c open=${#word} begun=1
    elif [[ $c == \\ ]]; then
      word+=${line:++i:1} begun=1
    elif [[ $c == [[:blank:]] ]]; then
      if [[ $begun ]]; then words+=("$word"); fi
      word= begun= keep=0
    else
      word+=$c begun=1
      if [[ $COMP_WORDBREAKS == *"$c"* ]]; then keep=${#word}; fi
    fi
  done
  words+=("$word")
  if [[ $quote ]]; then keep=$open; fi

  COMPREPLY=()
  while IFS= read -r candidate; do
    if [[ $candidate == $'\t'* ]]; then
      paths=${candidate#?}
    else
      candidate=${candidate%%$'\t'*}
      COMPREPLY+=("${candidate:keep}")
    fi
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)

  if [[ ! $paths ]]; then
    compopt +o default
  elif [[ ${#COMPREPLY[@]} -gt 0 ]]; then
    while IFS= read -r candidate; do
      if [[ -d $candidate ]]; then candidate+=/; fi
      COMPREPLY+=("$candidate")
    done < <(compgen -"${paths:0:1}" -- "${word:keep}") # -f or -d
  elif [[ $paths == directories ]]; then
    compopt -o dirnames
  fi
  if [[ ${COMPREPLY[0]-} == *[:=/] ]]; then
    compopt -o nospace
    # A second answer keeps readline from closing the quote behind the only one.
    if [[ $quote && ${#COMPREPLY[@]} -eq 1 ]]; then COMPREPLY+=("${COMPREPLY[0]} "); fi
  fi
}
complete -o default -F _maskctl maskctl
)";

constexpr std::string_view kZsh = R"(#compdef maskctl
_maskctl() {
  local line paths
  local -a closed open
  for line in "${(@f)$("${words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
    if [[ $line == $'\t'* ]]; then
      paths=${line#?}
    elif [[ -n $line ]]; then
      local word=${line%%$'\t'*} help=${line#*$'\t'}
      [[ $line == *$'\t'* ]] || help=
      line=${word//:/\\:}${help:+:$help}
      if [[ $word == *[:=/] ]]; then open+=("$line"); else closed+=("$line"); fi
    fi
  done
  local found=1
  (( $#closed )) && _describe maskctl closed && found=0
  (( $#open )) && _describe maskctl open -S '' && found=0
  case $paths in
    files) _files && found=0 ;;
    directories) _files -/ && found=0 ;;
  esac
  return found
}
if [[ $funcstack[1] == _maskctl ]]; then _maskctl "$@"; else compdef _maskctl maskctl; fi
)";

constexpr std::string_view kFish = R"(# fish completion for maskctl
function __maskctl_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l plain (string unescape -- $word; or string trim --left --chars "'\"" -- $word)
    for line in ($words[1] __complete $words[2..-1] "$plain" 2>/dev/null)
        switch $line
            case \tfiles
                __fish_complete_path $word
            case \tdirectories
                __fish_complete_directories $word
            case '*'
                echo $line
        end
    end
end
complete -c maskctl -f -k -a '(__maskctl_complete)'
)";

void declare(OptionList& list, CompletionsOptions& completions) {
  list.operand("SHELL", kShells, completions.shell);
}

Answer run(const CompletionsOptions& options, Session&) {
  static constexpr std::string_view kScripts[] = {kBash, kZsh, kFish};
  return {std::string(kScripts[parse_choice(options.shell, "completions", kShells)])};
}

}  // namespace

extern const Command kCompletions = command<CompletionsOptions, declare, run>({
    .name = "completions",
    .group = kCi,
    .operands = "bash|zsh|fish",
    .summary = "print the script with which a shell completes command lines",
    .examples = "  source <(maskctl completions bash)\n"
                "  maskctl completions zsh > ~/.zfunc/_maskctl\n"
                "  maskctl completions fish > ~/.config/fish/completions/maskctl.fish\n",
});

}  // namespace maskctl::app
