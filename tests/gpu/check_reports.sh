#!/usr/bin/env bash
# check_reports.sh BUILD: checks the assembler's reports about the hot kernels (those for tensor
# cores of every family, and decoding over pages): none may have its products serialised, or spill
# more than 64 bytes of a thread's registers to memory. Softmax kernels with bias, soft cap or
# dropout (last template argument true) may spill.
set -euo pipefail
families="softmax/hopper blocks/hopper blocks/select_on_tensor_cores.cu grouped/hopper"
families+=" linear/hopper paged/decode/decode.cu"
reports=()
for family in $families; do
  mapfile -t found < <(find "$1/lib" -path "*$family*" -name '*.report')
  [ ${#found[@]} -gt 0 ] || { echo "no reports of $family in $1"; exit 1; }
  reports+=("${found[@]}")
done
awk '
  /C75[0-9][0-9]/ { print FILENAME ": " $0; bad = 1 }
  /Function properties for/ { kernel = $NF }
  /bytes spill stores/ {
    ++kernels
    if (kernel !~ /(Forward|Backward)Shape.*Lb1EEEEEv/ && $5 + 0 > 64) {
      print kernel " spills " $5 " bytes"
      bad = 1
    }
  }
  END { if (kernels == 0) { print "no kernels in the reports"; bad = 1 }; exit bad }
' "${reports[@]}"
