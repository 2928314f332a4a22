#!/bin/sh
# Drives maskctl tui in tmux as a person would: keys, mouse, sizes, signals, pipes, terminals. Waits
# for what must appear, and prints the last screen when it does not. Arguments: the program.
set -eu
program=$1
export LC_ALL=C.UTF-8
unset TMUX TERM || true
work=$(mktemp -d)
tmux() { command tmux -S "$work/socket" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

screen() { tmux capture-pane -p; }
press() { tmux send-keys "$@"; }
# expect TEXT: until it is on the screen, 5 s at most.
expect() {
  tries=0
  until screen | grep -qF -- "$1"; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ]; then
      echo "not seen: $1"
      screen
      exit 1
    fi
    sleep 0.05
  done
}
# start COMMAND: says how it ended, and how many lines of stty show a terminal for lines with echo.
start() {
  press "clear; $1; echo ended \$?, lines \$(stty -a | grep -c ' icanon .* echo ')" Enter
}
ends() { expect "ended $1, lines 1"; }
leaked="$program tui samples/leaked.npy --segments samples/packed.npy"

tmux new-session -d -x 100 -y 30 "env PS1='ready> ' sh"
expect 'ready>'

# Keys, arrows, counts, a size, the mouse, q.
start "$leaked"
expect '? help'
press n
expect '17,3 open, a leak'
press Up 3 Left
expect '16,0 closed'
tmux resize-window -x 60 -y 14
expect '16,0 closed'
screen | grep -qF '? help' && { echo 'the hints do not fit'; exit 1; }
tmux resize-window -x 100 -y 30
expect '? help'
press -l "$(printf '\033[M *&')"  # button 1 at row 5, column 9
expect ' 2,3 '
press t
press -l 'windw'
expect 'unknown step'
press Escape
expect ' 2,3 '
press t
press -l 'window:keys=4'
press Enter
expect 'undo 1 redo 0'
press u r
expect 'The mask is:'
press q
ends 0

# Ctrl-C leaves too, Ctrl-Z comes back.
start "$leaked"
expect '? help'
press C-z
expect 'ended 1'  # the shell goes on
press "clear; fg; echo then \$?" Enter
expect '0,0 open'
press n
expect '17,3 open, a leak'
press C-c
expect 'then 0'

# SIGTERM gives the terminal back.
start "$leaked & echo \$! > '$work/pid'; fg"
expect '0,0 open'
kill -TERM "$(cat "$work/pid")"
ends 143

# A pipe is the SOURCE, the keyboard is the terminal.
start "cat samples/leaked.npy | $program tui -"
expect 'standard input'
press G
expect '23,0 closed'
press q
ends 0

for term in xterm-256color tmux-256color screen linux vt100; do
  start "TERM=$term $leaked"
  expect '0,0 open'
  press n
  expect '17,3 open, a leak'
  press q
  ends 0
done

# Where the terminal shows no UTF-8 all is ASCII.
start "LC_ALL=C $leaked"
expect '0,0 open'
press n
expect '>  !!'
press q
ends 0
