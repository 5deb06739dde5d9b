"""Mutation score: of small mistakes made in a package on purpose, how many the tests notice.

    python -m benchmarks.mutants --package agentsim/diagnose --number 60 --seed 1
    python -m benchmarks.mutants --package agentsim/bodies/input_conventions.py --tests tests/agentsim/bodies --number 0

A sample of the package's mutations (:mod:`benchmarks.mutations`) is drawn by ``--seed``; ``--number 0`` takes them all.
Each is made alone in a scratch copy of the tree, and the tests that ran its line are run there, the quickest first,
until one fails. The tests are those of the folder that mirrors the package (``tests/agentsim/diagnose``), or those of
``--tests``; the slow ones only with ``--slow``. Which test runs which line is found by ``coverage``
(``pip install -e '.[bench]'``) and kept in ``build/mutants`` until the package or the file of the test changes. Every
mutant is printed with its file and line; survivors again at the end. A mutant that runs out of its time is killed.
Tests of a line that would take more than ``--seconds`` of the processor are left out, the longest first. ``--only
FILE:LINE`` tries the mutations of one line, as after writing a test for a survivor. ``--fresh`` makes each in a new
process: what tests computed while they were loaded (a table of prices) is computed by the mutant there.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, settings

from benchmarks.code_exchange import exchange
from benchmarks.mutations import Mutation, mutations_of

ROOT = Path(__file__).resolve().parents[1]
COPIED = (
    *("agentsim", "benchmarks", "docs", "engine", "kernels", "scenarios", "tests", "traces", "tui"),
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "action.yml", "constraints.txt", "pyproject.toml"),
)
MEMORY = 8 << 30
"""Bytes of data a run of tests may hold; a mutant may make a loop that never ends."""
START = 20
"""Seconds of the processor that a run may take besides three times its tests."""
UNMADE = 99
"""The mutant cannot be made where modules are loaded already."""
FEW = 5
"""Tests; where fewer run a line, others may rest on what it computed once (a table that is compiled and kept), and are
run after them."""
WALL = 6
"""Times as long as its limit of processor time a run may take on a busy machine, before it counts as hanging."""

settings.register_profile("mutants", derandomize=True, deadline=None, phases=(Phase.explicit, Phase.generate))
"""The examples of every run, without the search for the smallest one that fails."""


class TestMap:
    """Which tests run which lines of the package, by file and line; and the seconds of the processor each takes."""

    def __init__(self) -> None:
        self.lines: dict[str, dict[int, set[str]]] = {}
        self.seconds: dict[str, float] = {}

    def add(self, seconds: dict[str, float], lines: dict[str, dict[str, list[str]]]) -> None:
        """What was found for a file of tests."""
        self.seconds.update(seconds)
        for file, known in lines.items():
            for line, tests in known.items():
                self.lines.setdefault(file, {}).setdefault(int(line), set()).update(tests)

    def of(self, file: str, lines: tuple[int, int]) -> list[str]:
        """Tests that run one of the lines, the quickest first; where only importing runs them, those that run anything
        of the file; and where these are few, all others behind them."""
        known = self.lines.get(file, {})
        reached = [known[line] for line in range(lines[0], lines[1] + 1) if line in known]
        found = set[str]().union(*reached)
        if reached and not found:
            found = set[str]().union(*known.values())
        others = self.seconds.keys() - found if 0 < len(found) < FEW else set[str]()
        return [test for tests in (found, others) for test in sorted(tests, key=lambda one: (self.seconds[one], one))]


class Mutant(NamedTuple):
    """A mutation of a file, the tests that are run on it, and how long they may take."""

    file: Path
    mutation: Mutation
    tests: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return f"{self.file}:{self.mutation.line}: {self.mutation.before}  →  {self.mutation.after}"


def status_of(child: Callable[[], int], seconds: float | None = None) -> int:
    """What a forked process returns; -1 where it did not end by itself or took more processor time than given."""
    sys.stdout.flush()
    number = os.fork()
    if number == 0:
        code = 70
        try:
            os.setpgid(0, 0)
            if seconds is not None:
                used = int(time.process_time())
                resource.setrlimit(resource.RLIMIT_CPU, (used + int(seconds) + 1, used + int(seconds) + 3))
                resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            code = child()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    ends = None if seconds is None else time.monotonic() + seconds * WALL
    while True:
        done, status = os.waitpid(number, os.WNOHANG if ends is not None else 0)
        if done:
            return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else -1
        if ends is not None and time.monotonic() > ends:
            os.killpg(number, signal.SIGKILL)
            ends = None
        time.sleep(0.01)


def run_pytest(targets: list[str], plugin: object, *more: str) -> int:
    """Run pytest in this process, quietly. Its exit code."""
    options = ["-q", "-n0", "--no-header", "--tb=short", "-p", "no:cacheprovider"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is loaded already
    return int(pytest.main([*options, *more, *targets], plugins=[plugin]))


class Coverage:
    """A plugin of pytest that writes down which test runs which line of a folder, and for how long."""

    def __init__(self, folder: Path, written: Path) -> None:
        from coverage import Coverage as Counter

        self.counter = Counter(data_file=None, include=[str(folder), f"{folder}/*"], config_file=False)
        self.written = written
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.counter.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Name the test that the next lines belong to."""
        self.counter.switch_context(item.nodeid)
        began = time.process_time()
        found = yield
        self.seconds[item.nodeid] = round(time.process_time() - began, 3)
        self.counter.switch_context("")
        return found

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test failed."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the map, without the tests that fail."""
        self.counter.stop()
        data = self.counter.get_data()
        whole = {test: seconds for test, seconds in self.seconds.items() if test not in self.failed}
        lines = {
            file: {line: sorted({*tests} & whole.keys()) for line, tests in data.contexts_by_lineno(file).items()}
            for file in sorted(data.measured_files())
        }
        self.written.write_text(json.dumps({"seconds": whole, "lines": lines}), encoding="utf-8")


class Trials:
    """A plugin of pytest that, instead of running the tests, forks for each mutant and runs its tests there."""

    def __init__(self, scratch: Scratch, mutants: list[Mutant], told: Callable[[Mutant, int], None]) -> None:
        self.scratch = scratch
        self.mutants = mutants
        self.told = told
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember that a test failed."""
        self.failed = self.failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants."""
        items = {item.nodeid: item for item in session.items}
        for mutant in self.mutants:
            tests = [items[test] for test in mutant.tests if test in items]
            with self.scratch.changed(mutant):
                self.told(mutant, status_of(partial(self._try, mutant, tests), mutant.seconds))
        return True

    def _try(self, mutant: Mutant, tests: list[pytest.Item]) -> int:
        """0 where all tests pass, 1 where one fails, UNMADE where loaded modules cannot be changed like that."""
        before = compile(ast.parse(self.scratch.original), str(mutant.file), "exec")
        if not exchange(os.path.realpath(self.scratch.folder / mutant.file), before, mutant.mutation.code):
            return UNMADE
        for number, item in enumerate(tests):
            following = tests[number + 1] if number + 1 < len(tests) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return 1
        return 0


class Chosen:
    """A plugin of pytest that keeps the tests of a mutant, in their order."""

    def __init__(self, tests: tuple[str, ...]) -> None:
        self.place = {name: number for number, name in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests."""
        items[:] = sorted((one for one in items if one.nodeid in self.place), key=lambda one: self.place[one.nodeid])


class Scratch:
    """A copy of the tree, in which one file at a time is another one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tree"
        self.folder.mkdir()
        self.original = ""
        """The text of the file that is another one now."""
        for name in COPIED:
            source, target = ROOT / name, self.folder / name
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
                shutil.copytree(source, target, symlinks=True, ignore=ignored)
            else:
                shutil.copy2(source, target)
        if (ROOT.parent / "shared").exists():  # real logs, which tests look for beside the tree
            (folder / "shared").symlink_to((ROOT.parent / "shared").resolve())

    def enter(self, slow: bool) -> None:
        """Make this process, and those it starts, work in the copy; with the slow tests where they are wanted."""
        if slow:
            os.environ["PYTEST_ADDOPTS"] = "-m ''"
        os.chdir(self.folder)
        sys.path.insert(0, str(self.folder))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(self.folder), os.environ.get("PYTHONPATH", "")])
        os.environ["HYPOTHESIS_PROFILE"] = "mutants"

    @contextlib.contextmanager
    def changed(self, mutant: Mutant) -> Generator[None]:
        """The mutant is in the tree, for processes that tests start."""
        target = self.folder / mutant.file
        self.original = target.read_text("utf-8")
        self._write(target, mutant.mutation.source)
        try:
            yield
        finally:
            self._write(target, self.original)

    def _write(self, target: Path, source: str) -> None:
        target.write_text(source, encoding="utf-8")
        # Compiled modules are told apart by size and whole seconds: not enough for "1" and "2" in one second.
        for compiled in target.parent.glob(f"__pycache__/{target.stem}.*"):
            compiled.unlink()


def real_file(package: str) -> Path:
    """The package without the links of ``agentsim/``, from the root of the tree."""
    return (ROOT / package).resolve().relative_to(ROOT)


def python_of(path: Path) -> list[Path]:
    """The modules of a folder, or the one module; relative to the root."""
    found = [ROOT / path] if path.suffix else sorted((ROOT / path).rglob("*.py"))
    return [one.relative_to(ROOT) for one in found]


def tests_of(package: str) -> list[str]:
    """The tests of a package: the folder that has its place below ``tests``."""
    if not (ROOT / "tests" / package).is_dir():
        raise SystemExit(f"there is no tests/{package}: name the tests with --tests")
    return [f"tests/{package}"]


def test_map(package: Path, tests: list[Path], written: Path, slow: bool) -> TestMap:
    """Which test runs which line; what was found before holds for files that did not change since, nor the package.

    Tests that fail without any mutation are left out. Raises SystemExit when they cannot be run.
    """
    state = hashlib.sha256(b"".join((ROOT / one).read_bytes() for one in python_of(package)))
    name = str(package).replace("/", "-") + ("-slow" if slow else "")
    kept = ROOT / "build" / "mutants" / f"{name}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    document: dict[str, dict[str, Any]] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    states = {str(one): hashlib.sha256(state.digest() + (ROOT / one).read_bytes()).hexdigest() for one in tests}
    stale = [name for name, digest in states.items() if document.get(name, {}).get("state") != digest]
    if stale:
        if status_of(lambda: run_pytest(stale, Coverage(Path(os.path.realpath(package)), written))) not in (0, 1):
            raise SystemExit("the tests cannot be run")
        found = json.loads(written.read_text("utf-8"))
        for name in stale:
            document[name] = {"state": states[name], "seconds": {}, "lines": {}}
        for test, seconds in found["seconds"].items():
            document[test.partition("::")[0]]["seconds"][test] = seconds
        for file, lines in found["lines"].items():
            for line, names in lines.items():
                document[stale[0]]["lines"].setdefault(os.path.relpath(file), {}).setdefault(line, [])
                for test in names:
                    known = document[test.partition("::")[0]]["lines"].setdefault(os.path.relpath(file), {})
                    known.setdefault(line, []).append(test)
        kept.write_text(json.dumps(document), encoding="utf-8")
    together = TestMap()
    for name in states:
        together.add(document[name]["seconds"], document[name]["lines"])
    return together


def affordable(known: TestMap, tests: list[str], most: float) -> tuple[tuple[str, ...], float]:
    """The quickest tests that take no more than so many seconds together, one at least, and what they take."""
    kept: list[str] = []
    used = 0.0
    for test in tests:
        seconds = known.seconds.get(test, 0.0)
        if kept and used + seconds > most:
            break
        kept.append(test)
        used += seconds
    return tuple(kept), used


def try_mutants(scratch: Scratch, mutants: list[Mutant], fresh: bool) -> list[Mutant]:
    """The mutants that survive, told one by one as they come; with ``fresh`` each in a process of its own."""
    survivors: list[Mutant] = []
    unmade: list[int] = []
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    reading, writing = os.pipe()

    def tell(mutant: Mutant, status: int) -> None:
        if status != UNMADE:
            word = "killed" if status else "SURVIVED" if mutant.tests else "SURVIVED (no test runs it)"
            print(word, mutant, file=out, flush=True)
        os.write(writing, b"%d %d\n" % (mutants.index(mutant), status))

    def session() -> int:
        files = sorted({test.partition("::")[0] for mutant in mutants for test in mutant.tests})
        mute()
        return run_pytest(files, Trials(scratch, mutants, tell)) if files else 0

    def alone(mutant: Mutant) -> int:
        mute()
        os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(dir=scratch.folder.parent)
        return run_pytest(sorted({test.partition("::")[0] for test in mutant.tests}), Chosen(mutant.tests), "-x")

    with open(reading, encoding="utf-8") as results:
        if fresh:
            os.write(writing, b"".join(b"%d %d\n" % (number, UNMADE) for number in range(len(mutants))))
        code = 0 if fresh else status_of(session)
        os.set_blocking(reading, False)
        lines = results.read().splitlines()
        for number, status in (map(int, line.split()) for line in lines):
            if status == UNMADE:
                unmade.append(number)
            elif status == 0:
                survivors.append(mutants[number])
        if code not in (0, 5) or len(lines) != len(mutants):
            raise SystemExit(f"pytest ended with {code} after {len(lines)} of {len(mutants)} mutants")
        for number in unmade:
            mutant = mutants[number]
            with scratch.changed(mutant):
                status = status_of(partial(alone, mutant), mutant.seconds) if mutant.tests else 0
            tell(mutant, status)
            if status == 0:
                survivors.append(mutant)
    return survivors


def mute() -> None:
    """Send what this process writes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", required=True, help="a folder or a module, from the root of the tree")
    parser.add_argument("--tests", nargs="+", help="files or folders of tests; default: the folder that mirrors it")
    parser.add_argument("--number", type=int, default=60, help="how many mutants; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="of tests for one mutant, at most")
    parser.add_argument("--fresh", action="store_true", help="each mutant in a new process with an empty cache folder")
    parser.add_argument("--slow", action="store_true", help="with the tests that are marked slow")
    parser.add_argument("--only", action="append", default=[], metavar="FILE:LINE", help="the mutations of a line")
    asked = parser.parse_args()
    package = real_file(asked.package)
    tests = [
        one
        for folder in asked.tests or tests_of(asked.package)
        for one in python_of(Path(folder))
        if one.name.startswith("test_")
    ]
    made = [
        (file, plan)
        for file in python_of(package)
        for plan in mutations_of((ROOT / file).read_text("utf-8"), str(file))
    ]
    if asked.only:
        drawn = [(file, plan.make()) for file, plan in made if f"{file}:{plan.line}" in asked.only]
    else:
        number = min(asked.number or len(made), len(made))
        drawn = [(file, plan.make()) for file, plan in random.Random(asked.seed).sample(made, number)]
    print(f"{len(drawn)} of {len(made)} mutations of {asked.package}, seed {asked.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        scratch = Scratch(Path(folder))
        scratch.enter(asked.slow)
        known = test_map(package, tests, Path(folder) / "map.json", asked.slow)
        mutants = []
        for file, mutation in drawn:
            covering, needed = affordable(known, known.of(str(file), mutation.lines), asked.seconds)
            mutants.append(Mutant(file, mutation, covering, START + 3 * needed))
        survivors = try_mutants(scratch, mutants, asked.fresh)
    killed = len(drawn) - len(survivors)
    print(f"\n{killed} of {len(drawn)} killed ({100 * killed / max(1, len(drawn)):.1f} %)")
    for mutant in survivors:
        print(f"  survived: {mutant}")


if __name__ == "__main__":
    main()
