"""Settings and rules by version: what holds when, and what a user may set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import presets
from planner.answers.answer import answer
from planner.engines import ENGINES
from planner.errors import BadPreset, PlannerError
from planner.inputs.choices import Choices, choose
from planner.settings.data import settle
from planner.settings.file import parse_engine_data
from planner.settings.versions import parse_version

DATA = parse_engine_data(
    "demo",
    {
        "title": "Demo",
        "newest": "0.28",
        "settings": {
            "share": {
                "type": "float",
                "minimum": 0.1,
                "maximum": 1,
                "meaning": "share of the card",
                "defaults": [{"since": "0.1", "value": 0.90}, {"since": "0.26", "value": 0.92}],
            },
            "seqs": {"type": "int", "minimum": 1, "maximum": 1000, "meaning": "sequences"},
            "mode": {"type": "choice", "choices": ["none", "all"], "meaning": "mode"},
            "eager": {"type": "bool", "meaning": "no graphs"},
            "pool": {"type": "bytes", "meaning": "pool"},
        },
        "rules": {"print": [{"since": "0.1", "value": "blocks"}, {"since": "0.21", "value": "tokens"}]},
    },
)


@pytest.mark.parametrize(
    ("version", "share", "printed"),
    [
        (None, 0.92, "tokens"),
        ("0.26.0", 0.92, "tokens"),
        ("0.25.3", 0.90, "tokens"),
        ("0.20.1rc1.dev16", 0.90, "blocks"),
    ],
)
def test_the_last_entry_up_to_a_version_holds(version: str | None, share: float, printed: str) -> None:
    settings = settle(DATA, "demo", version, ())
    assert (settings.number("share"), settings.rule("print")) == (share, printed)
    assert settings.version == (version or "0.28")
    assert settings.integer("seqs") is None


def test_what_is_given_replaces_the_default() -> None:
    settings = settle(DATA, "demo", None, ("share=0.5", "seqs=64", "mode=ALL", "eager=true", "pool=1.5GiB"))
    assert settings.values == {"share": 0.5, "seqs": 64, "mode": "all", "eager": True, "pool": 3 * 2**29}
    assert settings.given == {"share", "seqs", "mode", "eager", "pool"}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("colour=red", "Engine 'demo' has no setting 'colour'; it knows: eager, mode, pool, seqs, share."),
        ("seqs", "--set 'seqs' is not KEY=VALUE"),
        ("seqs=0", "seqs = '0' is not possible: it must be a whole number between 1 and 1,000."),
        ("seqs=1.5", "must be a whole number"),
        ("share=nan", "share = 'nan' is not possible: it must be a number between 0.1 and 1."),
        ("share=inf", "must be a number between"),
        ("mode=some", "must be one of: none, all"),
        ("eager=maybe", "must be true or false"),
        ("pool=-1GiB", "pool '-1GiB' is not a size"),
        ("seqs=" + "9" * 5000, "is not possible"),
    ],
)
def test_bad_settings_get_one_sentence(given: str, sentence: str) -> None:
    with pytest.raises(PlannerError) as refusal:
        settle(DATA, "demo", None, (given,))
    assert sentence in str(refusal.value)


def test_versions_are_read_as_engines_write_them() -> None:
    assert parse_version("0.26.1rc1.dev608") == parse_version("v0.26.1") == (0, 26, 1)
    assert parse_version("0.9") < parse_version("0.10")
    for text in ("", "newest", "2026", "-1.2"):
        with pytest.raises(PlannerError, match="is not a version"):
            parse_version(text)


def test_an_engine_without_versions_says_so() -> None:
    with pytest.raises(PlannerError, match="has no versions"):
        settle(parse_engine_data("x", {"title": "x", "newest": ""}), "x", "0.1", ())


def test_entries_out_of_order_are_refused_by_path() -> None:
    entries = [{"since": "0.21", "value": 1}, {"since": "0.9", "value": 2}]
    with pytest.raises(BadPreset, match=r"engines/x.toml: rules.r' is not in the order of versions"):
        parse_engine_data("x", {"title": "x", "newest": "1.0", "rules": {"r": entries}})


@given(st.text(max_size=40))
def test_any_text_gives_settings_or_one_sentence(text: str) -> None:
    """Parsing never fails with anything but a PlannerError."""
    try:
        settle(DATA, "demo", None, (text,))
    except PlannerError as error:
        assert str(error).endswith(".")


def test_a_command_repeats_every_setting() -> None:
    command = Choices(model="m", memory="8GiB", set=("a=1", "b=2")).command()
    assert command == "kvbudget plan --model m --memory 8GiB --set a=1 --set b=2"


@pytest.mark.parametrize(
    ("version", "day"),
    [
        ("b6327", (2025, 8, 31)),
        ("6327", (2025, 8, 31)),
        ("b7885", (2026, 1, 30)),
        # Halfway between b6451 and b7394, 471 of 943 builds: 45 of 92 days.
        ("b6922", (2025, 10, 28)),
        ("b900", (2024, 5, 6)),
        ("b99999", (2026, 10, 31)),
        ("2025-11-07", (2025, 11, 7)),
    ],
)
def test_a_build_lies_in_proportion_between_those_whose_days_are_known(version: str, day: tuple[int, int, int]) -> None:
    assert presets.engine_data("llama_cpp").number(version) == day


def test_a_variant_has_its_own_rules_before_those_of_its_base() -> None:
    base, fork = presets.engine_data("llama_cpp"), presets.engine_data("ik_llama_cpp")
    assert fork.rules["cache_formats"] == base.rules["cache_formats"]
    assert fork.rules["window_extra"] != base.rules["window_extra"]
    assert "mla_attn" in fork.settings.keys() - base.settings.keys()


@pytest.mark.parametrize(
    ("engine", "version", "sentence"),
    [
        ("ollama", "0.4.7", "is not how the rules of Ollama are ordered: write a release, 0.5.0 or later"),
        ("llama_cpp", "0.24", "write the day of the build"),
        ("llama_cpp", "newest", "is not a version of llama.cpp: write the day of the build"),
        ("vllm", "99", "is not a version of vLLM: write a release, such as 0."),
        ("llama_cpp", "2022-01-01", "is older than the rules"),
        ("llama_cpp", "2025-13-45", "is no day"),
        ("ik_llama_cpp", "99.9", "write the day of the build"),
        ("vllm", "0.0.1", "is older than the rules of vLLM"),
        ("vllm", "2025-11-07", "write a release, such as 0."),
        ("sglang", "0.0.1", "is older than the rules"),
        ("tensorrt_llm", "2025-11-07", "write a release"),
        ("lmdeploy", "0.0.1", "is older than the rules"),
    ],
)
def test_a_version_of_another_kind_or_age_is_refused(engine: str, version: str, sentence: str) -> None:
    with pytest.raises(PlannerError) as raised:
        choose(Choices(model="qwen3-8b", memory="24GiB", engine=engine, engine_version=version))
    assert sentence in str(raised.value)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "minimum"])
def test_every_plan_says_whose_rules_it_follows(engine: str) -> None:
    """The newest checked, the one asked for, or the newest known where it is later than all that is."""
    data = presets.engine_data(engine)
    later = "2099-01-01" if data.newest.startswith(("2", "b")) else "99.0"
    followed = {}
    for version in (None, data.newest, later):
        choices = Choices(model="qwen3-0.6b", memory="80GiB", engine=engine, engine_version=version)
        chosen = choose(choices)
        found = answer(chosen.architecture, chosen.deployment, chosen.workload)
        (followed[version],) = (warning for warning in found.warnings if warning.startswith("Rules and defaults of "))
        assert found.report is None or found.report.version in followed[version]
    assert followed[None].endswith(
        f" {data.newest}, the newest whose figures were checked; --engine-version names another."
    )
    assert followed[data.newest].endswith(f" {data.newest}.")
    assert followed[later].endswith(f" {data.latest}, the newest that is known here; {later} may differ.")


def test_minimum_has_no_rules_of_a_version() -> None:
    chosen = choose(Choices(model="qwen3-0.6b", memory="80GiB"))
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert not any("Rules" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("engine", "version", "is_later"),
    [
        ("vllm", "0.32.1", False),
        ("vllm", "0.33", True),
        ("sglang", "0.5.23", False),
        ("sglang", "0.5.24", True),
        ("llama_cpp", "b9849", False),
        ("llama_cpp", "b99999", True),
        ("ollama", "2099-01-01", True),
    ],
)
def test_a_later_release_build_or_day_is_known_as_one(engine: str, version: str, is_later: bool) -> None:
    assert presets.engine_data(engine).is_later(version) is is_later


@pytest.mark.parametrize("engine", ENGINES)
def test_commas_that_group_no_thousands_are_no_number(engine: str) -> None:
    data = presets.engine_data(engine)
    for name in (name for name, setting in data.settings.items() if setting.type == "int"):
        with pytest.raises(PlannerError, match="a whole number"):
            settle(data, engine, None, [f"{name}=4,4"])
