"""Every claim of `lazy_to_rich`, on the evidence it asks for."""

from phasescope.studies.lazy_to_rich import study

from ..contract import VerdictContract


class TestVerdicts(VerdictContract):
    study = study
    left_to_full = {
        "C-13-time-beyond": "rests on the sweeps of C-T4b-robust-beyond; C-13-time-published stays",
        "C-15-corrected-beyond": "rests on the sweep of C-P1-beyond; C-15-corrected-published stays",
        "C-Lyap2-beyond": "rests on the sweep of C-P1-beyond; C-Lyap2-published stays",
        "C-P1-beyond": "a sweep of the exact flow: 12 s for three rows; C-P1-published stays",
        "C-T4b-robust-beyond": "three sweeps of the exact flow: 25 s; C-T4b-robust-published stays",
        "C-T4c-beyond": "rests on the sweeps of C-T4b-robust-beyond; C-T4c-published stays",
        "C-14-wide-theory": "four wide targets, each with its own table of kernels, for one row: 14 s",
        "C-F3-published": "45,000 sampled steps for one row: 14 s; C-F3-similar stays",
        "C-T4a-size-theory": "three lengths compiled for one row: 11 s",
        "F1-idx-published": "45,000 sampled steps for one row: 19 s",
        "F1-pt-published": "40,000 sampled steps for one row: 20 s",
    }
