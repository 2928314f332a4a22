"""Questions about masks as tools of the Model Context Protocol, over standard input and output.

    python -m maskctl.mcp

Each tool is the command of its name: operands and options are texts, as on the command line, and
the answer is what the command prints, with its exit status and the fields of --json. Options that
write files are not offered. Messages are lines of JSON (JSON-RPC 2.0), answered one after another.
Source: modelcontextprotocol.io/specification/2025-11-25.
"""

import json
import os
import sys
import traceback

from maskctl import Error, _native, run, version
from maskctl._answer import options_of

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MOST_BYTES = 16 << 20  # of one message

# The tools with the names of their operands in order. "sources" takes several values; "?" marks an optional operand.
TOOLS = {
    "info": ("sources",),
    "check": ("sources?",),
    "recognise": ("sources",),
    "diff": ("a", "b"),
    "why": ("source", "cell"),
    "show": ("source",),
    "verify": ("source", "arrays?"),
    "explain": ("id?",),
}
_OPERANDS = {
    "sources": {"type": "array", "items": {"type": "string"}, "description": "SOURCEs: files, FILE:KEY, or gen:STEP"},
    "source": {"type": "string", "description": "SOURCE: a file, FILE:KEY, or gen:STEP; `none`: no mask (verify)"},
    "a": {"type": "string", "description": "the first SOURCE"},
    "b": {"type": "string", "description": "the second SOURCE"},
    "cell": {"type": "string", "description": "the pair: QUERY,KEY or BATCH,HEAD,QUERY,KEY"},
    "id": {"type": "string", "description": "the finding; all of them without it"},
    "arrays": {"type": "object", "additionalProperties": {"type": "string"},
               "description": "NAME: SOURCE of the call: query, key, value; options of the operation too"},
}
_WRITE = {"output", "force", "append", "replace_file", "gzip", "dtype", "to", "format", "exit_zero"}


class Refused(Exception):
    """A message that has no answer: the code and text of its error."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def _offered(command):
    """{keyword: (what the value is, help)} of the options that write nothing."""
    reading = [] if command == "explain" else [("kind", "KIND", "how to read the array, where it fits several kinds"),
                                               ("shape", "B+H+Q+K", "extents that the array does not carry")]
    return {keyword: (value, text) for keyword, value, text in [*reading, *options_of(command)]
            if keyword not in _WRITE and not keyword.startswith("write")}


def _operands(command):
    """{name: whether it must be there} of the operands of a tool."""
    return {name.rstrip("?"): not name.endswith("?") for name in TOOLS[command]}


def _tool(command):
    operands = _operands(command)
    properties = {name: _OPERANDS[name] for name in operands}
    for keyword, (value, text) in _offered(command).items():
        many = {"type": ["string", "number", "array"], "items": {"type": "string"}}
        properties[keyword] = {**(many if value else {"type": "boolean"}),
                               "description": f"{value}: {text}" if value else text}
    return {"name": command, "description": _native.command_info(command)[0],
            "inputSchema": {"type": "object", "properties": properties,
                            "required": [name for name, needed in operands.items() if needed],
                            "additionalProperties": False},
            "annotations": {"readOnlyHint": True, "openWorldHint": False}}


def _texts(name, value):
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Error(f"{name}: expected text, as on the command line")
    return value


def _words(name, value):
    """The words on the line that an operand stands for."""
    if name != "arrays":
        return _texts(name, value if name == "sources" and isinstance(value, list) else [value])
    if not isinstance(value, dict):
        raise Error('arrays: expected an object of texts, such as {"query": "q.npy"}')
    return [f"{key}={text}" for key, text in zip(value, _texts(name, list(value.values())))]


def _called(command, given):
    """The answer of a tool. Throws Error where an argument is missing, unknown or of another type."""
    operands, offered = _operands(command), _offered(command)
    for name in given:
        if name not in operands and name not in offered:
            raise Error(f"{command}: no argument {name!r}; it has {', '.join(sorted([*operands, *offered]))}")
    words = []
    for name, needed in operands.items():
        if name in given:
            words += _words(name, given[name])
        elif needed:
            raise Error(f"{command}: {name} is missing")
    options = {name: given[name] for name in given if name in offered}
    for name, value in options.items():
        if isinstance(value, (dict, list)):
            _texts(name, value)
    return run(command, *words, **options)


def call(name, given):
    """The result of tools/call."""
    if not isinstance(name, str) or name not in TOOLS:
        raise Refused(-32602, f"no tool {name!r}; there are {', '.join(TOOLS)}")
    if not isinstance(given, dict):
        raise Refused(-32602, "arguments: expected an object")
    try:
        answer = _called(name, given)
    except Error as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    try:
        data = answer.data
    except AttributeError:  # the command has no --json
        data = None
    text = "\n".join([str(answer), *answer.notes])
    return {"content": [{"type": "text", "text": text}], "isError": False,
            "structuredContent": {"status": answer.status, "answer": data, "notes": answer.notes}}


def _initialized(parameters):
    asked = parameters.get("protocolVersion")
    return {"protocolVersion": asked if asked in VERSIONS else VERSIONS[0], "capabilities": {"tools": {}},
            "serverInfo": {"name": "maskctl", "version": version},
            "instructions": "status: 0 yes, 1 no, 2 undecided. Ask info what a file is, check what is wrong "
                            "with it, verify what a kernel did."}


METHODS = {
    "initialize": _initialized,
    "ping": lambda _: {},
    "tools/list": lambda _: {"tools": [_tool(command) for command in TOOLS]},
    "tools/call": lambda parameters: call(parameters.get("name"), parameters.get("arguments", {})),
}


def answered(line):
    """The answer to a line, or None to a notification."""
    message = None
    try:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Refused(-32700, f"no JSON: {error}") from None
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            raise Refused(-32600, "expected an object with a method")
        if "id" not in message:
            return None
        parameters = message.get("params", {})
        if not isinstance(parameters, dict):
            raise Refused(-32602, "params: expected an object")
        if message["method"] not in METHODS:
            raise Refused(-32601, f"no method {message['method']!r}")
        said = {"result": METHODS[message["method"]](parameters)}
    except Refused as refused:
        said = {"error": {"code": refused.code, "message": str(refused)}}
    except Exception as error:  # a mistake of ours: the client and the log hear of it, and the next call is answered
        traceback.print_exc()
        said = {"error": {"code": -32603, "message": f"{type(error).__name__}: {error}"}}
    known = message.get("id") if isinstance(message, dict) else None
    return {"jsonrpc": "2.0", "id": known if isinstance(known, (str, int)) else None, **said}


def main():
    # Keep stdin and stdout for messages: a SOURCE "-" then reads nothing, and other output goes to stderr.
    asked, said = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    while line := asked.readline(MOST_BYTES + 1):
        if len(line) > MOST_BYTES:
            sys.exit(f"maskctl.mcp: a message of more than {MOST_BYTES} bytes")
        reply = answered(line) if line.strip() else None
        if reply is not None:
            said.write(json.dumps(reply).encode() + b"\n")
            said.flush()


if __name__ == "__main__":
    main()
