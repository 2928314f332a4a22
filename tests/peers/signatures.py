"""The signatures that tests/python keeps as data, beside inspect.signature of what is installed: names, order, kinds and
defaults. Ends with 1 where one differs.

    peers/bin/python tests/peers/signatures.py
"""
import importlib
import importlib.metadata
import inspect
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
import attention_signatures
import flash_attn_calls


def installed(module, name):
    """The function, by the name of its module, or of its class in one; None where that is not installed."""
    package, *rest = module.split(".")
    try:
        home = importlib.import_module(package)
        for part in rest:
            package = f"{package}.{part}"
            home = getattr(home, part) if inspect.isclass(getattr(home, part, None)) else importlib.import_module(package)
    except ImportError:
        return None
    return getattr(home, name, None)


def arguments(function):
    """[(name, kind, default)]; of a builtin of torch, which has no signature, as its documentation says."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        names = {}
        text = re.search(r"\((.*?)\)", function.__doc__, re.S)[1]
        exec(f"def made({text}): pass", names)
        signature = inspect.signature(names["made"])
    return [(one.name, one.kind, one.default) for one in signature.parameters.values()]


def version_of(package):
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def kept():
    """(package, versions, dotted name, function of that signature)"""
    for source in attention_signatures.SOURCES:
        for name, function in source.made():
            yield source.package, source.versions, name, function
    for version, name, function in flash_attn_calls.functions():
        yield "flash-attn", (version,), name, function


def main():
    compared, absent, wrong, looked_at = 0, set(), 0, {}
    for package, versions, _, _ in kept():
        looked_at.setdefault(package, set()).update(versions)
    for package, versions, name, function in kept():
        version = version_of(package)
        real = installed(*name.rsplit(".", 1)) if version else None
        if real is None:
            absent.add(package)
        elif version in versions or version not in looked_at[package]:  # the latter may be as one of them
            compared += 1
            if arguments(real) != arguments(function):
                wrong += 1
                print(f"{name} of {package} {version}, not as in {', '.join(versions)}: {inspect.signature(real)}")
    print(f"{compared} signatures compared, {wrong} differ; not installed: {', '.join(sorted(absent)) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
