#!/usr/bin/env bash
# Installs the Debian 12 packages that a build needs. With --python also those that a wheel needs,
# with --tests those that the tests need; --venv after one of these installs what Debian lacks into
# build/venv. Does nothing, and needs no network, when all are there. --missing only prints the
# packages that `pip install .` lacks.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(cmake g++ ninja-build libcli11-dev libeigen3-dev libfmt-dev libhdf5-dev libhwy-dev libmd-dev libncurses-dev libpng-dev
  libtomlplusplus-dev nlohmann-json3-dev zlib1g-dev)
if [ "${1:-}" = --tests ]; then
  packages+=(catch2 clang-format clang-tidy-16 dpkg-dev file fish groff-base libopenmpi-dev librapidcheck-dev man-db openmpi-bin
    python3-dev python3-h5py python3-numpy python3-pytest python3-venv tmux zsh)
fi
[ "${1:-}" != --missing ] || packages+=(python3-dev)
[ "${1:-}" != --python ] || packages+=(python3-dev python3-venv)

# Installs pinned versions from PyPI into build/venv; the copied list shows later whether it has
# changed.
make_venv() {
  local wanted=tests/python/requirements.txt made=build/venv/requirements.txt
  cmp -s $wanted $made && return
  /usr/bin/python3 -m venv build/venv && build/venv/bin/pip install -q -r $wanted && cp $wanted $made
}

if ! command -v dpkg-query >/dev/null; then
  [ "${1:-}" != --missing ] || exit 0
  echo "not a Debian system; these packages are expected: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | head -n 1 || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ "${1:-}" = --missing ]; then
  echo "${missing[*]}"
  exit
fi
if [ ${#missing[@]} -eq 0 ]; then
  [ "${2:-}" != --venv ] || make_venv
  exit
fi

echo "installing: ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${missing[@]}"
[ "${2:-}" != --venv ] || make_venv
