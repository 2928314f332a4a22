#!/usr/bin/env bash
# Checks the command of a build as people get it: installed below a prefix, and from the Debian
# package, unpacked in a clean folder.
#
#     use_command.sh BUILD
set -euo pipefail
build=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# try_command PREFIX: checks that the command finds its helper, its manual pages and its completions
# below the prefix.
try_command() {
  local prefix=$1 page
  "$prefix/bin/maskctl" --version
  # The command runs a helper in libexec to read HDF5.
  "$prefix/bin/maskctl" stats samples/batch.h5:/train/heads >/dev/null
  for page in maskctl.1 maskctl-show.1 maskctl-pipeline.7; do
    gzip -t "$prefix/share/man/man${page: -1}/$page.gz"
  done
  grep -qF '### show' "$prefix/share/doc/maskctl/options.md"
  grep -q '"maskctl.check/1"' "$prefix/share/maskctl/schemas/maskctl.check-1.json"
  if command -v man >/dev/null; then
    man -M "$prefix/share/man" maskctl-show | grep -q "draw a mask"
  fi
  bash -c 'source "$1" && complete -p maskctl' _ \
    "$prefix/share/bash-completion/completions/maskctl" >/dev/null
  if command -v zsh >/dev/null; then zsh -n "$prefix/share/zsh/site-functions/_maskctl"; fi
  if command -v fish >/dev/null; then
    fish --no-execute "$prefix/share/fish/vendor_completions.d/maskctl.fish"
  fi
}

cmake --install "$build" --prefix "$root/prefix" >/dev/null
try_command "$root/prefix"

if command -v dpkg-shlibdeps >/dev/null; then
  (cd "$build" && cpack -G DEB -B "$root/deb" >/dev/null)
  dpkg-deb -x "$root"/deb/maskctl_*.deb "$root/unpacked"
  dpkg-deb -f "$root"/deb/maskctl_*.deb Depends | grep -q libfmt
  [ ! -e "$root/unpacked/usr/include" ]  # no headers: the package has the command only
  try_command "$root/unpacked/usr"
fi
