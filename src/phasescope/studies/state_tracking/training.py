"""Arms of the decoder: end to end by Adam, with self-training on longer and longer chains, and its control."""

from __future__ import annotations

import phasescope as ps

from .data import check_length
from .decoder.training import become_teacher, first_stage, plan, stage
from .spec import CHAINS, DECODER, DecoderSpec


@ps.arm(spec=DecoderSpec, reads=(*CHAINS, *DECODER), continuous=("dataset",))
def decoder(spec: DecoderSpec) -> ps.Plan:
    """Adam on chains of one length with true labels."""
    return plan(spec, first_stage(spec))


@ps.arm(spec=DecoderSpec, reads=(*CHAINS, *DECODER, "stages", "stage_steps"))
def self_training(spec: DecoderSpec) -> ps.Plan:
    """The decoder, then stages on chains of twice the length each, labelled by the decoder of the stage before."""
    lengths = [spec.length * 2**k for k in range(1, spec.stages + 1)]
    check_length(lengths[-1], spec.variables)
    later = [
        stage(spec, f"length {length}", length, spec.stage_steps, become_teacher)
        for length in lengths
    ]
    return plan(spec, first_stage(spec), *later)


@ps.arm(spec=DecoderSpec, reads=(*CHAINS, *DECODER, "stages", "stage_steps"))
def control(spec: DecoderSpec) -> ps.Plan:
    """As many updates in as many stages as self-training, all at the first length with true labels."""
    names = [f"control {k}" for k in range(1, spec.stages + 1)]
    later = [stage(spec, name, spec.length, spec.stage_steps) for name in names]
    return plan(spec, first_stage(spec), *later)
