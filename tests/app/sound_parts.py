"""What masks of training and serving stacks are made of: bands, lengths, padding, images, trees."""
import numpy as np

LEAST = np.finfo(np.float32).min


def grid(queries, keys=None):
    """Query and key numbers of square masks; with keys, of queries at their end."""
    keys = keys or queries
    return np.arange(keys - queries, keys)[:, None], np.arange(keys)[None]


def causal(n):
    return np.tril(np.ones((n, n), bool))


def bias(mask):
    """As transformers' eager attention adds it."""
    return np.where(mask, np.float32(0), LEAST).astype(np.float32)


def opened(mask):
    """Rows without keys see everything, as transformers makes them for SDPA."""
    return mask | ~mask.any(-1, keepdims=True)


def lengths(rng, total, most=None):
    """Random positive lengths with the sum `total`."""
    out = []
    while sum(out) < total:
        out.append(int(rng.integers(1, (most or max(2, total // 2)) + 1)))
    out[-1] -= sum(out) - total
    return out


def ids_of(lens):
    return np.repeat(np.arange(len(lens)), lens)


SIZES = [6, 9, 12, 16, 20, 33, 48, 64, 100]


def size(rng, least=0):
    return max(least, int(rng.choice(SIZES)))


def windowed(rng, n, least=1):
    q, k = grid(n)
    return (k <= q) & (q - k < rng.integers(least, n + 1))


def image_groups(rng, n):
    """0 for text, otherwise the number of the image, of three tokens or more: neighbours may touch."""
    groups = np.zeros(n, int)
    at, image = int(rng.integers(0, 3)), 0
    while at < n - 1:
        length = min(int(rng.integers(3, max(4, n // 4) + 1)), n - at)
        if length < 3:
            break
        image += 1
        groups[at:at + length] = image
        at += length + int(rng.integers(1, max(2, n // 6) + 1))
    return groups


def same_image(groups):
    return (groups[:, None] == groups) & (groups[:, None] > 0)


def pads(rng, n):
    """[B, K]: real tokens; one entry has no padding."""
    lens = np.append(rng.integers(1, n + 1, int(rng.integers(1, 5))), n)
    rng.shuffle(lens)
    left = rng.random() < 0.5
    places = np.arange(n)[None]
    return (places >= n - lens[:, None]) if left else (places < lens[:, None])


def padded(rng, mask, real):
    mask = (mask & real[:, None])[:, None]
    return bias(mask) if rng.random() < 0.5 else opened(mask)


def tree(rng, n):
    parent = [-1] + [int(rng.integers(-1, i)) for i in range(1, n)]
    mask = np.eye(n, dtype=bool)
    for i in range(n):
        if parent[i] >= 0:
            mask[i] |= mask[parent[i]]
    return mask


def natten_row(n, kernel):
    start = np.clip(np.arange(n) - kernel // 2, 0, n - kernel)
    return (np.arange(n) >= start[:, None]) & (np.arange(n) < start[:, None] + kernel)


def selected(rng, n, block, heads=None):
    """[1, H, n, n / block]: the first block, the own one, and two more."""
    out = np.zeros((1, heads or int(rng.integers(1, 5)), n, n // block), bool)
    for head in out[0]:
        for q, row in enumerate(head):
            row[[0, q // block, *rng.integers(0, q // block + 1, 2)]] = True
    return out
