#!/usr/bin/python3
"""Types lines into an interactive bash, zsh or fish on a terminal of its own, each with TAB after
it and then its rest, and prints the commands that the shell then runs. The completion of the
program is loaded as a user loads it. The shell is at home in a folder that goes with it, so that no
history of it stays anywhere.

    type_in_shell.py SHELL LINE REST [LINE REST]...
"""
import os
import pty
import re
import select
import signal
import sys
import tempfile
import time

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
# Makes the shell print each command between < and > before running it.
SETUP = {
    "bash": ["source <(maskctl completions bash)",
             "trap 'printf \"\\n<%s>\\n\" \"$BASH_COMMAND\"' DEBUG"],
    "zsh": ["autoload -Uz compinit; compinit -u -D; source <(maskctl completions zsh)",
            "preexec() { print -r -- \"\n<$1>\" }"],
    "fish": ["maskctl completions fish | source",
             "function shown --on-event fish_preexec; printf '\\n<%s>\\n' $argv[1]; end"],
}


class Terminal:
    """A shell on a terminal, at home in a folder."""

    def __init__(self, shell, home):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            for name in [name for name in os.environ if name.startswith("XDG_")]:
                del os.environ[name]
            # With an empty HISTFILE bash writes no history.
            os.environ.update(TERM="xterm", HOME=home, ZDOTDIR=home, HISTFILE="")
            os.execvp(START[shell][0], START[shell])

    def wait(self, pattern, seconds=30):
        """Reads up to the pattern, and drops it and all before it."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            if time.monotonic() > end:
                sys.exit(f"no {pattern!r} within {seconds} s in {self.seen!r}")
            if select.select([self.fd], [], [], 1)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        self.seen = self.seen[found.end():]
        return found

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        """Ends the shell, which writes nothing more."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def type_lines(terminal, shell, texts):
    for command in SETUP[shell]:
        terminal.type(f"{command}\r")
        terminal.type("echo do''ne\r")
        terminal.wait(r"done\r?\n")
    for line, rest in zip(texts[::2], texts[1::2]):
        terminal.type(f"{line}\t{rest}\r")
        print(terminal.wait(r"\n<(maskctl[^\r\n]*)>\r?\n")[1].rstrip())


def main():
    shell, *texts = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        terminal = Terminal(shell, home)
        try:
            type_lines(terminal, shell, texts)
        finally:
            terminal.close()


main()
