"""Workers that rate on a GPU, with the model on the CPU in its place, and with what can go wrong on one."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from multiprocessing.connection import Connection

from agenticiqa.batch.engines import device
from agenticiqa.batch.work import BatchJob
from agenticiqa.vision.network import Vision, prepared

SEE, RATING_OF, PREPARED = device.Scene.of_all, device.rating_of, device.prepared


class OutOfMemoryError(RuntimeError):
    """Known by its name, as PyTorch's is."""


class VisionWithViews(Vision):
    """Makes the views itself, as the model on a GPU does."""

    def see(self, pictures):
        views = [prepared(each.whole[: each.size[0], : each.size[1]], self.about["view"], 1).view for each in pictures]
        return super().see([replace(each, view=view) for each, view in zip(pictures, views, strict=True)])


def serve_on_the_cpu(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    device.vision_on = lambda _: VisionWithViews()
    device.serve(pipe, job, threads, scratch)


def serve_with_little_memory(pipe: Connection, job: BatchJob, threads: int, scratch: str, *, most: int = 1) -> None:
    def narrow(vision, pictures):
        if len(pictures) > most:
            raise OutOfMemoryError("too much")
        return SEE(vision, pictures)

    device.Scene.of_all = narrow
    serve_on_the_cpu(pipe, job, threads, scratch)


def serve_without_memory(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    serve_with_little_memory(pipe, job, threads, scratch, most=0)


def serve_on_a_broken_gpu(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    def broken(*_):
        raise RuntimeError("the device is gone")

    device.Scene.of_all = broken
    serve_on_the_cpu(pipe, job, threads, scratch)


def serve_with_odd_numbers(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    """Of large pictures."""

    def odd(scene):
        found = RATING_OF(scene)
        return found if scene.features.closer is None else {**found, "score": float("nan")}

    device.rating_of = odd
    serve_on_the_cpu(pipe, job, threads, scratch)


def _with_large_pictures(act) -> None:
    def watched(picture, side, cell):
        if picture.shape[1] > 1000:
            act()
        return PREPARED(picture, side, cell)

    device.prepared = watched


def serve_until_a_large_picture(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    _with_large_pictures(lambda: os._exit(9))
    serve_on_the_cpu(pipe, job, threads, scratch)


def serve_slowly_on_a_large_picture(pipe: Connection, job: BatchJob, threads: int, scratch: str) -> None:
    _with_large_pictures(lambda: time.sleep(60))
    serve_on_the_cpu(pipe, job, threads, scratch)
