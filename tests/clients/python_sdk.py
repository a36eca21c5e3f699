"""capread mcp through the official Python SDK, in both eras of the protocol, with and without structured content."""

import json
import sys
import time

import anyio
import jsonschema
from mcp import Client, MCPError, StdioServerParameters

CAPREAD, ROOT = sys.argv[1:]


def server(*options):
    common = ["mcp", "--root", ROOT, "--jobs", "1", "--max-scan-bytes", "4TiB"]
    return StdioServerParameters(command=CAPREAD, args=[*common, *options])


def check(name, holds, found):
    if not holds:
        sys.exit(f"FAILED: {name}: {found}")
    print(name, flush=True)


def text(result):
    (block,) = result.content
    return block.text


async def begins_and_lists(client, name, version, structured):
    check(f"{name}: agrees on the revision", client.protocol_version == version, client.protocol_version)
    check(f"{name}: tells who it is", client.server_info.name == "capread", client.server_info)
    (tool,) = (await client.list_tools()).tools
    jsonschema.Draft202012Validator.check_schema(tool.input_schema)
    is_as_written = tool.name == "read" and tool.input_schema["additionalProperties"] is False
    check(f"{name}: lists the tool", is_as_written and (tool.output_schema is not None) == structured, tool)
    return tool


async def reads_and_fails(client, name, tool, structured):
    """The SDK holds results that are no errors to the schema; here, all of them are."""
    schema = tool.output_schema and jsonschema.Draft202012Validator(tool.output_schema)
    for arguments, expected, is_error in [
        ({"path": "a.txt", "limit": "2.0"}, "one\ntwo\n\n[1 more lines in file. Use offset=3 to continue.]", False),
        ({"path": "empty"}, "[File is empty.]", False),
        ({"path": "b.txt"}, "File does not exist: b.txt. Did you mean a.txt?", True),
        ({"path": "../x"}, "Path is outside the allowed root: ../x", True),
        ({"path": "a.txt", "offset": 0}, "offset must be a positive integer", True),
    ]:
        result = await client.call_tool("read", arguments)
        answers = (text(result), result.is_error) == (expected, is_error)
        facts = result.structured_content
        conforms = (schema.is_valid(facts) and facts["text"] == expected) if structured else facts is None
        check(f"{name}: answers {json.dumps(arguments)}", answers and conforms, result)


async def refuses_an_unknown_tool(client, name):
    try:
        found = await client.call_tool("write", {"path": "a.txt"})
    except MCPError as error:
        found = error.error
    check(f"{name}: refuses an unknown tool", getattr(found, "code", None) == -32602, found)


async def cancels(client, name):
    with anyio.move_on_after(0.3) as scope:
        await client.call_tool("read", {"path": "endless"})
    begun = time.monotonic()
    # The only worker is free again.
    result = await client.call_tool("read", {"path": "a.txt"})
    took = time.monotonic() - begun
    check(f"{name}: cancels", scope.cancelled_caught and text(result) == "one\ntwo\nthree" and took < 2, (result, took))


async def tells_progress(client, name):
    told = []

    async def hear(progress, total, message):
        told.append((progress, total))

    result = await client.call_tool("read", {"path": "endless"}, progress_callback=hear)
    rises = all(before < after for (before, _), (after, _) in zip(told, told[1:]))
    holds = len(told) >= 3 and rises and text(result) == "Read took longer than 1 s"
    check(f"{name}: tells progress", holds and all(total == 4 << 40 for _, total in told), (told, result))


async def era(mode, version):
    for options in [], ["--structured"]:
        name, structured = " ".join([version, *options]), bool(options)
        async with Client(server(*options), mode=mode) as client:
            tool = await begins_and_lists(client, name, version, structured)
            await reads_and_fails(client, name, tool, structured)
            await refuses_an_unknown_tool(client, name)
            await cancels(client, name)
        async with Client(server("--deadline", "1s", *options), mode=mode) as client:
            await tells_progress(client, name)


async def main():
    await era("auto", "2026-07-28")
    await era("legacy", "2025-11-25")


anyio.run(main)
