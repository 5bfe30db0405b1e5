#!/usr/bin/env python3
"""A contestant in another language: one file of JSON lines, appended and synced.

Shows the protocol of the README in full. It has no index, so it leaves out search, and its fork is a line.
Run: cargo run --profile dist -p rejoin-bench -- --only append,load --peer "python3 bench/peers/plain_lines.py"
"""

import json
import os
import sys
import time
from pathlib import Path

MESSAGES_PER_TURN = 4


class PlainLines:
    def __init__(self, place):
        self.path = Path(place) / "conversation.jsonl"
        self.file = open(self.path, "ab", buffering=0)
        self.pending = []

    def answer(self, request):
        operation = getattr(self, request.pop("do"), None)
        return {"unsupported": True} if operation is None else operation(**request)

    def fill(self, file, per_conversation):
        # One file is one conversation, so only the long one fits.
        with open(file, "rb") as lines:
            self.file.write(lines.read())
        return {}

    def begin(self):
        return {}

    resume = rest = checkpoint = begin

    def turns(self, file, skip, count):
        lines = Path(file).read_bytes().splitlines(keepends=True)[skip * MESSAGES_PER_TURN :]
        starts = range(0, count * MESSAGES_PER_TURN, MESSAGES_PER_TURN)
        self.pending = [b"".join(lines[start : start + MESSAGES_PER_TURN]) for start in starts]
        self.pending.reverse()
        return {}

    def append(self, count):
        return {"samples": [sample(self.append_one)[0] for _ in range(count)]}

    def append_one(self):
        self.file.write(self.pending.pop())
        os.fdatasync(self.file.fileno())

    def load(self, count):
        samples = []
        for _ in range(count):
            taken, messages = sample(self.load_all)
            samples.append(taken)
        texts = (block.get("text") or block.get("output") or "" for m in messages for block in m["blocks"])
        return {"samples": samples, "found": len(messages), "bytes": sum(len(text.encode()) for text in texts)}

    def load_all(self):
        with open(self.path, "rb") as lines:
            return [json.loads(line) for line in lines]


def sample(operation):
    """Returns what one call took, in microseconds, and what it returned."""
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    value = operation()
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return {"wall": wall / 1000, "cpu": cpu / 1000}, value


def main():
    command, _name, place = sys.argv[1:4]
    if command != "run":
        sys.exit("plain_lines has no list")
    store = PlainLines(place)
    for line in sys.stdin:
        try:
            reply = store.answer(json.loads(line))
        except Exception as error:  # The driver prints it and goes on with the other contestants.
            reply = {"error": repr(error)}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
