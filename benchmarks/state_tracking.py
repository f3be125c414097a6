"""Speed of the decoder and of the rollouts of `state_tracking`: everything is a ratio, measured side by side.

    python benchmarks/state_tracking.py [--only updates|rollout|routing] [--quick] [--json FILE]

On a CPU the process keeps to one core and one run is trained; on a GPU it does not, the products of XLA are not tuned, and
five seeds are lanes of one program, against five eager loops. Before anything is timed, losses and rollouts of the
contestants are compared.
"""

from __future__ import annotations

import os
import shutil
import sys
import time

import harness
from harness import Table, main, ratio, take_turns, torch_or_exit

SEEDS = 5
QUICK_COMPILER = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"
SAME = 1e-9  # largest relative difference of losses between contestants, in float64


def setting(gpu: bool, quick: bool = False) -> dict:
    """The paper's size where there is a GPU, a smaller one on a core."""
    if gpu and not quick:
        return {"variables": 200, "width": 256, "hidden": 1024, "batch": 256, "eta": 1e-4}
    if quick:
        return {"variables": 20, "width": 32, "hidden": 64, "batch": 32, "eta": 1e-3}
    return {"variables": 50, "width": 128, "hidden": 512, "batch": 256, "eta": 1e-3}


def on_gpu() -> bool:
    import jax

    return jax.default_backend() == "gpu"


def batches(torch, spec, count: int, device: str):
    """The same chains for both: as chains, and as tokens on torch's device."""
    import jax.random as jr
    import numpy as np

    from phasescope.studies.state_tracking import data

    chains = [
        data.chains(jr.key(i), spec.action, spec.variables, spec.length, spec.batch)
        for i in range(count)
    ]
    put = lambda x: torch.tensor(np.asarray(x), dtype=torch.long, device=device)
    return chains, [
        (put(data.predicates(c, spec.tokens)), put(data.answers(c, spec.tokens))) for c in chains
    ]


def compare_updates(table: Table, torch, spec, device: str) -> None:
    """Ten updates in float64 from the same start on the same chains."""
    import jax
    import jax.random as jr
    import numpy as np
    import optax
    import torch_state_tracking

    from phasescope.engine.precision import exact_numbers
    from phasescope.studies.state_tracking.decoder import network
    from phasescope.studies.state_tracking.decoder.training import shape_of

    with exact_numbers():
        net = network.initial(jr.key(0), shape_of(spec), "float64")
        ours, theirs = batches(torch, spec, 10, device)
        optimiser = optax.adam(spec.eta)
        found, state = [], optimiser.init(net)
        model = torch_state_tracking.Decoder(net, device)

        @jax.jit
        def update(net, state, chains):
            loss, slope = jax.value_and_grad(network.loss)(net, chains)
            changes, state = optimiser.update(slope, state)
            return optax.apply_updates(net, changes), state, loss

        for chains in ours:
            net, state, loss = update(net, state, chains)
            found.append(float(loss))
    expected = [float(x) for x in torch_state_tracking.updates(model, theirs, spec.eta)]
    gap = float(np.max(np.abs(np.array(found) / np.array(expected) - 1)))
    table.add("updates", "ten updates: largest relative difference of the loss", gap, "", -SAME)
    if not gap < SAME:
        raise SystemExit(
            f"the contestants do not follow the same trajectory: {gap:.3g}; their speeds mean nothing."
        )


def updates(table: Table, quick: bool) -> None:
    """Updates of the decoder in float32, through the arm's own dynamics; torch is given its batches, we draw ours."""
    torch = torch_or_exit()
    from phasescope.studies.state_tracking import study

    gpu = on_gpu()
    if not gpu:
        torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    for group in ("C6", "S5"):
        spec = study.specify(None, "decoder", group=group, **setting(gpu, quick))
        lanes, count = (SEEDS if gpu else 1), (4 if quick else 200 if gpu else 20)
        table.title(
            f"{group}, {setting(gpu, quick)}, {lanes} seed{'s' * (lanes > 1)}, float32, {count} updates"
        )
        compare_updates(table, torch, spec, "cuda" if gpu else "cpu")
        ours, net = our_updates(table, spec, lanes)
        theirs = {
            name: eager_updates(torch, spec, net, count, "cuda" if gpu else "cpu", fused)
            for name, fused in (("torch", False), ("torch, fused Adam", True))
        }
        best = take_turns(
            {"jax": lambda run=ours, n=count: run(n)} | theirs, 1 if quick else 3 if gpu else 5
        )
        for name, timing in best.items():
            seeds = f"ms, {lanes} seeds" if name == "jax" and gpu else "ms"
            table.add("updates", f"{group}: {name}", 1e3 * timing.wall / count, seeds)
        base = min((best[name] for name in theirs), key=lambda timing: timing.wall)
        words = (
            f"{lanes} seeds as lanes, against as many eager loops"
            if gpu
            else "against eager PyTorch"
        )
        ratio(table, "updates", f"{group}: {words}", base, best["jax"], lanes, 8 if gpu else 1)


def our_updates(table: Table, spec, lanes: int):
    """A contestant that makes so many updates of all lanes, and the parameters that the first begins with."""
    import jax
    import jax.numpy as jnp
    import jax.random as jr

    from phasescope.engine.precision import exact_numbers
    from phasescope.identity.provenance import PRNG
    from phasescope.plan.dynamics import State
    from phasescope.studies.state_tracking.training import decoder

    with exact_numbers():
        plan = decoder(spec.traced())
        dynamics = plan.stages[0].dynamics
        keys = jax.vmap(lambda s: jr.key(s, impl=PRNG))(jnp.arange(lanes))

        def begin(key):
            state = plan.init(key)
            return State(state.params, state.memory, dynamics.init(state.params))

        state = jax.jit(jax.vmap(begin))(keys)
        advance = jax.jit(jax.vmap(dynamics.advance, in_axes=(0, None, None, 0)))
        began = time.perf_counter()
        jax.block_until_ready(advance(state, 0, 1, keys))
        table.add(
            "updates",
            f"{spec.group}: compilation and the first update",
            time.perf_counter() - began,
            "s",
        )
        net = jax.tree.map(lambda x: x[0], state.params.net)

    def run(count: int) -> None:
        with exact_numbers():
            jax.block_until_ready(advance(state, 0, count, keys))

    return run, net


def eager_updates(torch, spec, net, count: int, device: str, fused: bool):
    """The eager loop as a contestant."""
    import torch_state_tracking

    _, given = batches(torch, spec, 8, device)
    model = torch_state_tracking.Decoder(net, device)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None

    def run(updates: int = count) -> None:
        torch_state_tracking.updates(model, [given[i % 8] for i in range(updates)], spec.eta, fused)
        wait()

    run(2)
    return run


def rollouts(table: Table, quick: bool) -> None:
    """Greedy rollouts at L = 160 for 500 chains: keys and values kept, against a full forward at every step."""
    torch = torch_or_exit()
    import jax
    import jax.random as jr
    import numpy as np
    import torch_state_tracking

    from phasescope.engine.precision import exact_numbers
    from phasescope.studies.state_tracking import data, study
    from phasescope.studies.state_tracking.decoder import network, rollout
    from phasescope.studies.state_tracking.decoder.training import shape_of

    gpu = on_gpu()
    device = "cuda" if gpu else "cpu"
    length, count = (20, 16) if quick else (160, 500)
    sizes = setting(gpu, quick) | {"variables": length + 1}
    spec = study.specify(None, "decoder", group="C6", **sizes)
    table.title(f"Rollout, {count} chains of length {length}, {sizes}, float32")
    with exact_numbers():
        net = network.initial(jr.key(0), shape_of(spec))
        chains = data.chains(jr.key(1), spec.action, spec.variables, length, count)
        roll = jax.jit(rollout.rollout)

        def start_over(net, chains):
            """The same forward pass over the whole sentence at every step, answers not yet given masked by causality."""

            def say(n, chains):
                clauses = network.embed(net, chains)
                _, context = network.attention(net, clauses)
                scores = network.logits(net, context, clauses.plain_answers, first=network.VALUE)[
                    ..., 0, :
                ]
                value = scores.argmax(-1)[:, n] - net.shape.tokens.first_value
                return data.Chains(
                    chains.names, chains.actions, chains.values.at[:, n + 1].set(value)
                )

            return (
                jax.lax.fori_loop(0, length, say, chains).values[:, 1:]
                + net.shape.tokens.first_value
            )

        again = jax.jit(start_over)
        work = {"kept": lambda: jax.block_until_ready(roll(net, chains).values)}
        slow = {"jax": lambda: jax.block_until_ready(again(net, chains))}
        model = torch_state_tracking.Decoder(net, device)
        put = lambda x: torch.tensor(np.asarray(x), dtype=torch.long, device=device)
        tokens = put(data.predicates(chains, spec.tokens)), put(data.answers(chains, spec.tokens))
        if gpu or quick:  # on a core it takes minutes and says the same
            slow["torch"] = lambda: model.starting_over(*tokens).cpu()
        said = np.asarray(work["kept"]())
        for name, contestant in slow.items():
            same = float((np.asarray(contestant()) == said).mean())
            table.add("rollout", f"{name}, starting over: share of equal tokens", same, "", 0.99)
        best = take_turns(work | slow, 1 if quick or not gpu else 3)
    for name, timing in best.items():
        table.add(
            "rollout", f"{name if name == 'kept' else name + ', starting over'}", timing.wall, "s"
        )
    for name in slow:
        wanted = 20 if name == "jax" else None  # the same model; eager torch is printed beside it
        words = f"keys and values kept, against {name} starting over"
        ratio(table, "rollout", words, best[name], best["kept"], 1, wanted)


def routing(table: Table, quick: bool) -> None:
    """Accuracy of the reduced model on long chains, by running sums."""
    from phasescope.studies.state_tracking.theory_model.tables import accuracy_by_length

    length, count = (1000, 20) if quick else (10_000, 200)
    table.title(f"Reduced model, {count} chains of C6 and S5 of length {length}, float64")
    for group in ("C6", "S5"):
        began = time.perf_counter()
        found = accuracy_by_length(group, (length,), 10.0, 10.0, samples=count)
        first = time.perf_counter() - began
        began = time.perf_counter()
        accuracy_by_length(group, (length,), 10.0, 10.0, samples=count)
        table.add(
            "routing",
            f"{group}: rollout and forced accuracy",
            time.perf_counter() - began,
            "s",
            -10,
        )
        note = f"accuracy {float(found.rollout[0]):.3f}"
        table.add("routing", f"{group}: the same with compilation", first, "s", note=note)


if __name__ == "__main__":
    if shutil.which("nvidia-smi"):  # else tuning every product takes minutes, more on one core
        harness.pin = lambda: -1
        os.environ.setdefault("XLA_FLAGS", QUICK_COMPILER)
    sys.exit(main(__doc__, {"updates": updates, "rollout": rollouts, "routing": routing}))
