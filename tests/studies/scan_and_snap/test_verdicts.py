"""Every claim of `scan_and_snap`, on the evidence it asks for."""

from phasescope.studies.scan_and_snap import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "ours-short-sequences-training-theory": "sequences of 4096 tokens for one row: 13 s",
        **dict.fromkeys(
            (
                "fig6-training-published",
                "fig6-spread-of-the-mean-training-published",
                "fig6-spread-of-the-seeds-training-published",
                "fig6-rates-training-published",
                "fig6-ratio-training-published",
                "fig6-ratio-two-training-published",
                "ours-fig6-threshold-training-published",
            ),
            "the sweeps of figure 6, at float32 sampled updates: 25 s",
        ),
        "fig5-training-published": "sampled updates of Adam for two rows",
        "ours-fig5-numbers-training-theory": "rests on the sweep of fig5",
    }
    on_the_page = {"fig6": ("2.3",), "ours-own-part": ("0.6%",), "ours-force-law": ("1.7",)}
    required_on_the_page = {"fig6": ("4.4",)}
