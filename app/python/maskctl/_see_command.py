"""The command `maskctl see`: what tokens see in a program that reads a .npy file and writes another."""

import argparse
import json
import os
import sys
import zipfile

from maskctl._command import print_or_say
from maskctl._native import Error


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Error(f"see: {message}; maskctl see --help")


def _seconds(word):
    seconds = float(word)
    if not 0 < seconds <= 1e6:
        raise ValueError
    return seconds


_seconds.__name__ = "number of seconds above 0"  # in what argparse says


def _parser():
    parser = _Parser(prog="maskctl see", description="Which outputs of a program change when an input token changes: asks "
                     "whether a document reaches another, a token its past, padding anything, an entry another. Exit status: "
                     "0 none does, 1 one does, 2 not known.")
    parser.add_argument("batch", metavar="BATCH.npy", help="ids [T] or [B,T], or numbers [T,E] or [B,T,E]; with an axis B copies of a short "
                        "batch run in one start of the program")
    parser.add_argument("--run", required=True, metavar="'COMMAND IN OUT'",
                        help="the program: IN and OUT stand for the .npy files that it reads and writes, [B,T,...]")
    parser.add_argument("--segments", metavar="FILE.npy", help="the document of each token, below 0 for padding")
    parser.add_argument("--valid", metavar="FILE.npy", help="1 for tokens, 0 for padding")
    parser.add_argument("--no-causal", action="store_true", help="do not ask about the future")
    parser.add_argument("--everywhere", action="store_true", help="ask at all places, and change each token alone")
    parser.add_argument("--matrix", metavar="OUT", help="write the whole matrix as a mask, .npy or .npz")
    parser.add_argument("--force", action="store_true", help="replace OUT where it exists")
    parser.add_argument("--timeout", metavar="SECONDS", type=_seconds, default=600, help="the most that a run may take (600)")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    return parser


def _array(name):
    import numpy

    try:
        found = numpy.load(name, allow_pickle=False)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise Error(f"{name}: {error}; expected a .npy file") from None
    if not isinstance(found, numpy.ndarray):
        raise Error(f"{name}: a .npz file; expected a .npy file")
    return found


def _answer(arguments):
    from maskctl._see import see_program

    if arguments.matrix:
        if os.path.exists(arguments.matrix) and not arguments.force:
            raise Error(f"{arguments.matrix} exists; give --force to replace it")
    given = {name: None if getattr(arguments, name) is None else _array(getattr(arguments, name))
             for name in ("segments", "valid")}
    answer = see_program(arguments.run, _array(arguments.batch), seconds=arguments.timeout, causal=not arguments.no_causal,
                         everywhere=arguments.everywhere, **given)
    if arguments.matrix:
        answer.matrix().save(arguments.matrix, force=arguments.force)
    return answer


def main(words):
    """Runs the command, prints, and returns the exit status."""
    try:
        arguments = _parser().parse_args(words)
        answer = _answer(arguments)
    except (Error, ImportError, MemoryError) as error:
        print(f"maskctl: {error}", file=sys.stderr)
        return 2
    text = json.dumps(answer.data, indent=2) if arguments.json else answer
    return answer.status if print_or_say(text, "maskctl: see") else 2
