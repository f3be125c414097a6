"""Every claim of `lazy_to_rich`, on the evidence it asks for."""

from phasescope.studies.lazy_to_rich import study

from ..contract import VerdictContract

WIDE = (
    "rests on the sweeps of the exact flow over w*: 20 s for four rows; the printed equations stay"
)
LONG = "three lengths, each with its own table of kernels: 9 s for two rows; thm4-phase1 on the printed equations stays"
BOOLEAN = "45,000 sampled steps: 12 s for three rows; fig3-similar on the population stays"
TARGETS = (
    "a sweep of the exact flow over w*, five tables: 17 s for two rows; the printed equations stay"
)


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "secC.3.2-P1-population-beyond": WIDE,
        "eq14-population-beyond": WIDE,
        "eq15-corrected-population-theory": WIDE,
        "secC.3.2-lyapunov-population-beyond": WIDE,
        "thm4-phase1-population-theory": LONG,
        "ours-phase1-size-population-theory": LONG,
        "fig3-phases-training-published": BOOLEAN,
        "fig3-similar-training-published": BOOLEAN,
        "ours-fig3-flow-training-theory": BOOLEAN,
        "ours-TII-exponents-population-theory": TARGETS,
        "ours-TIII-exponents-population-theory": TARGETS,
        "ours-printed-range-training-theory": "45,000 sampled steps for one row: 19 s",
        "ours-blurred-floor-training-theory": "40,000 sampled steps for one row: 20 s",
    }
    on_the_page = {"ours-witness": ("1780", "2880", "3181")}
