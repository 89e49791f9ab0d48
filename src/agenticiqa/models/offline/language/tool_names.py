"""The measuring tools people name, in the ways they write them."""

from __future__ import annotations

# Name of the tool: what people write, hyphens and underscores read as blanks.
TOOL_ALIASES: dict[str, tuple[str, ...]] = {
    "TOPIQ_FR": ("topiq", "topiq fr"),
    "AHIQ": ("ahiq",),
    "FSIM": ("fsim", "fsimc", "feature similarity", "feature similarity index"),
    "LPIPS": ("lpips",),
    "DISTS": ("dists",),
    "WaDIQaM_FR": ("wadiqam fr",),
    "PieAPP": ("pieapp",),
    "MS-SSIM": ("ms ssim", "msssim", "multiscale ssim", "multi scale ssim"),
    "GMSD": ("gmsd", "gradient magnitude similarity"),
    "SSIM": ("ssim", "structural similarity", "structural similarity index"),
    "CKDN": ("ckdn",),
    "VIF": ("vif", "visual information fidelity"),
    "PSNR": ("psnr", "peak signal to noise ratio", "peak signal noise ratio"),
    "VSI": ("vsi", "visual saliency index"),
    "QAlign": ("qalign", "q align"),
    "CLIPIQA": ("clipiqa", "clip iqa"),
    "UNIQUE": ("unique metric", "unique score", "unique tool", "unique model", "unique index"),
    "HyperIQA": ("hyperiqa", "hyper iqa"),
    "TReS": ("tres",),
    "MUSIQ": ("musiq",),
    "WaDIQaM_NR": ("wadiqam nr",),
    "DBCNN": ("dbcnn", "db cnn"),
    "ARNIQA": ("arniqa",),
    "NIMA": ("nima",),
    "BRISQUE": ("brisque",),
    "NIQE": ("niqe",),
    "MANIQA": ("maniqa",),
    "LIQE": ("liqe",),
    # This project's own, and others people ask for: naming one that is not here must be answered, not overlooked.
    "VIFp": ("vifp", "vif p"),
    "NLPD": ("nlpd",),
    "MDSI": ("mdsi",),
    "HaarPSI": ("haarpsi", "haar psi"),
    "PSNR-HVS-M": ("psnr hvs m", "psnr hvsm", "psnrhvsm", "psnr hvs"),
    "sharpness": ("sharpness metric", "sharpness tool", "sharpness meter"),
    "noise": ("noise metric", "noise tool", "noise meter", "noise estimator"),
    "AIQA_NR": ("aiqa nr",),
    "PIQE": ("piqe",),
    "IL-NIQE": ("il niqe", "ilniqe"),
    "VMAF": ("vmaf",),
    "CW-SSIM": ("cw ssim", "cwssim"),
    "IW-SSIM": ("iw ssim", "iwssim"),
    "PaQ-2-PiQ": ("paq 2 piq", "paq2piq"),
    "CONTRIQUE": ("contrique",),
}

# One name, two tools: the reference decides.
WADIQAM = "wadiqam"
TOPIQ_NR_ALIAS = "topiq nr"


def tool_for(alias: str, *, has_reference: bool) -> str:
    """The tool an alias of the lexicon stands for.

    >>> tool_for("wadiqam", has_reference=False), tool_for("ms ssim", has_reference=True)
    ('WaDIQaM_NR', 'MS-SSIM')
    """
    if alias == WADIQAM:
        return "WaDIQaM_FR" if has_reference else "WaDIQaM_NR"
    return next(TOOL_BY_ALIAS[form] for form in (alias, alias.removesuffix("s")) if form in TOOL_BY_ALIAS)


TOOL_BY_ALIAS = {alias: name for name, aliases in TOOL_ALIASES.items() for alias in aliases} | {
    TOPIQ_NR_ALIAS: "TOPIQ_NR",
    WADIQAM: "WaDIQaM_NR",
}
