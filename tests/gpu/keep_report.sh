#!/bin/sh
# keep_report.sh OBJECT COMMAND...: compiles, and keeps what the compiler prints to standard error
# in OBJECT.report. Lines other than the assembler's about kernels are printed as well.
report=$1.report
shift
"$@" 2>"$report"
status=$?
grep -Ev '^$|ptxas info|bytes stack frame' "$report" >&2
exit $status
