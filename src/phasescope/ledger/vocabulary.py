"""What the terms of a ledger mean, each in a sentence: for readers who have no other page at hand."""

from __future__ import annotations

from ..claims.regime import RegimeName
from ..claims.statement import Kind, Object, Whose

REGIMES = {
    RegimeName.PUBLISHED: "the evidence is an experiment of the paper, with nothing changed",
    RegimeName.THEORY: "no experiment of the paper, and every assumption of the statement is met",
    RegimeName.BEYOND: "an assumption of the statement is broken; the row says which",
}
OBJECTS = {
    Object.TRAINING: "the network, trained",
    Object.POPULATION: "the exact dynamics without sampling",
    Object.PRINTED_EQUATIONS: "the paper's own reduced equations",
    Object.CLOSED_FORM: "a closed form",
}
WHOSE = {
    Whose.PAPER: "a statement of the paper",
    Whose.CORRECTED: "the paper's statement with one of our errata",
    Whose.OURS: "a statement of ours",
}
KINDS = {
    Kind.IDENTITY: "a = b, an invariant, a closed form",
    Kind.APPROX: "about, to leading order",
    Kind.SIGN: "a > 0",
    Kind.ORDER: "a before b, a above b",
    Kind.MONOTONE: "a grows",
    Kind.UPPER: "a = O(b), a <= C b",
    Kind.LOWER: "a = Omega(b)",
    Kind.THETA: "a = Theta(b)",
    Kind.RATE: "a goes like a power or a logarithm",
    Kind.LIMIT: "a tends to b as a size grows",
    Kind.FIGURE: "what a plot shows or its text says",
    Kind.RELEASED: "a number in the authors' code, log or table",
    Kind.REGRESSION: "a number of an earlier run of ours; never counted as a result",
}
MARGIN = (
    "how far a row is from turning: 1 far inside of what is allowed, 0 on the limit, -1 as far outside as is allowed "
    "inside. A row has the smallest margin of its checks."
)
GUARD = "a condition without which a row says nothing; one that is not met makes the row undecided."
UNTYPED = (
    "a claim that does not say what kind of statement it is: its rows have an outcome and no word."
)
