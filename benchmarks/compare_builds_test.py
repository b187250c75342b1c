#!/usr/bin/env python3
"""Tests of compare_builds, with made-up builds. Their programs measure nothing: they hand out
figures that the test has written, with noise from a fixed seed, so nothing here depends on time."""

import contextlib
import json
import os
import random
import runpy
import signal
import subprocess
import sys
import tempfile
import unittest

COMPARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_builds")
PURE = runpy.run_path(COMPARE)
PAIRS, ALONE = PURE["PAIRS"], PURE["PAIRS_ALONE"]

# In its Nth run, prints the file whole.N in the folder FIGURES. With --only, prints alone.N.
PROGRAM = """#!/bin/sh
figures=FIGURES kind=whole run=0
while [ $# -gt 0 ]; do
    case $1 in
        --json) json=$2 ;;
        --only) kind=alone ;;
    esac
    shift
done
while read -r name value; do
    [ "$name" != Cpus_allowed_list: ] || echo "$figures $0 $value" >>"$RUNS_OF_TEST"
done </proc/self/status
[ ! -e "$figures/$kind" ] || read -r run <"$figures/$kind"
echo $((run + 1)) >"$figures/$kind"
cp "$figures/$kind.$((run + 1))" "$json" || exit 1
echo "the last line"
read -r status <"$figures/status"
exit "$status"
"""

# Reports that it has begun, and starts a second process. Both processes then wait forever.
ENDLESS = """#!/bin/sh
exec 3>"$ALIVE_OF_TEST"
cat "$NEVER_OF_TEST" &
echo begun >&3
cat "$NEVER_OF_TEST"
"""


class Figure:
    """A row's figure: `new` times `old` in the new build, alone `alone` times; None: no row."""

    def __init__(self, name, new=1.0, alone=None, old=100.0, unit="ns"):
        self.name, self.unit, self.old, self.new = name, unit, old, new
        self.alone = new if alone is None else alone

    def row(self, value):
        return {"name": self.name, "device": "cpu:0", "heddle": value, "raw": None,
                "unit": self.unit, "ratio": None, "ratio_p10": None, "ratio_p90": None,
                "peer": None}


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


class MadeUpBuilds(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = kept.name
        self.noise = random.Random(1)
        self.environment = dict(os.environ, RUNS_OF_TEST=self.path("runs"))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def program(self, side, name, text=PROGRAM):
        os.makedirs(self.path(side, "bin"), exist_ok=True)
        write(self.path(side, "bin", name),
              text.replace("FIGURES", self.path(side, "figures", name)), 0o755)

    def programs(self, figures, name="bench_made_up", knows_only=True, status=(0, 0)):
        """One in each build. What disturbs a pair disturbs both by up to a half; what disturbs a
        run, by 2 %."""
        folders = [self.path(side, "figures", name) for side in ("old", "new")]
        for side, folder, number in zip(("old", "new"), folders, status):
            self.program(side, name)
            os.makedirs(folder)
            write(os.path.join(folder, "status"), f"{number}\n")
        kinds = {"whole": PAIRS + ALONE, "alone": ALONE if knows_only else 0}
        for kind, count in kinds.items():
            for run in range(1, count + 1):
                pair = self.noise.uniform(1, 1.5)
                rows = ([], [])
                for figure in figures:
                    new = figure.alone if kind == "alone" else figure.new
                    for side, factor in zip(rows, (None if figure.old is None else 1, new)):
                        if factor is not None:
                            value = (figure.old or 100) * factor * pair * self.noise.gauss(1, 0.02)
                            side.append(figure.row(value))
                for folder, side in zip(folders, rows):
                    write(os.path.join(folder, f"{kind}.{run}"), json.dumps(side))

    def compare(self, *words):
        """Returns the exit status, what was printed, and {row: verdict}."""
        done = subprocess.run(
            [sys.executable, COMPARE, "--json", self.path("out.json"), *words, self.path("old"),
             self.path("new")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment,
            check=False)
        verdicts = {}
        with contextlib.suppress(OSError, ValueError), \
                open(self.path("out.json"), encoding="utf-8") as file:
            verdicts = {row["name"]: row["verdict"] for row in json.load(file)["rows"]}
        return done.returncode, done.stdout, verdicts

    def expect(self, status, slower, compared, *lines):
        """Expects the exit status, the rows that are slower, how many there are, and the lines."""
        found_status, output, found = self.compare()
        self.assertEqual([row for row in found if found[row] == "SLOWER"], slower, output)
        self.assertEqual(len(found), compared, output)
        self.assertEqual(found_status, status, output)
        for line in lines:
            self.assertIn(line, output)

    def test_a_slowdown_of_5_percent_is_found_and_equal_rows_are_not(self):
        self.programs([Figure("slow", 1.05), *(Figure(f"equal {i}") for i in range(40))])
        self.expect(1, ["slow"], 41, "41 rows compared: 1 slower",
                    "- SLOWER: bench_made_up: slow (cpu:0)")

    def test_equal_builds_are_not_slower(self):
        self.programs([Figure("one"), Figure("other")])
        self.expect(0, [], 2, "2 rows compared: 0 slower")

    def test_a_faster_row_is_not_slower(self):
        self.programs([Figure("fast", 0.95)])
        self.expect(0, [], 1)

    def test_a_row_that_is_not_slower_alone_does_not_count(self):
        self.programs([Figure("first round alone", 1.05, alone=1.0)])
        self.expect(0, [], 1, "0 slower; 1 looked slower")

    def test_more_is_better_of_rates(self):
        self.programs([Figure("less", 1 / 1.05, unit="GB/s"), Figure("more", 1.05, unit="M/s")])
        self.expect(1, ["less"], 2)

    def test_a_row_without_only_is_run_again_with_all(self):
        self.programs([Figure("slow", 1.05)], knows_only=False)
        self.expect(1, ["slow"], 1)

    def test_rows_with_one_name_are_told_apart(self):
        self.programs([Figure("twice"), Figure("twice", 1.05)])
        self.expect(1, ["twice (number 2)"], 2)

    def test_rows_of_one_build_are_named(self):
        self.programs([Figure("both"), Figure("gone", new=None), Figure("added", old=None)])
        self.expect(0, [], 1,
                    "bench_made_up: gone (cpu:0): has figures only in the old build",
                    "bench_made_up: added (cpu:0): has figures only in the new build")

    def test_programs_of_one_build_are_named(self):
        self.programs([Figure("row")])
        self.program("old", "bench_gone")
        self.program("new", "bench_added")
        self.expect(0, [], 1, "bench_gone: not in the new build",
                    "bench_added: not in the old build")

    def test_a_program_without_rows_is_named_and_others_are_compared(self):
        self.programs([Figure("row")])
        for side in ("old", "new"):
            self.program(side, "bench_broken", "#!/bin/sh\necho the cause >&2\nexit 134\n")
            self.program(side, "bench_skipped", "#!/bin/sh\necho the reason\nexit 77\n")
            self.program(side, "bench_empty", "#!/bin/sh\n")
            self.program(side, "bench_no_program", "#!/no/such/interpreter\n")
        self.expect(0, [], 1, "bench_broken: old build: exit status 134: the cause",
                    "bench_skipped: old build: skipped: the reason",
                    "bench_empty: old build: no rows", "bench_no_program: old build: ")

    def test_a_failure_is_named_and_the_rows_beside_it_are_compared(self):
        self.programs([Figure("slow", 1.05)], status=(0, 1))
        self.expect(1, ["slow"], 1,
                    "bench_made_up: new build: exit status 1: the last line")

    def test_nothing_to_compare_is_no_success(self):
        self.programs([Figure("gone", new=None), Figure("added", old=None)])
        self.expect(2, [], 0, "0 rows compared")

    def test_who_goes_first_changes_and_the_cores_are_the_same(self):
        self.programs([Figure("row")])
        core = str(min(os.sched_getaffinity(0)))
        self.assertEqual(self.compare("--cores", core)[0], 0)
        with open(self.path("runs"), encoding="utf-8") as file:
            runs = [line.split() for line in file]
        sides = ["old" if run[0].startswith(self.path("old")) else "new" for run in runs]
        turns = ["old", "new", "new", "old"] * PAIRS
        self.assertEqual(sides, turns[:2 * PAIRS])
        self.assertEqual({run[2] for run in runs}, {core})
        self.assertEqual(len({run[1] for run in runs}), 2 * PAIRS)  # each run uses a copy

    def test_wrong_usage_ends_with_status_2(self):
        self.programs([Figure("row")])
        old = self.path("old")
        for words in ([], ["--frob", old], [self.path("none"), old], [old, self.path("none")],
                      ["--only", "none", old, old], ["--cores", "x", old, old],
                      ["--cores", "9999", old, old], [old, old, old],
                      ["--json", self.path("none", "file"), old, old]):
            with self.subTest(words=words):
                done = subprocess.run([sys.executable, COMPARE, *words], capture_output=True,
                                      env=self.environment, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_an_interruption_ends_what_was_started(self):
        for side in ("old", "new"):
            self.program(side, "bench_endless", ENDLESS)
        for name in ("alive", "never"):
            os.mkfifo(self.path(name))
        self.environment.update(ALIVE_OF_TEST=self.path("alive"),
                                NEVER_OF_TEST=self.path("never"))
        signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may be started without it
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number), subprocess.Popen(
                    [sys.executable, COMPARE, self.path("old"), self.path("new")],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                    env=self.environment) as process:
                with open(self.path("alive"), encoding="utf-8") as alive:
                    self.assertEqual(alive.readline(), "begun\n")
                    process.send_signal(number)
                    self.assertEqual(process.wait(), 130)
                    self.assertEqual(alive.read(), "")  # returns when no process is left

    def test_an_interruption_ends_what_is_just_beginning(self):
        interruption = PURE["Interruption"]()
        interruption.handle()
        os.mkfifo(self.path("never"))
        with subprocess.Popen(["cat", self.path("never")], start_new_session=True) as process:
            interruption.group = process.pid
            interruption.end_group()
            self.assertEqual(process.wait(), -signal.SIGKILL)


class Statistics(unittest.TestCase):
    def test_a_percentile_lies_between_values(self):
        self.assertEqual(PURE["percentile"]([3, 1, 2], 0.5), 2)
        self.assertEqual(PURE["percentile"]([1, 2], 0.25), 1.25)
        self.assertEqual(PURE["percentile"]([7], 0.2), 7)
        self.assertEqual(PURE["lower_fifth"](list(range(11))), 2)

    def test_two_pairs_of_eleven_may_say_otherwise(self):
        self.assertTrue(PURE["looks_slower"]([0.5] * 2 + [1.01] * 9))
        self.assertFalse(PURE["looks_slower"]([0.5] * 3 + [1.01] * 8))
        self.assertFalse(PURE["looks_slower"]([1.0] * 11))

    def test_both_rounds_decide(self):
        slower, equal = [1.05] * 11, [1.0] * 11
        self.assertEqual(PURE["verdict"](slower, slower), "SLOWER")
        self.assertEqual(PURE["verdict"](slower, equal), "not slower alone")
        self.assertEqual(PURE["verdict"](slower, None), "could not be run again")
        self.assertEqual(PURE["verdict"](equal, None), "")


if __name__ == "__main__":
    unittest.main()
