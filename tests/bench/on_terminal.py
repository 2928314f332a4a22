"""Runs a program in a terminal of its own, and times when its output is on the screen."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class OnTerminal:
    """A command on one core, in a terminal of 200 x 60 characters."""

    def __init__(self, command):
        self.begin = time.perf_counter()
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 200, 0, 0))
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            os.execvp("taskset", ["taskset", "-c", "0", *command])

    def __enter__(self):
        return self

    def __exit__(self, *error):
        os.kill(self.pid, signal.SIGTERM)
        self.drain(0.3)
        os.waitpid(self.pid, 0)
        os.close(self.screen)

    def seconds_until(self, text, most=30):
        """Seconds from the start until the text is on the screen for the first time."""
        seen = b""
        while text not in seen:
            if not self.has_output(self.begin + most - time.perf_counter()):
                raise TimeoutError(f"{text} is not on the screen after {most} s")
            seen += os.read(self.screen, 1 << 16)
        return time.perf_counter() - self.begin

    def has_output(self, seconds):
        return bool(select.select([self.screen], [], [], max(seconds, 0))[0])

    def drain(self, seconds):
        """Reads and discards what the program draws in the next `seconds`."""
        end = time.perf_counter() + seconds
        while self.has_output(end - time.perf_counter()):
            try:
                os.read(self.screen, 1 << 16)
            except OSError:  # the program has ended
                return

    def press(self, key, most=1):
        """Presses a key; returns the seconds until the screen changes."""
        begin = time.perf_counter()
        os.write(self.screen, key)
        self.has_output(most)
        return time.perf_counter() - begin

    def held(self, key, seconds, rate=30):
        """Holds a key down, which repeats `rate` times a second; returns press() of each
        repetition."""
        times = []
        for _ in range(round(seconds * rate)):
            times.append(self.press(key, 1))
            self.drain(1 / rate - times[-1])
        return times

    def processor_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def anonymous_memory(self):
        """The memory of the process that no file backs, in MB."""
        with open(f"/proc/{self.pid}/status") as file:
            return int(re.search(r"RssAnon:\s+(\d+)", file.read())[1]) / 1024
