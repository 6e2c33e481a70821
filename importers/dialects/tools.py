"""Docs of functions from the tool declarations of any dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.dialects import values
from fcreview.importers.dialects.conversation import MessageIssue, ParsedConversation
from fcreview.importers.dialects.gemini import with_camel_case_keys

FunctionDoc = dict[str, Any]
"""Name, description and JSON Schema of the parameters of a function."""
WRAPPING_FIELDS = ("toolSpec", "function", "custom")
"""Fields of a tool that contain the function: of Bedrock, of OpenAI's chat completions, and of a
custom tool of OpenAI, whose input is free text.
"""
SCHEMA_FIELDS = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
    "parameters_json_schema",
)
FUNCTION_FIELDS = {
    *SCHEMA_FIELDS,
    "parameter_definitions",
    "name",
    "type",
    "description",
    "strict",
    "title",
    "annotations",
    "cache_control",
    "defer_loading",
    "allowed_callers",
    "input_examples",
    "outputSchema",
    "output_schema",
    "response",
    "responseJsonSchema",
    "response_json_schema",
    "behavior",
    "format",
    "_meta",
}
COHERE_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
"""JSON Schema types by the Python types in Cohere's first API."""
MAX_SCHEMA_DEPTH = 100


def read_tools(written: Any, *, path: str = "tools") -> Iterator[FunctionDoc | MessageIssue]:
    """Yield the docs of each declared function, and an issue for each tool that is none."""
    if isinstance(written, dict):
        yield from _read_tool_object(written, path=path)
        return
    if written is not None and not isinstance(written, list):
        yield MessageIssue("unknown form of tools", path=path, raw=written)
        return
    for index, tool in enumerate(as_list(written)):
        yield from _read_tool(tool, path=f"{path}[{index}]")


def add_tools(conversation: ParsedConversation, written: Any, *, path: str = "tools") -> None:
    """Add the docs of each declared function, and the issues of their declarations."""
    for reading in read_tools(written, path=path):
        if isinstance(reading, MessageIssue):
            conversation.issues.append(reading)
        else:
            conversation.functions.append(reading)


def _read_tool_object(
    written: dict[str, Any], *, path: str
) -> Iterator[FunctionDoc | MessageIssue]:
    """Yield functions that are declared in an object: Bedrock's, or functions by name."""
    if isinstance(written.get("tools"), list):
        yield from read_tools(written["tools"], path=f"{path}.tools")
        return
    for name, tool in written.items():
        yield from _read_tool({"name": name} | as_object(tool), path=f"{path}.{name}")


def _read_tool(tool: Any, *, path: str) -> Iterator[FunctionDoc | MessageIssue]:
    """Yield the functions that a declared tool describes, and issues about what was not understood.

    Each API wraps the description of a function differently. Some entries contain several
    functions. `path` is the place of the tool.
    """
    if not isinstance(tool, dict):
        yield MessageIssue("tool is not an object", path=path, raw=tool)
        return

    # An entry of Gemini has a list of functions.
    declarations = with_camel_case_keys(tool).get("functionDeclarations")
    if isinstance(declarations, list):
        yield from read_tools(declarations, path=f"{path}.functionDeclarations")
        return
    for field in WRAPPING_FIELDS:
        if isinstance(tool.get(field), dict):
            yield from _read_tool(tool[field], path=f"{path}.{field}")
            return
    # A namespace, or the list of an MCP server.
    if isinstance(tool.get("tools"), list):
        yield from read_tools(tool["tools"], path=f"{path}.tools")
        return
    yield from _read_unwrapped_tool(tool, path=path)


def _read_unwrapped_tool(
    tool: dict[str, Any], *, path: str
) -> Iterator[FunctionDoc | MessageIssue]:
    """Yield the function with a name, or a built-in tool, whose name is its type."""
    if isinstance(tool.get("name"), str) and tool["name"]:
        yield from _read_function(tool, path=path)
        return
    is_built_in = "name" not in tool and tool.get("type") not in (None, "function", "custom")
    if is_built_in:
        yield {
            "name": values.to_text(tool["type"]),
            "description": "",
            "parameters": _make_empty_schema(),
        }
        return
    yield MessageIssue("tool without a name", path=path, raw=tool)


def _read_function(tool: dict[str, Any], *, path: str) -> Iterator[FunctionDoc | MessageIssue]:
    """Yield the function doc of a tool: name, description, and the JSON schema of the parameters.

    A tool without a schema gets an empty one, with a notice. `path` is the place of the tool.
    """
    yield from values.report_unknown_fields(tool, FUNCTION_FIELDS, path=path)
    description = tool.get("description")
    if description is not None and not isinstance(description, str):
        what = f"description of tool {tool['name']} is not a text"
        yield MessageIssue(what, path=path, raw=description)
    schema = _find_schema(tool)
    if schema is None:
        what = f"tool {tool['name']} without a schema of its parameters"
        yield MessageIssue(what, path=path, raw=tool, severity="notice")
    doc = {"name": tool["name"], "parameters": schema or _make_empty_schema()}
    if description is not None:
        doc["description"] = values.to_text(description)
    yield doc


def _find_schema(tool: dict[str, Any]) -> dict[str, Any] | None:
    """Return the JSON schema of a tool's parameters, which each API writes in another field or
    form; None if there is none.
    """
    if isinstance(tool.get("parameter_definitions"), dict):
        return _convert_cohere_parameters(tool["parameter_definitions"])
    for field in SCHEMA_FIELDS:
        schema = tool.get(field)
        if not isinstance(schema, dict):
            continue
        # Bedrock puts the schema into a field.
        if isinstance(schema.get("json"), dict):
            return dict(schema["json"])
        return dict(_lower_types(schema, depth=0))
    return None


def _make_empty_schema() -> dict[str, Any]:
    return {"type": "object", "properties": {}}


def _lower_types(schema: Any, *, depth: int) -> Any:
    """Return a schema with the usual names of types. Gemini writes them in capitals."""
    if depth > MAX_SCHEMA_DEPTH:
        return schema
    if isinstance(schema, list):
        return [_lower_types(element, depth=depth + 1) for element in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {key: _lower_types(value, depth=depth + 1) for key, value in schema.items()}
    if isinstance(schema.get("type"), str) and schema["type"].isupper():
        converted["type"] = schema["type"].lower()
    return converted


def _convert_cohere_parameters(definitions: dict[str, Any]) -> dict[str, Any]:
    """Convert Cohere's definitions of parameters to a JSON schema.

    A definition is `{"type": "str", "description": ..., "required": true}`, by the name of the
    parameter. A JSON schema has other names of types, and lists the required parameters outside of
    the definitions.
    """
    properties: dict[str, Any] = {}
    required = []
    for name, definition in definitions.items():
        fields = dict(as_object(definition))
        if fields.pop("required", None):
            required.append(name)
        kind = fields.get("type")
        if isinstance(kind, str):
            fields["type"] = COHERE_TYPES.get(kind.lower(), kind)
        properties[name] = fields
    return {"type": "object", "properties": properties, "required": required}


def find_listed_tools(items: Any) -> list[Any]:
    """Return the tools that items of OpenAI's Responses declare within a conversation."""
    declared = []
    for item in list_objects(items):
        if item.get("type") in ("mcp_list_tools", "additional_tools", "tool_search_output"):
            declared.extend(as_list(item.get("tools")))
    return declared
