"""Corpora: published counts where the files are, errors that say what to do, and names that hold the digest."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import phasescope as ps
from phasescope import networks
from phasescope.networks import corpora, sources
from phasescope.networks.corpora import canonical, plain_words, read_corpus

TEXT = Path(__file__).parents[2] / "LICENSE"  # plain English that is there


def has(corpus):
    folder = os.environ.get("PHASESCOPE_DATA")
    return folder is not None and (Path(folder) / corpus).is_dir()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PHASESCOPE_DATA", str(tmp_path))
    read_corpus.cache_clear()
    return tmp_path


@pytest.mark.skipif(not has("wikitext-2"), reason="WikiText-2 is not in PHASESCOPE_DATA")
def test_wikitext_2_has_the_published_counts():
    corpus = read_corpus("wikitext-2")
    assert (len(corpus.training), len(corpus.validation)) == (2_088_628, 217_646)
    assert len(corpus.types) == 33_278 and corpus.types[0] == "<eos>"
    assert corpus.name == "wikitext-2@9e9fa1ad55b1c2c9"
    assert len(read_corpus("wikitext-2", "plain_word").types) == 28_782


@pytest.mark.skipif(not has("tinyshakespeare"), reason="Tiny Shakespeare is not in PHASESCOPE_DATA")
def test_tiny_shakespeare_is_cut_as_nanogpt_cuts_it():
    corpus = read_corpus("tinyshakespeare", "character")
    assert (len(corpus.training), len(corpus.validation)) == (1_003_854, 111_540)
    assert len(corpus.types) == 65 and list(corpus.types) == sorted(corpus.types)


def test_the_generated_text_is_always_the_same():
    corpus = read_corpus("generated")
    assert (
        corpus.name
        == canonical("generated")
        == "generated@" + hashlib.sha256(corpora.generated_text().encode()).hexdigest()[:16]
    )
    assert (len(corpus.training), len(corpus.validation), len(corpus.types)) == (5625, 625, 146)
    assert corpus.training.max() < len(corpus.types)
    assert len(read_corpus("generated", types=20).types) == 20


def test_a_file_is_known_by_its_text_and_not_by_its_path(tmp_path):
    spec = networks.TextSpec(corpus=str(TEXT))
    digest = hashlib.sha256(TEXT.read_bytes()).hexdigest()
    assert spec.corpus == f"LICENSE@{digest[:16]}"
    elsewhere = tmp_path / "LICENSE"
    elsewhere.write_bytes(TEXT.read_bytes())
    assert networks.TextSpec(corpus=str(elsewhere)) == spec
    words = [word for line in TEXT.read_text().splitlines() for word in (*line.split(), "<eos>")]
    corpus = read_corpus(spec.corpus)
    both = np.concatenate([corpus.training, corpus.validation])
    assert [corpus.types[i] for i in both] == words
    assert len(corpus.training) == int(0.9 * len(words))


def test_another_process_finds_a_file_in_the_folder_of_the_data(folder):
    (folder / "book.txt").write_text("one two three\n" * 20)
    name = canonical(str(folder / "book.txt"))
    corpora._given.clear()
    assert read_corpus(name).types == ("one", "two", "three", "<eos>")


def test_a_missing_corpus_says_where_to_put_which_file(folder):
    with pytest.raises(
        ps.CorpusError, match=r"wikitext-2/train\.txt, which is not there.*PHASESCOPE_DATA"
    ):
        read_corpus("wikitext-2")
    with pytest.raises(ps.SpecError, match="no corpus and no file"):
        networks.TextSpec(corpus="nowhere.txt")


def test_a_file_that_is_not_the_published_one_is_refused(folder):
    (folder / "tinyshakespeare").mkdir()
    (folder / "tinyshakespeare" / "input.txt").write_text("To be, or not to be")
    with pytest.raises(
        ps.CorpusError, match="it is not the published file: its SHA-256 begins with"
    ):
        read_corpus("tinyshakespeare", "character")


def test_a_file_that_has_changed_since_it_was_named_is_refused(folder):
    book = folder / "book.txt"
    book.write_text("one two three\n" * 20)
    name = canonical(str(book))
    book.write_text("one two four\n" * 20)
    with pytest.raises(ps.CorpusError, match="the file has changed"):
        read_corpus(name)


def test_an_empty_corpus_is_refused(folder):
    (folder / "empty.txt").write_text("")
    with pytest.raises(ps.CorpusError, match="is empty"):
        read_corpus(str(folder / "empty.txt"))


def test_bytes_that_are_no_text_are_refused(folder):
    (folder / "odd.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ps.CorpusError, match="no text in UTF-8"):
        read_corpus(str(folder / "odd.txt"))


def test_a_context_longer_than_the_text_is_refused(folder):
    (folder / "short.txt").write_text("one two three\n" * 20)
    spec = networks.TextSpec(corpus=str(folder / "short.txt"), context=64)
    with pytest.raises(ps.CorpusError, match="too few for context=64"):
        networks.text_plan(spec)
    columns = networks.TextSpec(corpus=str(folder / "short.txt"), context=6, windows="in_turn")
    with pytest.raises(ps.CorpusError, match="in 16 columns"):
        networks.text_plan(columns)


def test_words_that_a_vocabulary_has_not_are_refused():
    corpus = read_corpus("generated", "character")
    with pytest.raises(ps.CorpusError, match="'#' is not in its vocabulary"):
        corpus.encode("a#")
    few = read_corpus("generated", types=20)
    assert few.types[few.encode(["nowhere"])[0]] == "<unk>"


def test_plain_words_are_those_of_the_basic_english_rule():
    line = 'The "Great" War (of 1914) didn\'t end; it paused: so. <unk>!'
    assert " ".join(plain_words(line)) == (
        "the great war ( of 1914 ) didn ' t end it paused so . <unk> !"
    )


def test_a_download_that_is_not_the_published_file_is_not_kept(tmp_path, monkeypatch):
    fake = tmp_path / "fake.txt"
    fake.write_text("nothing")
    address = sources.File("input.txt", "0" * 64, fake.as_uri())
    known = sources.Known("made_up", address, None, "none")
    monkeypatch.setitem(sources.KNOWN, "made_up", known)
    with pytest.raises(ps.CorpusError, match="is not the published file"):
        sources.download("made_up", tmp_path)
    assert not (tmp_path / "made_up").exists()
    right = sources.File("input.txt", hashlib.sha256(b"nothing").hexdigest(), fake.as_uri())
    monkeypatch.setitem(sources.KNOWN, "made_up", sources.Known("made_up", right, None, "none"))
    assert [place.read_text() for place in sources.download("made_up", tmp_path)] == ["nothing"]


WITHOUT_NETWORK = """
import runpy, sys, urllib.request

def nothing(*words, **more):
    raise urllib.request.URLError("there is no network")

urllib.request.urlopen = nothing
sys.argv = ["sources", *sys.argv[1:]]
runpy.run_module("phasescope.networks.sources", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("corpus", ["tinyshakespeare", "wikitext-2"])
def test_without_a_network_one_line_says_which_file_to_put_where(corpus, tmp_path):
    command = [sys.executable, "-W", "always::RuntimeWarning", "-c", WITHOUT_NETWORK, corpus]
    done = subprocess.run([*command, "--corpora", tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert "cannot be read: there is no network. Without a network, fetch https://" in done.stderr
    names = " and ".join(file.name for file in sources.KNOWN[corpus].files)
    assert f"put {names} into {tmp_path / corpus}." in done.stderr
    assert not (tmp_path / corpus).exists()


def test_a_name_of_the_networks_loads_when_it_is_used():
    assert set(networks.__all__) >= {"TextSpec", "text_plan", "read_corpus", "Decoder", "forward"}
    assert all(getattr(networks, name) for name in networks.__all__)
    script = "import sys, phasescope.networks; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "False\n"
