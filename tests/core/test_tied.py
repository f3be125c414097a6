"""Fields that are tied move together along one axis: in a sweep, in the evidence of a claim, on the command line."""

from __future__ import annotations

import pytest
import toys

import phasescope as ps
from phasescope.claims.tied import untied
from phasescope.cli.arguments import axes, take_tied
from phasescope.errors import SpecError
from phasescope.report.write import describe
from phasescope.verbs.registration import _text
from phasescope.verbs.rows import chosen_claims
from phasescope.verbs.sweep_layout import lay_out

FLOATS = ps.tied(start=[1.0, 2.0, 4.0], eta=[0.1, 0.2, 0.1])


def loss_after(steps: int, start: float, eta: float, width: int = 2) -> float:
    """Half the squared length of `width` coordinates that shrink by 1 - eta a step."""
    return 0.5 * width * (start * (1 - eta) ** steps) ** 2


def test_tied_floats_are_lanes_of_one_axis_named_by_the_first():
    sw = ps.sweep(toys.study, "quadratic", FLOATS, steps=[3, 4], at=[3], store=False)
    assert sw.loss.dims == ("steps", "start", "time")
    assert sw.eta.dims == ("start",)
    assert sw.eta.values.tolist() == [0.1, 0.2, 0.1]
    for start, eta in [(1.0, 0.1), (2.0, 0.2), (4.0, 0.1)]:
        found = float(sw.loss.sel(start=start, steps=4, time=3))
        assert found == pytest.approx(loss_after(3, start, eta), rel=1e-12)
    assert ps.number(sw, "eta").dims == ("start",)


def test_tied_fields_of_which_one_shapes_the_program_are_tasks():
    together = ps.tied(width=[1, 3], eta=[0.1, 0.2])
    layout = lay_out(
        toys.study, "quadratic", {"width": [1, 3], "eta": [0.1, 0.2]}, ties=[together.names]
    )
    assert [dict(task.changes) for task in layout.tasks] == [
        {"width": 1, "eta": 0.1},
        {"width": 3, "eta": 0.2},
    ]
    sw = ps.sweep(toys.study, "quadratic", together, at=[2], store=False)
    assert sw.loss.dims == ("width", "time")
    assert sw.eta.dims == ("width",)
    assert float(sw.loss.sel(width=3, time=2)) == pytest.approx(loss_after(2, 1.0, 0.2, width=3))


def test_blocks_of_a_tied_sweep_are_found_in_the_store_and_hold_whole_points(tmp_path):
    asked = {"at": [2], "block": 2, "store": tmp_path}
    first = ps.sweep(toys.study, "quadratic", FLOATS, **asked)
    assert toys.same_bits(first, ps.sweep(toys.study, "quadratic", FLOATS, **asked))
    assert len(list(tmp_path.glob("toys/quadratic/*"))) == 2


def test_an_ordinary_sweep_is_laid_out_as_before():
    layout = lay_out(toys.study, "quadratic", {"start": [1, 2], "eta": [0.1, 0.2], "width": [1, 2]})
    assert [task.columns for task in layout.tasks] == 2 * [
        (("start", (1.0, 1.0, 2.0, 2.0)), ("eta", (0.1, 0.2, 0.1, 0.2)))
    ]
    assert list(layout.outer) == ["width"]
    assert layout.tied == {}


class Ordered(ps.Spec):
    low: float = 1.0
    high: float = 2.0

    def __post_init__(self):
        super().__post_init__()
        plain = isinstance(self.low, float) and isinstance(self.high, float)
        if plain and self.low >= self.high:
            raise ps.SpecError("low must be below high")


def between(spec):
    """From low to high."""
    curve = ps.formula(lambda t: spec.low + t * (spec.high - spec.low))
    stage = ps.Stage("way", curve, ps.linear_times(1.0, 2))
    return ps.Plan(lambda key: spec.low, (stage,), lambda x: toys.Counted(x))


def test_points_are_in_range_together_where_a_rule_ties_the_fields():
    study = ps.Study("ordered", Ordered(), (between,))
    sw = ps.sweep(study, between, ps.tied(low=[3.0, 5.0], high=[4.0, 6.0]), store=False)
    assert sw.total.sel(time=1.0).values.tolist() == [4.0, 6.0]
    with pytest.raises(SpecError, match="low must be below high"):
        ps.sweep(study, between, ps.tied(low=[0.0, 5.0], high=[4.0, 4.0]), store=False)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dim": [1, 2]}, "two or more fields that move together, got dim"),
        ({"dim": [1, 2], "m0": [0.1]}, "as many values of each field, one or more, got 2 of dim"),
        ({"dim": [1, 1], "m0": [0.1, 0.2]}, "the first field, dim, names the axis"),
        ({"dim": [1, 2], "m0": 0.1}, r"lists of values, such as m0=\[1, 2\], got 0.1"),
        ({"dim": [], "m0": []}, "one or more, got 0 of dim, 0 of m0"),
    ],
)
def test_values_that_do_not_go_together_are_refused(fields, words):
    with pytest.raises(SpecError, match=words):
        ps.tied(**fields)


def test_a_field_that_is_tied_and_given_is_refused():
    with pytest.raises(SpecError, match="eta is given twice: it is tied to other fields already"):
        ps.sweep(toys.study, "quadratic", FLOATS, eta=0.3, store=False)


def test_what_is_not_tied_is_refused_by_its_place():
    with pytest.raises(SpecError, match=r"a sweep takes ps.tied\(...\) and fields by name"):
        untied([{"eta": [0.1]}], {})


@ps.claim(
    "Lemma 2",
    ps.on("training", ps.sweeps(toys.quadratic, FLOATS, steps=5)),
    kind="upper",
    assumes=ps.assume(lane={"stable": lambda spec: 1 / (spec.eta * spec.start)}),
)
def falls(runs):
    """The loss falls in every lane."""
    return ps.at_most(runs.loss.isel(time=-1), runs.loss.isel(time=0))


def test_a_claim_asks_for_a_tied_sweep_and_its_assumptions_see_the_points():
    study = ps.Study("tying", toys.Spec(), (toys.quadratic,), (falls,))
    [row] = chosen_claims(study)
    assert row.regime.name == "theory"  # eta * start is 0.1, 0.4, 0.4; of the product one is 0.8
    [judged] = ps.check(study, store=False)
    assert judged.word == "holds"
    [stable] = judged.assumptions
    assert (stable.low, stable.high) == (pytest.approx(2.5), pytest.approx(10.0))


def test_a_tied_sweep_is_described_as_one_axis():
    words = describe(ps.sweeps(toys.quadratic, FLOATS, width=[1, 2]))
    assert (
        words == "sweep of quadratic over start = 1, 2, 4 with eta = 0.1, 0.2, 0.1 and width = 1, 2"
    )


def test_the_text_of_a_request_without_ties_is_the_one_that_it_had():
    plain = "Sweeps(quadratic,None,[],[['eta',[0.1, 0.2]]],1,None,None)".replace(", ", ",")
    assert _text(ps.sweeps(toys.quadratic, eta=[0.1, 0.2])) == plain
    assert _text(ps.sweeps(toys.quadratic, FLOATS)).endswith(",None,[['start','eta']])")


def test_the_command_line_says_which_values_are_missing():
    values = axes(toys.Spec(), ["start=1,2", "eta=0.1"])
    with pytest.raises(SpecError, match="--tied start,eta: give several values of eta"):
        take_tied(["start,eta"], values)
