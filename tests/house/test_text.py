"""What stands in the files: encodings, lengths, paths, words. What a test lists is each place, as path:line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from checkout import PACKAGES, ROOT, files, python_files

# Files that others wrote, or that a tool writes in its own words.
FOREIGN = {"uv.lock"}
BINARY = {".png", ".jpg", ".gif", ".ico", ".woff2"}

# Written in pieces, so that this file does not hold what it looks for.
MACHINE = re.compile(
    "|".join(
        [
            r"(?<![\w.])/(?:root|home|Users|work)/\w",
            r"[A-Z]:\\Users\\",
            "pypi" + r"\.org",
            "python" + r"hosted\.org",
            "registry" + r"\.npmjs\.org",
        ]
    )
)
LEFT_OPEN = re.compile(r"\b(?:TO" + "DO|FIX" + r"ME)\b")
LONGEST = 400  # lines; 300 is the wish


def texts() -> Iterator[tuple[str, bytes]]:
    for path in files():
        if path.suffix not in BINARY and path.name not in FOREIGN:
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()


def lines(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number} {found[0]}"
        for name, data in texts()
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1)
        if (found := pattern.search(line))
    ]


def calls() -> Iterator[tuple[str, str, ast.Call]]:
    """(path:line, name of the function, call) of every call in the checkout; "read_text" of `path.read_text()`."""
    for name, tree in python_files():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function)):
                    yield f"{name}:{node.lineno}", function, node


def keywords(call: ast.Call) -> dict[str | None, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords}


def test_every_text_file_is_utf_8_with_plain_line_ends() -> None:
    wrong = []
    for name, data in texts():
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            wrong.append(f"{name} {error}")
            continue
        if text.startswith("\ufeff") or "\r" in text or (text and not text.endswith("\n")):
            wrong.append(name)
    assert not wrong, "\n".join(wrong)


def test_whoever_opens_a_text_file_names_its_encoding() -> None:
    wrong = [place for place, function, call in calls() if opens_text_blindly(function, call)]
    assert not wrong, "\n".join(wrong)


def opens_text_blindly(function: str, call: ast.Call) -> bool:
    given = keywords(call)
    if "encoding" in given or None in given:
        return False
    match function:
        case "read_text":
            return not call.args
        case "write_text":
            return len(call.args) < 2
        case "open" if isinstance(call.func, ast.Name):
            return "b" not in mode(call.args[1:], given)
        case "open" if isinstance(call.func, ast.Attribute) and opens_a_path(call.func.value, call, given):
            return "b" not in mode(call.args, given)
        case "fdopen" | "NamedTemporaryFile" | "TemporaryFile":
            default = "r" if function == "fdopen" else "w+b"
            return "b" not in mode(call.args[function == "fdopen" :], given, default)
        case _:
            return False


def opens_a_path(value: ast.expr, call: ast.Call, given: dict[str | None, ast.expr]) -> bool:
    """Whether `value.open(...)` looks like the one of a path: by its mode, or by the name in front of it."""
    if re.fullmatch(r"[rwxa][bt+]*", mode(call.args, given, default="")):
        return not (isinstance(value, ast.Name) and value.id in {"tarfile", "zipfile", "gzip"})
    return not call.args and bool(re.search(r"(?i)path|file", ast.unparse(value)))


def mode(args: list[ast.expr], given: dict[str | None, ast.expr], default: str = "r") -> str:
    match [*args[:1], *([given["mode"]] if "mode" in given else [])]:
        case [ast.Constant(value=str(text))]:
            return text
        case _:
            return default


def test_whoever_reads_a_process_as_text_names_its_encoding() -> None:
    wrong = [
        place
        for place, _, call in calls()
        if {"text", "universal_newlines"} & keywords(call).keys()
        and {"capture_output", "stdout", "input", "check"} & keywords(call).keys()
        and "encoding" not in keywords(call)
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_asks_for_what_windows_lacks() -> None:
    absent = {"add_signal_handler", "fork", "killpg", "getpgid"}
    wrong = [f"{place} {function}" for place, function, _ in calls() if function in absent]
    assert not wrong, "\n".join(wrong)


def test_no_file_names_a_path_of_a_machine_or_the_host_of_an_index() -> None:
    wrong = lines(MACHINE)
    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_open() -> None:
    wrong = lines(LEFT_OPEN)
    assert not wrong, "\n".join(wrong)


def test_a_source_file_holds_one_concept() -> None:
    wrong = [
        f"{module.relative} has {length} lines"
        for package in PACKAGES.values()
        for module in package.modules.values()
        if (length := len(module.path.read_text(encoding="utf-8").splitlines())) > LONGEST
    ]
    assert not wrong, "\n".join(wrong)


def test_an_error_says_what_to_do_instead_of_pleading() -> None:
    plea = re.compile(r"\b(?:please|invalid|sorry|oops)\b", re.IGNORECASE)
    wrong = [
        f"{module.relative}:{text.lineno} {text.value!r}"
        for package in PACKAGES.values()
        for module in package.modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Raise)
        for text in ast.walk(node)
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and plea.search(text.value)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_test_asserts_something() -> None:
    wrong = [
        f"{name}:{node.lineno} {node.name}"
        for name, tree in python_files()
        if name.rpartition("/")[2].startswith("test_")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
        if not checks(node, functions(tree))
    ]
    assert not wrong, "\n".join(wrong)


def functions(tree: ast.AST) -> dict[str, ast.AST]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def checks(node: ast.AST, helpers: dict[str, ast.AST], seen: frozenset[str] = frozenset()) -> bool:
    """Whether something is asserted, here or in a helper of the same file."""
    inner = list(ast.walk(node))
    called = {call.func.id for call in inner if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}
    return any(map(asserts, inner)) or any(
        checks(helpers[name], helpers, seen | {name}) for name in called & helpers.keys() - seen
    )


def asserts(node: ast.AST) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in {"raises", "fail", "warns"} or bool(
                re.match(r"_?(?:assert|check|expect|verify|refuse)", name)
            )
        case _:
            return False
