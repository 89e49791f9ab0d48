"""The agents' graph as a drawing; knows the graph's shape without building it."""


def visualize_graph(include_executor: bool = True, include_summarizer: bool = True) -> str:
    """The graph as Mermaid text.

    >>> print(visualize_graph(include_executor=False, include_summarizer=False))
    graph TD
        START([START]) --> planner[Planner]
        planner --> END([END])
    """
    lines = ["START([START]) --> planner[Planner]"]
    if not include_executor:
        lines += ["planner --> END([END])"]
    elif not include_summarizer:
        lines += ["planner --> executor[Executor]", "executor --> END([END])", "planner -.->|error| END"]
    else:
        lines += [
            "planner --> executor[Executor]",
            "executor --> summarizer[Summarizer]",
            "summarizer -->|need_replan=true & iter<max| planner",
            "summarizer -->|need_replan=false or iter>=max| END([END])",
            "planner -.->|error| END",
        ]
    return "\n    ".join(["graph TD", *lines])
