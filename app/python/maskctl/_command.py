"""The entry `maskctl`: the program of the package takes the place of the interpreter, except for
`maskctl mcp`, the server of tools, and `maskctl see`, which are Python."""

import os
import sys


def print_or_say(text, who):
    """Prints the text; whether that went well. If not, says on stderr why."""
    try:
        print(text, flush=True)
    except OSError as error:  # a closed pipe, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where what is left to print goes
        print(f"{who}: standard output: {error.strerror}", file=sys.stderr)
        return False
    return True


def main():
    if sys.argv[1:] == ["mcp"]:
        from maskctl import mcp

        return mcp.main()
    if sys.argv[1:2] == ["see"]:
        from maskctl import _see_command

        return _see_command.main(sys.argv[2:])
    program = os.path.join(os.path.dirname(__file__), "maskctl")
    os.execv(program, ["maskctl", *sys.argv[1:]])
