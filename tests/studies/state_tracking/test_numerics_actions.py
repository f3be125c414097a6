"""Finite group actions as tables."""

import itertools
import math

import numpy as np
import pytest

from phasescope.errors import SpecError
from phasescope.studies.state_tracking import actions, study
from phasescope.studies.state_tracking.spec import DecoderSpec, TheorySpec

# name: (order of the group, points, simply transitive)
KNOWN = {
    "C6": (6, 6, True),
    "S3": (6, 3, False),
    "S5": (120, 5, False),
    "D4": (8, 4, False),
    "D5": (10, 5, False),
    "A4": (12, 4, False),
    "A5": (60, 5, False),
    "Q8": (8, 8, True),
    "C2xC2": (4, 4, True),
    "C2xC3": (6, 6, True),
    "S3xC2": (12, 6, False),
    "regS3": (6, 6, True),
    "regA4": (12, 12, True),
    "012 120 201": (3, 3, True),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_named_group_has_its_order_and_is_an_action(name):
    action = actions.named(name)
    assert (action.actions, action.values, action.is_simply_transitive) == KNOWN[name]
    actions.validated(action.table, name)


def test_cyclic_groups_add():
    table = actions.named("C6").table
    assert all(table[g, y] == (g + y) % 6 for g, y in itertools.product(range(6), range(6)))


def test_permutations_stand_in_lexicographic_order():
    assert actions.named("S4").table.tolist() == [list(p) for p in itertools.permutations(range(4))]


def test_quaternions_do_not_commute_and_square_to_minus_one():
    table = actions.named("Q8").table
    product = lambda a, b: table[a, b]
    one, i, j, k, minus = range(5)
    assert product(i, j) == k
    assert product(j, i) == k + minus
    assert [product(u, u) for u in (i, j, k)] == [minus] * 3
    assert product(one, k) == k


def test_fibres_hold_the_elements_that_take_a_value_to_an_image():
    action = actions.named("S4")
    found = actions.fibres(action)
    assert found.shape == (4, 4, math.factorial(3))
    assert all(
        (action.table[found[j, y], y] == j).all() for j, y in itertools.product(range(4), range(4))
    )


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([[0, 1, 2], [1, 2, 0]], "not their composition"),
        ([[0, 1, 1], [0, 1, 2]], "is no permutation"),
        ([[0, 1], [0, 1], [1, 0]], "not equally often"),
        ([[0, 1, 2], [0, 1]], "of one length"),
        (np.array([[0.5, 1.0]]), "whole numbers"),
    ],
)
def test_a_table_that_is_no_action_is_refused_with_the_law_it_breaks(table, says):
    with pytest.raises(SpecError, match=says):
        actions.validated(table)


@pytest.mark.parametrize("name", ["X3", "C", "S9", "Q4", "D2", "C3y", "regX", "C9999", "C99xS6"])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(SpecError, match=r"no group|needs a number|tables stop"):
        actions.named(name)


def test_an_action_that_reaches_only_some_values_has_no_theory():
    swap = actions.validated([[0, 1, 2], [1, 0, 2]])
    assert not swap.is_transitive
    with pytest.raises(SpecError, match="transitive"):
        actions.needs_transitive(swap)


def test_bad_numbers_are_refused_with_what_to_do():
    with pytest.raises(SpecError, match=r"Take clip above 5\.5 .* 10\.55"):
        TheorySpec(threshold=4.5, clip=5.0)
    with pytest.raises(SpecError, match="cannot hold the features"):
        TheorySpec(group="S4", neurons=3)
    with pytest.raises(SpecError, match=r"clip above 6\.05"):
        TheorySpec(algorithm=2)
    with pytest.raises(SpecError, match="even power"):
        TheorySpec(power=5)


def test_the_decoder_is_not_held_to_the_numbers_of_the_theory():
    assert not hasattr(DecoderSpec(), "clip")
    with pytest.raises(
        SpecError, match='the preset "figure_1a" has no numbers for the arm routing'
    ):
        study.specify("figure_1a", "routing")


def test_np_integers_are_welcome():
    assert actions.validated(np.array([[0, 1], [1, 0]], np.int8)).is_simply_transitive
