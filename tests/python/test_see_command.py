"""The command `maskctl see`, which asks a program that reads a .npy file and writes another."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from test_see import IDS, PACKED, T, TABLE, TOKENS

from maskctl import Mask, _see_command

PROGRAM = """
import sys, numpy as np
x = np.load(sys.argv[1]); cells = np.load(sys.argv[3]); table = np.load(sys.argv[4])
np.save(sys.argv[2], np.tanh(cells / cells.sum(-1, keepdims=True) @ np.sin(table[x])))
"""


def test_the_command_asks_a_program(tmp_path, capsys):
    (tmp_path / "model.py").write_text(PROGRAM)
    for name, array in (("x", TOKENS), ("ids", IDS), ("apart", PACKED), ("leaks", np.tri(T, dtype=bool)), ("table", TABLE)):
        np.save(tmp_path / f"{name}.npy", array)

    def see(cells, *more):
        run = f"{sys.executable} {tmp_path}/model.py IN OUT {tmp_path}/{cells}.npy {tmp_path}/table.npy"
        return _see_command.main([f"{tmp_path}/x.npy", "--run", run, "--segments", f"{tmp_path}/ids.npy", *more])

    assert see("apart", "--matrix", f"{tmp_path}/seen.npy") == 0
    assert "none moved with another" in capsys.readouterr().out and Mask(f"{tmp_path}/seen.npy") == Mask(np.stack([PACKED] * 2)[:, None])
    assert see("leaks", "--json") == 1
    assert json.loads(capsys.readouterr().out)["questions"][0]["shape"]["kind"] == "document"
    assert see("apart", "--matrix", f"{tmp_path}/seen.npy") == 2 and "--force" in capsys.readouterr().err
    assert see("none") == 2 and "ended with 1: FileNotFoundError" in capsys.readouterr().err
    for words, said in ((["x.npy"], "--run"), (["x.npy", "--run", "a b"], "IN and OUT"), (["y.npy", "--run", "a IN OUT"], "y.npy")):
        words[0] = f"{tmp_path}/{words[0]}"
        assert _see_command.main(words) == 2
        out = capsys.readouterr()
        assert said in out.err and out.err.count("\n") == 1 and not out.out


@pytest.mark.parametrize("batch, run, more, said", [
    ("x.npz", "a IN OUT", [], "x.npz: a .npz file; expected a .npy file"),
    ("empty.npy", "a IN OUT", [], "; expected a .npy file"),
    ("x.npy", "a IN 'OUT", [], "No closing quotation; expected the words of a command"),
    ("x.npy", "true IN OUT", [], "true wrote no file OUT"),
    ("x.npy", "cp {0}/x.npz OUT IN", [], "cp"),
    ("x.npy", "sh -c 'kill -9 $$' IN OUT", [], "sh was killed by SIGKILL: it printed nothing"),
    ("x.npy", "sh -c 'read line || echo no more input; exit 3' IN OUT", [], "sh ended with 3: no more input"),
    ("x.npy", "sleep 60 IN OUT", ["--timeout", "0"], "number of seconds above 0"),
    ("x.npy", "no_such_program IN OUT", [], "no_such_program: [Errno 2]"),
    ("x.npy", "sh -c 'exec sleep 60' IN OUT", ["--timeout", "0.2"], "sh took more than 0.2 s; --timeout SECONDS gives it more"),
])
def test_a_command_that_fails_is_one_line(tmp_path, capsys, batch, run, more, said):
    np.save(tmp_path / "x.npy", TOKENS)
    np.savez(tmp_path / "x.npz", TOKENS)
    (tmp_path / "empty.npy").touch()
    assert _see_command.main([f"{tmp_path}/{batch}", "--run", run.replace("{0}", str(tmp_path)), *more]) == 2
    out = capsys.readouterr()
    assert said in out.err and out.err.count("\n") == 1 and not out.out


def test_a_program_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path, capsys):
    np.save(tmp_path / "x.npy", TOKENS)
    run = f"sh -c 'sleep 60 & echo $! > {tmp_path}/child; wait' IN OUT"
    assert _see_command.main([f"{tmp_path}/x.npy", "--run", run, "--timeout", "1"]) == 2
    assert "sh took more than 1 s" in capsys.readouterr().err
    child = int((tmp_path / "child").read_text())
    for _ in range(100):  # one that has ended may wait for its parent
        try:
            with open(f"/proc/{child}/stat") as file:
                state = file.read().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail("the child runs on")


def test_a_closed_pipe_is_one_line(tmp_path):
    np.save(tmp_path / "x.npy", TOKENS)
    (tmp_path / "model.py").write_text("import sys, numpy as np; np.save(sys.argv[2], np.load(sys.argv[1]))")
    command = [sys.executable, "-c", "import sys; from maskctl._see_command import main; sys.exit(main(sys.argv[1:]))",
               f"{tmp_path}/x.npy", "--run", f"{sys.executable} {tmp_path}/model.py IN OUT"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 2 and done.stderr == "maskctl: see: standard output: Broken pipe\n"


def test_the_entry_of_the_package_knows_the_command(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import sys; sys.argv = ['maskctl', 'see', '--help']; "
                           "from maskctl._command import main; main()"], capture_output=True, text=True)
    assert done.returncode == 0 and "COMMAND IN OUT" in done.stdout


def test_the_module_is_the_command():
    said = subprocess.run([sys.executable, "-m", "maskctl", "see", "--help"], capture_output=True, text=True)
    assert said.returncode == 0 and "--run" in said.stdout
