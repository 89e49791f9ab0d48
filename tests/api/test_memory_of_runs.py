"""What a run leaves in memory: no decoded pictures beyond the few that are remembered on purpose."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.embedded.looking import MAX_CACHED, Looker
from agenticiqa.nodes import run_context
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.runtime.config import ROLES
from agenticiqa.vision.network import load_vision
from support.scripted import ScriptedClient

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_run_takes_its_pictures_with_it(pair, monkeypatch, no_collector):
    """Also one that was stopped; nothing may wait for the garbage collector."""
    loaded: list[weakref.ref[LoadedImage]] = []

    def watched(*args: object) -> LoadedImage:
        picture = load_image(*args)  # type: ignore[arg-type]
        loaded.append(weakref.ref(picture))
        return picture

    def leave(_event: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_context, "load_image", watched)
    model = ScriptedClient()
    with AgenticIQA(clients=dict.fromkeys(ROLES, model)) as assessor:
        assert assessor.assess(pair.test, reference=pair.reference).status == "ok"
        model.script.asked.clear()
        with pytest.raises(KeyboardInterrupt):
            assessor.assess(pair.test, on_event=leave)
        model.script.asked.clear()
    assert len(loaded) == 3
    assert [each() for each in loaded] == [None, None, None]


@pytest.mark.hard
def test_fewer_large_pictures_are_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr("agenticiqa.embedded.looking.MAX_CACHED_PIXELS", 2 * 64 * 64)
    looker = Looker(load_vision())
    seen = []
    for number in range(2 * MAX_CACHED):
        pixels = np.full((64, 64, 3), 10 * number, np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        seen.append(looker.look(load_image(tmp_path / f"{number}.png")))
        assert looker.look(seen[-1].image) is seen[-1], "the newest one is remembered"
    kept = [look for look in seen if any(look is each for each in looker._cache.values())]
    assert kept == seen[-3:]
