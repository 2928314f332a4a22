"""Asks an attention library what its masks mean, case by case.

    python -m maskctl.kit run --library torch.sdpa
    python -m maskctl.kit run --library mine.py:attend --rule causal --dtype bf16

An adapter is a function of one case that returns the output [B,Q,Hq,Dv], or a dict of "out" and,
where it has them, "lse" [B,Hq,Q], "grad_query", "grad_key" and "grad_value", as numpy arrays. What
it raises is a refusal. The cases, their meaning and every verdict are those of `maskctl kit`.
"""

import argparse
import os
import re
import sys
import tempfile

from maskctl import Error, run as command
from maskctl._adapters import ADAPTERS
from maskctl._command import print_or_say
from maskctl._kit_apart import SECONDS, ask_apart
from maskctl._kit_cases import Case, Unsupported, read_cases
from maskctl._kit_worker import NoAdapter, ask, checked

__all__ = ["Case", "Unsupported", "cases", "judge"]


def _listed(chosen):
    return [chosen] if isinstance(chosen, str) else list(chosen)


def cases(dtype="f32", rule=(), without=(), device="cpu"):
    """The cases one after another; options as those of `maskctl kit`."""
    with tempfile.TemporaryDirectory() as folder:
        command("kit", "make", folder, dtype=dtype, rule=_listed(rule), without=_listed(without))
        yield from read_cases(folder, device)


def judge(adapter, library=None, dtype="f32", rule=(), without=(), device="cpu", timeout=None, **options):
    """The answer of `maskctl kit judge` about an adapter; true if all cases obey.

    A function is asked in this process. The name of one, such as "torch.sdpa" or "mine.py:attend", is asked
    in another, where a case may take `timeout` seconds (600). `baseline` is a file of what format="json" printed
    before: what is as it was then, or better, is allowed. `rule` and `without` are one id or more.
    """
    apart = isinstance(adapter, str)
    if timeout is not None and not apart:
        raise Error("timeout: a function runs in this process, which cannot end it; give its name, as 'mine.py:attend'")
    library = library or (adapter if apart else getattr(adapter, "__name__", type(adapter).__name__))
    chosen = {"dtype": dtype, "rule": _listed(rule), "without": _listed(without)}
    with tempfile.TemporaryDirectory() as folder:
        made, results = (os.path.join(folder, name) for name in ("cases", "results"))
        os.mkdir(results)
        try:
            if not apart:
                checked(adapter, library, device)
            command("kit", "make", made, **chosen)
            if apart:
                ask_apart(adapter, made, results, device, timeout or SECONDS)
            else:
                ask(adapter, read_cases(made, device), results)
        except NoAdapter as error:
            raise Error(str(error)) from None
        return command("kit", "judge", results, library=library, **chosen, **options)


def _seconds(text):
    value = int(text)
    if not 1 <= value <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{value}: expected 1 to 1000000 seconds")
    return value


def _in_options(message):
    """A message that names arguments of Python, in the options of the shell."""
    message = re.sub(r"\bjson=", "--format json", message)
    return re.sub(r"\b(rule|without|dtype|baseline)=(?=(')?)", lambda m: f"--{m[1]}{' ' if m[2] else ''}", message)


def main(words=None):
    parser = argparse.ArgumentParser("python -m maskctl.kit", description="Asks a library what its masks mean.")
    parser.add_argument("action", choices=["run"])
    parser.add_argument("--library", required=True, help=f"{', '.join(ADAPTERS)}, or FILE.py:FUNCTION")
    parser.add_argument("--dtype", default="f32", choices=["f32", "f16", "bf16"])
    parser.add_argument("--device", default="cpu", help="where the library runs, such as cuda (cpu)")
    parser.add_argument("--rule", action="append", default=[], metavar="RULE",
                        help="only this rule or case, or these; may be repeated")
    parser.add_argument("--without", action="append", default=[], metavar="RULE",
                        help="not this rule or case, or these; may be repeated")
    parser.add_argument("--baseline", metavar="FILE",
                        help="what --format json printed before; what is as it was then, or better, is allowed")
    parser.add_argument("--timeout", type=_seconds, default=SECONDS, metavar="SECONDS",
                        help=f"how long a case may take ({SECONDS})")
    parser.add_argument("--format", default="text", choices=["text", "json", "junit"])
    asked = vars(parser.parse_args(words))
    asked.pop("action")
    library = asked.pop("library")
    try:
        answer = judge(library, **asked)
    except (Error, OSError) as error:
        print(f"maskctl.kit: {_in_options(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return answer.status if print_or_say(answer, "maskctl.kit") else 2


if __name__ == "__main__":
    sys.exit(main())
