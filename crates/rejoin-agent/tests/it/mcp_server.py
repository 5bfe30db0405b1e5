"""A small MCP server on stdin and stdout, with only the standard library. Its argument says how it misbehaves."""

import json
import os
import subprocess
import sys
import time

MANNER = sys.argv[1] if len(sys.argv) > 1 else "good"
TOOLS = [
    {"name": "add", "description": "Adds two numbers.", "inputSchema": {
        "type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}},
    {"name": "fail", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "picture", "inputSchema": {"type": "object"}},
    {"name": "structured", "inputSchema": {"type": "object"}},
    {"name": "both", "inputSchema": {"type": "object"}},
    {"name": "resources", "inputSchema": {"type": "object"}},
    {"name": "environment", "inputSchema": {"type": "object"}},
    {"name": "large", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "cancelled", "inputSchema": {"type": "object"}},
    {"name": "nonsense", "inputSchema": {"type": "object"}},
    {"name": "grow", "inputSchema": {"type": "object"}},
    {"name": "odd name.with/signs", "inputSchema": {"type": "object"}},
]
CANCELLED = []


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(name, arguments, number):
    if name == "add":
        return text(str(arguments["a"] + arguments["b"]))
    if name == "fail":
        return text("it went wrong", isError=True)
    if name == "picture":
        return {"content": [{"type": "text", "text": "look:"}, {"type": "image", "data": "aGVsbG8h", "mimeType": "image/png"}]}
    if name == "structured":
        return {"content": [], "structuredContent": {"sum": 3}}
    if name == "both":
        return text('{"sum": 3}', structuredContent={"sum": 3})
    if name == "resources":
        return {"content": [
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "words of b"}}]}
    if name == "environment":
        return text(json.dumps({"cwd": os.getcwd(), "given": os.environ.get("GIVEN"), "path": os.environ.get("PATH")}))
    if name == "large":
        return text("x" * 1000000)
    if name == "cancelled":
        return text(json.dumps(CANCELLED))
    if name == "grow":
        TOOLS.append({"name": "grown", "inputSchema": {"type": "object"}})
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return text("grown")
    if name == "die":
        os._exit(1)
    if name == "nonsense":
        sys.stdout.write("this is no JSON\n[1,2\n\n{\"jsonrpc\": \"2.0\", \"what\": 1}\n")
        sys.stdout.flush()
        return text("after nonsense")
    if name == "hang":
        return None
    raise ValueError("no such tool")


def main():
    sys.stderr.write("a line on stderr\n")
    sys.stderr.flush()
    if MANNER == "dead":
        sys.exit(3)
    if MANNER == "silent":
        time.sleep(600)
    if MANNER == "garbage":
        while True:
            sys.stdout.write("garbage without an end ")
            sys.stdout.flush()
            time.sleep(0.001)
    if MANNER == "stubborn":
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "600"])
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            file.write(f"{os.getpid()}\n")
    while True:
        line = sys.stdin.readline()
        if not line:
            if MANNER == "stubborn":
                time.sleep(600)
            return
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            send({"jsonrpc": "2.0", "id": number, "result": {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "test", "version": "1"}}})
        elif method == "tools/list":
            if MANNER == "listless":
                send({"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "no list today"}})
                continue
            # Two pages, as large servers do.
            cursor = int((message.get("params") or {}).get("cursor") or 0)
            page = {"tools": TOOLS[cursor:cursor + 10]}
            if cursor + 10 < len(TOOLS):
                page["nextCursor"] = str(cursor + 10)
            send({"jsonrpc": "2.0", "id": number, "result": page})
        elif method == "tools/call":
            try:
                result = call(message["params"]["name"], message["params"].get("arguments") or {}, number)
            except ValueError as error:
                send({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": str(error)}})
                continue
            if result is not None:
                send({"jsonrpc": "2.0", "id": number, "result": result})
        elif method == "notifications/cancelled":
            CANCELLED.append(message["params"]["requestId"])
        elif number is not None and method:
            send({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no such method"}})


main()
