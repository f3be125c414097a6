"""Every claim of `lazy_to_rich`, on the evidence it asks for."""

from phasescope.studies.lazy_to_rich import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "C-14-wide-theory": "four wide targets, each with its own table of kernels, for one row: 14 s",
        "C-F3-published": "45,000 sampled steps for one row: 14 s; C-F3-similar stays",
        "C-T4a-size-theory": "three lengths compiled for one row: 11 s",
        "F1-idx-published": "45,000 sampled steps for one row: 19 s",
        "F1-pt-published": "40,000 sampled steps for one row: 20 s",
    }
