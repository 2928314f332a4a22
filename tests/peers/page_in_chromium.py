#!/usr/bin/env python3
"""Opens a page of `show -o page.html` in headless Chromium, measures it and uses it as a reader would.

    apt-get install chromium chromium-driver
    python3 tests/peers/page_in_chromium.py build/release/app/maskctl [--shots FOLDER]

Prints for a batch of 32 x 4 masks of 4096 x 4096 the bytes of the page, the time from load to the first
drawing, and the frames per second while it is zoomed; then checks what the mouse, the keys and a screen
reader get of a small mask with documents, tokens and steps. Exit status 1 if something is not as it must be.
"""
import argparse
import base64
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "samples")
KEYS = {"Tab": "\ue004", "PageDown": "\ue00f", "PageUp": "\ue00e", "End": "\ue010", "Home": "\ue011",
        "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015", "Enter": "\ue007"}
failures = []


def check(what, holds, seen=""):
    print(f"  {'ok  ' if holds else 'FAIL'} {what}" + ("" if holds else f": {seen!r}"))
    if not holds:
        failures.append(what)


class Browser:
    """A session of chromedriver, over its protocol (W3C WebDriver)."""

    def __init__(self, width=1300, height=850, dark=False):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.driver = subprocess.Popen([shutil.which("chromedriver"), f"--port={self.port}"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        arguments = ["--headless=new", "--no-sandbox", f"--window-size={width},{height}"]
        if dark:
            arguments.append("--force-dark-mode")
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments},
                                                   "goog:loggingPrefs": {"browser": "ALL"}}}}
        self.session = ""
        for _ in range(100):
            try:
                self.session = "/session/" + self.call("POST", "/session", wanted)["sessionId"]
                break
            except (ConnectionError, urllib.error.URLError):
                time.sleep(0.1)

    def call(self, method, path, body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{self.session}{path}", method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        self.call("POST", "/url", {"url": "file://" + os.path.abspath(path)})
        return self.ask("const done = arguments[0], look = () => performance.getEntriesByName('maskctl-drawn')[0] ?"
                        " done(performance.getEntriesByName('maskctl-drawn')[0].startTime) : setTimeout(look, 5); look();")

    def ask(self, script, *arguments):
        return self.call("POST", "/execute/async", {"script": script, "args": list(arguments)})

    def do(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, name):
        return self.do("return document.getElementById(arguments[0]).innerText", name)

    def keys(self, *names):
        events = []
        for name in names:
            parts = name.split("+") if len(name) > 1 else [name]
            values = ["\ue008" if p == "Shift" else KEYS.get(p, p) for p in parts]
            events += [{"type": "keyDown", "value": v} for v in values]
            events += [{"type": "keyUp", "value": v} for v in reversed(values)]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": events}]})

    def mouse(self, x, y, *more):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "m", "parameters": {"pointerType": "mouse"},
                  "actions": [{"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}, *more]}]})

    def place(self, q, k):
        """Where a cell is on the screen."""
        return self.do("const b = document.getElementById('canvas').getBoundingClientRect(); return ["
                       "b.left + rulers.left + (arguments[1] + .5 - view.x) * view.sx,"
                       "b.top + rulers.top + (arguments[0] + .5 - view.y) * view.sy]", q, k)

    def shot(self, folder, name):
        if folder:
            with open(os.path.join(folder, name), "wb") as out:
                out.write(base64.b64decode(self.call("GET", "/screenshot")))

    def complaints(self):
        return [entry["message"] for entry in self.call("POST", "/se/log", {"type": "browser"})]

    def close(self):
        with contextlib.suppress(urllib.error.URLError):
            self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()


FRAMES = """
const done = arguments[0], times = [], costs = [], old = draw;
let turn = 0;
draw = () => { const from = performance.now(), out = old(); costs.push(performance.now() - from); return out; };
const step = (now) => {
  times.push(now);
  if (++turn > 240) { draw = old; return done([times, costs]); }
  const wave = Math.sin(turn / 240 * 4 * Math.PI);
  zoom(Math.exp(.12 * Math.sign(wave)), view.width * .4, view.height * .45);
  requestAnimationFrame(step);
};
requestAnimationFrame(step);
"""


def sizes_and_speed(pages, shots):
    for name, path in pages:
        size = os.path.getsize(path)
        browser = Browser()
        try:
            started = time.monotonic()
            drawn = browser.open(path)
            opened = time.monotonic() - started
            time.sleep(1)
            times, costs = browser.ask(FRAMES)
            gaps = sorted(b - a for a, b in zip(times, times[1:]))
            frames = 1000 * len(gaps) / sum(gaps)
            slow = sum(gap > 20 for gap in gaps)
            print(f"{name}: {size / 1e6:.2f} MB, first drawing after {drawn:.0f} ms ({opened:.2f} s with the driver), "
                  f"{frames:.0f} frames per second while zooming, {slow} of {len(gaps)} frames later than 20 ms, "
                  f"the slowest {gaps[-1]:.0f} ms; drawing takes "
                  f"{sorted(costs)[len(costs) // 2]:.1f} ms, at most {max(costs):.1f} ms")
            browser.shot(shots, f"{name}.png")
            if name.startswith("batch"):
                check(f"{name}: under 2 MB", size < 2e6, size)
                check(f"{name}: opens in a second", drawn < 1000, drawn)
            median = gaps[len(gaps) // 2]
            check(f"{name}: a frame each 1/60 s (median), drawn in less (9 of 10)",
                  median < 17.5 and sorted(costs)[len(costs) * 9 // 10] < 16, (median, sorted(costs)[-24:]))
            check(f"{name}: the console is silent", browser.complaints() == [], browser.complaints())
        finally:
            browser.close()


def use(program, folder, shots):
    page = os.path.join(folder, "leaked.html")
    subprocess.run([program, "show", f"{SAMPLES}/leaked.npy", "--segments", f"{SAMPLES}/leaked_ids.npy", "--tokens",
                    f"{SAMPLES}/leaked_tokens.txt", "-t", "window:keys=20", "-t", "close:q=5,k=2", "-o", page, "-f"], check=True)
    browser = Browser()
    try:
        browser.open(page)
        print("a small mask with documents, tokens and steps:")
        browser.mouse(*browser.place(17, 3))
        tip = browser.text("tip")
        check("hover says the cell, documents and tokens", "query 17, key 3: open, a leak" in tip
              and "query in document 2, key in document 0" in tip and "“on” to “on”" in tip, tip)
        check("hover says the finding", "error: 1 cell across documents" in tip, tip)
        browser.mouse(*browser.place(5, 2))
        tip = browser.text("tip")
        check("hover says the step that decided", "closed by step 2, close:q=5,k=2" in tip, tip)
        browser.shot(shots, "hover.png")
        browser.do("document.getElementById('canvas').focus()")
        browser.keys("Right", "Down", "Down", "Shift+Down")
        time.sleep(0.3)
        live = browser.text("live")
        check("arrow keys move, and the live region says where to", live.startswith("query 12, key 1: "), live)
        browser.keys("n")
        time.sleep(0.3)
        live = browser.text("live")
        check("n goes to the leak", live.startswith("query 17, key 3: open, a leak"), live)
        browser.keys("End")
        time.sleep(0.3)
        check("End goes to the last key", browser.text("live").startswith("query 17, key 17:"), browser.text("live"))
        browser.keys("g")
        browser.keys("4", ",", "2", "Enter")
        time.sleep(0.3)
        check("g asks for a cell", browser.text("live").startswith("query 4, key 2: "), browser.text("live"))
        rows = browser.do("return [...document.querySelectorAll('#findings tbody tr')].map(r => r.innerText)")
        check("findings are a table", len(rows) >= 1 and "1 cell across documents" in rows[0], rows)
        browser.do("document.querySelector('#findings button').click()")
        time.sleep(0.3)
        check("a finding leads to its cell", browser.text("live").startswith("query 17, key 3"), browser.text("live"))
        unnamed = browser.do("return [...document.querySelectorAll('button, input, canvas')].filter(e => !e.closest('[aria-hidden]')"
                             " && !(e.innerText || e.getAttribute('aria-label') || e.labels?.length)).length")
        check("each control has a name", unnamed == 0, unnamed)
        browser.shot(shots, "finding.png")
        browser.do("document.getElementById('theme').click()")
        time.sleep(0.2)
        browser.shot(shots, "dark.png")
        before = browser.do("return view.sx")
        browser.do("document.getElementById('canvas').focus()")
        browser.keys("+", "+")
        check("+ zooms in", browser.do("return view.sx") > before, before)
        browser.keys("0")
        check("0 shows the whole mask", browser.do("return view.x === 0 && view.y === 0"))
        check("the console is silent", browser.complaints() == [], browser.complaints())
    finally:
        browser.close()


def hostile(program, folder):
    """Names are text, whatever they hold."""
    print("a hostile title and hostile tokens:")
    name = "</script><img src=x onerror='document.body.dataset.ran=1'><!--\u2028\u202e\"%%data%%"
    tokens, page = os.path.join(folder, "tokens.txt"), os.path.join(folder, "hostile.html")
    with open(tokens, "w", encoding="utf-8") as out:
        out.write("</script><b>\n<!--\n\u2028\n\"\\\n")
    subprocess.run([program, "show", "gen:causal:n=4", "--title", name, "--tokens", tokens, "-o", page, "-f"], check=True)
    browser = Browser()
    try:
        browser.open(page)
        check("nothing runs", browser.do("return document.body.dataset.ran === undefined && !document.querySelector('img')"))
        check("the title is text", "</script><img src=x" in browser.text("title"), browser.text("title"))
        browser.mouse(*browser.place(3, 0))
        check("tokens are text", "“\"\\” to “</script><b>”" in browser.text("tip"), browser.text("tip"))
        check("the console is silent", browser.complaints() == [], browser.complaints())
    finally:
        browser.close()


def single_cells(program, folder, shots):
    """One open cell of a million by a million, and one closed one, are seen when all is shown."""
    print("single cells:")
    for name, source, step in [("open", "gen:empty:n=1000000", "open:q=700000,k=300000"),
                               ("closed", "gen:full:n=1000000", "close:q=700000,k=300000")]:
        page = os.path.join(folder, f"{name}.html")
        subprocess.run([program, "show", source, "-t", step, "-o", page, "-f"], check=True)
        browser = Browser()
        try:
            browser.open(page)
            colors = browser.do("const c = document.createElement('canvas'); const d = view.ratio, w = Math.round(view.sx * columns), h = Math.round(view.sy * rows);"
                                "const pixels = brush.getImageData(rulers.left * d, rulers.top * d, w * d, h * d).data, seen = {};"
                                "for (let i = 0; i < pixels.length; i += 4) { const hex = '#' + [0, 1, 2].map(j => pixels[i + j].toString(16).padStart(2, '0')).join('');"
                                " seen[hex] = (seen[hex] || 0) + 1; } return seen")
            inks = browser.do("return data.colors")
            check(f"one {name} cell of 1M x 1M has its own colour", any(colors.get(ink, 0) > 0 for ink in inks[1:7]), colors)
            browser.shot(shots, f"one_{name}.png")
        finally:
            browser.close()


def pages_of(program, folder):
    """Pages of 32 x 4 masks of 4096 x 4096, all different, and of one with many runs."""
    ids = "gen:segments:n=4096,docs=9,seed=7,b=32"
    heads = " | ".join(f"heads:{h}{{window:keys={400 * (h + 1)}}}" for h in range(4))
    cases = {
        "batch_documents": ["gen:full:n=4096,b=32,h=4", "-t", f"doc:q='{ids}',kv='{ids}' | causal | {heads}", "--segments", ids],
        "million": ["gen:causal:n=1000000", "-t", "window:keys=300000"],
        "dilated": ["gen:causal:n=4096", "-t", "dilated:stride=3"],
        "random": ["gen:causal:n=2048", "-t", "random:sparsity=0.98,seed=3"],
        "too_many_runs": ["gen:causal:n=8192", "-t", "random:sparsity=0.6,seed=3"],
    }
    pages = []
    for name, words in cases.items():
        page = os.path.join(folder, f"{name}.html")
        subprocess.run([program, "show", *words, "-o", page, "-f"], check=True)
        pages.append((name, page))
    return pages


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--shots", help="a folder for screenshots")
    parser.add_argument("--skip-speed", action="store_true")
    options = parser.parse_args()
    if options.shots:
        os.makedirs(options.shots, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        use(options.program, folder, options.shots)
        hostile(options.program, folder)
        single_cells(options.program, folder, options.shots)
        if not options.skip_speed:
            sizes_and_speed(pages_of(options.program, folder), options.shots)
    print(f"{len(failures)} failed" if failures else "all as it must be")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
