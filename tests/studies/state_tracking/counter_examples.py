"""For every claim of the theory, evidence on which it must not hold; and, where none of its regimes is expected to hold,
made-up evidence on which it does. The decoder's are in their own file."""

import numpy as np
import xarray as xr

from phasescope.studies.state_tracking.phases import curriculum
from phasescope.testing.spoiling import (
    Change,
    backwards,
    every,
    flipped,
    last,
    lost,
    reordered,
    scaled,
    shifted,
    swapped,
)

drifting = last(lambda ds: ds.assign(conserved=ds.conserved + 1e-12 * ds.time), "conserved drifts")
at_rest = every(lambda ds: ds.assign(q43=0 * ds.q43, q44=0 * ds.q44), "no motion")
halved = every(lambda ds: ds.assign(q43=0.5 * ds.q43, q44=0.5 * ds.q44), "scores halved")
longer = last(lambda ds: ds.assign_coords(chain_length=2 * ds.chain_length), "lengths doubled")

THEORY_EXAMPLES: dict[str, list[Change]] = {
    "A": [
        scaled("copy_sum", 0.1),
        scaled("strongest", 10.0),
        scaled("slot_loss", 10.0),
        scaled("off_variable", 100.0),
    ],
    "B.3": [flipped("learned"), flipped("combined"), lost("learned")],
    "B.3-symmetric": [flipped("learned"), flipped("combined"), lost("learned")],
    "B.1b": [scaled("began", 0.5), shifted("began", -500.0), lost("learned")],
    "trap": [scaled("value_loss", 1.01), scaled("accuracy_forced", 1.1), lost("value_loss")],
    "17ab": [scaled("V_g", 0.99), flipped("V_y"), shifted("V_g", 1.0), lost("V_y")],
    "17c": [shifted("V_g", 0.5), scaled("V_y", 0.9), flipped("V_y"), lost("V_g")],
    "B.7": [drifting, scaled("V_g", 0.0), lost("conserved")],
    "18": [scaled("V_g", 1.01), scaled("V_y", 0.99), flipped("V_y"), lost("V_g")],
    "18-main": [scaled("V_g", 0.5), scaled("V_y", 1.4), lost("V_g")],
    "18-reversed": [scaled("V_y", 0.5), scaled("V_g", 3.0), flipped("V_g"), lost("V_y")],
    "D.1": [
        shifted("diagonal", 1e-9),
        shifted("off_diagonal", 1e-9),
        scaled("size_diagonal", 0.0),
        lost("loss"),
    ],
    "S2.1": [
        scaled("q43", 1.1),
        scaled("q44", 0.9),
        backwards("step_loss", "vocabulary"),
        lost("q44"),
    ],
    "S2.1b": [flipped("q44"), scaled("q44", 0.0), lost("q44")],
    "S2.2": [swapped("q43", "q44"), shifted("q43", 0.5), lost("q44")],
    "S2.3": [
        scaled("gap", 2.0),
        shifted("gap", 0.01),
        flipped("gap"),
        backwards("epsilon", "time"),
    ],
    "D.44": [
        scaled("attention_right", 1.3),
        scaled("attention_right", 0.5),
        lost("attention_right"),
    ],
    "l2-only": [shifted("q43", 1e-6), scaled("q44", 1.001), at_rest],
    "4.1-2": [
        scaled("epsilon", 10.0),
        scaled("epsilon", 0.9),
        shifted("q43", 0.1),
        lost("epsilon"),
    ],
    "4.1-time": [shifted("log_time", 1.0), scaled("epsilon", 10.0), lost("log_time")],
    "4.1-1": [longer, scaled("predicted", 1.3), flipped("last"), lost("last")],
    "dilution": [
        scaled("summed", 1.001),
        scaled("odds", 1.01),
        scaled("closed", 1.001),
        lost("summed"),
    ],
    "separation": [scaled("epsilon", 0.5), reordered, lost("epsilon")],
    "separation-updates": [scaled("epsilon", 0.5), reordered, lost("epsilon")],
    "equal-attention": [reordered, scaled("rollout", 0.1), lost("rollout")],
    "5.1-1": [
        scaled("rollout_accuracy", 0.9),
        backwards("rollout_accuracy", "chain_length"),
        lost("rollout_accuracy"),
    ],
    "5.1-1-early": [scaled("rollout_accuracy", 0.9), lost("rollout_accuracy")],
    "5.1-2": [scaled("stage_epsilon", 100.0), lost("stage_epsilon")],
    "5.1-2-ratio": [scaled("stage_epsilon", 0.5), scaled("stage_epsilon", 2.0), lost("q43")],
    "recursion": [halved, scaled("stage_length", 0.5), lost("q44")],
    "gap-feedback": [flipped("gap"), scaled("gap", 5.0), lost("gap")],
    "5.1-cor": [
        scaled("rollout_accuracy", 0.9),
        backwards("rollout_accuracy", "stage_end"),
        lost("rollout_accuracy"),
    ],
}


def _in_order(ds: xr.Dataset) -> xr.Dataset:
    """Every feature learned by the neuron foreseen, in the order foreseen."""
    learned = np.full(
        ds.learned.transpose("seed", "time", "image", "neuron", "value").shape, np.nan
    )
    for seed in range(ds.sizes["seed"]):
        for rank, (j, r, y) in enumerate(curriculum(ds.combined.isel(seed=seed, time=0))):
            learned[seed, -1, j, r, y] = 1000.0 + rank
    return ds.assign(learned=(("seed", "time", "image", "neuron", "value"), learned))


def _apart(evidence: list[xr.Dataset]) -> list[xr.Dataset]:
    return [evidence[0], *(ds.assign(epsilon=1.5 * ds.epsilon) for ds in evidence[1:])]


THEORY_REPAIRED: dict[str, Change] = {
    "B.3-symmetric": every(_in_order, "in order"),
    "18-main": every(
        lambda ds: ds.assign(V_g=1.8 * ds.V_g, V_y=0.75 * ds.V_y), "factors of the main text"
    ),
    "S2.1b": every(lambda ds: ds.assign(q44=-ds.q44), "-q44"),
    "separation": _apart,
    "5.1-1-early": every(
        lambda ds: ds.assign(rollout_accuracy=xr.ones_like(ds.rollout_accuracy)), "all right"
    ),
    "5.1-2": every(lambda ds: ds.assign(stage_epsilon=0.01 * ds.stage_epsilon), "eps / 100"),
}
