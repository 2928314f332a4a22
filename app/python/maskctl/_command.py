"""The entry `maskctl`: the program of the package takes the place of the interpreter."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "maskctl")
    os.execv(program, ["maskctl", *sys.argv[1:]])
