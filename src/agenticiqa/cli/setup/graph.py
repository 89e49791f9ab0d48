"""``agenticiqa graph``: the agents' graph."""

from __future__ import annotations

from typing import Annotated

import typer

from agenticiqa.cli.terminal import print_json

app = typer.Typer(help="Show how the agents are wired.", no_args_is_help=True)


@app.command("show")
def show(
    plan_only: Annotated[bool, typer.Option("--plan-only", help="The planner alone.")] = False,
    no_summarizer: Annotated[bool, typer.Option("--no-summarizer", help="Planner and executor.")] = False,
    json_output: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Print the graph as Mermaid text."""
    from agenticiqa.nodes.diagram import visualize_graph

    text = visualize_graph(include_executor=not plan_only, include_summarizer=not (plan_only or no_summarizer))
    if json_output:
        print_json({"mermaid": text})
    else:
        typer.echo(text)
