"""A mask on axes of matplotlib, in as many blocks of cells as the axes have pixels."""

import operator

from maskctl import _arrays, _native, _tokens
from maskctl._native import Error

try:
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise Error(f"plot() draws with matplotlib, which cannot be imported ({error}): pip install matplotlib") from None

_MOST_LABELS = 64  # of one axis; of more tokens each n-th is written
_MOST_TITLE = 60  # letters, of a title that is not given
_MOST_POINTS = 400  # marks of pixels that are drawn as points, so that they stand out
_POINT = 4  # pixels: blocks of so many are seen as they are
_MOST_BIAS = 1 << 28  # cells of which a bias is read
_ELONGATED = 4  # an axis so many times as long as the other is drawn shorter


def plot(mask, ax, batch, head, tokens, bias, marks, title):
    shape = mask.shape
    batch, head = _member("batch", batch, shape[0]), _member("head", head, shape[1])
    queries, keys = shape[2:]
    if not queries or not keys:
        raise Error(f"{_native.printable(mask.name)}: a mask of {queries} queries and {keys} keys has no cells to draw")
    labels = (None, None) if tokens is None else _tokens.labels_of(tokens, batch, queries, keys)
    if marks is not None and marks.shape[2:] != (queries, keys):
        raise Error(f"marks: {marks.shape[2]} queries and {marks.shape[3]} keys; the mask has {queries} and {keys}")
    if bias is not None:
        bias = _bias_of(bias, shape, batch, head)
    if ax is None:
        from matplotlib import pyplot  # this takes a window where there is a screen

        _, ax = pyplot.subplots(layout="constrained")
    step = _block(ax, queries, keys)
    notes = [] if step == (1, 1) else [f"{step[0]}x{step[1]} cells a pixel"]
    if bias is None:
        _draw(ax, _density(mask, batch, head, step), (queries, keys), step, _shades(), vmin=0, vmax=1)
    else:
        image = _draw(ax, _means(mask, bias, batch, head, step), (queries, keys), step, "viridis")
        ax.set_facecolor("0.85")
        ax.figure.colorbar(image, ax=ax, label="bias")
        notes.append("grey: closed")
    if marks is not None:
        notes.append(f"{_mark(ax, marks, batch, head, step):,} marked")
    _describe(ax, mask, batch, head, title, notes)
    _tick(ax.yaxis, labels[0], 0)
    _tick(ax.xaxis, labels[1], 90)
    return ax


def _member(axis, index, count):
    try:
        index = operator.index(index)
    except TypeError:
        raise Error(f"{axis}={index!r}: expected a whole number") from None
    if not 0 <= index < count:
        raise Error(f"{axis} {index} is out of range: the mask has 0 to {count - 1}" if count else f"the mask has no {axis}")
    return index


def _elongated(queries, keys):
    return max(queries, keys) > _ELONGATED * min(queries, keys)


def _block(ax, queries, keys):
    """(queries, keys) of a block: none is smaller than a pixel, so that none is left out."""
    box = ax.get_window_extent()
    wide, high = max(1, int(box.width)), max(1, int(box.height))
    q, k = -(-queries // high), -(-keys // wide)
    return (q, k) if _elongated(queries, keys) else (max(q, k),) * 2


def _spans(extent, step):
    """How many cells each block along an axis has."""
    begins = np.arange(0, extent, step)
    return np.minimum(begins + step, extent) - begins


def _open(mask, batch, head, step):
    return np.asarray(mask._result_source().open_by_block(batch, head, *step))


def _density(mask, batch, head, step):
    """The open share of each block; masked where nothing is open."""
    area = np.outer(_spans(mask.shape[2], step[0]), _spans(mask.shape[3], step[1]))
    found = _open(mask, batch, head, step)
    return np.ma.masked_where(found == 0, found / area)


def _shades():
    """Blues, of which the lightest stands out from white: one open cell of many is seen."""
    return ListedColormap(colormaps["Blues"](np.linspace(0.4, 1, 256)), "open cells")


def _draw(ax, values, extents, step, colours, **limits):
    rows, columns = np.shape(values)
    ax.set_aspect("auto" if _elongated(*extents) else "equal")
    image = ax.imshow(values, cmap=colours, interpolation="nearest", aspect=ax.get_aspect(), **limits,
                      extent=(-0.5, columns * step[1] - 0.5, rows * step[0] - 0.5, -0.5))
    ax.set_xlim(-0.5, extents[1] - 0.5)
    ax.set_ylim(extents[0] - 0.5, -0.5)
    return image


def _bias_of(bias, shape, batch, head):
    """The numbers [Q, K] that are added in a batch and head."""
    array, _ = _arrays.host("bias", bias)
    if str(getattr(array, "dtype", "")).endswith("bfloat16") and hasattr(array, "float"):
        array = array.float()  # a type that numpy lacks
    array = np.asarray(array)
    if array.ndim not in (2, 3, 4) or array.dtype.kind not in "biuf":
        raise Error(f"bias: {array.dtype} {array.shape}; expected numbers [Q, K], [B, Q, K] or [B, H, Q, K]")
    full = array[:, None] if array.ndim == 3 else array
    try:
        full = np.broadcast_to(full, shape)
    except ValueError:
        raise Error(f"bias: {array.shape} does not fit a mask of {shape}") from None
    if shape[2] * shape[3] > _MOST_BIAS:
        raise Error(f"bias: {shape[2]} x {shape[3]} cells are too many to read one by one; draw a part, "
                    "as mask[..., :4096, :4096] with its bias")
    return full[batch, head]


def _means(mask, bias, batch, head, step):
    """The mean of the bias over the open cells of each block; masked where none is open."""
    columns = np.arange(0, bias.shape[1], step[1])
    rows = []
    for begin in range(0, len(bias), step[0]):
        numbers = bias[begin:begin + step[0]].astype(float)
        cells = np.asarray(mask[batch, head, begin:begin + step[0]]).reshape(numbers.shape) & np.isfinite(numbers)
        sums = np.add.reduceat(np.where(cells, numbers, 0).sum(0), columns)
        counts = np.add.reduceat(cells.sum(0), columns)
        rows.append(np.ma.masked_where(counts == 0, sums / np.maximum(counts, 1)))
    return np.ma.stack(rows)


def _mark(ax, marks, batch, head, step):
    """Draws marks in red, over what is drawn; returns how many cells they are."""
    batch, head = (min(index, count - 1) for index, count in zip((batch, head), marks.shape))
    found = _open(marks, batch, head, step)
    rows, columns = np.nonzero(found)
    box = ax.get_window_extent()
    tiny = min(box.height / found.shape[0], box.width / found.shape[1]) < _POINT
    if tiny and len(rows) <= _MOST_POINTS:
        middle = [np.minimum(at * size + (size - 1) / 2, extent - 1)
                  for at, size, extent in zip((rows, columns), step, marks.shape[2:])]
        ax.scatter(middle[1], middle[0], s=16, c="red", marker="s", linewidths=0, zorder=3)
    else:
        _draw(ax, np.ma.masked_equal(found > 0, False), marks.shape[2:], step, ListedColormap(["red"]))
    return int(found.sum())


def _describe(ax, mask, batch, head, title, notes):
    if title is None:
        title = " | ".join([mask.name, *mask._steps])
        many = [f"{axis} {index}" for axis, index, count in (("batch", batch, mask.shape[0]), ("head", head, mask.shape[1])) if count > 1]
        title = ", ".join([title if len(title) <= _MOST_TITLE else title[:_MOST_TITLE - 1] + "…", *many])
    lines = [one for one in (_native.printable(title), ", ".join(notes)) if one]
    ax.set_title("\n".join(lines), fontsize="medium", parse_math=False)
    ax.set_xlabel("key")
    ax.set_ylabel("query")
    ax.xaxis.set_label_position("top")
    ax.xaxis.tick_top()


def _tick(axis, labels, rotation):
    if labels is None:
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
        return
    every = range(0, len(labels), -(-len(labels) // _MOST_LABELS))
    axis.set_ticks(every, [_native.printable(labels[at]) for at in every], rotation=rotation, parse_math=False,
                   fontsize="small" if len(every) <= 32 else "xx-small")
