#!/bin/sh
# keep_report.sh OBJECT COMMAND...: compiles, and keeps what the assembler says of the kernels in
# OBJECT.report. Anything else that is said is passed on.
report=$1.report
shift
"$@" 2>"$report"
status=$?
grep -Ev '^$|ptxas info|bytes stack frame' "$report" >&2
exit $status
