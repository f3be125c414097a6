"""For every claim, evidence on which it must not hold; and, where none of its regimes is expected to hold, made-up
evidence on which it does, so that the failure found is one that the check can tell from success."""

import json

import numpy as np
import xarray as xr

from phasescope.studies.regular_language.phases import training_time
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

classes = swapped("score_match", "score_differ")
uneven = last(
    lambda ds: ds.assign(token_score=ds.token_score / ds.position), "token_score/position"
)
figure = [
    scaled("loss", 1.0002),
    flipped("token_score"),
    swapped("attention_match", "attention_differ"),
]

COUNTER_EXAMPLES: dict[str, list[Change]] = {
    "A.1": [scaled("ratio", 3.0), scaled("ratio", 0.0), lost("ratio")],
    "eq.2": [scaled("ratio", 2.0), scaled("ratio", 0.0), lost("ratio")],
    "B.1a": [shifted("token_asymmetry", 1e-9), scaled("u_norm", 0.0), lost("token_asymmetry")],
    "B.1b": [shifted("self_asymmetry", 1e-9), shifted("score_asymmetry", 1e-9)],
    "B.1b-corrected": [
        shifted("score_asymmetry", 1e-9),
        scaled("W_norm", 0.0),
        lost("score_asymmetry"),
    ],
    "B.1c": [
        scaled("score_self", 0.5),
        scaled("W_norm", 1 / np.sqrt(2)),
        shifted("loss", 1e-9),
        shuffled,
    ],
    "B.2": [
        scaled("token_score", 2.0),
        scaled("token_score", 8.0),
        flipped("score_match"),
        shifted("W_norm", 1e-9),
    ],
    "4.1-u1": [
        scaled("token_score", 2.0),
        flipped("token_score"),
        powered("token_score", 2.0),
        shuffled,
    ],
    "4.1-ul": [
        scaled("token_score", 2.0),
        flipped("token_score"),
        backwards("token_score", "position"),
        shuffled,
    ],
    "4.1-ul-uniform": [uneven, flipped("token_score"), lost("token_score")],
    "4.1-u2": [
        scaled("token_score", 2.0),
        flipped("token_score"),
        backwards("token_score", "position"),
        shuffled,
    ],
    "4.1-A": [
        scaled("score_match", 2.0),
        flipped("score_match"),
        classes,
        shifted("score_other", 1.0),
        shuffled,
    ],
    "4.1-B": [
        scaled("score_differ", 2.0),
        flipped("score_differ"),
        classes,
        shifted("score_self", -1.0),
        shuffled,
    ],
    "4.1-C": [flipped("score_other"), shifted("score_self", 10.0), lost("score_other")],
    "4.1-C-corrected": [scaled("score_other", 2.0), flipped("score_other"), shuffled],
    "4.1-txt": [classes, flipped("score_match"), shifted("score_other", 10.0)],
    "4.3": [classes, flipped("score_match"), flipped("score_differ"), lost("score_match")],
    "4.4-norm": [scaled("u_norm", 0.1), shuffled, lost("u_norm")],
    "4.4-norm-law": [
        scaled("u_norm", np.sqrt(2)),
        scaled("u_norm", 1 / np.sqrt(2)),
        powered("u_norm", 1.1),
    ],
    "4.4-cos": [
        scaled("margin_cosine", 0.9),
        flipped("margin_cosine"),
        scaled("margin_cosine", 2.0),
    ],
    "4.4-dW": [
        shifted("W_drift", 2.0),
        scaled("W_drift", 0.0),
        scaled("W_drift", 1e6),
        lost("W_drift"),
    ],
    "4.4-window": [scaled("margin_norm", 10.0), scaled("margin_norm", 0.5), lost("margin_norm")],
    "4.x-theorem": [scaled("accuracy", 0.999), backwards("accuracy", "time"), lost("accuracy")],
    "4.x-nothing": [
        shifted("accuracy", 1e-3),
        scaled("loss", 0.9),
        scaled("loss", 2.0),
        scaled("loss_floor", 0.9),
    ],
    "4.5": [shifted("loss", 3.0), backwards("loss", "time"), lost("loss")],
    "abs-rate": [powered("loss", 0.5), powered("loss", 2.0), powered("loss", -1.0), shuffled],
    "B.5": [
        flipped("margin_direction"),
        last(lambda ds: ds.assign(margin_norm=-ds.margin_norm), "-margin_norm"),
    ],
    "B.6-margin": [
        flipped("output_match"),
        flipped("output_differ"),
        scaled("margin_norm", 0.01),
        shuffled,
    ],
    "ext-1": [
        scaled("margin_cosine", 0.999),
        scaled("W_drift", 2.0),
        powered("loss", 0.5),
        shuffled,
    ],
    "t2": [stretched(2.0), stretched(0.5), backwards("u_norm", "time"), lost("u_norm")],
    "fig2": [*figure, delayed("accuracy_by_length"), scaled("score_match", 2.0)],
    "fig3": [*figure[:2], delayed("accuracy_by_length"), delayed("accuracy")],
    "fig4": [*figure, delayed("accuracy_by_length"), delayed("accuracy"), delayed("u_norm")],
    "fig5": [*figure, delayed("accuracy_by_length"), delayed("accuracy"), delayed("u_norm")],
    "fig6": [*figure, delayed("accuracy")],
    "Alg1": [delayed("cot_accuracy"), scaled("cot_accuracy", 0.999), lost("cot_accuracy")],
    "Alg1-length": [scaled("cot_accuracy", 0.999), backwards("cot_accuracy", "time")],
    "C.1": [
        scaled("score_self", 0.5),
        scaled("W_norm", 1 / np.sqrt(2)),
        shifted("loss", 1e-9),
        shuffled,
    ],
    "5.1-u": [
        scaled("token_score", 2.0),
        flipped("token_score"),
        backwards("token_score", "position"),
        shuffled,
    ],
    "5.1-1": [
        scaled("score_differ", 2.0),
        flipped("score_differ"),
        classes,
        shifted("score_other", 1.0),
        shuffled,
    ],
    "5.1-1-base": [shifted("score_other", 1e6), flipped("score_differ"), lost("score_differ")],
    "5.1-2": [
        scaled("score_match", 2.0),
        flipped("score_match"),
        classes,
        shifted("score_self", -1.0),
        shuffled,
    ],
    "5.1-3": [flipped("score_other"), shifted("score_self", 10.0), lost("score_other")],
    "5.1-sep": [lost("margin_norm"), scaled("margin_norm", 0.0), flipped("margin_norm")],
    "5.1-sep-lam": [
        powered("margin_norm", 0.5),
        lost("margin_norm"),
        backwards("margin_norm", "lam"),
        reordered,
    ],
    "5.2": [scaled("margin_cosine", 0.9), scaled("W_drift", 10.0), scaled("W_drift", 0.0)],
    "5.3": [shifted("loss", 3.0), backwards("loss", "time"), lost("loss")],
    "5.3-rate": [powered("loss", 0.5), powered("loss", 2.0), powered("loss", -1.0), shuffled],
    "C-cotonly": [shifted("u_norm", 1e-9), scaled("loss", 1.01), lost("loss")],
    "C-saddle": [scaled("growth", 2.0), flipped("lowest"), scaled("lowest", 0.5), lost("lowest")],
    "C-noise": [
        last(lambda ds: ds.assign(loss=ds.loss / (1 + ds.time)), "loss falls"),
        lost("loss"),
    ],
    "C-init": [scaled("accuracy", 0.999), backwards("loss", "time"), scaled("loss", 2.0)],
    "par-free": [delayed("cot_accuracy"), scaled("cot_accuracy", 0.999), lost("cot_accuracy")],
    "par-free-length": [scaled("cot_accuracy", 0.999), backwards("cot_accuracy", "time")],
    "par-stair": [backwards("accuracy_by_length", "length"), lost("accuracy_by_length"), shuffled],
    "par-bif": [flipped("token_score"), classes, shifted("token_score", 1e3)],
    "R3": [shifted("loss", 1e-9), scaled("token_score", np.sqrt(3)), shuffled],
    "R8": [
        scaled("margin_norm", 2.0),
        scaled("margin_norm", 1 / np.sqrt(2)),
        backwards("margin_norm", "lam"),
    ],
    "scale-lam": [reordered, backwards("loss", "lam"), backwards("loss", "time")],
    "scale-N": [stretched(3.0), stretched(1 / 3), backwards("accuracy", "time"), lost("loss")],
}


def _uniform(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(token_score=-(training_time(ds) ** 2) + 0 * ds.token_score)


def _at_scale(ds: xr.Dataset) -> xr.Dataset:
    """The smallest |u*|, at so large a scale lam that T comes late."""
    spec = json.loads(ds.attrs["spec"]) | {"lam": 1e6}
    return ds.assign(margin_norm=2.0 + 0 * ds.margin_norm.fillna(0)).assign_attrs(
        spec=json.dumps(spec)
    )


def _solved(ds: xr.Dataset) -> xr.Dataset:
    return ds.assign(cot_accuracy=xr.where(ds.time > 0, 1.0, 0.5) + 0 * ds.cot_accuracy)


def _leading(ds: xr.Dataset) -> xr.Dataset:
    """Scores that fall from one position to the next, the last token's own lowest of all."""
    growth = ds.time / ds.time.max()
    return ds.assign(
        score_other=-growth * ds.position + 0 * ds.score_other,
        score_self=-100 * growth + 0 * ds.score_self,
    )


def _ramp(ds: xr.Dataset) -> xr.Dataset:
    since = (ds.time - float(ds.time[ds.stage == 0][-1])).clip(0)
    return ds.assign(W_drift=0.5 * since / since.max(), margin_cosine=1.0 + 0 * ds.loss)


REPAIRED: dict[str, Change] = {
    "B.1b": every(lambda ds: ds.assign(self_asymmetry=0 * ds.self_asymmetry), "no self key"),
    "4.1-ul-uniform": every(_uniform, "one constant"),
    "4.1-C": every(_leading, "keys in order"),
    "4.4-norm": every(lambda ds: ds.assign(margin_norm=2.0), "smallest margin norm"),
    "4.4-cos": every(_ramp, "aligned"),
    "4.4-window": every(_at_scale, "huge lam"),
    "4.5": every(lambda ds: ds.assign(margin_norm=0.5), "tiny margin norm"),
    "Alg1-length": every(_solved, "solved"),
    "5.1-1-base": every(
        lambda ds: ds.assign(score_differ=ds.time + 0 * ds.score_differ), "pivot ahead"
    ),
    "5.1-3": every(_leading, "keys in order"),
    "5.2": every(_ramp, "aligned and frozen"),
    "5.3": every(lambda ds: ds.assign(margin_norm=0.5), "tiny margin norm"),
    "C-noise": every(lambda ds: ds.assign(loss=2.08 + 0 * ds.loss), "stuck"),
    "par-free-length": every(_solved, "solved"),
}
