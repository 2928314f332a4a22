#!/usr/bin/env python3
"""Prints the glyphs of bitmap_font.cc: DejaVu Sans Mono at 13 pixels, smoothed, four levels.

    make_font.py /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf

Needs Pillow. Run once, when the font changes; the build does not use it.
"""
import sys

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, BASELINE, LEVELS = 8, 16, 12, 4


def glyph(font, character):
    image = Image.new("L", (WIDTH, HEIGHT))
    ImageDraw.Draw(image).text((0, BASELINE), character, font=font, fill=255, anchor="ls")
    digits = ""
    for y in range(HEIGHT):
        bits = 0
        for x in range(WIDTH):
            bits = bits * LEVELS + round(image.getpixel((x, y)) / 255 * (LEVELS - 1))
        digits += f"{bits:04x}"
    return digits


def main():
    font = ImageFont.truetype(sys.argv[1], 13)
    for code in range(32, 127):
        print(f'    "{glyph(font, chr(code))}",  // {chr(code) if chr(code) != chr(92) else "backslash"}')


main()
