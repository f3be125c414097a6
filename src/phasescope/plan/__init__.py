"""What moves: descriptions of a training run. Nothing here runs anything.

`dynamics` and `flow` say how a state moves, `plan` puts stages of them in order, `observables` names what is measured.
"""
