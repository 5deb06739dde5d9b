"""Writing settings and taking them out: everything else stays as it is, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentsim.guard.settings_text import BadSettings, parse, plain_value
from agentsim.tuning.tunable_setting import flat, tunable_harnesses, tunable_settings
from agentsim.tuning.written_settings import plan_restored, plan_settings, values_before, write_settings
from agentsim.whatif.policies import parse as parse_policy

COMMENTED = """\
// mine
{
\t"model": "opus", /* why not */
\t"env": {
\t\t"A": "1", // keep
\t\t"ENABLE_PROMPT_CACHING_1H": "0"
\t},
\t"promptCacheTtl": "5m",
}
"""
EVERY = [one.settings for harness in tunable_harnesses() for one in tunable_settings(harness)]


def there_and_back(file: Path, wanted: dict[str, Any]) -> str:
    before = values_before(str(file), wanted)
    write_settings(plan_settings(str(file), wanted))
    found = plain_value(text := file.read_text(), parse(text))
    for key, value in flat(wanted):
        at: Any = found
        for part in key.split("."):
            at = at[part]
        assert at == value
    write_settings(plan_restored(str(file), dict(flat(wanted)), before))
    return file.read_text()


@pytest.mark.parametrize("wanted", EVERY, ids=lambda wanted: next(iter(flat(wanted)))[0])
def test_comments_and_other_settings_stay(tmp_path: Path, wanted: dict[str, Any]) -> None:
    file = tmp_path / "settings.json"
    file.write_text(COMMENTED)
    assert there_and_back(file, wanted) == COMMENTED


PLAIN = st.one_of(st.booleans(), st.integers(-5, 5), st.text("ab", max_size=3))
DOCUMENTS = st.dictionaries(
    st.sampled_from(["promptCacheTtl", "autoCompactWindow", "model", "x"]), PLAIN, max_size=4
).flatmap(
    lambda top: st.dictionaries(
        st.sampled_from(["ENABLE_PROMPT_CACHING_1H", "FORCE_PROMPT_CACHING_5M", "A"]), st.text("ab", max_size=2)
    ).map(lambda env: {**top, "env": env})
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=DOCUMENTS, wanted=st.sampled_from(EVERY), indent=st.sampled_from([2, 4, "\t"]))
def test_any_settings_come_back(tmp_path: Path, document: dict[str, Any], wanted: dict[str, Any], indent: Any) -> None:
    file = tmp_path / "settings.json"
    text = json.dumps(document, indent=indent) + "\n"
    file.write_text(text)
    back = there_and_back(file, wanted)
    now = json.loads(back)
    # An empty table that was there and took the setting in is gone with it, and nothing else.
    assert now == document or (not document["env"] and now == {k: v for k, v in document.items() if k != "env"})


def test_a_value_that_somebody_changed_since_stays(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"promptCacheTtl": "30m"}\n')
    restored = plan_restored(str(file), {"promptCacheTtl": "1h"}, {"promptCacheTtl": "5m"})
    assert not restored.changes


def test_a_missing_file_is_made(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "settings.json"
    plan = plan_settings(str(file), {"env": {"A": "1"}})
    assert plan.before is None
    assert values_before(str(file), {"env": {"A": "1"}}) == {"env.A": None}
    write_settings(plan)
    assert json.loads(file.read_text()) == {"env": {"A": "1"}}


def test_a_setting_that_is_no_table_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"env": "production"}')
    with pytest.raises(BadSettings, match="env: not an object"):
        plan_settings(str(file), {"env": {"A": "1"}})


def test_each_setting_brings_about_a_policy_that_exists() -> None:
    for harness in tunable_harnesses():
        for one in tunable_settings(harness):
            assert parse_policy(one.policy).spec == one.policy
            assert one.source
