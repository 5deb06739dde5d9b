from pathlib import Path

import pytest

from agentsim.budget.file_globs import GlobError, matching_files, pattern


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("rec/*.jsonl", "rec/a.jsonl", True),
        ("rec/*.jsonl", "rec/sub/a.jsonl", False),  # a star stays within its folder
        ("rec/**/*.jsonl", "rec/a.jsonl", True),
        ("rec/**/*.jsonl", "rec/x/y/a.jsonl", True),
        ("**", "x/y/z", True),
        ("rec/**", "rec/x/a", True),
        ("rec/**", "other/x", False),
        ("a?.jsonl", "ab.jsonl", True),
        ("a?.jsonl", "a/.jsonl", False),
        ("[ab].jsonl", "b.jsonl", True),
        ("[!ab].jsonl", "b.jsonl", False),
        ("[!ab].jsonl", "c.jsonl", True),
        ("a.jsonl", "aXjsonl", False),  # a dot is a dot
        ("a+(b)|c", "a+(b)|c", True),
        ("./rec/a", "rec/a", True),
    ],
)
def test_what_a_pattern_matches(glob: str, path: str, matches: bool) -> None:
    assert bool(pattern(glob).fullmatch(path)) is matches


@pytest.mark.parametrize(
    "glob", ["", "  ", "/abs/*.jsonl", "C:/x", "a\\b", "../x", "a/../b", "a//b", "a**", "[", "[a", "[z-a]"]
)
def test_a_bad_pattern_is_refused(glob: str) -> None:
    with pytest.raises(GlobError):
        pattern(glob)


def test_files_are_found_in_order_and_hidden_folders_are_left_out(tmp_path: Path) -> None:
    for name in ("rec/b.jsonl", "rec/a.jsonl", "rec/deep/c.jsonl", ".git/d.jsonl", "e.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    root = str(tmp_path)
    assert matching_files(root, ("rec/*.jsonl",)) == [f"{root}/rec/a.jsonl", f"{root}/rec/b.jsonl"]
    assert matching_files(root, ("**/*.jsonl", "e.jsonl")) == [
        f"{root}/{name}" for name in ("e.jsonl", "rec/a.jsonl", "rec/b.jsonl", "rec/deep/c.jsonl")
    ]
    assert matching_files(root, ("no/*.jsonl",)) == []
