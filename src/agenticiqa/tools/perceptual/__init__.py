"""LPIPS and DISTS on ONNX Runtime: no torch, no pyiqa."""
