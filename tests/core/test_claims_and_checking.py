"""Claims are citations with evidence; the ledger carries every one of them out, whatever happens to the others."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import toys
import xarray as xr

import phasescope as ps
from phasescope.cli.output import show_check_cost
from phasescope.errors import PlanError, SpecError, StudyNotFound
from phasescope.ledger.ledger import Ledger
from phasescope.records import evidence_file as recording
from phasescope.store import Store
from phasescope.verbs import execute as checkpoints
from phasescope.verbs.check_cost import check_cost
from phasescope.verbs.context import Context
from phasescope.verbs.evidence import Evidence
from phasescope.verbs.rows import chosen_claims

HOLDS, FAILS, UNDECIDED = ps.Outcome.HOLDS, ps.Outcome.FAILS, ps.Outcome.UNDECIDED
SHORT = {"steps": 6}
evidence = ps.runs(toys.quadratic, **SHORT)


def studied(*claims) -> ps.Study:
    return ps.Study("toys", toys.Spec(), toys.ARMS, claims)


def ledger(*claims, **how):
    return ps.check(studied(*claims), **{"store": False} | how)


@ps.claim("Lemma 1", evidence)
def falls(run):
    """The loss
    falls."""
    return ps.decreasing(run.loss)


@ps.claim("Lemma 2", evidence, id="2-rises")
def rises(run):
    """The loss rises."""
    return ps.increasing(run.loss)


@ps.claim("Lemma 3", evidence)
def breaks(run):
    """This cannot be checked."""
    raise ZeroDivisionError("division by zero")


# --- claims ---------------------------------------------------------------------------------------------------------


def test_plain_evidence_is_the_published_regime():
    assert [r.name for r in falls.regimes] == ["published"]


def test_a_claim_is_called_by_its_name_unless_it_has_an_id():
    assert (falls.id, rises.id, rises.name) == ("falls", "2-rises", "rises")


def test_the_docstring_is_the_statement_in_one_line():
    assert falls.statement == "The loss falls."


def test_a_claim_can_be_handed_made_up_evidence():
    made_up = xr.Dataset({"loss": ("time", [1.0, 2.0])}, {"time": [0.0, 1.0]})
    assert falls(made_up).outcome is FAILS


def test_a_claim_that_gives_no_verdict_is_named():
    vague = ps.claim("Lemma", evidence)(lambda run: True)
    with pytest.raises(PlanError, match="returned bool, not a Verdict"):
        vague(xr.Dataset())


@pytest.mark.parametrize("kind", ["NoneType", "dict"])
def test_a_table_that_is_no_dataset_is_named(kind):
    def my_run():
        return {"NoneType": None, "dict": {"loss": [1.0, 0.5]}}[kind]

    @ps.claim("Lemma", ps.tables(my_run))
    def the_loss_falls(run):
        """The loss falls."""
        return ps.decreasing(run.loss)

    [row] = ledger(the_loss_falls)
    assert row.error
    assert f"my_run, which ps.tables calls, returned {kind}, not a dataset" in row.measured


def test_a_regime_may_be_given_once():
    with pytest.raises(
        PlanError, match="Theorem 1: each regime may be given once, got theory, theory"
    ):
        ps.claim("Theorem 1", ps.theory(evidence), ps.theory(evidence))


def test_an_unusual_expectation_needs_a_reason():
    with pytest.raises(
        PlanError, match="Theorem 1, beyond: an expected outcome other than `holds` needs a reason"
    ):
        ps.claim("Theorem 1", ps.beyond(evidence, expect=FAILS))


# --- requests -------------------------------------------------------------------------------------------------------


def test_requests_for_the_same_run_are_equal():
    again = ps.runs(toys.quadratic, steps=6)
    assert len({evidence, again, ps.runs(toys.quadratic, steps=7)}) == 2


def test_a_sweep_knows_its_axes_from_its_changes():
    request = ps.sweeps(toys.quadratic, eta=[0.1, 0.2], steps=6, start=np.array([1.0, 2.0]))
    assert ([k for k, _ in request.axes], request.changes) == (["eta", "start"], (("steps", 6),))


def test_a_table_is_asked_for_with_hashable_arguments():
    assert len({ps.tables(len, sizes=[1, 2]), ps.tables(len, sizes=(1, 2))}) == 1


# --- the ledger -----------------------------------------------------------------------------------------------------


def test_every_claim_has_a_row_with_its_outcome():
    assert [(row.claim, row.outcome) for row in ledger(falls, rises)] == [
        ("falls", "holds"),
        ("2-rises", "fails"),
    ]


def test_an_outcome_that_is_not_the_expected_one_is_a_surprise():
    assert [row.claim for row in ledger(falls, rises).surprises] == ["2-rises"]


def test_an_expected_failure_is_no_surprise():
    wrong = ps.claim("Lemma", ps.beyond(evidence, expect=FAILS, because="it falls"))(rises.check)
    assert ledger(wrong).surprises == []


def test_a_check_that_cannot_be_carried_out_is_undecided_and_a_surprise():
    [row] = ledger(breaks)
    why = "could not be checked: ZeroDivisionError: division by zero ("
    assert (row.outcome, row.surprising, row.measured[: len(why)]) == ("undecided", True, why)
    assert '`raise ZeroDivisionError("division by zero")`)' in row.measured  # the author's own line


def test_a_check_that_breaks_is_a_surprise_even_where_undecided_is_expected():
    unclear = ps.claim("Lemma", ps.beyond(evidence, expect=UNDECIDED, because="too short"))(
        breaks.check
    )
    assert len(ledger(unclear).surprises) == 1


def test_a_check_that_breaks_does_not_hide_the_others():
    assert [row.outcome for row in ledger(breaks, falls)] == ["undecided", "holds"]


def test_evidence_that_cannot_be_obtained_is_undecided():
    lost = ps.claim("Lemma", ps.runs(toys.quadratic, eta=-1.0))(falls.check)
    assert "eta must be above 0" in ledger(lost).rows[0].measured


def test_claims_share_the_runs_they_ask_for(monkeypatch):
    executed, execute = [], checkpoints.execute
    monkeypatch.setattr(
        checkpoints, "execute", lambda *args: (executed.append(1), execute(*args))[1]
    )
    ledger(falls, rises, breaks)
    assert len(executed) == 1


def test_a_row_names_the_runs_it_rests_on(store):
    [row] = ledger(falls, store=store)
    assert row.runs == tuple(entry.id for entry in Store(store).entries())


def test_a_run_that_diverged_is_evidence_too():
    @ps.claim("Remark", ps.runs(toys.squaring, start=2.0))
    def explodes(run):
        """Squaring leaves the finite numbers."""
        return ps.at_most(run.diverged_at, 10.0)

    assert ledger(explodes).rows[0].outcome == "holds"


def test_sweeps_and_tables_are_evidence_too():
    @ps.claim(
        "Remark",
        ps.sweeps(toys.quadratic, eta=[0.1, 0.2], **SHORT),
        ps.tables(xr.Dataset, attrs=None),
    )
    def two_rates(runs, table):
        """Two rates were run."""
        return ps.at_least(xr.DataArray(float(runs.sizes["eta"] + len(table))), 2.0)

    assert ledger(two_rates).rows[0].outcome == "holds"


@pytest.mark.parametrize(("full", "steps", "reduced"), [(False, 6.0, True), (True, 12.0, False)])
def test_the_size_of_the_evidence_is_chosen_and_noted(full, steps, reduced):
    @ps.claim("Remark", ps.sized(evidence, ps.runs(toys.quadratic, steps=12)))
    def how_long(run):
        """How long it ran."""
        return ps.within(run.time[-1], steps, steps)

    [row] = ledger(how_long, full=full)
    assert (row.outcome, row.reduced) == ("holds", reduced)


@pytest.mark.parametrize(
    ("recompute", "steps", "recorded"), [(False, 12.0, True), (True, 6.0, False)]
)
def test_recorded_is_read_or_run_again_and_noted(recompute, steps, recorded, tmp_path):
    kept = ps.recorded(evidence, tmp_path / "long_run.zip")
    recording.write(
        kept,
        ps.run(toys.study, "quadratic", steps=12, store=False, progress=False),
        toys.Spec,
        seconds=3.0,
    )

    @ps.claim("Remark", kept)
    def how_long(run):
        """How long it ran."""
        return ps.within(run.time[-1], steps, steps)

    [row] = ledger(how_long, recompute=recompute)
    assert (row.outcome, row.recorded) == ("holds", recorded)
    assert ("recorded:long_run" in row.runs) == recorded


def test_a_recorded_file_says_where_its_numbers_come_from(tmp_path):
    kept = ps.recorded(evidence, tmp_path / "run.zip")
    recording.write(
        kept,
        ps.run(toys.study, "quadratic", steps=6, store=False, progress=False),
        toys.Spec,
        seconds=3.0,
    )
    manifest = json.loads(recording.read(kept.file).attrs["manifest"])
    assert manifest["request"]["arm"] == "quadratic"
    assert manifest["seconds"] == 3.0
    assert {"device", "versions", "model", "code", "XLA_FLAGS"} <= manifest.keys()
    assert manifest["precision"] == "float64"


def test_a_row_that_rests_on_what_other_code_recorded_says_so(tmp_path, monkeypatch):
    kept = ps.recorded(evidence, tmp_path / "run.zip")
    recording.write(
        kept, ps.run(toys.study, "quadratic", steps=6, store=False, progress=False), toys.Spec
    )

    @ps.claim("Remark", kept)
    def how_long(run):
        """How long it ran."""
        return ps.within(run.time[-1], 6, 6)

    [row] = ledger(how_long)
    assert (row.outcome, row.recorded, row.outdated) == ("holds", True, False)
    monkeypatch.setattr(toys, "loss", lambda w, batch: 0.0)  # edit the model
    [row] = ledger(how_long)
    assert (row.outcome, row.recorded, row.outdated) == ("holds", True, True)
    assert "recorded with other code" in repr(Ledger((row,)))


def test_the_price_of_recorded_is_the_recorded_one_and_names_the_device(tmp_path, monkeypatch):
    kept = ps.recorded(evidence, tmp_path / "run.zip")
    run = ps.run(toys.study, "quadratic", steps=6, store=False, progress=False)
    recording.write(kept, run, toys.Spec, seconds=1234.5, device="gpu: NVIDIA H200")

    @ps.claim("Remark", kept)
    def how_long(run):
        """How long it ran."""
        return ps.within(run.time[-1], 6, 6)

    study = dataclasses.replace(toys.study, claims=(how_long,))
    [row] = check_cost(study, recompute=True, store=False)
    assert row["recorded"] == {"gpu: NVIDIA H200": 1234.5}
    show_check_cost([row])


def test_evidence_that_was_never_recorded_is_undecided_and_says_so(tmp_path):
    @ps.claim("Remark", ps.recorded(evidence, tmp_path / "absent.zip"))
    def how_long(run):
        """How long it ran."""
        return ps.within(run.time[-1], 1, 1)

    [row] = ledger(how_long)
    assert (row.outcome, row.surprising) == ("undecided", True)
    assert "absent.zip was not recorded yet" in row.measured


def test_a_ledger_is_plain_json():
    [row] = ledger(falls).to_json()["rows"]
    assert {
        "study",
        "claim",
        "regime",
        "outcome",
        "expected",
        "measured",
        "required",
        "where",
        "runs",
    } <= row.keys()


def test_a_ledger_prints_itself():
    assert "falls" in repr(ledger(falls))


# --- choosing -------------------------------------------------------------------------------------------------------

both = ps.claim("Lemma 4", ps.published(evidence), ps.theory(evidence))(falls.check)


def test_one_regime_may_be_asked_for():
    assert [row.regime for row in ledger(both, regime="theory")] == ["theory"]


def test_one_claim_may_be_asked_for_by_id_or_name():
    rows = [ledger(falls, rises, claim=name).rows for name in ("2-rises", "rises")]
    assert [row.claim for [row] in rows] == ["2-rises", "2-rises"]


def test_a_claim_of_one_study_may_be_asked_of_several():
    other = ps.Study("other", toys.Spec(), toys.ARMS)
    assert [row.study for row in ps.check(other, studied(falls), claim="falls", store=False)] == [
        "toys"
    ]


def test_an_unknown_claim_is_refused_with_the_nearest():
    with pytest.raises(StudyNotFound, match=r'toys: no claim "fall".*Did you mean "falls"'):
        ledger(falls, claim="fall")


def test_an_unknown_regime_is_refused_with_the_nearest():
    with pytest.raises(SpecError, match=r'there is no regime "teory".*Did you mean "theory"'):
        ledger(falls, regime="teory")


# --- the cost -------------------------------------------------------------------------------------------------------


def test_the_cost_of_a_request_is_known_before_and_after(store):
    wanted = Evidence(studied(falls), Context(Store(store)))
    before = wanted.missing(evidence)
    wanted.get(evidence)
    assert (before, wanted.missing(evidence)) == ((1, 1), (1, 0))


def test_a_sweep_costs_its_blocks(store):
    wanted = Evidence(studied(falls), Context(Store(store)))
    assert wanted.missing(ps.sweeps(toys.quadratic, eta=[0.1, 0.2], width=[1, 2, 3])) == (3, 3)


def test_a_table_costs_nothing():
    assert Evidence(studied(), Context()).missing(ps.tables(len, x=1)) == (0, 0)


def test_claims_are_chosen_in_the_order_of_the_paper():
    chosen = chosen_claims(studied(rises, both), None, None)
    expected = [("2-rises", "published"), ("falls", "published"), ("falls", "theory")]
    assert [(c.id, r.name) for c, r in chosen] == expected


# --- claims are judged with exact joins -------------------------------------------------------------------------------


@ps.claim("Lemma 2", ps.runs(toys.quadratic, steps=10), ps.runs(toys.quadratic, steps=6))
def forgets_records(long, short):
    """Compares two runs, of which one has more records."""
    return ps.at_most(abs(long.loss - short.loss), 0.0)


@ps.claim("Lemma 3", ps.runs(toys.quadratic, steps=10), ps.runs(toys.quadratic, steps=6))
def selects_records(long, short):
    """Compares the records that two runs share."""
    return ps.at_most(abs(long.loss.sel(time=short.time) - short.loss), 0.0)


def test_a_claim_that_would_lose_records_cannot_be_checked():
    [row] = ledger(forgets_records)
    assert row.error
    assert (
        "could not be checked: it computes with datasets whose coordinates differ" in row.measured
    )
    assert "'time'" in row.measured


def test_a_claim_that_selects_the_records_it_compares_is_judged():
    [row] = ledger(selects_records)
    assert row.outcome == "holds"


def test_the_users_joins_are_left_alone():
    ledger(forgets_records)
    assert xr.get_options()["arithmetic_join"] == "inner"


def test_record_runs_the_request_and_writes_what_claims_will_read(tmp_path):
    kept = ps.recorded(
        ps.sweeps(toys.quadratic, steps=6, start=[1.0, 2.0]), tmp_path / "new" / "sweep.zip"
    )
    made = ps.record(
        toys.study, kept, prepare=lambda ds: ds.assign(loss=ds.loss.round(3)), rounded=1e-3
    )
    found = recording.read(kept.file)
    manifest = json.loads(found.attrs["manifest"])
    assert found.start.values.tolist() == [1.0, 2.0]
    xr.testing.assert_identical(found.loss, made.loss)
    assert (found.loss == found.loss.round(3)).all()
    assert manifest["rounded"] == 1e-3
    assert manifest["seconds"] >= 0


def test_recorded_evidence_that_is_made_in_a_store_is_found_there_again(tmp_path):
    kept = ps.recorded(ps.runs(toys.quadratic, steps=6), tmp_path / "run.zip")
    first = ps.record(toys.study, kept, store=tmp_path / "store")
    again = ps.record(toys.study, kept, store=tmp_path / "store")
    xr.testing.assert_identical(first.loss, again.loss)
    assert len(list((tmp_path / "store").rglob("run.json"))) == 1
