"""Talks to `python -m maskctl.mcp` over pipes, as clients of the Model Context Protocol do."""

import json
import subprocess
import sys

import numpy as np
import pytest

from maskctl import mcp
from maskctl._answer import options_of


@pytest.fixture
def server(tmp_path):
    """A function that sends a line, or a method with its parameters, and returns the answer."""
    with subprocess.Popen([sys.executable, "-m", "maskctl.mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          cwd=tmp_path) as process:
        def ask(method, parameters=None, raw=None):
            line = raw or json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters or {}}).encode()
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()
        assert process.wait(10) == 0
        assert process.stdout.read() == b""


@pytest.fixture
def tool(server):
    def call(name, **arguments):
        return server("tools/call", {"name": name, "arguments": arguments})["result"]

    return call


def said(result):
    return result["content"][0]["text"]


def test_a_session_begins_with_a_version_that_both_know(server):
    for asked, given in [("2025-06-18", "2025-06-18"), ("2099-01-01", mcp.VERSIONS[0]), (None, mcp.VERSIONS[0])]:
        result = server("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "test"}})
        assert result["id"] == 7
        assert result["result"]["protocolVersion"] == given
        assert result["result"]["serverInfo"]["name"] == "maskctl"
    assert server("ping")["result"] == {}


def test_maskctl_mcp_is_the_server_too(tmp_path):
    entry = "import sys; sys.argv = ['maskctl', 'mcp']; from maskctl._command import main; sys.exit(main())"
    line = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping"}).encode() + b"\n"
    done = subprocess.run([sys.executable, "-c", entry], input=line, capture_output=True, cwd=tmp_path, check=True)
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_notifications_have_no_answer(server):
    lines = (b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n'
             b'{"jsonrpc": "2.0", "id": "a", "method": "ping"}')
    assert server("", raw=lines) == {"jsonrpc": "2.0", "id": "a", "result": {}}


def test_tools_are_the_commands_without_options_that_write_files(server):
    tools = {tool["name"]: tool for tool in server("tools/list")["result"]["tools"]}
    assert list(tools) == list(mcp.TOOLS)
    for name, tool in tools.items():
        schema = tool["inputSchema"]
        assert set(schema["required"]) <= set(schema["properties"])
        for keyword, value, text in options_of(name):
            writes = ("FILE" in value or "DEST" in value) and keyword in schema["properties"]
            assert not writes or keyword in ("tokens", "hf_config"), (name, keyword, text)  # these are read
    assert "segments" in tools["check"]["inputSchema"]["properties"]
    assert "kind" in tools["check"]["inputSchema"]["properties"]


def test_answers_have_the_exit_status_and_the_fields_of_json(tool, samples):
    leaked, ids = str(samples / "leaked.npy"), str(samples / "leaked_ids.npy")
    result = tool("check", sources=[leaked], segments=ids)
    assert not result["isError"]
    assert result["structuredContent"]["status"] == 1
    assert result["structuredContent"]["answer"]["findings"][0]["id"] == "document-leak"
    assert "document-leak" in said(result)
    held = tool("check", sources="gen:causal:n=8", expect=["causal", "no-empty-rows"])
    assert held["structuredContent"]["status"] == 0
    recognised = tool("recognise", sources=["gen:window:keys=3,n=16"])["structuredContent"]["answer"]
    assert recognised["pipeline"] == "window:keys=3"
    cause = tool("diff", a="gen:window:keys=3,n=16", b="gen:window:keys=4,n=16")["structuredContent"]["answer"]["cause"]
    assert cause["text"] == "B = A with window keys 4 instead of 3"
    assert tool("why", source="gen:causal:n=8", cell="2,5")["structuredContent"]["answer"]["open"] is False
    assert tool("show", source="gen:causal:n=8")["structuredContent"]["answer"] is None
    assert tool("info", sources=["gen:causal:n=8"])["structuredContent"]["answer"]["sources"][0]["open"] == 36
    assert tool("explain", id="empty-rows")["structuredContent"]["answer"]["findings"][0]["id"] == "empty-rows"


def test_an_output_is_judged(tool, samples):
    call = {name: str(samples / f"bugs/kernel_{letter}.npy") for name, letter in
            [("query", "q"), ("key", "k"), ("value", "v")]}
    result = tool("verify", source="gen:window:keys=32,n=64", arrays=call, given=str(samples / "bugs/kernel_out.npy"))
    assert result["structuredContent"]["status"] == 1
    assert "window left 32 instead of 31" in said(result)


@pytest.mark.parametrize("line, code", [
    (b"{", -32700), (b"\xff\xfe", -32700), (b"[" * 100000, -32700), (b"[]", -32600), (b"7", -32600),
    (b'{"id": 1}', -32600), (b'{"id": 1, "method": "resources/list"}', -32601),
    (b'{"id": 1, "method": "ping", "params": [1]}', -32602),
    (b'{"id": 1, "method": "tools/call", "params": {"name": "gen"}}', -32602),
    (b'{"id": 1, "method": "tools/call", "params": {"name": ["check"]}}', -32602),
    (b'{"id": 1, "method": "tools/call", "params": {"name": "check", "arguments": []}}', -32602)])
def test_invalid_requests_are_refused_and_the_next_one_is_answered(server, line, code):
    assert server("", raw=line)["error"]["code"] == code
    assert server("ping")["result"] == {}


@pytest.mark.parametrize("name, arguments, words", [
    ("check", {"sources": ["none.npy"]}, "none.npy"),
    ("check", {"sources": ["a\x1b[2J\n.npy"]}, "\\x1b[2J"),
    ("check", {"sources": ["a\x00b"]}, "NUL"),
    ("check", {"sources": ["../" * 2000]}, "cannot read"),
    ("check", {"sources": ["-"]}, "empty"),
    ("check", {"sources": [7]}, "sources: expected text"),
    ("check", {"sources": ["gen:causal:n=8"], "segments": ["x", 7]}, "segments: expected text"),
    ("check", {"sources": ["gen:causal:n=8"], "exit_zero": True}, "no argument 'exit_zero'"),
    ("recognise", {"sources": ["gen:causal:n=8"], "write": "w.npz"}, "no argument 'write'"),
    ("show", {"source": "gen:causal:n=8", "output": "x.png"}, "no argument 'output'"),
    ("show", {}, "source is missing"),
    ("verify", {"source": "none", "arrays": {"query": 3}}, "arrays: expected text"),
    ("verify", {"source": "none", "arrays": "q.npy"}, "arrays: expected an object"),
    ("info", {"sources": []}, "")])
def test_bad_arguments_and_hostile_paths_are_errors_of_the_tool(tool, tmp_path, name, arguments, words):
    result = tool(name, **arguments)
    assert result["isError"]
    assert words in said(result)
    assert "\x1b" not in said(result) and "\0" not in said(result)
    assert list(tmp_path.iterdir()) == []


def test_hostile_files_are_errors_of_the_tool(tool, tmp_path):
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (9000000000, 9000000000), }"
    (tmp_path / "huge.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + header.ljust(117) + b"\n")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    for file in ("huge.npy", "objects.npy"):
        assert tool("check", sources=[file])["isError"]
    assert not tool("check", sources=["gen:causal:n=8"])["isError"]


def test_a_message_that_is_too_long_ends_the_server(tmp_path):
    done = subprocess.run([sys.executable, "-m", "maskctl.mcp"], input=b"x" * (mcp.MOST_BYTES + 2), cwd=tmp_path,
                          capture_output=True, check=False)
    assert done.returncode == 1
    assert b"a message of more than" in done.stderr
    assert done.stdout == b""
