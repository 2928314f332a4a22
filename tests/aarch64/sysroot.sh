#!/usr/bin/env bash
# Unpacks Debian's packages for 64-bit ARM that a build for it needs into build/sysroot/aarch64:
# sysroot.sh. They are not installed, and apt learns of no second architecture. Does nothing, and
# needs no network, when all are there.
set -euo pipefail
cd "$(dirname "$0")/../.."

packages=(catch2 libc6-dev libcli11-dev libeigen3-dev libfmt-dev libhwy-dev libmd-dev libncurses-dev libpng-dev librapidcheck-dev
  libstdc++-12-dev libtomlplusplus-dev nlohmann-json3-dev zlib1g-dev)
root=$PWD/build/sysroot/aarch64 apt=$PWD/build/sysroot/apt
[ "$(cat "$root/packages" 2>/dev/null)" != "${packages[*]}" ] || exit 0

# apt as it would be on such a machine, with nothing installed.
rm -rf "$root" "$apt"
mkdir -p "$root" "$apt/lists/partial" "$apt/archives/partial"
touch "$apt/status"
options=(-q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$apt" -o Dir::State::status="$apt/status"
  -o Dir::Cache="$apt" -o APT::Sandbox::User=)
apt-get "${options[@]}" update
apt-get "${options[@]}" install -y --no-install-recommends --download-only "${packages[@]}"
for package in "$apt"/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
echo "${packages[*]}" >"$root/packages"
