"""Checks requests against the types of the stock client, as strictly as they can be read.

Reads one request a line, as a JSON array of the API and the request. Writes a JSON array: null for a request that the
schema allows, otherwise what is wrong.
"""

import importlib
import json
import sys

from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

PLACES = {
    "anthropic": ("anthropic.types.message_create_params", "MessageCreateParamsStreaming"),
    "openai-responses": ("openai.types.responses.response_create_params", "ResponseCreateParamsStreaming"),
    "openai-chat": ("openai.types.chat.completion_create_params", "CompletionCreateParamsStreaming"),
}

# What no request says.
NOTHING = "\0nothing"


def strict(node):
    """The schema without its leniencies: no unknown fields, lists that are read at once, no objects of the client."""
    if isinstance(node, dict):
        if node.get("type") == "model":
            # Where a reply's own type is taken as well, it would let any field pass.
            nothing = {"type": "literal", "expected": [NOTHING]}
            return {**nothing, "ref": node["ref"]} if "ref" in node else nothing
        node = {name: strict(value) for name, value in node.items() if name not in ("metadata", "serialization")}
        if node.get("type") == "typed-dict":
            node["extra_behavior"] = "forbid"
        if node.get("type") == "generator":
            node["type"] = "list"
        return node
    if isinstance(node, (list, tuple)):
        return type(node)(strict(value) for value in node)
    return node


def validator(api):
    module, name = PLACES[api]
    schema = TypeAdapter(getattr(importlib.import_module(module), name)).core_schema
    return SchemaValidator(strict(schema), {"strict": True})


def resolved(request, location):
    """The part of a request that a complaint is about, and the way there. Locations also name variants of unions."""
    part, way = request, []
    for step in location:
        try:
            part = part[step]
        except (KeyError, IndexError, TypeError):
            continue
        way.append(str(step))
    return ".".join(way), part


def complaint(error, request):
    """The first place that fits no variant, what is there, and what the variants say that came nearest."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    places = [resolved(request, each["loc"])[0] for each in errors]
    numbers = sorted({place.split(".")[1] for place in places if "." in place}, key=int)
    first = f"{places[0].split('.')[0]}.{numbers[0]}" if numbers else places[0]
    part = resolved(request, [int(step) if step.isdigit() else step for step in first.split(".")])[1]
    deepest = max(len(each["loc"]) for each in errors)
    words = sorted({each["msg"] for each in errors if len(each["loc"]) == deepest})
    return f"{first}: {json.dumps(part)[:400]}: {'; '.join(words)[:200]}"


validators = {}
answers = []
for line in sys.stdin:
    api, request = json.loads(line)
    if api not in validators:
        validators[api] = validator(api)
    try:
        validators[api].validate_json(json.dumps(request))
        answers.append(None)
    except ValidationError as error:
        answers.append(complaint(error, request))
json.dump(answers, sys.stdout)
