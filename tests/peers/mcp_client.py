"""Asks `python -m maskctl.mcp` with the client of the package mcp: initialize, the list of tools, a
finding and an error. Run in an environment that has mcp, with PYTHONPATH naming maskctl."""

import asyncio
import os
import pathlib
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "samples"


async def main():
    server = StdioServerParameters(command=sys.executable, args=["-m", "maskctl.mcp"],
                                   env={"PYTHONPATH": os.environ["PYTHONPATH"]})
    async with stdio_client(server) as pipes, ClientSession(*pipes) as session:
        await session.initialize()
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert {"check", "verify"} <= set(names)
        asked = {"sources": [str(SAMPLES / "leaked.npy")], "segments": str(SAMPLES / "leaked_ids.npy")}
        found = await session.call_tool("check", asked)
        assert not found.is_error and found.structured_content["status"] == 1
        refused = await session.call_tool("check", {"sources": ["none.npy"]})
        assert refused.is_error
        print(f"{len(names)} tools; {found.structured_content['answer']['findings'][0]['id']} found")


asyncio.run(main())
