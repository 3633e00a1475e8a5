"""The API reference: a page for each room of public names, from their docstrings."""

import inspect
import re
import textwrap
import typing
from types import ModuleType
from typing import Any

import passband as pb
from passband.mappings import MAPPINGS

GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fit": (
        "From data to a model",
        ("fit", "read", "measured", "fit_many", "tune", "compare", "load",
         "load_many", "distributed", "grid", "InputError"),
    ),
    "model": ("The model, and the field in it", ("Model", "ModelSet", "Field", "make_field")),
    "mappings": (
        "Mappings and encodings",
        (*(cls.__name__ for cls in MAPPINGS.values()), "parse_mapping",
         "FourierFeatures", "Grids", "Identity"),
    ),
    "forward": ("Forward models: `pb.forward`", ("forward",)),
    "theory": ("Theory: `pb.theory`", ("theory",)),
    "tuning": ("Choosing a scale: `pb.tuning`", ("tuning",)),
    "metrics": ("Metrics: `pb.metrics`", ("metrics",)),
    "units": ("Units of other libraries: `pb.units`", ("units",)),
}  # fmt: skip
"""Page -> its title, and public names of `pb`; a module stands for all that it shows."""


def pages() -> dict[str, str]:
    """The Markdown of every page by its path."""
    found = {}
    for page, (title, names) in GROUPS.items():
        parts = [f"# {title}", ""]
        for name in dict.fromkeys(names):
            thing = getattr(pb, name)
            if isinstance(thing, ModuleType):
                parts += [inspect.getdoc(thing) or "", ""]
                for inner, each in public(thing).items():
                    parts += entry(f"pb.{name}.{inner}", each)
            else:
                parts += entry(f"pb.{name}", thing)
        found[f"api/{page}.md"] = "\n".join(parts)
    return found | {"api/index.md": _index()}


def public(module: ModuleType) -> dict[str, Any]:
    """What a module shows: its `__all__`, or what is defined there and not private."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name for name, thing in vars(module).items()
            if not name.startswith("_") and callable(thing)
            and getattr(thing, "__module__", "").startswith("passband")
        ]  # fmt: skip
    return {name: getattr(module, name) for name in names}


def entry(name: str, thing: Any) -> list[str]:
    """A heading, the signature, and the docstring; of a class its methods too."""
    kind = "class " if inspect.isclass(thing) else ""
    short = name.removeprefix("pb.")
    parts = [f"## {short} {{ #{short.replace('.', '-')} }}", "",
             "```text", wrapped(f"{kind}{name}{signature(thing)}"), "```", ""]  # fmt: skip
    parts += [docstring(inspect.getdoc(thing) or ""), ""]
    if inspect.isclass(thing):
        for method, inner in vars(thing).items():
            told = _member(thing, method, inner)
            if told is not None:
                parts += told
    return parts


def _member(cls: type, name: str, thing: Any) -> list[str] | None:
    """A method or a property that has a docstring of its own."""
    if name.startswith("_") and name != "__call__":
        return None
    if isinstance(thing, classmethod | staticmethod):
        thing = thing.__func__
    if isinstance(thing, property):
        doc = inspect.getdoc(thing.fget) or ""
        return [f"**`.{name}`** {_paragraph(doc)}", ""] if doc else None
    if not inspect.isfunction(thing) or not inspect.getdoc(thing):
        return None
    shown = "" if name == "__call__" else f".{name}"
    return [f"### {cls.__name__}{shown}", "", "```text",
            wrapped(f"{cls.__name__.lower()}{shown}{signature(thing)}"), "```", "",
            docstring(inspect.getdoc(thing) or ""), ""]  # fmt: skip


def signature(thing: Any) -> str:
    """Arguments with their defaults; types are left to the text, which says more."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    kept = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in found.parameters.values()
        if p.name not in ("self", "cls")
    ]
    text = str(found.replace(parameters=kept, return_annotation=typing.Any))
    text = re.sub(
        r"<factory>|<\w+ <lambda> at 0x\w+>|<object object at 0x\w+>", "...", text
    )
    text = text.removesuffix(" -> Any").removesuffix(" -> typing.Any")
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", text)


def wrapped(text: str) -> str:
    """A signature in lines that a page has room for."""
    return "\n".join(textwrap.wrap(text, 76, subsequent_indent="    "))


def docstring(text: str) -> str:
    """Google's sections as Markdown: arguments as a list, examples and formulas as
    code, since no page fetches what sets TeX."""
    text = re.sub(r"\$\$([^$]+)\$\$", lambda m: f"\n```text\n{m[1]}\n```\n", text)
    text = re.sub(r"\$([^$]+)\$", lambda m: f"`{m[1]}`", text)
    parts, section, lines = [], "", []
    for line in [*text.splitlines(), "End:"]:
        head = re.fullmatch(r"(Args|Returns|Raises|Example|Examples|End):", line)
        if head is None:
            lines.append(line)
            continue
        parts.append(_section(section, inspect.cleandoc("\n".join(["", *lines]))))
        section, lines = head[1], []
    return "\n".join(part for part in parts if part)


def _section(name: str, text: str) -> str:
    if not text:
        return ""
    if name.startswith("Example"):
        return f"```python\n{text}\n```\n"
    if name in ("Args", "Raises"):
        items = re.split(r"\n(?=\S)", text)
        rows = []
        for item in items:
            argument, _, said = item.partition(":")
            rows.append(f"- **`{argument.strip()}`**: {_paragraph(said)}")
        return "\n".join(rows) + "\n"
    # What is indented in the text is a formula.
    text = re.sub(r"(?m)^(?=    )", "", text)
    return (f"**{name}**: {text}" if name else text) + "\n"


def _paragraph(text: str) -> str:
    return " ".join(text.split())


def _index() -> str:
    lines = [
        "# API reference", "",
        "```python", "import passband as pb", "```", "",
        "These are all public names; `help(pb.fit)` prints the same text. Whatever is not "
        "here may change without notice.", "",
    ]  # fmt: skip
    for page, (title, names) in GROUPS.items():
        shown = []
        for name in dict.fromkeys(names):
            thing = getattr(pb, name)
            inner = public(thing) if isinstance(thing, ModuleType) else {}
            for each in inner or [""]:
                full = f"{name}.{each}" if each else name
                anchor = full.replace(".", "-")
                shown.append(f"[`{full}`]({page}.md#{anchor})")
        lines += [f"**[{title}]({page}.md)**", "", " · ".join(shown), ""]
    return "\n".join(lines)
