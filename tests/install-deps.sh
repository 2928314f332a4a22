#!/usr/bin/env bash
# Installs the Debian 12 packages that a build needs; with --tests also what the tests need.
# Does nothing, and needs no network, when all are there.
set -euo pipefail

packages=(cmake g++ ninja-build pkg-config libcli11-dev libfmt-dev libhdf5-dev libhwy-dev libmd-dev libncurses-dev libpng-dev
  libtomlplusplus-dev nlohmann-json3-dev zlib1g-dev)
if [ "${1:-}" = --tests ]; then
  packages+=(catch2 clang-format clang-tidy-16 dpkg-dev file fish groff-base libopenmpi-dev librapidcheck-dev man-db openmpi-bin
    python3-h5py python3-numpy tmux zsh)
fi

if ! command -v dpkg-query >/dev/null; then
  echo "not a Debian system; these packages are expected: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | head -n 1 || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
