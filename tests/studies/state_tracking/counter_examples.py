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
    powered,
    reordered,
    scaled,
    shifted,
    swapped,
)

drifting = last(lambda ds: ds.assign(conserved=ds.conserved + 1e-12 * ds.time), "conserved drifts")
at_rest = every(lambda ds: ds.assign(q43=0 * ds.q43, q44=0 * ds.q44), "no motion")
longer = last(lambda ds: ds.assign_coords(chain_length=2 * ds.chain_length), "lengths doubled")


def growing(name: str, along: str, power: float) -> Change:
    """Another power of an asymptotic variable."""
    grown = lambda ds: ds.assign({name: ds[name] * (ds[along] / ds[along][0]) ** power})
    return last(grown, f"{name} x {along}^{power:g}")


def not_ended(ds: xr.Dataset) -> xr.Dataset:
    """No stage comes down to its loss."""
    return ds.assign(stage_exponent=0.5 * ds.stage_exponent)


unfinished = last(not_ended, "stages not ended")

THEORY_EXAMPLES: dict[str, list[Change]] = {
    "lemA.12-copy": [
        scaled("copy_sum", 0.01),
        scaled("strongest", 100.0),
        scaled("slot_loss", 10.0),
        scaled("off_variable", 1000.0),
        lost("copy_sum"),
    ],
    "copy-numbers": [scaled("copy_sum", 0.9), shifted("copy_sum", 1.0), lost("copy_sum")],
    "indB.1-order": [flipped("learned"), flipped("combined"), lost("learned")],
    "indC.1-order": [flipped("learned"), flipped("combined"), lost("learned")],
    "indB.1-intervals": [scaled("began", 0.5), shifted("began", -500.0), lost("learned")],
    "ours-linear-trap": [
        scaled("value_loss", 1.01),
        scaled("accuracy_forced", 1.1),
        lost("value_loss"),
    ],
    "thmB.1-AC": [scaled("V_g", 0.99), flipped("V_y"), shifted("V_g", 1.0), lost("V_y")],
    "thmB.1-B": [shifted("V_g", 0.5), scaled("V_y", 0.9), flipped("V_y"), lost("V_g")],
    "lemB.7": [scaled("V_g", 0.9), shifted("V_y", 1.0), flipped("V_y"), lost("V_g")],
    "ours-conserved": [drifting, scaled("V_g", 0.0), lost("conserved")],
    "thmC.1-AC": [scaled("V_g", 1.01), scaled("V_y", 0.99), flipped("V_y"), lost("V_g")],
    "thmC.1-B": [shifted("V_g", 0.5), scaled("V_y", 0.9), flipped("V_y"), lost("V_g")],
    "eq18": [powered("g", 0.0), shifted("ratio", 0.5), shifted("g", -0.5), lost("ratio")],
    "ours-reversal": [scaled("V_y", 0.5), scaled("V_g", 3.0), flipped("V_y"), lost("V_y")],
    "lemD.1-lemD.2": [
        shifted("diagonal", 1e-9),
        shifted("off_diagonal", 1e-9),
        scaled("size_diagonal", 0.0),
        scaled("full_loss", 1.001),
        lost("loss"),
    ],
    "indD.1-a": [flipped("q43"), backwards("q43", "time"), lost("q43")],
    "indD.1-c": [growing("o43", "vocabulary", 0.2), growing("o44", "vocabulary", 0.2), lost("o43")],
    "lemD.21-a": [
        growing("q43", "vocabulary", 0.2),
        growing("q44", "vocabulary", -0.2),
        flipped("q43"),
        lost("q44"),
    ],
    "lemD.21-b": [swapped("q43", "q44"), growing("q44", "vocabulary", 0.2), lost("q44")],
    "lemD.17-sign": [flipped("q44"), scaled("q44", 0.0), lost("q44")],
    "indD.2-lower": [swapped("q43", "q44"), growing("q44", "vocabulary", 0.1), lost("q44")],
    "indD.2-upper": [growing("q43", "vocabulary", 0.2), lost("q44")],
    "indD.3-a": [flipped("q44"), backwards("q43", "time"), shifted("epsilon", 1.0), lost("q43")],
    "indD.3-b": [flipped("gap"), shifted("gap", -0.01), shifted("epsilon", 1.0), lost("gap")],
    "lemD.45-gap": [
        shifted("gap", 0.1),
        scaled("gap", 0.1),
        backwards("gap", "time"),
        lost("gap"),
    ],
    "lemD.44": [
        scaled("attention_right", 1.3),
        scaled("attention_right", 0.5),
        lost("attention_right"),
    ],
    "ours-step-2-alone": [shifted("q43", 1e-6), scaled("q44", 1.001), at_rest],
    "thm4.1-2": [
        growing("epsilon", "vocabulary", 0.6),
        growing("epsilon", "vocabulary", -0.6),
        scaled("epsilon", 100.0),
        lost("epsilon"),
    ],
    "ours-half-power": [growing("epsilon", "vocabulary", 0.1), scaled("epsilon", 1.1)],
    "ours-epsilon": [scaled("epsilon", 0.9), shifted("q43", 0.1), at_rest, lost("epsilon")],
    "thm4.1-time": [
        growing("log_time", "vocabulary", 0.2),
        scaled("epsilon", 100.0),
        lost("log_time"),
    ],
    "thm4.1-1": [
        backwards("forced_accuracy", "vocabulary"),
        scaled("forced_accuracy", 0.9),
        lost("forced_accuracy"),
    ],
    "ours-critical-length": [longer, scaled("predicted", 1.3), flipped("last"), lost("last")],
    "ours-dilution": [
        scaled("summed", 1.001),
        scaled("odds", 1.01),
        scaled("closed", 1.001),
        lost("summed"),
    ],
    "thm1.2-separation": [
        scaled("stage_epsilon", 1e-3),
        unfinished,
        every(lambda ds: ds.assign(epsilon=100 * ds.epsilon), "eps x 100"),
        lost("stage_epsilon"),
    ],
    "ours-equal-loss": [scaled("epsilon", 0.5), scaled("epsilon", 1.5), lost("epsilon")],
    "ours-equal-updates": [scaled("epsilon", 0.5), reordered, lost("epsilon")],
    "ours-equal-attention": [reordered, scaled("rollout", 0.1), lost("rollout")],
    "indE.2-a": [flipped("q43"), backwards("q44", "time"), lost("q43")],
    "lemE.35-a": [scaled("epsilon", 1.2), unfinished, lost("epsilon")],
    "thm5.1-time": [growing("log_time", "vocabulary", 0.2), unfinished, lost("log_time")],
    "lemE.33-lemF.14": [flipped("gap"), shifted("gap", 0.5), unfinished, lost("gap")],
    "lemE.34": [scaled("gap", -10.0), shifted("gap", -0.5), unfinished, lost("gap")],
    "thm5.1-1": [
        scaled("rollout_accuracy", 0.9),
        backwards("rollout_accuracy", "chain_length"),
        unfinished,
        lost("rollout_accuracy"),
    ],
    "thm5.1-1-six": [
        scaled("rollout_accuracy", 0.9),
        backwards("rollout_accuracy", "chain_length"),
        lost("rollout_accuracy"),
    ],
    "ours-small-clip": [
        every(lambda ds: ds.assign(rollout_accuracy=1 + 0 * ds.rollout_accuracy), "all right"),
        lost("rollout_accuracy"),
    ],
    "ours-early-threshold": [shifted("rollout_accuracy", 0.9), lost("rollout_accuracy")],
    "thm5.1-2": [scaled("stage_epsilon", 100.0), unfinished, lost("stage_epsilon")],
    "ours-eps-over-clip": [
        every(
            lambda ds: ds.assign(stage_epsilon=ds.stage_epsilon * ds["clip"] ** 0.2), "eps C_B^0.2"
        ),
        every(
            lambda ds: ds.assign(stage_epsilon=ds.stage_epsilon / ds["clip"] ** 0.2),
            "eps / C_B^0.2",
        ),
        unfinished,
        lost("stage_epsilon"),
    ],
    "lemF.16-a": [scaled("stage_epsilon", 3.0), unfinished, lost("stage_epsilon")],
    "lemF.9-double": [scaled("stage_epsilon", 0.5), scaled("stage_epsilon", 3.0), lost("q43")],
    "ours-gap-sign": [flipped("gap"), scaled("gap", 5.0), lost("gap")],
    "cor5.1": [
        scaled("rollout_accuracy", 0.9),
        backwards("rollout_accuracy", "stage_end"),
        lost("rollout_accuracy"),
    ],
    "ours-routing-fits": [
        scaled("epsilon", 1.01),
        scaled("gap", 1.01),
        scaled("attention_right", 1.01),
        scaled("step_loss", 1.01),
        scaled("stage_exponent", 1.01),
        lost("o43"),
    ],
    "ours-features-fit": [
        scaled("V_g", 1.01),
        scaled("V_y", 1.01),
        scaled("combined", 1.01),
        shifted("log_time", 0.01),
        lost("conserved"),
    ],
    "path-numbers": [scaled("gap", 2.0), shifted("log_time", 1.0), scaled("q43", 0.5), lost("gap")],
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


def _predicate_ahead(ds: xr.Dataset) -> xr.Dataset:
    """The predicate has a little more than the answer all along."""
    return ds.assign(gap=0.5 / ds["clip"] + 0 * ds.gap)


def _one_by_one(ds: xr.Dataset) -> xr.Dataset:
    """Every feature grows between two others."""
    return _in_order(ds).assign(began=_in_order(ds).learned - 1.0)


THEORY_REPAIRED: dict[str, Change] = {
    "indB.1-intervals": every(_one_by_one, "one by one"),
    "indC.1-order": every(_in_order, "in order"),
    "lemD.17-sign": every(lambda ds: ds.assign(q44=-ds.q44), "-q44"),
    "lemE.34": every(_predicate_ahead, "the predicate ahead"),
}
