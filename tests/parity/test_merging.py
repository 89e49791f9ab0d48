"""Joining of places: the nodes of the shipped graph do what the network learnt with in PyTorch."""

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from training.embedded.merging import Merging, MergingInGraph, Nodes, Places

COUNTS = {1: 10, 2: 8, 3: 6}
SIDE, WIDTH, PICTURES = 8, 24, 3


def graph_of_merging() -> onnx.ModelProto:
    """Every layer doubles its values and joins places; out they come in the view's own order."""
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "keys")]
    wanted = [helper.make_tensor_value_info("whole", TensorProto.FLOAT, None)]
    graph = helper.make_graph([], "merging", given, wanted)
    merging, nodes = MergingInGraph(COUNTS, SIDE**2, WIDTH), Nodes(graph, "merge")
    order = np.concatenate([[0], 1 + merging.order])
    x, keys = (nodes("Gather", name, order, axis=1) for name in ("x", "keys"))
    for number in COUNTS:
        x = merging.joined(nodes, number, nodes("Add", x, x), keys)
    nodes("Identity", merging.laid_out(nodes, x))
    nodes.made[-1].output[0] = "whole"
    graph.node.extend(nodes.made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_nodes_join_the_places_that_the_network_joins():
    torch.manual_seed(3)
    x, keys = torch.randn(2, PICTURES, 1 + SIDE**2, WIDTH)
    merging = Merging(COUNTS, Places(SIDE))
    found, known = merging.begun(x), merging.begun(keys)
    for number in COUNTS:
        found = merging.joined(number, found + found, known)
    assert found.shape[1] == 1 + SIDE**2 - sum(COUNTS.values())
    session = onnxruntime.InferenceSession(graph_of_merging().SerializeToString())
    (whole,) = session.run(None, {"x": x.numpy(), "keys": keys.numpy()})
    np.testing.assert_allclose(merging.laid_out(found).numpy(), whole, rtol=1e-4, atol=1e-4)


def test_a_joined_place_is_the_mean_of_those_it_stands_for():
    torch.manual_seed(4)
    x, keys = torch.randn(2, PICTURES, 1 + SIDE**2, WIDTH)
    merging = Merging({1: 10}, Places(SIDE))
    whole = merging.laid_out(merging.joined(1, merging.begun(x), merging.begun(keys)))
    # Every place now has the value of its group; means of all places stay, those of the one that is no place too.
    torch.testing.assert_close(whole[:, 1:].mean(1), x[:, 1:].mean(1))
    torch.testing.assert_close(whole[:, 0], x[:, 0])
    assert all(len(torch.unique(each[1:, 0])) == SIDE**2 - 10 for each in whole)
