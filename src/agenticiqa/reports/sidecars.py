"""XMP files beside pictures, as darktable, digiKam and Lightroom read stars, labels and picks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from agenticiqa._version import __version__
from agenticiqa.errors import OutputError
from agenticiqa.pictures.formats import CAMERA_RAW, format_named
from agenticiqa.runtime.files import write_atomic

OURS = 'x:xmptk="AgenticIQA'
REJECTED = -1
"""The rating that these programs take for a rejected picture."""
# The colour as a word (Lightroom, digiKam) and as a number (darktable), and digiKam's pick: 1 rejected to 3 accepted.
_LABELS = {"keep": ("Green", 2, 3), "maybe": ("Yellow", 1, 2), "reject": ("Red", 0, 1)}


def sidecar_of(picture: Path) -> Path:
    """``photo.jpg.xmp``; of a camera's raw file ``photo.xmp``, where Lightroom looks for it."""
    named = format_named(picture.name)
    return picture.with_suffix(".xmp") if named and named.code == CAMERA_RAW else Path(f"{picture}.xmp")


def write_sidecar(folder: Path, row: Mapping[str, Any]) -> bool:
    """Write that of one row of an audit; False where another program's file is there, which stays as it is.

    Raises:
        OutputError: It cannot be written.
    """
    target = sidecar_of(folder / row["path"])
    try:
        if target.exists() and OURS not in target.read_text(encoding="utf-8", errors="replace"):
            return False
        write_atomic(target, sidecar_text(row["decision"], row["stars"], row["why"]))
    except OSError as error:
        raise OutputError(f"{str(target)!r} cannot be written: {error.strerror or error}.") from error
    return True


def sidecar_text(decision: str, stars: int, why: str) -> str:
    label, colour, pick = _LABELS[decision]
    rating = REJECTED if decision == "reject" else stars
    return f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" {OURS} {__version__}">
 <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about=""
    xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
    xmlns:darktable="http://darktable.sf.net/"
    xmlns:digiKam="http://www.digikam.org/ns/1.0/"
    xmp:Rating="{rating}" xmp:Label="{label}" digiKam:PickLabel="{pick}"
    photoshop:Instructions={quoteattr(f"{decision}: {why}")}>
   <darktable:colorlabels><rdf:Seq><rdf:li>{colour}</rdf:li></rdf:Seq></darktable:colorlabels>
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""
