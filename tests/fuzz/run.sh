#!/usr/bin/env bash
# Runs every fuzz target of a build for an equal share of SECONDS: run.sh BUILD SECONDS [SEED].
# Prints one line for each target; the exit status is not 0 when one failed.
set -uo pipefail
build=$1 seconds=$2 seed=${3:-1}
mapfile -t programs < <(find "$build/tests" -maxdepth 1 -type f -executable -name 'fuzz_*' \
  ! -name fuzz_hdf5_helper | sort)
[ ${#programs[@]} -gt 0 ] || { echo "no fuzz targets in $build/tests" >&2; exit 1; }
cores=$(nproc)
share=$(awk -v s="$seconds" -v c="$cores" -v n=${#programs[@]} 'BEGIN { print s * c / n }')
printf '%s\n' "${programs[@]}" |
  xargs -P "$cores" -I{} sh -c "{} --seconds $share --seed $seed || exit 1"
