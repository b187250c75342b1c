#!/usr/bin/env python3
"""Tests check_size: a planted fault is found by the right count, and by no other count."""
import contextlib
import io
import pathlib
import runpy
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "check_size"
SIZE = runpy.run_path(str(SCRIPT))
KINDS = SIZE["KINDS"]
FUNCTION = "void planted() {{\n{}}}\n"

FAULTS = {
    "sources": ("src/long.cpp", "\n" * 301),
    "headers": ("src/long.hpp", "\n" * 201),
    "functions": ("src/function.cpp", "namespace x {\nint a;\n}  // namespace x\n\n"
                  + FUNCTION.format("    f();\n" * 50)),
    "columns": ("docs/wide.md", "x" * 101 + "\n"),
    "nouns": ("src/nouns.cpp", "// Returns what is left.\n"),
    "hedges": ("src/hedges.cpp", "int left();  // -1 if that is not known\n"),
    "verbs": ("src/verbs.cpp", "/* Gives the memory back. */\n"),
    "adrs": ("docs/adr/9999-long.md", "word\n" * 351),
    "words": ("README.md", "word\n"),
}
ALLOWED = {
    "src/long.cpp": "\n" * 300,
    "src/long.hpp": "\n" * 200,
    "src/text.cpp": 'f("what is not known, or given {", \'{\', 1\'000, R"x({ // what)x");\n',
    "src/function.cpp": "struct S {\n    S() : a{1}, b(2) {\n" + "        f();\n" * 49
    + "    }\n    int a = {0};\n};\n#define F {\n// }\n" + FUNCTION.format("    f();\n" * 49),
    "src/table.cpp": "const int table[] = {\n" + "    1,\n" * 90 + "};\n",
    "docs/wide.md": "x" * 100 + "\n| " + "cell | " * 30 + "\n",
    "docs/adr/9999-long.md": "word\n" * 350,
    "docs/long.md": "word\n" * 351,
}


def words_of(text):
    return len(text.split())


def count(texts, excuses=()):
    """Returns the counts by folder, and the unused excuses."""
    found, unused = SIZE["count"](texts, list(excuses), words_of)
    return SIZE["counts_of"](found), unused


def run(named, texts):
    """Compares rows with counts. Returns the number of differences, and the printed text."""
    found, _ = SIZE["count"](texts, [], words_of)
    with contextlib.redirect_stdout(io.StringIO()) as text:
        wrong = SIZE["compare"](named, SIZE["counts_of"](found), found)
    return wrong, text.getvalue()


class CheckSize(unittest.TestCase):
    def test_each_count_finds_its_fault_and_no_other_does(self):
        for kind, (name, text) in FAULTS.items():
            counts, _ = count({name: text})
            folder = str(pathlib.PurePosixPath(name).parent)
            self.assertEqual(counts, {folder: {one: int(one == kind) for one in KINDS}})

    def test_every_count_has_a_fault(self):
        self.assertEqual(set(FAULTS), set(KINDS))

    def test_what_is_just_within_the_limits_does_not_count(self):
        self.assertEqual(count(ALLOWED), ({}, set()))

    def test_a_count_above_its_row_fails(self):
        for name, text in FAULTS.values():
            wrong, said = run({}, {name: text})
            self.assertEqual(wrong, 1)
            self.assertIn(f"    {name}:", said)

    def test_a_row_above_its_count_fails(self):
        for kind in KINDS:
            row = {**dict.fromkeys(KINDS, 0), kind: 1}
            wrong, said = run({"src": row}, {})
            self.assertEqual(wrong, 1)
            self.assertIn("--write", said)

    def test_a_line_can_be_excused_and_an_excuse_that_nothing_needs_is_named(self):
        texts = {"src/nouns.cpp": FAULTS["nouns"][1]}
        right, other = ("src/nouns.cpp", "what is left"), ("src/nouns.cpp", "what is right")
        self.assertEqual(count(texts, [right, other]), ({}, {other}))

    def test_writing_lowers_a_row_and_raises_none(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "sizes.txt"
            SIZE["write"].__globals__["LIST"] = file
            zero = dict.fromkeys(KINDS, 0)
            SIZE["write"]({"a": {**zero, "nouns": 3, "verbs": 1}},
                          {"a": {**zero, "nouns": 2, "verbs": 4}, "b": {**zero, "nouns": 1}},
                          [("a/x.cpp", "what")])
            named, excuses = SIZE["read_list"]()
            self.assertEqual(named, {"a": {**zero, "nouns": 2, "verbs": 1}})
            self.assertEqual(excuses, [("a/x.cpp", "what")])

    def test_braces_that_do_not_match_end_the_count(self):
        with self.assertRaises(SystemExit):
            count({"src/open.cpp": "void f() {\n"})


if __name__ == "__main__":
    unittest.main()
