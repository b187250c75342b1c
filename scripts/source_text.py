"""Finds comments and functions in sources, without a compiler: for scripts/check_size."""
import ast
import bisect
import pathlib
import re

CPP = {".cpp", ".cu", ".hpp", ".cuh"}
JS = {".js", ".mjs", ".css"}

# Comments, literals and everything else of C++ and JavaScript that can hide a brace. Numbers
# precede characters: 1'000 contains no character.
TOKEN = re.compile(
    r"""
      (?P<comment> //[^\n]* | /\*.*?\*/ )
    | (?P<literal> \bR"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)" | "(?:\\.|[^"\\\n])*" )
    | (?P<number> \b\d[\w.]*(?:'[\w.]+)* )
    | (?P<character> '(?:\\.|[^'\\\n])+' )
    | (?P<directive> ^[ ]*\#(?:[^\n]*\\\n)*[^\n]* )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
HASH_COMMENT = re.compile(r"^\s*#(?!!)\s?(.*)$|\s{2,}#\s(.*)$", re.MULTILINE)
NOT_A_FUNCTION = re.compile(
    r"^(?:\[\[\w+\]\]\s*)?(?:inline\s+)?(?:namespace|extern\b|enum|(?:template\s*<.*>\s*)?"
    r"(?:requires\b.*)?(?:struct|class|union)\b)", re.DOTALL)
JS_FUNCTION = re.compile(
    r"^( *)(?!if|for|while|switch|else|catch|return\b)[^\n]*"
    r"(?:\bfunction\b|=>|\w\([^()\n]*\)) ?\{$")


def split(text):
    """Returns C++ or JavaScript with its comments and literals blank, and the comments alone."""
    comments = []

    def blank(match):
        found = match[0]
        if match.lastgroup == "number":
            return found
        if match.lastgroup == "comment":
            comments.append((match.start(), found))
        filler = "" if match.lastgroup in ("comment", "directive") else "0"
        return filler + re.sub(r"[^\n]", " ", found[len(filler):])

    return TOKEN.sub(blank, text), comments


class Lines:
    """Finds the line of an offset in a text."""

    def __init__(self, text):
        self.ends = [match.start() for match in re.finditer("\n", text)]

    def at(self, offset):
        return bisect.bisect_left(self.ends, offset) + 1


def cpp_functions(code, lines):
    """Returns the first line of each function with its length.

    A brace opens a function if it follows a parenthesis at the level of a namespace or class, and
    clang-format has put a space before it: the braces of a member's initialiser have none.
    """
    found = []
    levels = []  # of open braces: "scope", "function" or "other"
    heads = [0]  # where the current declaration began, for each level
    for match in re.finditer(r"[{};]", code):
        at = match.start()
        if match[0] == "{":
            outside = all(level == "scope" for level in levels)
            head = code[heads[-1]:at].strip() if outside else ""
            head = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", head)
            before = code[at - 1] if at > 0 else "\n"
            if not outside:
                levels.append("other")
            elif NOT_A_FUNCTION.match(head):
                levels.append("scope")
            elif "(" in head and before.isspace() and not re.search(r"(?:[=,(]|return)$", head):
                levels.append("function")
                found.append([lines.at(heads[-1] + len(code[heads[-1]:at])
                                       - len(code[heads[-1]:at].lstrip())), lines.at(at)])
            else:
                levels.append("other")
            heads.append(at + 1)
        elif match[0] == "}":
            if not levels:
                raise ValueError(f"line {lines.at(at)}: a closing brace without an opening one")
            heads.pop()
            if levels.pop() == "function" and found:
                found[-1].append(lines.at(at))
                heads[-1] = at + 1
            elif re.compile(r" *(?:\n|$)").match(code, at + 1):
                heads[-1] = at + 1
        elif not any(level == "function" for level in levels):
            heads[-1] = at + 1
    if levels:
        raise ValueError(f"{len(levels)} braces are not closed")
    return [(first, end - begin) for first, begin, end in found]


def js_functions(text):
    """Returns the first line of each function with its length: up to the same indentation."""
    found, lines = [], text.split("\n")
    for number, line in enumerate(lines):
        if match := JS_FUNCTION.match(line):
            end = number + 1
            while end < len(lines) and not lines[end].startswith(match[1] + "}"):
                end += 1
            found.append((number + 1, end - number))
    return found


def python_functions(text):
    return [(node.lineno, node.end_lineno - node.lineno) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def is_script(name, text):
    return pathlib.Path(name).suffix in (".py", ".sh", ".bash") or text.startswith("#!")


def comments_of(name, text):
    """Returns the comments of a source as pairs of an offset and a text."""
    suffix = pathlib.Path(name).suffix
    if suffix in CPP:
        return split(text)[1]
    if suffix in JS:
        return [(match.start(), match[0])
                for match in re.finditer(r"(?<![:\"'`])//[^\n]*|/\*.*?\*/", text, re.DOTALL)]
    if is_script(name, text) or name.endswith(("CMakeLists.txt", ".cmake")):
        return [(match.start(match.lastindex), match[match.lastindex])
                for match in HASH_COMMENT.finditer(text)]
    return []


def comment_lines(name, text):
    """Returns the number and text of each line of a comment."""
    lines = Lines(text)
    for offset, comment in comments_of(name, text):
        yield from enumerate(comment.split("\n"), lines.at(offset))


def functions_of(name, text):
    """Returns the first line of each function with its length in lines."""
    suffix = pathlib.Path(name).suffix
    if suffix in CPP:
        return cpp_functions(split(text)[0], Lines(text))
    if suffix in JS:
        return js_functions(text)
    if suffix == ".py" or "python" in text.split("\n", 1)[0] and text.startswith("#!"):
        return python_functions(text)
    return []
