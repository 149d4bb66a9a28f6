"""Client tools made from functions.

The model sees a function's name, docstring and parameters. Type hints become the JSON schema, and arguments are
validated against it before the function runs:

    def read_file(path: str, lines: int = 100) -> str:
        \"\"\"Reads a text file.

Args:
            path: Path of the file, relative to the project.
            lines: Number of lines to return.
        \"\"\"

    session.run("What is in main.py?", tools=[read_file])

The agent's context declares the tools that the model can call; `agent_context` writes it.

"""

from __future__ import annotations

import functools
import inspect
import re
import threading
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Union, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from .events import Call

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class ToolContext:
    """The call that runs, for tools that need it. A parameter of this type isn't shown to the model.

    Example:
        def search(query: str, context: ToolContext) -> list[str]:
            found = []
            for page in pages(query):
                if context.stopped.is_set():
                    break
                found.append(page)
            return found
    """

    call: Call
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when the turn is stopped, its reading is closed, or the call times out. An async tool is cancelled too."""


@dataclass(frozen=True)
class Tool:
    """A client tool. `Tool.from_function` makes one from a function."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments."""
    run: Callable[[Any, ToolContext], Any]
    """Runs a call with its parsed arguments. It may be async; otherwise it runs in a thread."""

    @classmethod
    def from_function(
        cls, function: Callable[..., Any], *, name: str | None = None, description: str | None = None
    ) -> Tool:
        """Makes a tool from a function. Name and description default to the function's name and docstring."""
        tool_name = name or str(getattr(function, "__name__", type(function).__name__))
        if not _NAME.fullmatch(tool_name):
            raise ValueError(
                f"Invalid tool name {tool_name!r}: expected up to 64 letters, digits, _ and -. Pass a name."
            )
        text, descriptions = _parse_docstring(inspect.getdoc(function) or "")
        model, context_name = _arguments_model(function, tool_name, descriptions)
        schema = model.model_json_schema(schema_generator=_Schema)
        schema.pop("title", None)
        schema.setdefault("properties", {})

        def bind(args: Any, context: ToolContext) -> dict[str, Any]:
            parsed = model.model_validate(args)
            fields = type(parsed).model_fields
            values = {str(info.alias): getattr(parsed, name) for name, info in fields.items()}
            values.update(parsed.model_extra or {})
            if context_name is not None:
                values[context_name] = context
            return values

        @functools.wraps(function)
        async def run_async(args: Any, context: ToolContext) -> Any:
            return await function(**bind(args, context))

        @functools.wraps(function)
        def run(args: Any, context: ToolContext) -> Any:
            return function(**bind(args, context))

        runner = run_async if inspect.iscoroutinefunction(function) else run
        return cls(tool_name, description or text, schema, runner)

    def definition(self) -> dict[str, Any]:
        """Returns the tool as an entry of `ClientTools` in a context.

        `Strict` is set if every argument is required, which providers demand of strict tools.
        """
        properties = self.parameters.get("properties", {})
        is_closed = self.parameters.get("additionalProperties") is False
        is_strict = (
            is_closed and "$defs" not in self.parameters and set(self.parameters.get("required", [])) == set(properties)
        )
        return {
            "Name": self.name,
            "Description": self.description or self.name,
            "Parameters": self.parameters,
            "ExecutedBy": "client",
            "Strict": is_strict,
        }


AnyTool = Union[Tool, Callable[..., Any]]
"""A tool, or a function to make one from."""


@overload
def tool(function: Callable[..., Any]) -> Tool: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, *, name: str | None = None, description: str | None = None
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a tool from a function, as a decorator with or without arguments.

    Example:
        @tool(name="workspace_read_file")
        def read(path: str) -> str:
            return Path(path).read_text()
    """
    if function is not None:
        return Tool.from_function(function, name=name, description=description)
    return functools.partial(Tool.from_function, name=name, description=description)


def to_tools(tools: Sequence[AnyTool]) -> dict[str, Tool]:
    """Makes tools from functions, and returns all of them by name."""
    made = [tool if isinstance(tool, Tool) else Tool.from_function(tool) for tool in tools]
    by_name = {tool.name: tool for tool in made}
    if len(by_name) < len(made):
        names = [tool.name for tool in made]
        raise ValueError(f"Two tools have the name {next(name for name in names if names.count(name) > 1)!r}")
    return by_name


def agent_context(id: str, name: str | None = None, *, tools: Sequence[AnyTool] = (), **members: Any) -> dict[str, Any]:
    """Returns an agent context that declares these tools. Write it with `aptix contexts put FILE`.

    Example:
        context = agent_context("engineer", "Engineer", tools=[read_file])
        Path("engineer.json").write_text(json.dumps(context))
    """
    definitions = [tool.definition() for tool in to_tools(tools).values()]
    return {"Kind": "agent", "Id": id, "Name": name or id, **members, "ClientTools": definitions}


class _Schema(GenerateJsonSchema):
    """JSON schemas without a title for each field."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _arguments_model(
    function: Callable[..., Any], tool_name: str, descriptions: dict[str, str]
) -> tuple[type[BaseModel], str | None]:
    """Returns a model of the function's parameters, and the name of the one that takes the context."""
    hints = typing.get_type_hints(
        function if inspect.isroutine(function) else type(function).__call__, include_extras=True
    )
    fields: dict[str, Any] = {}
    context_name, extra = None, False
    for number, parameter in enumerate(inspect.signature(function).parameters.values()):
        hint = hints.get(parameter.name, Any)
        if hint is ToolContext:
            context_name = parameter.name
        elif parameter.kind is parameter.VAR_KEYWORD:
            extra = True
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise TypeError(f"Tool {tool_name}: the model passes arguments by name, and {parameter} has none")
        else:
            options: dict[str, Any] = {"alias": parameter.name}
            if parameter.name in descriptions:
                options["description"] = descriptions[parameter.name]
            if parameter.default is not parameter.empty:
                options["default"] = parameter.default
            # A parameter can have a name that a model's attribute may not have.
            fields[f"parameter_{number}"] = (hint, Field(**options))
    config = ConfigDict(extra="allow" if extra else "forbid", arbitrary_types_allowed=True)
    model: type[BaseModel] = create_model(tool_name, __config__=config, **fields)
    return model, context_name


def _parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Returns the description, and those of the parameters in Google or reStructuredText style."""
    descriptions: dict[str, str] = {}
    description: list[str] = []
    section: str | None = None
    parameter: str | None = None
    for line in text.splitlines():
        field_match = re.match(r":param (?:[^:]* )?(\w+):\s*(.*)", line.strip())
        heading = re.fullmatch(r"(Args|Arguments|Parameters|Returns?|Raises|Yields|Examples?|Notes?):", line)
        if field_match:
            section, parameter = "Args", field_match[1]
            descriptions[parameter] = field_match[2]
        elif heading:
            section, parameter = "Args" if heading[1] in ("Args", "Arguments", "Parameters") else "other", None
        elif re.match(r":\w+", line.strip()):
            section, parameter = "other", None
        elif section is None:
            description.append(line)
        elif section == "Args":
            item = re.match(r"(?: {1,4}|\t)(\*{0,2}\w+)(?: *\([^)]*\))?:\s*(.*)", line)
            if item:
                parameter = item[1].lstrip("*")
                descriptions[parameter] = item[2]
            elif parameter is not None and line.strip():
                descriptions[parameter] = f"{descriptions[parameter]} {line.strip()}".strip()
    return "\n".join(description).strip(), {name: text for name, text in descriptions.items() if text}


def invalid_arguments(error: ValidationError) -> str:
    """Returns the message that tells the model about invalid arguments."""
    faults = (
        f"{'.'.join(str(part) for part in fault['loc']) or 'arguments'}: {fault['msg']}" for fault in error.errors()
    )
    return f"Invalid arguments: {'; '.join(faults)}"
