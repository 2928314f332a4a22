// Tests containers (.npz, .h5, .safetensors) that commands write: compression, and several
// processes writing to one.
#include <algorithm>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const std::string kMakeDocuments = "maskctl gen segments:lens=300+200+100,pad=40 -o seg.npy\n";

/// Shell lines that write packed.py, a script that fails unless all arrays of its .npz files are
/// deflated and all of its .h5 files gzipped.
const std::string kAllPacked = R"(
cat > packed.py <<'PY'
import sys, zipfile
import h5py, numpy as np
for name in sys.argv[1:]:
    found = []
    if name.endswith(".h5"):
        with h5py.File(name) as file:
            file.visititems(lambda _, o: found.append(o.compression == "gzip")
                            if isinstance(o, h5py.Dataset) else None)
    else:
        found = [i.compress_type == zipfile.ZIP_DEFLATED for i in zipfile.ZipFile(name).infolist()]
        [np.load(name)[key] for key in np.load(name)]
    assert found and all(found), (name, found)
PY
)";

TEST_CASE("gzip: every command that writes a container can compress its arrays") {
  const Sandbox sandbox;
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"apply", "maskctl apply seg.npy --as segments -t causal -o "},
      {"apply_runs", "maskctl apply seg.npy --as segments -t causal --to runs -o "},
      {"info", "maskctl apply seg.npy --as segments --semantics ejkernel --to mask-info -o "},
      {"gen", "maskctl gen causal:n=200 -o "},
      {"combine", "maskctl combine --op and seg_mask.npy seg_mask.npy -o "},
      {"convert", "maskctl convert seg.npy --as segments --to bias -o "},
      {"bits", "maskctl convert seg.npy --as segments --to bits -q -o "},
      {"ids", "maskctl convert seg.npy --as segments --to segments -o "},
      {"seq", "maskctl seq position-ids cu.npy -o "},
      {"blockmap", "maskctl blockmap seg.npy --as segments -t causal --block 128 -o "},
      {"recognise", "maskctl recognise interleaved.npy --write "},
  };
  REQUIRE(
      sandbox
          .run(kMakeDocuments +
               "maskctl apply seg.npy --as segments -o seg_mask.npy\n"
               "maskctl convert seg.npy --as segments --to cu_seqlens -q -o cu.npy\n"
               "/usr/bin/python3 -c 'import numpy as np\n"
               "i = np.arange(60) * 7 % 11 % 4; np.save(\"interleaved.npy\", i[:, None] == i)'\n" +
               kAllPacked)
          .status == 0);
  for (const auto& [name, command] : commands) {
    if ((name == "info" || name == "blockmap") && without_ejkernel()) continue;
    for (const std::string suffix : {".npz", ".h5"}) {
      const std::string file = name + suffix;
      const Outcome outcome = sandbox.run(command + file + " --gzip 4 >/dev/null");
      INFO(command + file << "\n" << outcome.err);
      CHECK(outcome.status == 0);
      const Outcome packed = sandbox.run("/usr/bin/python3 packed.py " + file);
      INFO(packed.err);
      CHECK(packed.status == 0);
    }
  }
}

TEST_CASE("gzip: an .npz of level 6 has the bytes of np.savez_compressed, and can be read") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run(kMakeDocuments +
                  "maskctl apply seg.npy --as segments -t causal -o mask.npy\n"
                  "maskctl apply seg.npy --as segments -t causal --gzip 6 -o "
                  "mask.npz:mask\n"
                  "maskctl diff mask.npy mask.npz:mask >/dev/null || exit 3\n"
                  "/usr/bin/python3 -c 'import numpy as np\n"
                  "np.savez_compressed(\"numpy.npz\", mask=np.load(\"mask.npy\"))'"
                  "\ncmp mask.npz numpy.npz");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("gzip: formats without compression and unknown levels are refused") {
  const Sandbox sandbox;
  for (const std::string dest : {"x.npy", "x.safetensors", "-"}) {
    check_refused(sandbox, "maskctl gen causal:n=8 --gzip 1 -o " + dest,
                  "gzip packs the arrays of an .npz or .h5");
  }
  for (const std::string level : {"0", "10", "-1", "x"}) {
    CHECK(sandbox.run("maskctl gen causal:n=8 -o x.npz --gzip " + level).status == 2);
  }
  CHECK(sandbox.run("ls").out.find("x.") == std::string::npos);
}

TEST_CASE("gzip: append compresses what it adds and copies the rest unchanged") {
  const Sandbox sandbox;
  for (const std::string file : {"m.npz", "m.h5"}) {
    const Outcome outcome = sandbox.run("maskctl gen causal:n=200 -o " + file +
                                        ":plain\n"
                                        "maskctl gen causal:n=200 --gzip 9 --append -o " +
                                        file +
                                        ":packed\n"
                                        "maskctl diff " +
                                        file + ":plain " + file + ":packed");
    INFO(file << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.out, "equal"));
    CHECK(fs::file_size(sandbox.work() / file) < 50000);
  }
}

TEST_CASE("append: if several processes add to one container at once, all arrays are there") {
  const Sandbox sandbox;
  for (const std::string file : {"m.npz", "m.safetensors", "m.h5"}) {
    const Outcome outcome = sandbox.run(
        "for i in 0 1 2 3 4 5 6 7; do\n"
        "  maskctl gen causal:n=$((300 + i)) --append -o " +
        file +
        ":a$i & pids=\"$pids $!\"\ndone\n"
        "for p in $pids; do wait $p || exit 3; done\n"
        "for i in 0 1 2 3 4 5 6 7; do maskctl stats " +
        file + ":a$i | grep \"Q $((300 + i)),\" || exit 4; done\nls -A | grep tmp");
    INFO(file << "\n" << outcome.out << outcome.err);
    CHECK(outcome.status == 1);  // the status of grep, which found no temporary file
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("a write of a whole container waits for processes that add to it") {
  const Sandbox sandbox;
  for (const std::string file : {"m.npz", "m.safetensors", "m.h5"}) {
    const Outcome outcome = sandbox.run(
        "exec 9<.; flock 9\n"
        "maskctl gen causal:n=8 -o " +
        file +
        " 9<&- & pid=$!\n"
        "sleep 0.3; ls " +
        file + "; flock -u 9; wait $pid && ls " + file);
    INFO(file << "\n" << outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == file + "\n");
  }
}

/// Shell lines that make all.npz and all.h5 with the arrays mask [8,8], ids and
/// weights, and in the .h5 attributes.
const std::string kMakeThree = R"(
/usr/bin/python3 - <<'PY'
import h5py, numpy as np
arrays = dict(mask=np.tri(8, dtype=bool), ids=np.arange(8), weights=np.ones(5))
np.savez("all.npz", **arrays)
with h5py.File("all.h5", "w") as file:
    for name, array in arrays.items():
        file[name] = array
        file[name].attrs["about"] = name
    file["ids"].attrs["of"] = file["mask"].ref
    file["same"] = file["weights"]
PY
)";

TEST_CASE("a write to FILE:NAME keeps the other arrays and the shape") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeThree).status == 0);
  for (const std::string file : {"all.npz", "all.h5"}) {
    const std::string name = file + ":" + (file == "all.h5" ? "/" : "") + "mask";
    INFO(file);
    const auto arrays = [&] {
      return sandbox.run("maskctl info " + file + " | grep -v arrays | sort").out;
    };
    const std::string before = arrays();
    CHECK(contains(before, "bool (8, 8)"));
    check_refused(sandbox, "maskctl apply " + name + " -t window:keys=3 -o " + name,
                  "already holds an array '");
    CHECK(sandbox.run("maskctl apply " + name + " -t window:keys=3 -f -o " + name).status == 0);
    CHECK(arrays() == before);
    CHECK(sandbox.run("maskctl gen causal:n=8 -f -o " + name).status == 0);
    CHECK(arrays() == before);
    CHECK(sandbox.run("maskctl gen causal:n=4 -o " + file + ":more").status == 0);
    CHECK(contains(sandbox.run("maskctl info " + file).out, "bool (1, 1, 4, 4)"));
    check_refused(sandbox, "maskctl gen causal:n=4 -o " + file, "exists and holds ");
    const Outcome whole = sandbox.run("maskctl gen causal:n=4 --replace-file -o " + file + ":new");
    CHECK(whole.status == 0);
    CHECK(contains(whole.err, "replacing the whole file drops its "));
    CHECK(contains(whole.err, "ids"));
    CHECK_FALSE(contains(arrays(), "ids"));
    CHECK(sandbox.run("maskctl gen causal:n=4 -f -o " + file).err.empty());
    CHECK(sandbox.run("maskctl gen causal:n=4 -o " + file + ":ids").status == 0);
    const Outcome forced = sandbox.run("maskctl gen causal:n=4 -f -o " + file);
    CHECK(forced.status == 0);
    CHECK(contains(forced.err, "replacing the whole file drops its 2 arrays ("));
  }
}

TEST_CASE(
    "replacing an HDF5 dataset keeps its attributes, and the old elements under its second name") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeThree).status == 0);
  const Outcome outcome = sandbox.run(R"(
maskctl apply all.h5:/mask -t window:keys=3 -f -o all.h5:/mask || exit 3
maskctl gen causal:n=4 -f -o all.h5:/weights || exit 4
/usr/bin/python3 - <<'PY'
import h5py, numpy as np
with h5py.File("all.h5") as file:
    assert file["mask"].attrs["about"] == "mask"
    assert file[file["ids"].attrs["of"]].name == "/mask"
    assert file["mask"][5].tolist() == [False] * 3 + [True] * 3 + [False] * 2
    assert file["weights"].attrs["about"] == "weights" and file["weights"].shape == (1, 1, 4, 4)
    assert file["same"].shape == (5,) and file["same"].attrs["about"] == "weights"
PY
)");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("a new HDF5 dataset does not take over the dimension scales of the replaced one") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(R"(
/usr/bin/python3 - <<'PY'
import h5py, numpy as np
with h5py.File("s.h5", "w") as file:
    for name in "a", "b":
        file[name] = np.tri(4, dtype=bool)
        file[name].attrs["about"] = name
        file[name + "_scale"] = np.arange(4)
        file[name + "_scale"].make_scale("tokens")
        file[name].dims[0].attach_scale(file[name + "_scale"])
PY
maskctl gen causal:n=4 -f -o s.h5:a_scale || exit 3
maskctl gen causal:n=5 -f -o s.h5:a || exit 4
maskctl apply s.h5:b -t window:keys=2 -f -o s.h5:b || exit 5
/usr/bin/python3 - <<'PY'
import h5py
with h5py.File("s.h5") as file:
    assert set(file["a"].attrs) == {"about"}, list(file["a"].attrs)
    assert "REFERENCE_LIST" not in file["a_scale"].attrs
    assert [len(axis) for axis in file["a"].dims] == [0] * 4
    assert file["b"].dims[0][0].name == "/b_scale"
PY
)");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("replacing a group of an HDF5 file keeps the old arrays under its second name") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(R"(
/usr/bin/python3 - <<'PY'
import h5py, numpy as np
with h5py.File("two.h5", "w") as file:
    for name in "hard", "soft":
        file[name + "/old"] = np.arange(3)
    file["a"] = file["hard"]
    file["b"] = h5py.SoftLink("/soft")
PY
for name in a b; do maskctl gen causal:n=8 --to runs -f -o two.h5:$name || exit 3; done
/usr/bin/python3 - <<'PY'
import h5py
with h5py.File("two.h5") as file:
    assert all(list(file[name]) == ["old"] for name in ("hard", "soft"))
    assert all("old" not in file[name] and "indptr" in file[name] for name in "ab")
PY
)");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("tui: the command :w FILE:NAME asks about that array only, and keeps the others") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run(kMakeThree).status == 0);
  const auto typed = [&](const std::string& keys) {
    return sandbox
        .run("maskctl tui all.h5:/mask --script 'aclose:q=3,k=0<Enter>" + keys +
             "' --size 100x14 --dump - | tail -1")
        .out;
  };
  const std::string before = sandbox.run("maskctl info all.h5").out;
  CHECK(contains(typed(":w all.h5:/mask<Enter>"),
                 "all.h5 has an array /mask, 8x8 of bool (2 others stay); replace it?"));
  CHECK(contains(typed(":w all.h5:/mask<Enter>y"), "wrote all.h5:/mask"));
  CHECK(sandbox.run("maskctl info all.h5").out == before);
  CHECK(contains(sandbox.run("maskctl show all.h5:/mask --ascii").out, "."));
  CHECK(contains(typed(":w! all.h5<Enter>"), "all.h5 holds 3 arrays"));
  CHECK(sandbox.run("maskctl info all.h5").out == before);
}

TEST_CASE("a write beyond the limit of file sizes gives one error and leaves no file") {
  const Sandbox sandbox;
  for (const std::string file : {"b.npy", "b.npz", "b.safetensors", "b.h5", "b.h5:/a", "b.png"}) {
    const std::string command =
        file == "b.png" ? "show --block 1 gen:causal:n=3000" : "gen causal:n=3000";
    const Outcome outcome =
        sandbox.run("ulimit -f 4; exec maskctl " + command + " -o " + file + " 2>err; ");
    INFO(file << "\n" << outcome.err);
    CHECK(outcome.status == 2);
    const Outcome after = sandbox.run("cat err; ls -A | grep -e '^b' -e tmp");
    CHECK(std::ranges::count(after.out, '\n') == 1);
    CHECK(contains(after.out, "File too large"));
    CHECK_FALSE(contains(after.out, "errno"));
  }
}

}  // namespace
}  // namespace maskctl::test
