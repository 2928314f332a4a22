#!/usr/bin/env bash
# Checks calls over ranks that mpirun starts on this machine: every operation, the command,
# failures. Prints one line for each failed check, then "distributed: N passed, N failed".
# usage: run.sh BUILD
set -uo pipefail
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
build=$(cd "$1" && pwd)
maskctl=$build/app/maskctl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

ok() { passed=$((passed + 1)); }
no() {
  failed=$((failed + 1))
  echo "FAILED $*"
}
# ranks N COMMAND...: runs the command as N ranks, for 60 seconds at most.
ranks() { timeout 60 mpirun -q --oversubscribe -n "$@"; }
# expect STATUS TEXT NAME N COMMAND...: N ranks must exit with STATUS, print one line of errors that
# holds TEXT, and write no output, within 10 seconds.
expect() {
  local status=$1 text=$2 name=$3 seen begin=$SECONDS
  shift 3
  ranks "$@" >"$work/stdout" 2>"$work/stderr"
  seen=$?
  sed -i '/^\[\?hwloc\//d' "$work/stderr"  # a warning of MPI's library where /sys is missing
  if [ "$seen" != "$status" ]; then no "$name: status $seen instead of $status: $(cat "$work/stderr")"
  elif [ "$(grep -c . "$work/stderr")" != 1 ]; then no "$name: not one line: $(cat "$work/stderr")"
  elif ! grep -qF -- "$text" "$work/stderr"; then no "$name: '$(cat "$work/stderr")' lacks '$text'"
  elif compgen -G "$work/out*" >/dev/null; then no "$name: wrote $(ls "$work")"
  elif [ $((SECONDS - begin)) -gt 10 ]; then no "$name: took $((SECONDS - begin)) s"
  else ok; fi
}

for n in 1 2 3 4 7 8; do
  # Cuts messages into pieces of 4096 bytes: messages above 2^30 bytes are cut the same way.
  if ranks "$n" "$build/tests/rank_checks" "$build/app/maskctl-mpi.so" 4096 >"$work/log" 2>&1; then ok
  else no "rank_checks with $n ranks: $(tail -n 3 "$work/log")"; fi
done

# The command gives the same results over ranks as in one process, from files in every format.
cd "$work" || exit
/usr/bin/python3 - <<'PY'
import h5py
import numpy as np
rng = np.random.default_rng(0)
arrays = {n: rng.standard_normal((2, 96, 4, 16), dtype=np.float32) for n in ("query", "key", "value")}
for name, array in arrays.items():
    np.save(f"{name}.npy", array)
np.save("fortran.npy", np.asfortranarray(arrays["key"]))
np.save("long.npy", np.concatenate([arrays["value"]] * 2, axis=1))
with h5py.File("qkv.h5", "w") as f:
    f["query"] = arrays["query"]
    f.create_dataset("key", data=arrays["key"], chunks=(1, 32, 2, 16), compression="gzip")
np.savez_compressed("qkv.npz", **arrays)
ids = np.repeat(np.arange(6), 16)[None].repeat(2, 0).astype(np.int32)
np.save("ids.npy", ids)
PY
call=(attend ring_attention --mask ids.npy --as segments -t causal --gradients)
same() {  # same NAME FILE...: passes if the files together equal one.npz
  local name=$1
  shift
  if /usr/bin/python3 - "$@" <<'PY'; then ok; else no "$name: other results"; fi
import sys
import numpy as np
one = np.load("one.npz")
parts = [np.load(f) for f in sys.argv[1:]]
for key in one:
    axis = 2 if key == "lse" else 1
    seen = parts[0][key] if len(parts) == 1 else np.concatenate([p[key] for p in parts], axis)
    assert seen.shape == one[key].shape and np.allclose(seen, one[key], rtol=1e-4, atol=2e-5), key
PY
}
"$maskctl" "${call[@]}" query=query.npy key=key.npy value=value.npy -o one.npz >/dev/null
for mesh in "2 sp=2" "2 dp=2" "3 sp=3" "4 dp=2+sp=2" "4 tp=2+sp=2"; do
  for assign in contiguous cost; do
    rm -f out.npz
    ranks ${mesh% *} "$maskctl" "${call[@]}" --mesh "${mesh#* }" --assign "$assign" query=qkv.h5:/query \
      key=qkv.h5:/key value=value.npy -o out.npz >/dev/null 2>log || no "attend $mesh: $(cat log)"
    same "attend --mesh ${mesh#* } $assign" out.npz
  done
done
rm -f out*.npz
ranks 3 "$maskctl" "${call[@]}" --mesh sp=3 query=query.npy key=fortran.npy value=qkv.npz:value \
  -o 'out-{rank}.npz' >/dev/null 2>log || no "attend in parts: $(cat log)"
same "a file for each rank" out-0.npz out-1.npz out-2.npz
# Without mpirun, ranks are threads that have a GPU each; here the CPU emulates the GPUs.
gpus=$build/tests/emulated_maskctl_command
for mesh in sp=2 sp=3 dp=2+sp=2 tp=2+sp=2; do
  rm -f out.npz
  timeout 60 "$gpus" "${call[@]}" --backend cuda --mesh "$mesh" --assign zigzag query=query.npy \
    key=key.npy value=value.npy -o out.npz >/dev/null 2>log || no "attend on GPUs $mesh: $(cat log)"
  same "attend on GPUs --mesh $mesh" out.npz
done
if MASKCTL_EMULATED_GPUS=1 "$gpus" "${call[@]}" --backend cuda --mesh sp=2 >log 2>&1; [ $? = 2 ] &&
  [ "$(cat log)" = "maskctl: error: --mesh sp=2 needs 2 GPUs, and this process has 1; \`mpirun -n 2 maskctl ...\` shares them among ranks" ]
then ok; else no "fewer GPUs than ranks: $(cat log)"; fi
rm -f out*.npz
ranks 4 "$maskctl" verify gen:causal:n=128 --op ring_attention --mesh sp=4 --assign zigzag >log 2>&1
if [ $? = 0 ] && [ "$(grep -c '^border.*ok' log)" = 7 ] && grep -q 'obeys its mask' log; then ok
else no "verify: $(cat log)"; fi
ranks 2 "$maskctl" bench ring_attention --mesh sp=2 --size 512 --mask causal --repeat 1 >log 2>&1
if [ $? = 0 ] && grep -q 'predicted' log; then ok; else no "bench: $(cat log)"; fi

# Bad input is refused with one line, before any work.
files=(query=query.npy key=key.npy value=value.npy)
expect 2 'has 4 devices, and mpirun has started 2 ranks' "a mesh that does not fit" 2 \
  "$maskctl" attend ring_attention --mesh sp=4 "${files[@]}" -o out.npz
expect 2 '5 devices do not divide' "specs that do not divide" 5 \
  "$maskctl" attend ring_attention --mesh sp=5 "${files[@]}" -o out.npz
expect 2 "mesh axis 'sp' splits nothing of flash_attention" "an axis that splits nothing" 2 \
  "$maskctl" attend flash_attention --mesh sp=2 "${files[@]}" -o out.npz
mkdir -p host0 host1 && cp value.npy host0/value.npy && cp long.npy host1/value.npy
expect 2 'rank 1 has `value float32 (2, 192, 4, 16), ' "files that differ in shape" 2 sh -c \
  "exec $maskctl attend ring_attention --mesh sp=2 query=query.npy key=key.npy value=host\$OMPI_COMM_WORLD_RANK/value.npy -o out.npz"
cp query.npy host1/value.npy
expect 2 'rank 1 has `value float32 (2, 96, 4, 16), content ' "files that differ" 2 sh -c \
  "exec $maskctl attend ring_attention --mesh sp=2 query=query.npy key=key.npy value=host\$OMPI_COMM_WORLD_RANK/value.npy -o out.npz"
expect 2 'mpirun has started 2 ranks, each of which would do all the work; share it with --mesh' "no mesh" 2 \
  "$maskctl" attend ring_attention "${files[@]}" -o out.npz
cp value.npy value0.npy
expect 2 'rank 1 of 2: cannot read value1.npy' "a file that one rank lacks" 2 sh -c \
  "exec $maskctl attend ring_attention --mesh sp=2 query=query.npy key=key.npy value=value\$OMPI_COMM_WORLD_RANK.npy -o out.npz"
expect 2 'rank 0 of 2: one.npz exists' "a file that exists" 2 \
  "$maskctl" attend ring_attention --mesh sp=2 "${files[@]}" -o one.npz
# Without mpirun and GPUs, ranks are threads of one process.
if "$maskctl" "${call[@]}" --mesh sp=4 "${files[@]}" -o out.npz >log 2>&1; then
  same "ranks that are threads" out.npz
else no "ranks that are threads: $(cat log)"; fi
rm -f out.npz

# killed SIGNAL: sends a signal to one rank in the middle of a step; all ranks must end.
killed() {
  (
    for _ in $(seq 100); do
      sleep 0.1
      for process in /proc/[0-9]*; do
        grep -qz '^OMPI_COMM_WORLD_RANK=1$' "$process/environ" 2>/dev/null || continue
        tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q "^$maskctl bench ring_attention .*--size 12288" || continue
        parent=$(awk '{print $4}' "$process/stat")
        grep -qz '^OMPI_COMM_WORLD_RANK=1$' "/proc/$parent/environ" 2>/dev/null || continue
        sleep 1
        kill "-$1" "${process#/proc/}"
        exit
      done
    done
  ) &
  expect 2 "rank 1 of 3 was ended by signal $1" "a rank that gets signal $1" 3 \
    "$maskctl" bench ring_attention --mesh sp=3 --size 12288 --mask full --repeat 50 --axes B=1 --threads 1
  wait
  sleep 0.5
  if pgrep -f "^$maskctl bench ring_attention" >/dev/null; then no "a rank that gets signal $1 leaves others behind"; else ok; fi
}
killed 9
killed 15

echo "distributed: $passed passed, $failed failed"
[ "$failed" = 0 ]
