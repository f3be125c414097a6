"""Typed claims: regimes and words are derived, assumptions are data, one's own runs are judged too."""

import json
from pathlib import Path

import pytest
import xarray as xr
from toys import Spec, any_size, quadratic

import phasescope as ps
from phasescope.claims.assumptions import lane_met, numbers_of, records_met
from phasescope.identity import fingerprint
from phasescope.testing import check_study
from phasescope.testing.study_contract import numbers_typed_in
from phasescope.verbs.regimes import standing
from phasescope.verbs.registration import check_digest, commit_of, is_registered

SMALL_STEP = ps.assume(model=("quadratic", "any_size"), lane={"small_step": lambda s: 0.5 / s.eta})


def falls(run):
    """The loss falls."""
    return ps.decreasing(run.loss, "loss") & ps.reached(run)


def claim(*rows, check=falls, **more):
    facts = {"kind": "monotone", "tex": "L'<0", "page": "p. 1", "assumes": SMALL_STEP} | more
    return ps.claim("Lemma 1", *rows, id="lem1", **facts)(check)


def study_of(*claims, **more):
    return ps.Study(
        "toys",
        Spec(),
        arms=(quadratic, any_size),
        claims=claims,
        presets={"figure_1": Spec(eta=0.2), "tiny": Spec(steps=5)},
        **more,
    )


FIGURE_1 = {"figure_1": ps.protocol("Figure 1", arms=["quadratic"], stated=["eta"])}


def regime(request, **more):
    made = claim(ps.on("training", request))
    return standing(study_of(made, **more), made, made.regimes[0]).regime.value


# --- regimes ----------------------------------------------------------------------------------------------------------


def test_the_papers_experiment_is_published():
    request = ps.runs(quadratic, preset="figure_1", at=[1, 2, 3])
    assert regime(request, protocols=FIGURE_1) == "published"


@pytest.mark.parametrize(
    "request_",
    [
        ps.runs(quadratic, preset="figure_1", steps=50),
        ps.runs(any_size, preset="figure_1"),
        ps.sweeps(quadratic, preset="figure_1", start=[1.0, 2.0]),
        ps.runs(quadratic),
    ],
)
def test_what_is_changed_is_no_longer_the_papers_experiment(request_):
    assert regime(request_, protocols=FIGURE_1) == "theory"


OPEN_START = {
    "figure_1": ps.protocol("Figure 1", arms=["quadratic"], stated=["eta"], guessed=["start"])
}


def protocols_of(request):
    made = claim(ps.on("training", request))
    return standing(study_of(made, protocols=OPEN_START), made, made.regimes[0]).protocols


@pytest.mark.parametrize(
    "request_",
    [
        ps.runs(quadratic, preset="figure_1", start=2.0),
        ps.sweeps(quadratic, preset="figure_1", start=[1.0, 2.0], seeds=2),
    ],
)
def test_what_the_paper_does_not_state_may_be_changed(request_):
    assert regime(request_, protocols=OPEN_START) == "published"


def test_what_is_an_axis_of_the_evidence_counts_as_scanned():
    swept = ps.sweeps(quadratic, preset="figure_1", start=[1.0, 2.0])
    assert [one.open_guesses for one in protocols_of(swept)] == [()]
    once = ps.runs(quadratic, preset="figure_1", start=2.0)
    assert [one.open_guesses for one in protocols_of(once)] == [("start",)]


def judged_at_a_reduced_size(check, **how):
    """A figure whose experiment has 40 steps, and is looked at after five."""
    small = ps.runs(quadratic, preset="figure_1", steps=5)
    full = ps.runs(quadratic, preset="figure_1", at=range(41))
    made = claim(ps.on("training", ps.sized(small, full)), check=check, kind="figure")
    (row,) = ps.check(study_of(made, protocols=FIGURE_1), store=False, **how)
    return str(row.regime), str(row.word), row.reduced


def test_an_experiment_that_is_looked_at_at_a_reduced_size_is_published_and_marked():
    assert judged_at_a_reduced_size(falls) == ("published", "reproduced", True)
    assert judged_at_a_reduced_size(falls, full=True) == ("published", "reproduced", False)


def never_falls(run):
    """The loss grows."""
    return ps.increasing(run.loss, "loss")


def test_what_a_reduced_size_does_not_show_is_undecided_until_the_full_size_is_run():
    assert judged_at_a_reduced_size(never_falls) == ("published", "undecided", True)
    assert judged_at_a_reduced_size(never_falls, full=True) == (
        "published",
        "not_reproduced",
        False,
    )


RANGE_OF_STARTS = {
    "figure_1": ps.protocol("Figure 1", arms=["quadratic"], varied={"start": [1.0, 2.0, 3.0]})
}


@pytest.mark.parametrize(
    ("start", "found"), [([1.0, 3.0], "published"), (2.0, "published"), ([1.0, 9.0], "theory")]
)
def test_a_figure_that_varies_a_field_is_the_experiment_at_its_own_values(start, found):
    request_ = ps.sweeps(quadratic, preset="figure_1", start=start)
    assert regime(request_, protocols=RANGE_OF_STARTS) == found


def test_where_an_assumption_is_broken_the_regime_is_beyond():
    assert regime(ps.runs(quadratic, eta=0.4)) == "theory"
    assert regime(ps.runs(quadratic, eta=0.6)) == "beyond"
    assert regime(ps.sweeps(quadratic, eta=[0.1, 0.9])) == "beyond"


def test_another_model_is_beyond():
    other = ps.assume(model={"population": ("any_size",)})
    made = claim(ps.on("training", ps.runs(quadratic)), assumes=other)
    assert standing(study_of(made), made, made.regimes[0]).regime.value == "beyond"


def test_what_a_row_breaks_on_purpose_is_beyond():
    made = claim(ps.on("training", ps.runs(quadratic), breaks="noise in the gradient"))
    found = standing(study_of(made), made, made.regimes[0])
    assert found.regime.value == "beyond"
    assert [one.name for one in found.assumptions if not one.met] == ["noise in the gradient"]


def test_a_protocol_of_no_preset_is_an_error():
    with pytest.raises(ps.SpecError, match="figure_9"):
        study_of(protocols={"figure_9": FIGURE_1["figure_1"]})


# --- assumptions ------------------------------------------------------------------------------------------------------


def test_an_assumption_is_a_ratio_over_all_lanes():
    found = lane_met("a", lambda s: s, [xr.DataArray([1.0, 100.0]), 10.0], free=True)
    assert (found.met, found.margin, found.is_scanned) == (True, 0.0, True)


def test_properties_of_a_spec_follow_its_swept_fields():
    class Sized(ps.Spec):
        lam: float = 2.0
        size: int = 3

        @property
        def ratio(self):
            return self.lam / self.size**2

    ds = xr.Dataset(coords={"lam": [9.0, 18.0]}, attrs={"spec": json.dumps(Sized().to_json())})
    assert numbers_of(ds, Sized).ratio.values.tolist() == [1.0, 2.0]


def test_records_may_miss_a_bound_on_time_by_rounding_to_whole_steps():
    time = xr.DataArray([1.0, 10.0, 11.0, 12.0], dims="time")
    met = records_met(lambda s, t: 10.6 / t, None, time)
    assert met.values.tolist() == [True, True, True, False]
    flow = xr.DataArray([1.0, 10.5, 10.7], dims="time")
    assert records_met(lambda s, t: 10.6 / t, None, flow).values.tolist() == [True, True, False]


def test_records_outside_an_assumption_are_not_compared(store):
    early = ps.assume(record={"early": lambda s, t: 20.0 / t})

    def stays_large(run):
        """The loss stays above 1e-3 early on."""
        return ps.positive(run.loss - 1e-3, "loss") & ps.reached(run)

    kind = {"kind": "sign", "assumes": early}
    made = claim(ps.on("training", ps.runs(quadratic, eta=0.1)), check=stays_large, **kind)
    (row,) = ps.check(study_of(made))
    assert (row.said, row.compared, row.asked) == ("holds", 21, 41)
    everywhere = claim(ps.on("training", ps.runs(quadratic)), check=stays_large, kind="sign")
    assert ps.check(study_of(everywhere)).rows[0].said == "false"


def test_a_free_assumption_must_be_one():
    with pytest.raises(ps.PlanError, match="not defined: large"):
        ps.assume(free=["large"])


def test_an_assumption_that_cannot_be_evaluated_is_named():
    made = claim(
        ps.on("training", ps.runs(quadratic)), assumes=ps.assume(lane={"x": lambda s: s.no})
    )
    with pytest.raises(ps.PlanError, match=r'"lem1".*"x"'):
        standing(study_of(made), made, made.regimes[0])


# --- rows -------------------------------------------------------------------------------------------------------------

OLD_KEYS = """
    study claim cites statement regime outcome expected because measured required where value runs
    reduced seconds error recorded outdated at vacuous
"""
NEW_KEYS = """
    kind whose on word assumptions margin flips_at compared asked sizes where_at sources registered
    tex page
"""
KEYS = {*OLD_KEYS.split(), *NEW_KEYS.split()}


def test_a_row_has_the_keys_of_the_contract(store):
    ledger = ps.check(study_of(claim(ps.on("training", ps.runs(quadratic)))))
    row = json.loads(json.dumps(ledger.to_json()))["rows"][0]
    assert set(row) >= KEYS
    assert (row["kind"], row["whose"], row["on"]) == ("monotone", "paper", "training")
    assert row["word"] == "holds"
    assert row["regime"] == "theory"
    assert row["assumptions"][1] == {
        "name": "small_step", "scope": "lane", "met": True, "margin": pytest.approx(0.69897), "free": False,
    }  # fmt: skip


def test_a_word_that_changed_is_a_surprise(store):
    wrong = claim(ps.on("training", ps.runs(quadratic), expect="false", because="it does"))
    assert len(ps.check(study_of(wrong)).surprises) == 1


def test_a_failure_outside_the_assumptions_is_not_held_against_the_statement(store):
    rows = ps.on("training", ps.runs(quadratic, eta=2.5), expect="outside", because="steps of 2.5")
    (row,) = ps.check(study_of(claim(rows)))
    assert (row.outcome.value, row.said, row.surprising) == ("fails", "outside", False)


def test_an_old_claim_still_checks_and_is_untyped(store):
    old = ps.claim("Lemma 1", ps.theory(ps.runs(quadratic)))(falls)
    (row,) = ps.check(study_of(old))
    assert (row.said, row.kind, row.word, row.surprising) == ("holds", None, None, False)


@pytest.mark.parametrize(
    ("kind", "word"), [("monotone", "holds"), ("figure", "reproduced"), ("regression", "as_before")]
)
def test_the_good_word_of_the_kind_is_expected_where_nothing_is_said(kind, word):
    made = claim(ps.on("training", ps.runs(quadratic)), kind=kind)
    assert made.regimes[0].expect == word


def test_an_old_claim_is_judged_on_ones_own_run(store):
    old = ps.claim("Lemma 1", ps.theory(ps.runs(quadratic)), id="lem1")(falls)
    run = ps.run(study_of(), "quadratic")
    (row,) = ps.check(study_of(old), claim="lem1", evidence=run)
    assert (row.said, row.surprising) == ("holds", False)


def test_old_and_new_forms_do_not_mix():
    with pytest.raises(ps.PlanError, match="derived"):
        ps.claim("Lemma 1", ps.theory(ps.runs(quadratic)), kind="sign")(falls)
    with pytest.raises(ps.PlanError, match="kind"):
        ps.claim("Lemma 1", ps.on("training", ps.runs(quadratic)))(falls)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"kind": "thetas"}, "theta"),
        ({"whose": "mine"}, "whose"),
        ({"whose": "corrected"}, "erratum"),
    ],
)
def test_a_wrong_word_of_a_claim_is_named(facts, said):
    with pytest.raises(ps.PlanError, match=said):
        claim(ps.on("training", ps.runs(quadratic)), **facts)


def test_because_is_filled_in_from_the_verdict(store):
    why = "at eta = 2.5 the loss is {value:.0f} at {where}, {parts[0].check}"
    rows = ps.on("training", ps.runs(quadratic, eta=2.5, steps=3), expect="outside", because=why)
    (row,) = ps.check(study_of(claim(rows)))
    assert "{" not in row.because
    assert row.because.endswith("time=3, decreasing")


def test_because_says_what_is_found_without_a_guard(store):
    def loses(run: xr.Dataset) -> ps.Verdict:
        """The loss falls, in a run of some length."""
        long = ps.guard(ps.at_least(run.sizes["time"], 1000, "records"))
        return ps.decreasing(run.loss, "loss", along="time") & long

    why = "too short: {where}; without that it {unguarded.outcome}: {unguarded.measured}"
    rows = ps.on("training", ps.runs(quadratic), expect="undecided", because=why)
    (row,) = ps.check(study_of(claim(rows, check=loses)))
    assert row.word == "undecided"
    assert "without that it holds: loss" in row.because
    assert "records" not in row.because


def test_a_fact_that_no_verdict_has_is_an_error():
    with pytest.raises(ps.PlanError, match="valu"):
        ps.on("training", ps.runs(quadratic), expect="false", because="{valu}")


def test_numbers_typed_into_because_are_found():
    typed_in = ps.on(
        "training", ps.runs(quadratic), expect="outside", because="1.5 to {value} (p. 1)"
    )
    assert numbers_typed_in(claim(typed_in), typed_in) == ["1.5"]


def test_an_old_id_still_finds_the_claim(store):
    made = claim(ps.on("training", ps.runs(quadratic)), aliases=("old-1",))
    assert ps.check(study_of(made), claim="old-1").rows[0].claim == "lem1"


def test_nothing_to_check_is_an_error(store):
    with pytest.raises(ps.PlanError, match="nothing to check"):
        ps.check(study_of())
    with pytest.raises(ps.PlanError, match="regime beyond"):
        ps.check(study_of(claim(ps.on("training", ps.runs(quadratic)))), regime="beyond")


def test_statements_without_a_claim_are_listed(store):
    made = claim(ps.on("training", ps.runs(quadratic)))
    ledger = ps.check(study_of(made, unchecked={"Figure 7": "it needs a corpus"}))
    assert ledger.unchecked == {"toys": {"Figure 7": "it needs a corpus"}}


def test_a_ledger_is_a_table_of_pandas(store):
    table = ps.check(study_of(claim(ps.on("training", ps.runs(quadratic))))).to_dataframe()
    assert table.loc[0, "word"] == "holds"
    assert set(table.columns) >= KEYS


# --- one's own evidence -----------------------------------------------------------------------------------------------


def judged(*evidence, **more):
    made = claim(ps.on("training", ps.runs(quadratic)), **more)
    return ps.check(study_of(made), claim="lem1", evidence=evidence)


def test_ones_own_run_is_judged_with_the_same_words(store):
    good = ps.run(study_of(), "quadratic", eta=0.3)
    bad = ps.run(study_of(), "quadratic", eta=2.5, steps=5)
    assert [row.said for row in judged(good)] == ["holds"]
    assert [row.said for row in judged(bad)] == ["outside"]
    assert judged(good).surprises == []


def test_a_request_of_ones_own_arm_is_judged(store):
    def variant(spec):
        """Descent with half the rate."""
        return quadratic(spec.replace(eta=spec.eta / 2))

    (row,) = judged(ps.runs(variant, eta=0.3))
    assert (row.said, row.regime.value) == ("holds", "beyond")


def test_a_sweep_is_judged_in_every_lane(store):
    runs = ps.sweep(study_of(), "quadratic", eta=[0.1, 0.3, 2.5], steps=5)

    def falls_in_time(run):
        """The loss falls."""
        return ps.decreasing(run.loss, "loss", along="time")

    (row,) = judged(runs, check=falls_in_time)
    assert row.said == "outside"
    assert row.verdict is not None
    assert row.verdict.lanes.outcome.values.tolist() == [1, 1, -1]


def test_another_number_of_datasets_is_an_error(store):
    run = ps.run(study_of(), "quadratic")
    with pytest.raises(ps.PlanError, match=r"takes 1 datasets \(run\), got 2"):
        judged(run, run)
    with pytest.raises(ps.PlanError, match="name it"):
        ps.check(study_of(claim(ps.on("training", ps.runs(quadratic)))), evidence=run)


# --- the contract of a study ------------------------------------------------------------------------------------------


def test_two_rows_on_the_same_object_and_regime_break_the_contract():
    rows = [ps.on("training", ps.runs(quadratic, eta=eta)) for eta in (0.1, 0.2)]
    with pytest.raises(AssertionError, match="two rows on training, theory"):
        check_study(study_of(claim(*rows)), evidence=False)


def test_a_kind_that_does_not_fit_its_check_breaks_the_contract(store):
    made = claim(ps.on("training", ps.runs(quadratic)), kind="theta")
    with pytest.raises(AssertionError, match="kind theta asks for big_theta"):
        check_study(study_of(made))


# --- registration -----------------------------------------------------------------------------------------------------


def test_a_check_that_was_there_before_its_evidence_is_registered(tmp_path, monkeypatch):
    evidence = ps.recorded(ps.runs(quadratic, steps=5), tmp_path / "short.zip")
    made = claim(ps.on("training", evidence))
    study = study_of(made)
    monkeypatch.setattr(
        "phasescope.verbs.record.commit_of", lambda arm: {"commit": "abc", "dirty": False}
    )
    ps.record(study, evidence)
    assert is_registered(made, made.regimes[0].evidence)
    (row,) = ps.check(study, store=False)
    assert row.registered

    def changed(run):
        """The loss falls."""
        return ps.decreasing(run.loss, "loss", strictly=False) & ps.reached(run)

    later = claim(ps.on("training", evidence), check=changed)
    assert check_digest(later) != check_digest(made)
    assert not is_registered(later, later.regimes[0].evidence)

    ps.record(study_of(later), evidence, replaces=evidence.file)
    assert not is_registered(later, later.regimes[0].evidence), "its answer had been seen"


EVIDENCE = ps.recorded(ps.runs(quadratic, steps=5), Path("short.zip"))


def declared(**more):
    """One function, claimed in several ways."""

    @ps.claim(
        "Lemma 1",
        ps.on("training", EVIDENCE, expect=more.get("expect"), because=more.get("because", "")),
        id="lem1",
        kind=more.get("kind", "monotone"),
        tex=more.get("tex", ""),
        assumes=more.get("assumes"),
    )
    def falling(run):
        """The loss falls."""
        return ps.decreasing(run.loss, "loss")

    return check_digest(falling)


def test_what_is_established_once_the_evidence_is_there_is_no_part_of_the_check():
    before = declared(expect="error", because="not recorded yet")
    assert declared(expect="false", because="it grows: {value:.3g}", tex="L' < 0") == before


@pytest.mark.parametrize("changed", [{"kind": "sign"}, {"assumes": SMALL_STEP}])
def test_what_decides_the_word_is_part_of_the_check(changed):
    assert declared(**changed) != declared()


BOUND = 0.5


def _falls(run):
    return ps.decreasing(run.loss, "loss") & ps.at_most(run.loss, BOUND)


def test_the_digest_of_a_check_sees_what_it_calls_and_the_constants_there(monkeypatch):
    def check(run):
        """The loss falls."""
        return _falls(run)

    made = claim(ps.on("training", ps.runs(quadratic)), check=check)
    before = check_digest(made)
    assert before is not None
    monkeypatch.setitem(globals(), "BOUND", 0.6)
    assert check_digest(made) != before
    monkeypatch.setitem(globals(), "BOUND", ps.chosen(0.5, "a reason changes no number"))
    assert check_digest(made) == before
    monkeypatch.setitem(globals(), "_falls", lambda run: ps.decreasing(run.loss, "loss"))
    assert check_digest(made) != before


def test_the_digest_of_a_check_does_not_see_where_its_evidence_is_kept(tmp_path):
    here, there = (
        claim(ps.on("training", ps.recorded(ps.runs(quadratic), tmp_path / name)))
        for name in ("a.zip", "b.zip")
    )
    assert check_digest(here) == check_digest(there) is not None


def test_evidence_of_changed_files_registers_nothing(tmp_path, monkeypatch):
    evidence = ps.recorded(ps.runs(quadratic, steps=5), tmp_path / "short.zip")
    made = claim(ps.on("training", evidence))
    monkeypatch.setattr(
        "phasescope.verbs.record.commit_of", lambda arm: {"commit": "abc", "dirty": True}
    )
    ps.record(study_of(made), evidence)
    assert not is_registered(made, made.regimes[0].evidence)


def test_a_run_that_is_made_when_it_is_checked_is_post_hoc():
    made = claim(ps.on("training", ps.runs(quadratic)))
    assert not is_registered(made, made.regimes[0].evidence)


def test_code_outside_git_has_no_commit():
    outside = {}
    exec(compile("def arm(spec): ...", "/nowhere/study.py", "exec"), outside)
    assert commit_of(outside["arm"]) == {"commit": None, "dirty": None}


def test_the_commit_is_that_of_the_code_of_the_arm():
    assert commit_of(ps.find("lazy_to_rich").arm("exact_flow")) == commit_of(ps.run)


def test_where_recorded_evidence_lies_is_no_part_of_the_check_that_asks_for_it(tmp_path):
    here, there = (ps.recorded(ps.runs(quadratic), tmp_path / name) for name in ("a", "b"))
    assert here != there
    assert fingerprint(here).model == fingerprint(there).model


@pytest.mark.parametrize(("along", "outcome"), [("eta", None), ("1/eta", "fails")])
def test_a_bound_as_something_falls_to_zero_is_not_looked_at_as_it_grows(along, outcome):
    """1/eta is bounded as eta grows, and not as it falls to 0: that must not hold."""

    def bounded(runs):
        """1/eta stays bounded as eta falls to 0."""
        etas = [0.4, 0.2, 0.1, 0.05, 0.025, 0.0125]
        return ps.big_o({eta if along == "eta" else 1 / eta: 1 / eta for eta in etas}, along=along)

    row = ps.on("training", ps.runs(any_size))
    made = claim(row, check=bounded, kind="upper", as_=("eta", "0"))
    [found] = ps.check(study_of(made), store=False)
    if outcome is None:
        assert found.error and "1/eta" in found.measured
    else:
        assert found.outcome == outcome
