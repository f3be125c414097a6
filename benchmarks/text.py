"""Tokens a second of the decoder of Figure 2 on text, against an eager PyTorch loop of the same model.

    python benchmarks/text.py                  # on a core: width 32 and 2,000 types; on a GPU: the published size
    python benchmarks/text.py --only updates

Both begin with the same parameters; five updates in float64 must have the same losses, or nothing is timed. Torch is given
its batches, we draw ours from the text in the program. On a GPU both are timed in full float32 and in tf32.
"""

from __future__ import annotations

import sys

from harness import Table, main, ratio, take_turns, torch_or_exit

SAME = 1e-9  # largest relative difference of losses between contestants, in float64
ON_A_CORE = 0.85  # within 15% of eager PyTorch
FULL, TENSOR_CORES = 1.1, 1.5  # times eager PyTorch on a GPU


def setting(gpu: bool, quick: bool) -> dict:
    """The published size where there is a GPU, a smaller one on a core."""
    if gpu and not quick:
        return {"context": 200, "sequences": 32, "width": 128, "hidden": 512, "vocabulary": 33_278}
    if quick:
        return {"context": 16, "sequences": 4, "width": 16, "hidden": 32, "vocabulary": 100}
    return {"context": 64, "sequences": 16, "width": 32, "hidden": 128, "vocabulary": 2_000}


def begin(spec, vocabulary: int):
    """A decoder at the start, and tokens to train it on: which ones does not matter for the speed."""
    import jax.numpy as jnp
    import jax.random as jr
    import numpy as np

    from phasescope import networks
    from phasescope.networks.starts import Draws

    shape = spec.shape(vocabulary)
    draws = Draws(jr.key(0), "gaussian", 0.05, shape.layers, shape.drawn, jnp.dtype(spec.dtype))
    tokens = np.random.default_rng(0).integers(vocabulary, size=200_000).astype(np.int32)
    return networks.initial(draws, shape, 0.01), jnp.asarray(tokens)


def programs(spec, net, tokens):
    """The state at the start and the arm's own dynamics, compiled: `advance(state, t0, t1, key)`."""
    import equinox as eqx
    import jax.numpy as jnp

    import phasescope as ps
    from phasescope.networks.filled_types import filling_up
    from phasescope.networks.sampling import Windows
    from phasescope.networks.training import TextState, training

    kind = filling_up(training(spec), spec)
    empty = jnp.zeros((1, spec.context + 1), jnp.int32)
    params = TextState(net, Windows(empty, empty, empty))
    return ps.State(params, tokens, kind.init(params)), kind, eqx.filter_jit(kind.advance)


def compare(table: Table, torch, spec, vocabulary: int, device: str) -> None:
    """Five updates in float64 on the same sequences."""
    import jax.numpy as jnp
    import jax.random as jr
    import numpy as np
    import torch_text

    import phasescope as ps
    from phasescope.networks import loss

    with ps.exact_numbers():
        double = spec.replace(arithmetic="float64")
        net, tokens = begin(double, vocabulary)
        state, kind, advance = programs(double, net, tokens)
        model = torch_text.Decoder(net, device)
        ours, batches = [], []
        for t in range(5):
            batch = kind.batch(jr.key(1), jnp.array(t), tokens).windows
            ours.append(float(loss(state.params.net, batch)))
            batches.append(torch.tensor(np.asarray(batch), dtype=torch.long, device=device))
            state = advance(state, jnp.array(t), jnp.array(t + 1), jr.key(1))
    theirs = [float(x) for x in torch_text.updates(model, batches, 0.1)]
    gap = float(np.max(np.abs(np.array(ours) / np.array(theirs) - 1)))
    table.add("updates", "five updates: largest relative difference of the loss", gap, "", -SAME)
    if not gap < SAME:
        raise SystemExit(
            f"the contestants do not follow the same trajectory: {gap:.3g}; their speeds mean nothing."
        )


def updates(table: Table, quick: bool) -> None:
    """Updates in float32, through the dynamics of the arm."""
    torch = torch_or_exit()
    import jax

    from phasescope.networks import TextSpec

    gpu = jax.default_backend() == "gpu"
    sizes = setting(gpu, quick)
    vocabulary = sizes.pop("vocabulary")
    spec = TextSpec(rate=0.1, **sizes)
    device = "cuda" if gpu else "cpu"
    table.title(
        f"updates of the decoder of Figure 2 on text ({device}; {sizes}, {vocabulary} types)"
    )
    small = TextSpec(rate=0.1, context=16, sequences=4, width=16, hidden=32)
    compare(table, torch, small, 100, device)
    kinds = (("float32", FULL), ("tf32", TENSOR_CORES)) if gpu else (("float32", ON_A_CORE),)
    for arithmetic, wanted in kinds:
        _race(table, torch, spec.replace(arithmetic=arithmetic), vocabulary, device, wanted, quick)


def _race(table, torch, spec, vocabulary: int, device: str, wanted: float, quick: bool) -> None:
    import jax
    import jax.numpy as jnp
    import jax.random as jr
    import numpy as np
    import torch_text

    import phasescope as ps

    count = 3 if quick else 20
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = spec.arithmetic == "tf32"
    with ps.exact_numbers():
        net, tokens = begin(spec, vocabulary)
        state, kind, advance = programs(spec, net, tokens)
        model = torch_text.Decoder(net, device)
        drawn = [kind.batch(jr.key(1), jnp.array(t), tokens).windows for t in range(count)]
        batches = [torch.tensor(np.asarray(w), dtype=torch.long, device=device) for w in drawn]

        def ours():
            jax.block_until_ready(advance(state, jnp.array(0), jnp.array(count), jr.key(1)))

        def theirs():
            return float(torch_text.updates(model, batches, 0.1)[-1])

        ours(), theirs()
        best = take_turns({"ours": ours, "torch": theirs}, 2 if quick else 5)
    trained = count * spec.sequences * spec.context
    for name, timing in best.items():
        note = f"CPU time: {trained / timing.cpu:.4g}"
        table.add(
            "updates", f"{spec.arithmetic}, {name}", trained / timing.wall, "tokens/s", note=note
        )
    name = f"{spec.arithmetic}: ours over eager PyTorch"
    ratio(table, "updates", name, best["torch"], best["ours"], 1.0, wanted)


if __name__ == "__main__":
    sys.exit(main(__doc__, {"updates": updates}))
