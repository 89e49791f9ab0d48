"""Maps of the tools that an assessment's evidence rests on."""

from __future__ import annotations

from pathlib import Path

from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.images import Box
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.state import ToolExecutionLog
from agenticiqa.tools.maps import MapFolder
from agenticiqa.tools.measuring import Bench, ToolJob
from agenticiqa.tools.registry import ToolRegistry


def write_maps(result: Assessment, tools: ToolRegistry, maps: MapFolder, limits: ImageLimits) -> list[Path]:
    """Run the tools that gave scores once more, this time for their maps; returns the overlays written."""
    logs = [log for log in _logs(result) if log.error is None]
    if not logs:
        return []
    test = result.open_picture(result.image_path, limits)
    reference = result.open_picture(result.reference_path, limits) if result.reference_path else None
    bench = Bench(test, reference, keep_maps=True)
    written = []
    # A whole-picture score may be filed under several objects: one map is enough.
    for key in dict.fromkeys((log.tool, log.object if log.region else None, tuple(log.region or ())) for log in logs):
        tool, name, numbers = tools.get(key[0]), key[1], key[2]
        box = Box(*numbers) if numbers else None
        local = bench.measure(ToolJob(tool, box)).map if tool else None
        if tool is not None and local is not None:
            written.append(maps.write(test, tool.spec, local, path=result.image_path, region=box, name=name))
    return written


def _logs(result: Assessment) -> list[ToolExecutionLog]:
    return result.executor_evidence.tool_logs if result.executor_evidence else []
