#!/usr/bin/env bash
# check_reports.sh BUILD: no kernel for tensor cores has its products serialised, and those without
# options (last template argument false) keep all but 64 bytes of a thread in registers.
set -euo pipefail
mapfile -t reports < <(find "$1/lib" -path '*hopper*' -name '*.report')
[ ${#reports[@]} -gt 0 ] || { echo "no reports of hopper kernels in $1"; exit 1; }
awk '
  /C75[0-9][0-9]/ { print FILENAME ": " $0; bad = 1 }
  /Function properties for/ { kernel = $NF }
  /bytes spill stores/ {
    kernels += kernel ~ /hopper/
    if (kernel ~ /hopper.*Lb0EEE/ && $5 + 0 > 64) { print kernel " spills " $5 " bytes"; bad = 1 }
  }
  END { if (kernels == 0) { print "no kernels in the reports"; bad = 1 }; exit bad }
' "${reports[@]}"
