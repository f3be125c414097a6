"""A study and its numbers show themselves in a few lines, at a prompt and in a notebook."""

from __future__ import annotations

import toys

import phasescope as ps


def test_a_spec_shows_every_field_defaults_included():
    assert repr(toys.Spec(eta=0.5)) == (
        "Spec(width=2, start=1.0, eta=0.5, noise=0.5, goal=0.05, steps=40)"
    )


def test_a_spec_inside_a_program_shows_the_shapes_of_what_is_swept():
    with ps.exact_numbers():
        assert "eta=float64[]" in repr(toys.Spec().traced())


def test_a_spec_in_a_notebook_is_a_table_with_meanings():
    table = toys.Spec()._repr_html_()
    assert "<td>start</td><td>1.0</td><td></td><td>every coordinate at the start</td>" in table


def test_a_study_shows_its_paper_arms_fields_and_counts_and_no_addresses():
    shown = repr(ps.find("linear_modes"))
    assert shown.startswith("Study linear_modes: Saxe, McClelland")
    assert "arms: descent, flow, logistic" in shown
    assert "epsilon=0.001" in shown
    assert "claims: 3" in shown
    assert "0x" not in shown
    assert len(shown.splitlines()) <= 10


def test_a_study_in_a_notebook_is_text_and_not_markup():
    study = ps.Study("mine", toys.Spec(), (toys.quadratic,), paper="<script>")
    assert "&lt;script&gt;" in study._repr_html_()
    assert (
        "<td>quadratic</td><td>Gradient descent on half the squared length" in study._repr_html_()
    )
