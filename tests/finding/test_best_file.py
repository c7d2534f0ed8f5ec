"""Which file of one model to take: never a coarse one where a sensible one probably fits."""

import pytest

from planner.budget import State
from planner.cli import main
from planner.finding.best_file import best_file, fits_probably, to_take
from planner.finding.picks import picks_for
from planner.finding.which import Match, files_for, is_coarse
from planner.inputs.choices import Choices
from planner.presets import load_preset
from planner.text.which import file_title
from planner.tried_formats import default_weights
from planner.units import GIB

LAPTOP = Choices(model="", device="cpu-8gb", engine="ollama", context=8_192)


def files(model: str, choices: Choices = LAPTOP) -> list[Match]:
    asked = Choices(model=model, device=choices.device, engine=choices.engine, context=choices.context)
    return files_for(asked, load_preset(model))


@pytest.mark.parametrize("model", ["gemma-3-4b", "qwen3-4b", "llama-3.2-3b", "phi-4-mini"])
@pytest.mark.parametrize("engine", ["ollama", "llama_cpp"])
def test_on_a_small_machine_four_bits_that_probably_fit_come_before_two_that_surely_do(model: str, engine: str) -> None:
    found = files(model, Choices(model="", device="cpu-8gb", engine=engine, context=8_192))
    best = best_file(to_take(engine, found)[0])
    assert best is not None
    assert not is_coarse(best)
    assert any(is_coarse(match) and match.state is State.FITS for match in found)
    surely = [match for match in found if match.state is State.FITS and not is_coarse(match)]
    assert fits_probably(best) is not bool(surely)
    if not surely:
        assert best.matrix_bits == 4
        assert file_title([best]) == f"Take {best.model} in {best.weights}: it probably fits"


def test_a_large_embedding_makes_no_coarse_file_a_fine_one() -> None:
    """Gemma-3-4B has 0.67 of its 4.3 billion parameters in an embedding that iq2_m keeps in q6_k: 4.4 bits in the
    mean, 2.6 in the matrices."""
    by_weights = {match.weights: match for match in files("gemma-3-4b")}
    assert 8 * by_weights["iq2_m"].weights_bytes > 4 * by_weights["iq2_m"].parameters
    bits = {name: by_weights[name].matrix_bits for name in ("iq2_m", "q3_k_l", "iq4_xs", "q4_k_m", "q8_0")}
    assert bits == {"iq2_m": 2, "q3_k_l": 3, "iq4_xs": 4, "q4_k_m": 4, "q8_0": 8}
    assert [name for name in bits if is_coarse(by_weights[name])] == ["iq2_m", "q3_k_l"]


@pytest.mark.parametrize(("model", "tag"), [("gemma-3-4b", "gemma3:4b-it-q4_K_M"), ("qwen3-4b", "qwen3:4b-q4_K_M")])
def test_the_answer_says_what_to_pull_and_between_what_it_lies(
    model: str, tag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other programs of a machine of 8 GB: 0.10 to 4.90 GiB, so that the ends lie more than 4.80 GiB apart."""
    assert main(["which", "--device", "cpu-8gb", "--engine", "ollama", "--model", model]) == 0
    title, command, sentence = capsys.readouterr().out.splitlines()[:3]
    assert title.endswith("in q4_k_m: it probably fits")
    assert command == f"ollama pull {tag}"
    assert "what decides is other programs, assumed between 100.00 MiB and 4.90 GiB" in sentence
    best = best_file(to_take("ollama", files(model))[0])
    assert best is not None
    assert f"{best.deciding.spare_high_bytes / GIB:.2f} GiB of the machine's 7.60 GiB stay free or" in sentence
    assert f"{-best.deciding.spare_low_bytes / GIB:.2f} GiB are missing" in sentence
    assert 4.8 * GIB < best.deciding.spare_high_bytes - best.deciding.spare_low_bytes < 5 * GIB


def test_a_coarse_file_is_still_told_where_nothing_else_may_fit(capsys: pytest.CaptureFixture[str]) -> None:
    main(["which", "--memory", "4GiB", "--model", "llama-3.1-8b", "--overhead", "0.1GiB", "--context", "1024"])
    title, second = capsys.readouterr().out.splitlines()[:2]
    assert title.endswith("too coarse to be the one to take")
    assert second.startswith("In ")


def test_where_nothing_surely_fits_what_probably_does_is_told() -> None:
    """Main memory that is stated has to hold kept prompts as well, of which up to 8 GiB are assumed."""
    asked = Choices(model="", device="rtx-4060", engine="ollama", context=8_192, host_memory="4GiB")
    found = picks_for(asked, default_weights("ollama"))
    assert found
    assert all(fits_probably(pick.match) and pick.match.host_bytes <= 4 * GIB for pick in found)


def test_a_size_alone_is_not_what_a_card_of_that_size_offers(capsys: pytest.CaptureFixture[str]) -> None:
    main(["which", "--memory", "8GiB", "--engine", "ollama"])
    said = capsys.readouterr().out
    assert "Note: All 8 GiB count as what programs can use. Cards sold with 8 GB offer them 7.62 to 7.98 GiB" in said
    assert "host_bytes: of main memory, beside the system and what else is open; --host-memory 6GiB" in said
    main(["which", "--device", "rtx-4060", "--engine", "ollama"])
    assert "count as what programs can use" not in capsys.readouterr().out
