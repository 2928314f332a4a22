# shellcheck shell=bash
# What the test runs count, to be sourced: checks, cases of Catch2 programs, golden cases. The last
# line of a run is "N passed, N failed".
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

# count NAME PASSED FAILED
count() {
  passed=$((passed + $2))
  failed=$((failed + $3))
  [ "$3" -eq 0 ] || failures+=("$1")
}

# check NAME COMMAND...: one test, which passes when the command does. Its output is shown only
# when it fails.
check() {
  local name=$1 log
  shift
  if log=$("$@" 2>&1); then
    count "$name" 1 0
    printf 'ok      %s\n' "$name"
  else
    printf '%s\n' "$log"
    count "$name" 0 1
    printf 'FAILED  %s\n' "$name"
    return 1
  fi
}

# tally NAME LOG STATUS: adds the test cases that the summary of a Catch2 program reports. A program
# that dies before its summary, or runs nothing, is one failure.
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
    printf 'ok      %s: %s test cases\n' "$name" "$good"
  else
    cat "$log"
    printf 'FAILED  %s: %s of %s test cases, exit status %d\n' "$name" "$bad" $((good + bad)) "$status"
  fi
}

# start_beside FUNCTION: runs the checks of a function while others go on. join_beside waits for
# them, shows what they printed and adds what they counted.
start_beside() {
  beside_log=$(mktemp)
  (
    passed=0 failed=0 failures=()
    "$1"
    printf '%s\n' "$passed" "$failed" "${failures[@]}" >"$beside_log.counts"
  ) >"$beside_log" 2>&1 &
  beside=$!
}
join_beside() {
  local counts=(0 1 "checks that run beside others")  # should they have died
  wait "$beside"
  cat "$beside_log"
  [ ! -s "$beside_log.counts" ] || mapfile -t counts <"$beside_log.counts"
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  failures+=("${counts[@]:2}")
  rm -f "$beside_log" "$beside_log.counts"
}

# tally_lines NAME LOG: adds what the last line of a log counts, "N passed, N failed".
tally_lines() {
  local good bad
  good=$(tail -n 1 "$2" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1/p')
  bad=$(tail -n 1 "$2" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\2/p')
  count "$1" "${good:-0}" "${bad:-1}"
  [ "${bad:-1}" -eq 0 ] || cat "$2"
  printf '%-7s %s: %s golden cases\n' "$([ "${bad:-1}" -eq 0 ] && echo ok || echo FAILED)" "$1" "${good:-0}"
}
