"""For every claim, evidence on which it must not hold; and, where none of its rows is expected to hold, made-up
evidence on which it does, so that the failure found is one that the check can tell from success."""

import numpy as np
import xarray as xr

from phasescope.studies.regular_language.phases import spec_of
from phasescope.testing.spoiling import (
    Change,
    backwards,
    delayed,
    every,
    flipped,
    last,
    lost,
    powered,
    reordered,
    scaled,
    shifted,
    shuffled,
    stretched,
    swapped,
)

from .. import made_up_text
from ..made_up_text import late_burst, moving_on

classes = swapped("score_match", "score_differ")
by_position = every(
    lambda ds: ds.assign(token_score=ds.token_score / spec_of(ds).size), "token_score / N"
)
by_size = every(lambda ds: ds.assign(score_match=ds.score_match / spec_of(ds).size), "p / N")
by_size_q = every(lambda ds: ds.assign(score_differ=ds.score_differ / spec_of(ds).size), "q / N")
slower = every(lambda ds: ds.assign(u_norm=ds.u_norm / spec_of(ds).size), "|u| / N")
drifting = every(lambda ds: ds.assign(W_drift=ds.W_drift * spec_of(ds).size ** 3), "drift N^3")
shows = [
    flipped("token_score"),
    swapped("attention_match", "attention_differ"),
    backwards("loss", "time"),
    lost("loss"),
]
tokens = [flipped("token_score"), backwards("token_score", "position"), shuffled]
pivots = [flipped("score_match"), classes, shifted("score_other", 1.0)]
pivots_q = [flipped("score_differ"), classes, shifted("score_self", -1.0)]
seconds = [flipped("score_other"), lost("score_other"), shuffled]
kept = [scaled("loss", 1.0002), lost("loss")]
table = [scaled("ratio", 0.0), lost("ratio"), flipped("ratio")]


def all_shifted(name: str) -> Change:
    """An asymmetry of 1e-9 in every run that has one."""

    def change(ds: xr.Dataset) -> xr.Dataset:
        return ds.assign({name: ds[name] + 1e-9}) if name in ds else ds

    return every(change, f"{name} + 1e-9")


def attention_first(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """Attention that has grown before the read-out, made up."""
    return [made_up_text.gpt(), made_up_text.gpt(updates=5000)]


def readout_first(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    """The read-out has grown before attention, made up."""
    return [made_up_text.gpt(True), made_up_text.gpt(True, updates=5000)]


COUNTER_EXAMPLES: dict[str, list[Change]] = {
    "lemA.1": [scaled("ratio", 8.0), *table],
    "ours-lemA.1-half": [scaled("ratio", 1.2), *table],
    "eq2-lipschitz": [scaled("ratio", 5.0), *table],
    "eq2-remainder": [scaled("ratio", 60.0), *table],
    "ours-eq2-constants": [scaled("ratio", 1.1), *table],
    "secA.1-grad-u": [scaled("token_score", 100.0), lost("token_score"), backwards("loss", "time")],
    "secA.1-grad-W": [scaled("score_match", 1e4), lost("score_match"), scaled("u_norm", 1e-4)],
    "lemB.1-u": [
        all_shifted("token_asymmetry"),
        scaled("token_score", 1.02),
        lost("token_score"),
    ],
    "lemB.1-W-first": [all_shifted("pivot_asymmetry"), scaled("score_match", 1.02)],
    "lemB.1-W": [shifted("self_asymmetry", 1e-9), shifted("score_asymmetry", 1e-9)],
    "lemB.1-W-corrected": [
        all_shifted("score_asymmetry"),
        scaled("score_other", 1.02),
        lost("score_other"),
    ],
    "lemB.1-two-strings": [
        scaled("score_self", 0.5),
        scaled("W_norm", 1 / np.sqrt(2)),
        shifted("loss", 1e-9),
        shuffled,
    ],
    "lemC.1-u": [all_shifted("token_asymmetry"), all_shifted("pivot_asymmetry")],
    "lemC.1-W": [shifted("self_asymmetry", 1e-9), shifted("score_asymmetry", 1e-9)],
    "lemC.1-corrected": [
        scaled("score_self", 0.5),
        scaled("W_norm", 1 / np.sqrt(2)),
        shifted("loss", 1e-9),
        shuffled,
    ],
    "lemB.2-first-update": [scaled("token_score", 2.0), shifted("W_norm", 1e-9), lost("W_norm")],
    "lemB.2-v1": [flipped("token_score"), powered("token_score", 2.0), lost("token_score")],
    "lemB.2-vl": [flipped("token_score"), powered("token_score", 3.0), lost("token_score")],
    "lemB.2-v2": [flipped("token_score"), backwards("token_score", "position")],
    "lemB.2-proof-constants": [scaled("token_score", 0.1), flipped("token_score")],
    "lemB.2-proof-constants-corrected": [scaled("token_score", 1.01), flipped("token_score")],
    "lemB.2-W": [flipped("score_match"), classes, lost("score_match")],
    "lemB.2-second-key": [flipped("score_other"), lost("score_other")],
    "lemB.2-second-key-corrected": [flipped("score_other"), lost("score_other")],
    "thm4.1-v1": [by_position, flipped("token_score"), powered("token_score", 2.0)],
    "thm4.1-vl": [by_position, *tokens],
    "thm4.1-v2": [by_position, flipped("token_score"), backwards("token_score", "position")],
    "thmB.3-v1-error": [scaled("token_score", 2.0), flipped("token_score"), lost("token_score")],
    "thm4.1-match": [by_size, *pivots],
    "thm4.1-differ": [by_size_q, *pivots_q],
    "thmB.3-match": [by_size, *pivots],
    "thmB.3-differ": [by_size_q, *pivots_q],
    "thm4.1-second-key": [flipped("score_other"), shifted("score_self", 1e4), lost("score_other")],
    "thmB.3-second-key": [flipped("score_other"), shifted("score_self", 1e4), lost("score_other")],
    "thm4.1-second-key-corrected": seconds,
    "thmB.3-second-key-corrected": seconds,
    "ours-constant-of-vl": [
        backwards("token_score", "position"),
        flipped("token_score"),
        lost("token_score"),
    ],
    "ours-early-v": [scaled("token_score", 1.02), scaled("token_score", 2.0), shuffled],
    "ours-early-scores": [scaled("score_match", 1.02), scaled("score_other", 2.0), shuffled],
    "ours-constant-of-pL": [
        backwards("score_match", "length"),
        powered("score_match", 2.0),
        flipped("score_match"),
    ],
    "thm4.1-remark": [classes, flipped("score_match"), shifted("score_other", 10.0)],
    "ours-excess": [
        every(lambda ds: ds.assign(score_match=ds.score_match * spec_of(ds).size), "p N"),
        lost("score_match"),
    ],
    "prop4.3": [classes, flipped("score_match"), flipped("score_differ"), lost("score_match")],
    "sec5.3-separable": [lost("margin_norm"), scaled("margin_norm", 0.0), flipped("margin_norm")],
    "ours-parity-margin": [
        powered("margin_norm", 0.5),
        lost("margin_norm"),
        backwards("margin_norm", "lam"),
        reordered,
    ],
    "thm4.4-norm": [slower, lost("u_norm"), backwards("u_norm", "time")],
    "thm4.4-direction": [
        flipped("token_score"),
        last(lambda ds: ds.assign(margin_cosine=0.3 + 0 * ds.u_norm), "cosine 0.3"),
        lost("u_norm"),
    ],
    "thm4.4-drift": [drifting, shifted("W_drift", 2.0), scaled("W_drift", 0.0), lost("W_drift")],
    "ours-not-frozen": [scaled("W_drift", 0.01), backwards("W_drift", "time"), lost("W_drift")],
    "ours-cosine-falls": [backwards("margin_cosine", "time"), lost("margin_cosine"), shuffled],
    "thm5.2-norm": [slower, lost("u_norm"), backwards("u_norm", "time")],
    "thm5.2-direction": [
        flipped("token_score"),
        last(lambda ds: ds.assign(margin_cosine=0.1 + 0 * ds.u_norm), "cosine 0.1"),
        lost("u_norm"),
    ],
    "thm5.2-drift": [drifting, shifted("W_drift", 2.0), scaled("W_drift", 0.0), lost("W_drift")],
    "secB.2-u-norm": [scaled("u_norm", 1e3), lost("u_norm"), backwards("u_norm", "time")],
    "secB.2-T": [
        last(lambda ds: ds.assign(margin_norm=xr.DataArray(1e9)), "huge margin norm"),
        lost("u_norm"),
    ],
    "secB.2-T-corrected": [
        last(lambda ds: ds.assign(margin_norm=xr.DataArray(2.0)), "smallest margin norm"),
        lost("u_norm"),
    ],
    "lemB.5-descent": [
        flipped("margin_direction"),
        last(lambda ds: ds.assign(margin_norm=-ds.margin_norm), "-margin_norm"),
        backwards("u_norm", "time"),
    ],
    "lemB.5-norm": [scaled("u_norm", 0.0), shuffled, lost("u_norm")],
    "lemB.5-norm-late": [scaled("u_norm", 1e-3), lost("u_norm")],
    "lemB.6-margin": [
        backwards("u_norm", "time"),
        lost("u_norm"),
        every(lambda ds: ds.assign(margin_norm=xr.DataArray(3.0)), "no weak margin"),
    ],
    "thm4.5": [backwards("loss", "time"), lost("loss"), shuffled],
    "thm4.5-remark": [backwards("loss", "time"), lost("loss")],
    "ours-nothing-is-learned": [
        shifted("accuracy", 1e-3),
        scaled("loss", 0.5),
        scaled("loss_floor", 0.9),
    ],
    "thm5.3": [backwards("loss", "time"), lost("loss"), shuffled],
    "ours-nothing-is-learned-parity": [
        shifted("accuracy", 1e-3),
        scaled("loss", 0.5),
        scaled("loss_floor", 0.9),
    ],
    "abstract-rate": [powered("loss", 0.5), powered("loss", -1.0), shuffled],
    "abstract-rate-parity": [powered("loss", 0.5), powered("loss", -1.0), shuffled],
    "ours-rate": [powered("loss", 0.9), powered("loss", 2.0), powered("loss", -1.0), shuffled],
    "ours-rate-from-steeper": [powered("loss", 0.5), powered("loss", -1.0), shuffled],
    "lemC.2-short": [flipped("score_match"), classes, lost("score_match")],
    "lemC.2-pivot": [flipped("score_differ"), classes, lost("score_match")],
    "thm5.1-v1": [by_position, flipped("token_score"), powered("token_score", 2.0)],
    "thm5.1-vl": [by_position, *tokens],
    "thm5.1-v2": [by_position, flipped("token_score"), backwards("token_score", "position")],
    "thm5.1-short-match": [by_size, *pivots],
    "thm5.1-short-differ": [by_size_q, *pivots_q],
    "thm5.1-short-second-key": [
        flipped("score_other"),
        shifted("score_self", 1e4),
        lost("score_other"),
    ],
    "thm5.1-short-second-key-corrected": seconds,
    "thm5.1-pivot-differs": [flipped("score_differ"), lost("score_differ")],
    "thm5.1-pivot-differs-corrected": [by_size_q, flipped("score_differ"), classes, shuffled],
    "thm5.1-pivot-printed": [flipped("score_differ"), lost("score_differ")],
    "thm5.1-pivot-matches-corrected": [by_size, flipped("score_match"), classes, shuffled],
    "thm5.1-first-key": [flipped("score_other"), shifted("score_self", 1e4), lost("score_other")],
    "thm5.1-first-key-corrected": [flipped("score_other"), lost("score_other"), shuffled],
    "fig2": shows,
    "fig3": shows,
    "fig4-fig5": shows,
    "fig6": [*shows, stretched(2.0)],
    "sec6-t2": [stretched(2.0), stretched(0.5), backwards("u_norm", "time"), lost("u_norm")],
    "alg1": [delayed("cot_accuracy"), scaled("cot_accuracy", 0.999), lost("cot_accuracy")],
    "ours-alg1-longer": [
        scaled("cot_accuracy", 0.999),
        backwards("cot_accuracy", "time"),
        lost("cot_accuracy"),
    ],
    "sec5.2-vanishing-gradient": [shifted("u_norm", 1e-9), scaled("loss", 1.01), lost("loss")],
    "ours-saddle": [
        scaled("growth", 2.0),
        flipped("lowest"),
        scaled("lowest", 0.5),
        lost("lowest"),
    ],
    "ours-noise-trains": [
        last(lambda ds: ds.assign(loss=2.08 + 0 * ds.loss), "stuck"),
        backwards("loss", "time"),
        lost("loss"),
    ],
    "sec5.2-initialisation": [scaled("accuracy", 0.999), backwards("loss", "time"), lost("loss")],
    "sec5.2-inference": [scaled("cot_accuracy", 0.999), lost("cot_accuracy")],
    "ours-inference-other-lengths": [scaled("cot_accuracy", 0.999), lost("cot_accuracy")],
    "ours-stairs": [
        backwards("accuracy_by_length", "length"),
        lost("accuracy_by_length"),
        shuffled,
    ],
    "ours-pivot-signs": [flipped("token_score"), classes, shifted("token_score", 1e3)],
    "ours-R3": [shifted("loss", 1e-9), scaled("token_score", np.sqrt(3)), shuffled],
    "ours-R1-R2": [
        scaled("score_self", 0.5),
        scaled("margin_norm", 1.02),
        scaled("loss_floor", 1.02),
        shuffled,
    ],
    "ours-R8": [
        scaled("margin_norm", 2.0),
        scaled("margin_norm", 1 / np.sqrt(2)),
        backwards("margin_norm", "lam"),
    ],
    "ours-learning-time-lam": [reordered, backwards("loss", "lam"), backwards("loss", "time")],
    "ours-learning-time-N": [
        stretched(10.0),
        stretched(0.1),
        backwards("accuracy", "time"),
        lost("accuracy"),
    ],
    "ours-half-time-N": [stretched(10.0), stretched(0.1), backwards("loss", "time"), lost("loss")],
    "ours-norm-law": [
        scaled("u_norm", np.sqrt(2)),
        scaled("u_norm", 1 / np.sqrt(2)),
        powered("u_norm", 1.1),
    ],
    "ours-long-phase-1": [
        scaled("margin_cosine", 0.999),
        scaled("W_drift", 5.0),
        powered("loss", 0.5),
        shuffled,
    ],
    "fig2-numbers": [*kept, delayed("accuracy_by_length"), scaled("score_match", 2.0)],
    "fig3-numbers": [*kept, delayed("accuracy_by_length"), delayed("accuracy")],
    "fig4-numbers": [*kept, delayed("accuracy_by_length"), delayed("accuracy"), delayed("u_norm")],
    "fig5-numbers": [*kept, delayed("accuracy_by_length"), delayed("accuracy"), delayed("u_norm")],
    "fig6-numbers": [*kept, delayed("accuracy")],
    "sec5.2-numbers": [scaled("growth", 2.0), lost("growth")],
    "fig7-attention-first": [readout_first, lost("readout_norm"), shuffled],
    "fig7-frozen": [moving_on, late_burst, lost("attention_drift"), flipped("attention_drift")],
    "ours-fig7-readout-first": [attention_first, lost("head_score_norm"), shuffled],
}


def _leading(ds: xr.Dataset) -> xr.Dataset:
    """Scores that fall from one position to the next, the last token's own lowest of all."""
    growth = ds.time / ds.time.max()
    return ds.assign(
        score_other=-growth * ds.position + 0 * ds.score_other,
        score_self=-100 * growth + 0 * ds.score_self,
    )


def _leading_by_eta(ds: xr.Dataset) -> xr.Dataset:
    """The same in units of eta^2."""
    return ds.assign(
        score_other=-(ds.eta**2) * ds.position + 0 * ds.score_other,
        score_self=-100 * ds.eta**2 + 0 * ds.score_self,
    )


def _one_over_L(ds: xr.Dataset) -> xr.Dataset:
    """Pivots that lead and trail by eta^2 / L."""
    lead = spec_of(ds).eta ** 2 / ds.length + 0 * ds.score_differ
    return ds.assign(
        score_differ=lead,
        score_match=-lead,
        score_other=0 * ds.score_other,
        score_self=0 * ds.score_self,
    )


def _with(**values: float) -> Change:
    """Some observables replaced by one number."""

    def change(ds: xr.Dataset) -> xr.Dataset:
        return ds.assign({name: xr.DataArray(value) for name, value in values.items()})

    return every(change, ", ".join(f"{name} = {value:g}" for name, value in values.items()))


def _falling_with_lam(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(loss=ds.loss / np.sqrt(spec_of(ds).lam))


no_self_key = every(lambda ds: ds.assign(self_asymmetry=0 * ds.self_asymmetry), "no self key")
in_order = every(_leading, "keys in order")

REPAIRED: dict[str, Change] = {
    "lemB.1-W": no_self_key,
    "lemC.1-W": no_self_key,
    "lemB.2-proof-constants": every(
        lambda ds: ds.assign(token_score=10 * ds.token_score), "ten times the scores"
    ),
    "lemB.2-second-key": every(_leading_by_eta, "keys in order, by eta^2"),
    "thm4.1-second-key": in_order,
    "thmB.3-second-key": in_order,
    "secB.2-T": _with(margin_norm=2.0),
    "lemB.5-norm-late": every(
        lambda ds: ds.assign(u_norm=100 * ds.u_norm), "a hundred times the norm"
    ),
    "thm4.5-remark": every(_falling_with_lam, "loss / sqrt(lam)"),
    "lemC.2-pivot": every(_one_over_L, "leads of eta^2 / L"),
    "thm5.1-short-second-key": in_order,
    "thm5.1-pivot-differs": every(
        lambda ds: ds.assign(score_differ=ds.time + 0 * ds.score_differ), "pivot ahead"
    ),
    "thm5.1-pivot-printed": every(
        lambda ds: ds.assign(score_differ=-ds.time + 0 * ds.score_differ), "pivot behind"
    ),
    "thm5.1-first-key": in_order,
    "fig7-attention-first": attention_first,
    "fig7-frozen": attention_first,
}
