"""Pictures of masks and answers, as notebooks show them."""

from html import escape

from maskctl import _native

_MOST_COPIED = 1 << 24  # bytes of an array of which a picture keeps a copy


class Drawing:
    """A question that is answered with a picture, kept as it was when it was asked."""

    def __init__(self, command, operands, options, given):
        self._question = command, operands, options
        self._given = given
        self._made = {}

    def bytes(self, suffix, *more):
        """The picture as a file of this suffix holds it; None for a mask without cells."""
        if suffix not in self._made:
            self._made[suffix] = self._draw(suffix, more)
        return self._made[suffix]

    def _draw(self, suffix, more):
        import os
        from tempfile import TemporaryDirectory

        command, operands, options = self._question
        with TemporaryDirectory() as folder:
            file = f"{folder}/mask.{suffix}"
            _native.ask(command, operands, [*options, *more, ("--output", file)], self._given)
            if not os.path.exists(file):
                return None
            with open(file, "rb") as picture:
                return picture.read()


def kept(given):
    """Masks and arrays by name, as they are now; None where an array that may change is too large
    for a copy."""
    out = {}
    for name, value in given.items():
        if not isinstance(value, (_native.Source, _native.Copy)):
            size = getattr(value, "nbytes", None)
            if not isinstance(size, int) or size > _MOST_COPIED:
                return None
            value = _native.copied(name, value)
        out[name] = value
    return out


class Pictured:
    """What has a picture: a mask, or an answer about one. A notebook takes the form that it likes."""

    __slots__ = ()

    def _picture(self, suffix):
        """The bytes of a file; None where there is no picture."""
        return None

    def _repr_svg_(self):
        picture = self._picture("svg")
        return picture and picture.decode()

    def _repr_png_(self):
        return self._picture("png")

    def _repr_html_(self):
        return self._repr_svg_() or f"<pre>{escape(str(self))}</pre>"
