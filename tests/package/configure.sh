#!/usr/bin/env bash
# Checks what CMake says when it configures: packages that are missing in one line, with the options
# that do without, and what a build lacks that has these options.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
configure() { cmake -S . -B "$work/$1" -G Ninja -DMASKCTL_TESTS=OFF "${@:2}" >"$work/said" 2>&1; }
says() { grep -qF -- "$1" "$work/said" || { echo "not said: $1" && cat "$work/said" && exit 1; }; }

! configure lacks -DCMAKE_DISABLE_FIND_PACKAGE_{fmt,Eigen3,HDF5}=ON
says "packages are missing: sudo apt-get install -y --no-install-recommends libfmt-dev libeigen3-dev libhdf5-dev"
says "without root: docs/no-root.md; to do without: -DMASKCTL_SOLVE=OFF -DMASKCTL_HDF5=OFF"

configure least -DCMAKE_DISABLE_FIND_PACKAGE_{Eigen3,HDF5,MPI}=ON -DMASKCTL_{SOLVE,HDF5,TUI,KERNELS}=OFF
says "HDF5: absent; HDF5 files are refused (MASKCTL_HDF5)"
says "curses: absent; maskctl tui is refused"
says "Eigen: absent; verify --solve is refused"
says "MPI: absent; calls over ranks are refused"
says "kernels: absent; operations without a mask are refused (MASKCTL_KERNELS)"
says "runtime of ejkernel: absent; its configs are refused"

# The page for those without root has each package that a build needs.
printf '#!/bin/sh\nexit 1\n' >"$work/dpkg-query" && chmod +x "$work/dpkg-query"
for package in $(PATH=$work:$PATH bash tests/install-deps.sh --missing); do
  grep -qF "| \`$package\` |" docs/no-root.md || { echo "docs/no-root.md lacks $package" && exit 1; }
done
