"""The C++ code in the pages, for scripts/check_docs: compiles it, and runs the programs."""
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/guide"
SNIPPET = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCE = re.compile(r"^```cpp\n(// (\w+\.cpp)\b.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OUTSIDE = re.compile(r"^(template <.*> )?(struct|class|void|bool|#include) ?")
PRELUDE = """#include <heddle/heddle.hpp>
#include <heddle/algorithms.hpp>
#include <heddle/by_data.hpp>
#include <heddle/observe/check.hpp>
#include <heddle/with/dlpack.hpp>
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <iostream>
#include <span>
#include <stdexcept>
#include <thread>
namespace hd = heddle;
"""
COMPILER = [os.environ.get("CXX", "c++"), "-std=c++20"]
GIVEN = """[[maybe_unused]] hd::Stream s; [[maybe_unused]] int n = 1000;
[[maybe_unused]] hd::Array<float> x, y, z, w, weights;
"""


def source_of(number, chapter):
    """Returns a namespace for the chapter. Snippets of a function are nested blocks, each inside
    the previous one."""
    outside, inside = [], []
    for match in SNIPPET.finditer(chapter.read_text(encoding="utf-8")):
        line = chapter.read_text(encoding="utf-8")[: match.start()].count("\n") + 2
        mark = f'#line {line} "{chapter.relative_to(ROOT)}"\n'
        (outside if OUTSIDE.match(match[1]) else inside).append(mark + match[1])
    return "namespace chapter_%d {\n%s\nvoid snippets() {\n%s%s%s\n}\n}\n" % (
        number, "\n".join(outside), GIVEN, "".join("{\n" + one for one in inside), "}" * len(inside)
    )


def snippet_problems():
    """Compiles the guide's snippets and the sources. Returns the faults."""
    problems = []
    chapters = sorted(path for path in GUIDE.glob("*.md") if path.name != "README.md")
    namespaces = [source_of(number, chapter) for number, chapter in enumerate(chapters)]
    if not compiles(PRELUDE + "".join(namespaces)):
        problems.append("the guide's snippets do not compile")
    for page, name, source, _ in sources():
        if not compiles(source, "-Wall", "-Wextra", "-Werror"):
            problems.append(f"{page}: {name} does not compile")
    return problems


def compiles(source, *options):
    """Returns whether a source compiles. One that includes internal headers finds them."""
    folders = ["include"] + (["src/runtime", "tests"] if '#include "' in source else [])
    command = [*COMPILER, "-fsyntax-only", *options, *(f"-I{ROOT / folder}" for folder in folders),
               "-x", "c++", "-"]
    return subprocess.run(command, input=source, text=True, check=False).returncode == 0


def sources():
    """Returns the page, name, text and expected output of each source in docs/*.md."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for match in SOURCE.finditer(text):
            printed = OUTPUT.search(text, match.end())
            yield page.relative_to(ROOT), match[2], match[1], printed[1] if printed else ""


def program_problems(prefix):
    """Builds and runs the sources that are programs. Returns the faults."""
    problems = []
    environment = {**os.environ, "HEDDLE_DEVICE": "cpu",
                   "PKG_CONFIG_PATH": f"{pathlib.Path(prefix).resolve()}/lib/pkgconfig"}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "heddle"], env=environment,
                           text=True, capture_output=True, check=True).stdout.split()
    for page, name, source, expected in sources():
        if "int main(" not in source:
            continue
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / name).write_text(source, encoding="utf-8")
            built = subprocess.run([*COMPILER, "-O1", name, *flags, "-o", "program"], cwd=folder,
                                   check=False)
            if built.returncode != 0:
                problems.append(f"{page}: {name} cannot be built")
                continue
            ran = subprocess.run(["./program"], cwd=folder, env=environment, text=True,
                                 stdout=subprocess.PIPE, check=False)
            if ran.returncode != 0:
                problems.append(f"{page}: {name} ends with status {ran.returncode}")
            elif ran.stdout != expected:
                problems.append(f"{page}: {name} printed\n{ran.stdout}and not\n{expected}")
    return problems
