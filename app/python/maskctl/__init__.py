"""maskctl: the ground truth for transformer attention masks.

    mask = maskctl.Mask(tensor)            # numpy, torch, JAX: read once, where it lies
    mask.check(segments=ids)               # falsy when a document leaks; prints where
    print(mask)                            # draws it

true (1) means may attend, everywhere. What the elements of an array mean is never guessed: where
it fits several kinds, Error names them. Each method of Mask is the command of that name, with its
options as keywords.
"""

_HOMES = {
    "Answer": "_answer",
    "AttentionMaskVisualizer": "_visualizer",
    "CheckAnswer": "_answer",
    "DiffAnswer": "_answer",
    "Error": "_native",
    "Mask": "_mask",
    "Record": "_answer",
    "VerifyAnswer": "_answer",
    "audit_flex": "_audit_flex",
    "capture": "_watch",
    "mutants": "_mutants",
    "phases": "_phases",
    "run": "_answer",
    "see": "_see",
    "split_logits": "_split",
    "split_outputs": "_split",
    "version": "_native",
    "watch": "_watch",
}

__all__ = ["Answer", "AttentionMaskVisualizer", "CheckAnswer", "DiffAnswer", "Error", "Mask", "Record", "VerifyAnswer",
           "audit_flex", "capture", "mutants", "phases", "run", "see", "split_logits", "split_outputs", "version",
           "watch"]


def __getattr__(name):
    # Modules are imported on first use: the command `maskctl`, an entry point of this package,
    # needs none.
    if name == "__version__":
        name = "version"
    if name not in _HOMES:
        raise AttributeError(f"module 'maskctl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("maskctl." + _HOMES[name]), name)


def __dir__():
    return sorted([*globals(), *_HOMES])
