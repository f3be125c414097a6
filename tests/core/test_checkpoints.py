"""Checkpoints that phasescope did not make: norms by group, digests, copies, and files that are refused. Without torch."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

import phasescope as ps
from phasescope import probes
from phasescope.checkpoints import tensorfile
from phasescope.checkpoints.folders import step_of
from phasescope.cli import app as cli

WIDTH = 6
HEADS = 2


def gpt2(seed, scale=1.0):
    """Parameters under the names of GPT-2: keys, queries and values side by side, as columns."""
    random = np.random.default_rng(seed)
    shapes = {
        "transformer.wte.weight": (11, WIDTH),
        "transformer.wpe.weight": (8, WIDTH),
        "transformer.h.0.ln_1.weight": (WIDTH,),
        "transformer.h.0.attn.c_attn.weight": (WIDTH, 3 * WIDTH),
        "transformer.h.0.attn.c_attn.bias": (3 * WIDTH,),
        "transformer.h.0.attn.c_proj.weight": (WIDTH, WIDTH),
        "transformer.h.0.mlp.c_fc.weight": (WIDTH, 4 * WIDTH),
        "transformer.h.0.mlp.c_proj.weight": (4 * WIDTH, WIDTH),
    }
    return {n: (scale * random.normal(size=s)).astype(np.float32) for n, s in shapes.items()}


def series(folder, weights, names=None):
    """Checkpoints in folders, as Hugging Face writes them."""
    for number, one in enumerate(weights):
        name = names[number] if names else f"checkpoint-{10 * number}"
        (folder / name).mkdir(parents=True)
        save_file(one, folder / name / "model.safetensors")
    return folder


def norm(*arrays):
    return np.sqrt(sum(np.sum(np.asarray(x, float) ** 2) for x in arrays))


def by_hand(w):
    """The norms of the groups of `gpt2`, cut out by slices."""
    fused, bias = (w[f"transformer.h.0.attn.c_attn.{x}"] for x in ("weight", "bias"))
    return {
        "positional": norm(w["transformer.wpe.weight"]),
        "key_query": norm(fused[:, : 2 * WIDTH], bias[: 2 * WIDTH]),
        "value": norm(fused[:, 2 * WIDTH :], bias[2 * WIDTH :]),
        "output": norm(w["transformer.h.0.attn.c_proj.weight"]),
        "mlp": norm(w["transformer.h.0.mlp.c_fc.weight"], w["transformer.h.0.mlp.c_proj.weight"]),
        "embedding": norm(w["transformer.wte.weight"]),
    }


def test_norms_of_groups_are_those_that_are_cut_out_by_hand(tmp_path):
    weights = [gpt2(0), gpt2(1, 2.0), gpt2(2, 3.0)]
    ds = ps.probe(series(tmp_path, weights), attention=False)
    np.testing.assert_array_equal(ds.time, [0, 10, 20])
    assert set(ds.group.values) == set(by_hand(weights[0]))
    for at, one in enumerate(weights):
        for group, wanted in by_hand(one).items():
            assert float(ds.norm.isel(time=at).sel(group=group)) == pytest.approx(wanted, rel=1e-14)
    start = by_hand(weights[0])["key_query"]
    found = ds.relative_norm.sel(group="key_query")
    np.testing.assert_allclose(found, [by_hand(w)["key_query"] / start for w in weights])


def test_norms_and_distances_are_those_of_the_probes_of_arrays(tmp_path):
    weights = [gpt2(0), gpt2(1), gpt2(0)]
    groups = {"attention": r"attn", "readout": "wte"}
    with pytest.warns(UserWarning, match="is a copy of an earlier one"):
        ds = ps.probe(series(tmp_path, weights), groups=groups, attention=False)
    for name, found in (("relative_norm", probes.relative_norms), ("moved", probes.moved)):
        for group, wanted in found(weights, groups).items():
            np.testing.assert_allclose(ds[name].sel(group=group), wanted, rtol=1e-13)


def test_pieces_do_not_change_a_number(tmp_path, monkeypatch):
    folder = series(tmp_path, [gpt2(0), gpt2(1)])
    whole = ps.probe(folder, attention=False)
    monkeypatch.setattr(tensorfile, "PIECE", 5)
    pieces = ps.probe(folder, attention=False)
    assert list(pieces.sha256.values) == list(whole.sha256.values)
    np.testing.assert_allclose(pieces.norm, whole.norm, rtol=1e-15)
    np.testing.assert_allclose(pieces.moved, whole.moved, rtol=1e-15)


def test_keys_queries_and_values_of_a_neox_are_told_apart_head_by_head(tmp_path):
    random = np.random.default_rng(0)
    q, k, v = random.normal(size=(3, HEADS, WIDTH // HEADS, WIDTH))
    fused = np.stack([q, k, v], axis=1).reshape(3 * WIDTH, WIDTH)
    name = "gpt_neox.layers.0.attention.query_key_value.weight"
    series(tmp_path, [{name: fused}])
    config = tmp_path / "checkpoint-0" / "config.json"
    config.write_text(json.dumps({"model_type": "gpt_neox", "num_attention_heads": HEADS}))
    ds = ps.probe(tmp_path, attention=False).isel(time=0)
    assert float(ds.norm.sel(group="key_query")) == pytest.approx(norm(q, k))
    assert float(ds.norm.sel(group="value")) == pytest.approx(norm(v))
    config.unlink()  # without the number of heads nobody can tell
    assert ps.probe(tmp_path).group.values.tolist() == ["query_key_value"]


@pytest.mark.parametrize("name", ["attn.c_attn.weight", "self_attn.in_proj_weight"])
def test_rows_of_a_matrix_as_torch_lays_it_out_are_told_apart(name, tmp_path):
    fused = np.random.default_rng(0).normal(size=(3 * WIDTH, WIDTH))
    save_file({name: fused}, tmp_path / "a.safetensors")
    ds = ps.probe(tmp_path / "a.safetensors").isel(time=0)
    assert float(ds.norm.sel(group="key_query")) == pytest.approx(norm(fused[: 2 * WIDTH]))
    assert float(ds.norm.sel(group="value")) == pytest.approx(norm(fused[2 * WIDTH :]))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "float8_e4m3fn"])
def test_every_precision_is_read_as_it_was_rounded(dtype, tmp_path):
    kind = getattr(ml_dtypes, dtype, None) or dtype
    x = np.random.default_rng(0).normal(size=(4, 4)).astype(kind)
    save_file({"q_proj": x}, tmp_path / "a.safetensors")
    found = ps.probe(tmp_path / "a.safetensors").norm.sel(group="key_query")
    assert float(found[0]) == pytest.approx(norm(x.astype(float)), rel=1e-15)


def test_two_checkpoints_that_are_the_same_raise_the_alarm(tmp_path):
    weights = [gpt2(0), gpt2(1), gpt2(1), gpt2(2), gpt2(0)]
    with pytest.warns(
        UserWarning, match=r"2 of 5 checkpoints are copies of an earlier one"
    ) as said:
        ds = ps.probe(series(tmp_path, weights), attention=False)
    np.testing.assert_array_equal(ds.copy_of, [np.nan, np.nan, 10, np.nan, 0])
    assert "checkpoint-20 is that of step 10" in str(said[0].message)
    assert len(set(ds.sha256.values)) == 3


def test_one_bit_is_not_a_copy(tmp_path):
    other = gpt2(0)
    bits = other["transformer.h.0.ln_1.weight"].view(np.uint32)
    bits[-1] ^= 1
    ds = ps.probe(series(tmp_path, [gpt2(0), other]), attention=False)
    assert np.isnan(ds.copy_of).all()


def test_a_checkpoint_in_parts_is_the_one_in_a_file(tmp_path):
    weights = gpt2(0)
    whole = ps.probe(series(tmp_path / "whole", [weights]), attention=False)
    folder = tmp_path / "parts" / "step-0"
    folder.mkdir(parents=True)
    names = sorted(weights)
    where = {n: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, n in enumerate(names)}
    for file in set(where.values()):
        save_file({n: weights[n] for n in names if where[n] == file}, folder / file)
    with pytest.raises(ps.ProbeError, match=r"is a part of a checkpoint, and there is no model"):
        ps.probe(folder)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    parts = ps.probe(folder, attention=False)
    assert parts.sha256.item() == whole.sha256.item()
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ps.ProbeError, match="which is not there: the checkpoint is not whole"):
        ps.probe(folder)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("checkpoint-500", 500),
        ("step1000", 1000),
        ("global_step_20", 20),
        ("epoch=3-step=100", 100),
        ("iter_0001000", 1000),
        ("model_200", 200),
        ("7", 7),
        ("ckpt10k", None),  # ten thousand, or what else?
        ("final", None),
        ("0123456789abcdef0123456789abcdef01234567", None),
    ],
)
def test_the_step_is_what_the_name_says(name, step):
    assert step_of(name) == step


def test_steps_may_be_given_and_must_be_known(tmp_path):
    folder = series(tmp_path, [gpt2(0), gpt2(1)], ["begin", "end"])
    with pytest.raises(ps.ProbeError, match="its name does not say its step"):
        ps.probe(folder)
    np.testing.assert_array_equal(ps.probe(folder, steps=[0, 7], attention=False).time, [0, 7])
    with pytest.raises(ps.ProbeError, match="steps has 1 numbers for 2 checkpoints"):
        ps.probe(folder, steps=[0])
    with pytest.raises(ps.ProbeError, match="are both of step 3"):
        ps.probe(folder, steps=[3, 3])


def test_files_of_a_folder_are_a_series_and_the_last_model_beside_folders_is_left_out(tmp_path):
    for step in (100, 20):
        save_file(gpt2(step), tmp_path / f"model_{step}.safetensors")
    np.testing.assert_array_equal(ps.probe(tmp_path, attention=False).time, [20, 100])
    folder = series(tmp_path / "run", [gpt2(0), gpt2(1)])
    save_file(gpt2(9), folder / "model.safetensors")
    with pytest.warns(UserWarning, match="has no step, and is left out"):
        assert ps.probe(folder, attention=False).sizes["time"] == 2


def test_revisions_in_the_cache_of_hugging_face_are_a_series(tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "refs").mkdir()
    for number, name in enumerate(["step0", "step512", "main"]):
        commit = f"{number:040x}"
        save_file(gpt2(number), tmp_path / "blobs" / f"blob{number}")
        folder = tmp_path / "snapshots" / commit
        folder.mkdir(parents=True)
        (folder / "model.safetensors").symlink_to(f"../../blobs/blob{number}")
        (tmp_path / "refs" / name).write_text(commit)
    np.testing.assert_array_equal(ps.probe(tmp_path, attention=False).time, [0, 512])


# As evidence.
def test_a_series_of_checkpoints_gets_a_row_that_says_where_it_came_from(tmp_path):
    @ps.claim("a notebook", ps.on("training", ps.tables(lambda: None)), kind="order")
    def keys_grow_more_than_values(run):
        """Keys and queries grow more than values."""
        grown = run.relative_norm.isel(time=-1)
        gap = grown.sel(group="key_query", drop=True) - grown.sel(group="value", drop=True)
        return ps.positive(gap, "gap")

    one, two = gpt2(0), gpt2(0)
    fused = two["transformer.h.0.attn.c_attn.weight"]
    fused[:, : 2 * WIDTH] *= 3
    study = ps.Study("mine", ps.find("linear_modes").spec, (), (keys_grow_more_than_values,))
    ds = ps.probe(series(tmp_path, [one, two]), attention=False)
    for evidence in (ds, ps.logged(ds, unit=0.1)):
        [row] = ps.check(study, claim="keys_grow_more_than_values", evidence=evidence, store=False)
        assert row.word == ps.Word.HOLDS
        assert f"{tmp_path} (2 checkpoints, safetensors, sha256 " in row.logs[0]
    backwards = ds.isel(time=[1, 0])
    [row] = ps.check(study, claim="keys_grow_more_than_values", evidence=backwards, store=False)
    assert row.word == ps.Word.FALSE


# On the command line.
def command(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["phasescope", "probe", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    said = capsys.readouterr()
    return int(end.value.code or 0), said.out, said.err


@pytest.mark.filterwarnings("always")
def test_the_command_prints_norms_and_ends_with_1_if_two_are_the_same(
    tmp_path, monkeypatch, capsys
):
    folder = series(tmp_path, [gpt2(0), gpt2(1), gpt2(1)])
    code, out, err = command(monkeypatch, capsys, folder, "--norms-only")
    assert code == 1
    assert "= step 10" in out and "key_query" in out
    assert "1 of 3 checkpoints is a copy" in err
    code, out, _ = command(monkeypatch, capsys, folder / "checkpoint-10", "--json", "--norms-only")
    assert code == 0
    [row] = json.loads(out)["checkpoints"]
    assert row["norm"] == pytest.approx(by_hand(gpt2(1)))


def test_the_command_takes_steps_groups_and_files_and_writes_what_logged_reads(
    tmp_path, monkeypatch, capsys
):
    for name in "ab":
        save_file(gpt2(ord(name)), tmp_path / f"{name}.safetensors")
    files = [tmp_path / f"{name}.safetensors" for name in "ab"]
    words = ["--steps", "3,5", "--group", "attention=attn", "--out", tmp_path / "x.nc"]
    code, _, _ = command(monkeypatch, capsys, *files, *words)
    assert code == 0
    ds = ps.logged(tmp_path / "x.nc")
    np.testing.assert_array_equal(ds.time, [3, 5])
    assert ds.group.values.tolist() == ["attention"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no such file or folder"),
        ([".", "--group", "attn"], "a group is NAME=EXPRESSION"),
        ([".", "--tokens", "nowhere.npy"], "cannot be read as a .npy file"),
        ([".", "--steps", "a"], "--steps=a is neither numbers"),
    ],
)
def test_what_was_typed_wrong_is_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = command(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1


# Bad input: one clear line, nothing executed, bounded memory.
def header(document, length=None, data=b""):
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape, start, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


BAD_FILES = {
    "empty": b"",
    "short": b"\x01\x00",
    "text": b"this is no checkpoint at all, but a sentence",
    "longer_than_the_file": header({"a": tensor([1], 0, 4)}, length=2**40, data=bytes(4)),
    "no_json": header(b"{" + b"\xff" * 30),
    "nested": header(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "hole": header({"a": tensor([1], 4, 8)}, data=bytes(8)),
    "overlap": header({"a": tensor([2], 0, 8), "b": tensor([2], 4, 12)}, data=bytes(12)),
    "shape": header({"a": tensor([2**40], 0, 4)}, data=bytes(4)),
    "overflow": header({"a": tensor([2**32, 2**32, 2**32], 0, 0)}),
    "negative": header({"a": tensor([-1], 0, 4)}, data=bytes(4)),
    "cut_off": header({"a": tensor([4], 0, 16)}, data=bytes(7)),
    "trailing": header({"a": tensor([1], 0, 4)}, data=bytes(9)),
    "dtype": header({"a": tensor([1], 0, 4, "OBJ")}, data=bytes(4)),
    "no_tensors": header({"__metadata__": {"a": "b"}}),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_is_no_checkpoint_is_one_clear_line(name, tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(BAD_FILES[name])
    for asked in (file, tmp_path):
        with pytest.raises(ps.ProbeError, match=r"model\.safetensors") as error:
            ps.probe(asked)
        assert "\n" not in str(error.value)


def test_every_file_that_is_cut_off_is_refused(tmp_path):
    save_file(gpt2(0), tmp_path / "whole.safetensors")
    data = (tmp_path / "whole.safetensors").read_bytes()
    file = tmp_path / "cut.safetensors"
    for size in [*range(0, 40, 3), *range(40, len(data), len(data) // 40)]:
        file.write_bytes(data[:size])
        with pytest.raises(ps.ProbeError, match="is cut off"):
            ps.probe(file)


def test_a_header_larger_than_a_model_needs_is_not_read(tmp_path):
    file = tmp_path / "a.safetensors"
    with file.open("wb") as opened:
        opened.write(struct.pack("<Q", 2**30) + b"{")
        opened.truncate(2**31)  # a file with holes, which takes no room
    tracemalloc.start()
    try:
        with pytest.raises(ps.ProbeError, match=r"a header of 1\.02e\+03 MiB; at most 16 MiB"):
            ps.probe(file)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A tensor of 256 MiB, of holes in the file, is probed with less than 64 MiB more than at rest."""
    file = tmp_path / "a.safetensors"
    with file.open("wb") as opened:
        text = header({"q_proj": tensor([2**26], 0, 2**28)})
        opened.write(text)
        opened.truncate(len(text) + 2**28)
    script = """
        import resource, sys
        from phasescope.checkpoints.contents import contents
        from phasescope.checkpoints.groups import members
        from phasescope.checkpoints.tensorfile import tensors_of
        from pathlib import Path
        tensors = tensors_of(Path(sys.argv[1]))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = contents(tensors, members(tensors, None, None), tensors, {})
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(found.squares["key_query"], (after - before) // 1024)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    square, megabytes = done.stdout.split()
    assert float(square) == 0
    assert int(megabytes) < 64


class Poison:
    def __reduce__(self):
        return os.mkdir, ("executed",)


@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin", "a.ckpt", "a.pkl"])
def test_a_pickle_is_not_read_unless_one_insists(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(pickle.dumps(Poison()))
    for asked in (tmp_path / name, tmp_path):
        with pytest.raises(ps.ProbeError, match=r"pickle, which can run code.*--allow-pickles"):
            ps.probe(asked)
    with pytest.raises((ps.ProbeError, ps.MissingExtra)):
        ps.probe(tmp_path / name, pickles=True)
    assert not (tmp_path / "executed").exists()


def test_a_pickle_under_the_name_of_safetensors_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.safetensors").write_bytes(pickle.dumps(Poison()))
    with pytest.raises(ps.ProbeError, match="is no safetensors file"):
        ps.probe("a.safetensors", pickles=True)
    assert not (tmp_path / "executed").exists()


def test_a_series_of_which_some_are_pickles_is_refused_and_not_probed_with_a_gap(tmp_path):
    series(tmp_path, [gpt2(0), gpt2(1)])
    (tmp_path / "checkpoint-15").mkdir()
    (tmp_path / "checkpoint-15" / "pytorch_model.bin").write_bytes(b"\x80\x04")
    with pytest.raises(ps.ProbeError, match=r"checkpoint-15/pytorch_model\.bin is a pickle"):
        ps.probe(tmp_path)


def linked_file(folder, elsewhere):
    (folder / "model.safetensors").symlink_to(elsewhere / "checkpoint-0" / "model.safetensors")


def linked_folder(folder, elsewhere):
    (folder / "checkpoint-0").symlink_to(elsewhere / "checkpoint-0")


def linked_config(folder, elsewhere):
    save_file(gpt2(0), folder / "model.safetensors")
    (folder / "config.json").symlink_to(elsewhere / "config.json")


def named_elsewhere(folder, elsewhere):
    where = {"a": "../elsewhere/checkpoint-0/model.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))


@pytest.mark.parametrize("how", [linked_file, linked_folder, linked_config, named_elsewhere])
def test_what_lies_outside_the_folder_is_not_followed(how, tmp_path):
    elsewhere = series(tmp_path / "elsewhere", [gpt2(0)])
    (elsewhere / "config.json").write_text("{}")
    folder = tmp_path / "folder"
    folder.mkdir()
    how(folder, elsewhere)
    with pytest.raises(ps.ProbeError, match=r"outside its folder|beside the index") as error:
        ps.probe(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "is not a JSON object"),
        ("{", "is not JSON"),
        (
            '{"model_type": "gpt2", "n_head": "many"}',
            "n_head is a whole number above 0, got 'many'",
        ),
        ('{"model_type": "gpt2", "n_head": 0}', "n_head is a whole number above 0, got 0"),
    ],
)
def test_a_configuration_that_is_none_is_one_clear_line(text, said, tmp_path):
    series(tmp_path, [gpt2(0)])
    (tmp_path / "checkpoint-0" / "config.json").write_text(text)
    with pytest.raises(ps.ProbeError, match=r"config\.json") as error:
        ps.probe(tmp_path, attention=False)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere", "there is no such file or folder. Nothing is downloaded: a model of"),
        ("EleutherAI/pythia-1.4b", "folder models--OWNER--NAME in the cache"),
        ("step0.safetensors", "step0.safetensors: there is no such file or folder."),
        ([], "there is no checkpoint in an empty list"),
        (7, "a checkpoint is a path or a list of paths, got int"),
        (".", "there is no checkpoint in this folder. One has .safetensors files"),
        ("notes.txt", "is no checkpoint: those are .safetensors files"),
    ],
)
def test_what_is_no_checkpoint_is_one_clear_line(source, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if source == "notes.txt":
        Path("notes.txt").write_text("nothing")
    with pytest.raises(ps.ProbeError) as error:
        ps.probe(source)
    assert said in str(error.value)


def as_link_to_nothing(file):
    file.symlink_to("nowhere.safetensors")


@pytest.mark.parametrize("made", [as_link_to_nothing, os.mkfifo], ids=["link", "pipe"])
@pytest.mark.parametrize("name", ["step1.safetensors", "checkpoint-1/model.safetensors"])
def test_a_checkpoint_that_is_no_file_is_not_left_out_silently(made, name, tmp_path):
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    beside = file.parent if file.parent == tmp_path else tmp_path / "checkpoint-0"
    beside.mkdir(exist_ok=True)
    save_file(gpt2(0), beside / file.name.replace("step1", "step0"))
    made(file)
    with pytest.raises(ps.ProbeError, match="the checkpoint is not whole"):
        ps.probe(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.safetensors")
    with pytest.raises(ps.ProbeError, match="neither a file nor a folder"):
        ps.probe(tmp_path / "a.safetensors")


def test_a_folder_of_a_series_without_a_checkpoint_is_named(tmp_path):
    folder = series(tmp_path, [gpt2(0)])
    (folder / "checkpoint-77").mkdir()
    with pytest.warns(UserWarning, match=r"checkpoint-77: there is no checkpoint in this folder"):
        assert ps.probe(folder).sizes["time"] == 1


def test_a_checkpoint_under_another_name_is_named_where_its_folder_is_left_out(tmp_path):
    folder = series(tmp_path, [gpt2(0), gpt2(1)])
    *_, file = sorted(folder.glob("*/model.safetensors"))
    file.rename(file.with_name("adapter_model.safetensors"))
    with pytest.warns(
        UserWarning, match=r"It is left out\. Its adapter_model\.safetensors is not called"
    ):
        assert ps.probe(folder, attention=False).sizes["time"] == 1


@pytest.mark.parametrize("last", [np.inf, np.nan, -1.0])
def test_steps_that_are_none_are_one_clear_line(last, tmp_path):
    said = "steps are finite numbers from 0, one for each checkpoint"
    with pytest.raises(ps.ProbeError, match=said):
        ps.probe(series(tmp_path, [gpt2(0), gpt2(1)]), steps=[0.0, last])


def test_no_groups_at_all_are_one_clear_line(tmp_path):
    with pytest.raises(ps.ProbeError, match="groups has none"):
        ps.probe(series(tmp_path, [gpt2(0)]), groups={})


def test_parameters_that_are_no_numbers_raise_the_alarm(tmp_path, monkeypatch, capsys):
    broken = gpt2(1)
    broken["transformer.wpe.weight"] = np.full((8, WIDTH), np.nan, np.float32)
    folder = series(tmp_path, [gpt2(0), broken])
    said = r"1 of 2 checkpoints have parameters that are NaN or infinite, first checkpoint-\d+ \(positional\)"
    with pytest.warns(UserWarning, match=said):
        ds = ps.probe(folder, attention=False)
    assert np.isnan(ds.norm.sel(group="positional")[1])
    assert np.isfinite(ds.norm.sel(group="key_query")).all()


def test_checkpoints_of_two_models_are_refused(tmp_path):
    other = gpt2(0)
    other["transformer.wpe.weight"] = np.zeros((9, WIDTH), np.float32)
    with pytest.raises(ps.ProbeError, match=r"wpe\.weight is \(9, 6\) here, and \(8, 6\) there"):
        ps.probe(series(tmp_path, [gpt2(0), other]))


def test_parameters_that_nobody_can_name_need_groups(tmp_path):
    save_file({"alpha": np.ones(3)}, tmp_path / "a.safetensors")
    with pytest.raises(
        ps.ProbeError, match=r"no parameter has a name that says what it is \(alpha"
    ):
        ps.probe(tmp_path / "a.safetensors")
    ds = ps.probe(tmp_path / "a.safetensors", groups={"all": "alpha"})
    assert ds.norm.item() == pytest.approx(3**0.5)
    with pytest.raises(ps.ProbeError, match="no parameter has 'beta' in its name"):
        ps.probe(tmp_path / "a.safetensors", groups={"all": "beta"})


OURS = {
    "positional": ("positions", "blocks.0.slopes"),
    "key_query": ("blocks.0.query", "blocks.0.key", "blocks.0.query_bias", "blocks.0.key_bias"),
    "value": ("blocks.0.value", "blocks.0.value_bias"),
    "output": ("blocks.0.out", "blocks.0.out_bias"),
    "mlp": ("blocks.0.up", "blocks.0.down", "blocks.0.up_bias", "blocks.0.down_bias"),
    "embedding": ("embedding",),
    "readout": ("read", "read_bias"),
}
HOOKED = {
    "positional": ("pos_embed.W_pos",),
    "key_query": ("blocks.0.attn.W_Q", "blocks.0.attn.b_K"),
    "value": ("blocks.0.attn.W_V", "blocks.0.attn.b_V"),
    "output": ("blocks.0.attn.W_O", "blocks.0.attn.b_O"),
    "mlp": ("blocks.0.mlp.W_in", "blocks.0.mlp.b_out"),
    "embedding": ("embed.W_E",),
    "readout": ("unembed.W_U", "unembed.b_U"),
}


@pytest.mark.parametrize("prefix", ["", "net.", "params.net."])
@pytest.mark.parametrize("names", [OURS, HOOKED], ids=["ours", "hooked"])
def test_every_parameter_of_our_decoders_is_in_its_group(names, prefix, tmp_path):
    random = np.random.default_rng(0)
    w = {f"{prefix}{name}": random.normal(size=3) for group in names.values() for name in group}
    beside = {
        "memory": np.ones(9, np.int32),
        "memory.text": np.ones(9),
        "carry.1.mu.query": np.ones(9),
        "params.windows.training": np.ones((2, 2), np.int32),
        "blocks.0.ln1.w": np.ones(3),
        "final_norm.scale": np.ones(4),
        "blocks.0.attn.mask": np.ones((2, 2), bool),
        "blocks.0.attn.IGNORE": np.array(-np.inf, np.float32),
    }
    save_file(w | beside, tmp_path / "a.safetensors")
    ds = ps.probe(tmp_path / "a.safetensors")
    assert ds.attrs["ungrouped"] == 7  # of layer normalisation
    assert ds.attrs["ungrouped_names"] == "blocks.0.ln1.w, final_norm.scale"
    found = dict(zip(ds.group.values.tolist(), ds.norm.isel(time=0).values, strict=True))
    wanted = {g: norm(*(w[f"{prefix}{name}"] for name in own)) for g, own in names.items()}
    assert found == pytest.approx(wanted)


def test_parameters_in_no_group_are_counted_and_named(tmp_path, monkeypatch, capsys):
    w = {"q_proj": np.ones(4)} | {f"odd_{n}": np.ones((n, 2)) for n in range(1, 6)}
    save_file(w, tmp_path / "a.safetensors")
    ds = ps.probe(tmp_path / "a.safetensors")
    assert ds.attrs["ungrouped"] == 30
    assert ds.attrs["ungrouped_names"] == "odd_1, odd_2, odd_3, odd_4, odd_5"
    _, out, _ = command(monkeypatch, capsys, tmp_path / "a.safetensors")
    assert "30 parameters are in no group: odd_1, odd_2, odd_3 and 2 more. --group" in out
    _, out, _ = command(monkeypatch, capsys, tmp_path / "a.safetensors", "--json")
    told = json.loads(out)
    assert (told["ungrouped"], len(told["ungrouped_names"])) == (30, 5)
    save_file({"q_proj": np.ones(4)}, tmp_path / "b.safetensors")
    _, out, _ = command(monkeypatch, capsys, tmp_path / "b.safetensors")
    assert "no group" not in out


def test_attention_of_a_model_that_is_not_known_cannot_be_asked_for(tmp_path):
    with pytest.raises(ps.ProbeError, match="model_type gpt2 or gpt_neox"):
        ps.probe(series(tmp_path, [gpt2(0)]), attention=True)
    with pytest.raises(ps.ProbeError, match="tokens are for attention and loss"):
        ps.probe(tmp_path, tokens=[[1, 2]])
