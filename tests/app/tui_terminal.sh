#!/bin/sh
# Drives maskctl tui in tmux as a person would: keys, mouse, sizes, signals, pipes, terminals. Waits
# for each expected text, and prints the last screen if the text does not appear. Argument: the
# program.
set -eu
program=$1
export LC_ALL=C.UTF-8
unset TMUX TERM || true
work=$(mktemp -d)
tmux() { command tmux -S "$work/socket" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

screen() { tmux capture-pane -p; }
press() { tmux send-keys "$@"; }
# wait_for TEXT COMMAND: repeats COMMAND until it prints TEXT; fails after 5 seconds.
wait_for() {
  tries=0
  until $2 | grep -aqF -- "$1"; do
    tries=$((tries + 1))
    if [ $tries -gt 100 ]; then
      echo "not seen: $1"
      screen
      exit 1
    fi
    sleep 0.05
  done
}
expect() { wait_for "$1" screen; }
# The status line, if the screen has 30 lines; whole larger screens may still show older text.
last_line() { screen | sed -n 30p; }
expect_last() { wait_for "$1" last_line; }
clipboard() { tmux show-buffer 2>/dev/null; }
# start COMMAND: runs it, then prints its exit status and, from stty, whether the terminal reads
# lines and echoes.
start() {
  press "clear; $1; echo ended \$?, lines \$(stty -a | grep -c ' icanon .* echo ')" Enter
}
ends() { expect "ended $1, lines 1"; }
leaked="$program tui samples/leaked.npy --segments samples/leaked_ids.npy"

tmux new-session -d -x 100 -y 30 "env PS1='ready> ' sh"
tmux set -g set-clipboard on
expect 'ready>'

# Records keys; the record, played, ends with the same cell.
start "$leaked --record $work/keys"
expect '? help'
press n x
expect 'changed  undo 1'
press Left v
expect 'selected 1x1'
press q
expect '(y/n)'
press y
ends 0
grep -qxF '<Resize 100x30>nx<Left>vqy' "$work/keys" || { echo 'not recorded:'; cat "$work/keys"; exit 1; }
$leaked --script "@$work/keys" --dump - | grep -qF 'close:q=17,k=3' || { echo 'played otherwise'; exit 1; }
press clear Enter

# Tests keys, counts before them, a new size, the mouse and q.
start "$leaked"
expect '? help'
press n
expect '17,3 open, a leak'
press Up 3 Left
expect '16,0 closed'
tmux resize-window -x 60 -y 14
expect '16,0 closed'
screen | grep -qF 'hjkl' && { echo 'the hints do not fit'; exit 1; }
screen | grep -qF '? help' || { echo 'no hint fits'; exit 1; }
tmux resize-window -x 100 -y 30
expect_last '? help'
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

# Dragging moves the drawing, and a click in the overview moves the cursor.
start "$program tui gen:causal:n=4096 -t window:keys=900"
expect '? help'
press + + +
expect '16x16 cells'
press -l "$(printf '\033[M =.')"  # button 1 at row 13, column 28
expect_last ' 320,352 '
press -l "$(printf '\033[M@3*')"  # dragged to row 9, column 18
expect '160 '
expect_last ' 320,352 '
press -l "$(printf '\033[Ma`$')"  # wheel down
expect_last ' 368,352 '

# Steps can be switched, removed and added by keys, and typed steps are drawn when typing pauses; y
# copies.
press Tab Space
expect 'pipeline> #window:keys=900'
press x
expect 'undo 2 redo 0'
press u
expect '#window:keys=900'
press Escape a
press -l 'not'
expect 'causal:'
press Escape
press y
wait_for 'query 368' clipboard
press q
expect 'quit without them? (y/n)'
press n
expect_last ' 368,352 '
press ':'
press -l 'w! @'
press -l "$work/steps"
press Enter
expect 'wrote @'
grep -qF '#window:keys=900' "$work/steps"
press q
ends 0

# In a list of batches and heads n goes to the leak and Esc back; findings lead to it too; F10
# leaves.
start "$program tui gen:full:n=64,b=32,h=4 -t 'doc:lens=20+24+20 | causal |\
 batch:27{heads:3{open:q=40,k=5}}' --segments gen:segments:lens=20+24+20"
expect '128 planes, 2 unlike; 1 leak in 1'
press n
expect '40,5 open, a leak  1 of 1, 1 cell'
press Escape
expect 'and 126 alike'
press Down Enter
expect 'batch 0  head 0'
press C-o
expect 'and 126 alike'
press F
expect 'document 2 sees document 1'
press Enter
expect 'batch 27  head 3'
press F10
ends 0

# Two SOURCEs are shown beside each other; then tiles, weights, and reports on top of the screen.
start "$program tui samples/bugs/window_decode.npy samples/bugs/window_train.npy"
expect 'window left 8 instead'
press d n
expect 'A | B'
expect_last ' 8,0 only in B'
press b
expect 'cells each'
press b w
expect 'weights of query 8'
press i
expect 'Statistics 1 of 1'
press Escape
expect_last ' 8,0 only in B'
press q
ends 0

# If a SOURCE breaks off, what has been read stays on the screen, with the reason.
start "(head -c 500 samples/leaked.npy; sleep 1) | $program tui -"
expect 'reading 0%'
expect 'expected 576 bytes of data, got 372'
press q
ends 2

# Ctrl-C leaves as q does; Ctrl-Z stops the program, and fg brings it back.
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

# SIGTERM ends the program and restores the terminal.
start "$leaked & echo \$! > '$work/pid'; fg"
expect '0,0 open'
kill -TERM "$(cat "$work/pid")"
ends 143

# A crash restores the terminal too.
start "$leaked & echo \$! > '$work/pid'; fg"
expect '0,0 open'
kill -SEGV "$(cat "$work/pid")"
ends 139

# If the SOURCE is a pipe, keys are read from the terminal.
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
  press b '<' w d
  expect 'there is one SOURCE'
  press q
  ends 0
done

# On a terminal of eight colours a leak is red and the cursor blue.
start "TERM=linux $leaked"
press n
expect '17,3 open, a leak'
colors() { tmux capture-pane -p -e; }
wait_for "$(printf '\033[31m')" colors
wait_for '[44m' colors
press y
expect 'no clipboard'
press q
ends 0
start "NO_COLOR=1 $leaked"
press n
expect '17,3 open, a leak'
colors | grep -aq '\[[34][1-7]' && { echo 'colours in spite of NO_COLOR'; exit 1; }
press q
ends 0

# In a locale without UTF-8 everything is drawn in ASCII.
start "LC_ALL=C $leaked"
expect '0,0 open'
press n
expect '>  !!'
press q
ends 0
