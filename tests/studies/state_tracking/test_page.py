"""Numbers on the study's page that no row measures: closed forms, and sizes of the reductions."""

import jax

from phasescope.studies.state_tracking import actions, data
from phasescope.studies.state_tracking.claims import evidence
from phasescope.studies.state_tracking.theory_model import limits, routing_model

from ..contract import not_said


def test_the_page_has_the_ratio_of_waiting_to_growing():
    slow, trapped = limits.order_parameter(1e6, 10), limits.order_parameter(1e4, 4)
    assert dict(evidence.trapped["C3"].changes).items() >= {"vocabulary": 1e4, "power": 4}.items()
    said = (
        f"{slow:.0f} at d = 1e6, q = 10",
        rf"At $\kappa = {trapped:.3f}$ (d = 1e4, q = 4)",
    )
    assert not_said("state_tracking", *said) == []


def test_the_page_has_the_limits_of_symmetric_groups():
    ratios = [limits.imbalance(actions.named(name)) for name in ("S3", "S4", "S5")]
    said = rf"with $C_\alpha$ = {', '.join(f'{ratio:.2f}' for ratio in ratios)} for S3, S4, S5"
    assert not_said("state_tracking", said) == []


def test_the_page_says_from_which_clip_the_printed_constants_would_do():
    least = 20.16 * 1.005 / 0.01
    assert 2000 < least < 2050  # "2000", to a digit
    said = (r"for $20.16 \cdot 1.005 / C_B < 0.01$, $C_B > 2000$", "ask for a $C_B$ of 2000")
    assert not_said("state_tracking", *said) == []


def test_the_page_counts_the_cases_of_the_second_answer():
    said = []
    for name in ("C6", "S5"):
        action = actions.named(name)
        few, every = (
            len(cases(action, 2).first)
            for cases in (routing_model.orbit_cases, routing_model.every_case)
        )
        said.append(
            f"{few} {'cases ' * (name == 'C6')}instead of {every:,} for {name}".replace(",", " ")
        )
    assert not_said("state_tracking", ", ".join(said)) == []


def test_the_line_that_makes_data_without_a_trainer_runs():
    made = 'data.vocabulary(actions.named("S5"), 60)'
    names = {"data": data, "actions": actions, "key": jax.random.key(0)}
    names["tokens"] = eval(made, names)
    line = 'data.sentence(data.chains(key, actions.named("S5"), variables=60, length=5, count=128), tokens)'
    assert not_said("state_tracking", f"`{line}`, where `tokens = {made}`") == []
    assert eval(line, names).shape == (128, 5 + 6, data.SLOTS)  # moves, answers 0 to 5
