"""A table of families of masks: for how many of the drawn ones recognise() names a chain of steps without arrays that
gives exactly their cells."""
import random
import sys
import time

import maskctl


def is_exact(cells):
    """(whether the chain gives the cells without arrays and exceptions, the chain, seconds)."""
    begin = time.monotonic()
    answer = maskctl.Mask(cells, kind="dense").recognise()
    seconds = time.monotonic() - begin
    return answer.data["unexplained"] == 0 and not answer.data["arrays"], answer.data["pipeline"], seconds


def table(families, data=()):
    """Draws [SHAPES [SEED [NAME ...]]] of the command line: families has a function of a random.Random for each name,
    which gives the cells and words for them. Masks named in `data` are arrays in whatever step. The exit status."""
    shapes, seed = [int(word) for word in sys.argv[1:3]] + [1000, 1][len(sys.argv[1:3]):]
    chosen = {name: maker for name, maker in families.items() if name in sys.argv[3:] or len(sys.argv) < 4}
    rounds, total, failed = -(-shapes // len(chosen)), 0, 0
    print(f"{'masks':18} shapes  exact  slowest  example")
    for name, maker in chosen.items():
        draw, exact, slowest, shown, missed = random.Random(f"{seed} {name}"), 0, 0.0, "", []
        for _ in range(rounds):
            cells, words = maker(draw)
            whole, steps, seconds = is_exact(cells)
            exact += whole
            slowest = max(slowest, seconds)
            if whole and len(steps) < 100:
                shown = max(shown, steps, key=len)
            missed += [] if whole else [(*cells.shape, words, steps)]
        total += exact
        failed += bool(missed) and name not in data
        print(f"{name:18} {rounds:6} {exact:6} {slowest:7.2f}s  {shown}")
        for one in missed[:3]:
            print("    not exact:", *one)
    print(f"{total} of {rounds * len(chosen)} masks without arrays")
    return 1 if failed else 0
