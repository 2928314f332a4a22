# shellcheck shell=bash
# Functions that count what test runs pass and fail, to be sourced: checks, cases of Catch2
# programs, golden cases. finish prints the last line of a run, "N passed, N failed".
passed=0
failed=0
failures=()
started=$SECONDS

headline() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }

finish() {
  headline "done"
  [ ${#failures[@]} -eq 0 ] || printf 'failed: %s\n' "${failures[@]}"
  printf '%d passed, %d failed\n' "$passed" "$failed"
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}

# count NAME PASSED FAILED: adds to the numbers of passed and failed tests.
count() {
  passed=$((passed + $2))
  failed=$((failed + $3))
  [ "$3" -eq 0 ] || failures+=("$1")
}

# Prints the time that a test took, where the caller has its seconds in $took.
time_taken() { [ -z "${took:-}" ] || printf ' (%d s)' "$took"; }

# check NAME COMMAND...: counts a command as one test, which passes when the command does. Its
# output is shown only when it fails.
check() {
  local name=$1 log begin=$SECONDS
  shift
  if log=$("$@" 2>&1); then
    local took=${took:-$((SECONDS - begin))}
    count "$name" 1 0
    printf 'ok      %s%s\n' "$name" "$(time_taken)"
  else
    printf '%s\n' "$log"
    count "$name" 0 1
    printf 'FAILED  %s\n' "$name"
    return 1
  fi
}

# tally NAME LOG STATUS: adds the test cases that the summary of a Catch2 program reports. A program
# that dies before its summary, or runs nothing, counts as one failure.
tally() {
  local name=$1 log=$2 status=$3 summary good bad
  summary=$(grep -E '^(test cases:|All tests passed \()' "$log" | tail -n 1)
  case $summary in
    All*) good=$(sed -E 's/.* in ([0-9]+) test cases?\).*/\1/' <<<"$summary") bad=0 ;;
    *)
      good=$(grep -oE '[0-9]+ passed' <<<"$summary" | grep -oE '[0-9]+')
      bad=$(grep -oE '[0-9]+ failed' <<<"$summary" | grep -oE '[0-9]+')
      ;;
  esac
  good=${good:-0} bad=${bad:-0}
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] || [ $((good + bad)) -eq 0 ]; then bad=$((bad + 1)); fi
  count "$name" "$good" "$bad"
  if [ "$bad" -eq 0 ]; then
    printf 'ok      %s: %s test cases%s%s\n' "$name" "$good" \
      "$(sed -n '$s/^not run again$/, not run again/p' "$log")" "$(time_taken)"
  else
    cat "$log"
    printf 'FAILED  %s: %s of %s test cases, exit status %d\n' "$name" "$bad" $((good + bad)) "$status"
  fi
}

# A task is a command that run_tasks runs later. `task` counts its exit status as one test, `cases`
# counts the cases of a Catch2 program, and `golden` reads a last line "N passed, N failed".
#     task|cases|golden NAME COMMAND...
task_kinds=() task_names=() task_commands=()
add_task() {
  task_kinds+=("$1") task_names+=("$2") task_commands+=("$(printf '%q ' "${@:3}")")
}
task() { add_task task "$@"; }
cases() { add_task cases "$@"; }
golden() { add_task golden "$@"; }

# run_tasks: runs all tasks in the order in which they were added, as many at a time as there are
# cores; reports each when it has ended, and clears the list.
run_tasks() {
  local logs next=0 running=0 pid status
  local -A number=() begin=()
  logs=$(mktemp -d)
  while [ $next -lt ${#task_names[@]} ] || [ $running -gt 0 ]; do
    if [ $next -lt ${#task_names[@]} ] && [ $running -lt "$(nproc)" ]; then
      (eval "${task_commands[$next]}") >"$logs/$next" 2>&1 &
      number[$!]=$next begin[$!]=$SECONDS
      next=$((next + 1)) running=$((running + 1))
      continue
    fi
    wait -n -p pid "${!number[@]}"
    status=$?
    local took=$((SECONDS - begin[$pid]))
    tell_task "${number[$pid]}" "$logs/${number[$pid]}" "$status"
    unset "number[$pid]"
    running=$((running - 1))
  done
  rm -rf "$logs"
  task_kinds=() task_names=() task_commands=()
}

# tell_task NUMBER LOG STATUS: counts and reports a task that has ended.
tell_task() {
  case ${task_kinds[$1]} in
    task) check "${task_names[$1]}" sh -c 'cat "$1"; exit "$2"' _ "$2" "$3" ;;
    cases) tally "${task_names[$1]}" "$2" "$3" ;;
    golden) tally_lines "${task_names[$1]}" "$2" ;;
  esac
}

# tally_lines NAME LOG: adds the numbers of the last line of a log, "N passed, N failed".
tally_lines() {
  local good bad
  good=$(tail -n 1 "$2" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1/p')
  bad=$(tail -n 1 "$2" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\2/p')
  count "$1" "${good:-0}" "${bad:-1}"
  [ "${bad:-1}" -eq 0 ] || cat "$2"
  printf '%-7s %s: %s golden cases%s\n' "$([ "${bad:-1}" -eq 0 ] && echo ok || echo FAILED)" "$1" \
    "${good:-0}" "$(time_taken)"
}
