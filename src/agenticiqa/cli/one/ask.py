"""``agenticiqa ask``: what a question means to the embedded backend, without a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agenticiqa.cli.options import JsonOption
from agenticiqa.cli.terminal import print_json

if TYPE_CHECKING:
    from agenticiqa.models.offline.language.meaning.reader import Meaning, OptionMeaning

app = typer.Typer(help="See how a question is understood.", no_args_is_help=True)

_FORMS = {"yes_no": "yes or no", "open": "in words", "which": "which", "where": "where", "compare": "compare parts"}


@app.callback()
def ask() -> None:
    """A group, though it holds one command so far."""


@app.command("explain")
def explain(
    question: Annotated[str, typer.Argument(help="The question; options may stand in it.", show_default=False)],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", help="An answer option; give one for each.", show_default=False),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Print what a question means: property, part, form, and what each option claims. No picture is needed."""
    from agenticiqa.models.offline.language.question import understand

    understood = understand(question, option)
    if json_output:
        print_json(understood.meaning.as_dict() | {"language": understood.language})
        return
    for name, text in [*_lines(understood.meaning), ("Language", understood.language or "unknown")]:
        typer.echo(f"{name:<11} {text}")


def _lines(meaning: Meaning) -> list[tuple[str, str]]:
    known = meaning.known()
    lines = [("Question", meaning.text)]
    lines.append(("Property", f"{known.title}. {known.sentence}" if known else "none that is known: outside the field"))
    lines.append(("Part", ", ".join(part.name for part in meaning.parts) or "the whole picture"))
    lines.append(("Form", _FORMS.get(meaning.form, meaning.form)))
    if known and meaning.form == "yes_no":
        lines.append(("Yes means", _claimed_by_yes(meaning)))
    if known:
        lines.append(("Answered by", ", ".join(f"{kind}: {name}" for kind, name in known.reading.items())))
    return lines + [(f"Option {each.letter}", f"{each.text!r}: {_option(each)}") for each in meaning.options]


def _claimed_by_yes(meaning: Meaning) -> str:
    from agenticiqa.models.offline.language.meaning.properties import properties

    if meaning.value:
        return meaning.value.replace("_", " ")
    said = [
        f"{'much' if each.polarity > 0 else 'little or no'} {properties()[each.property].title}"
        for each in meaning.statements
    ]
    return f" {meaning.joined or 'and'} ".join(said)


def _option(option: OptionMeaning) -> str:
    from agenticiqa.models.offline.language.meaning.properties import properties

    if option.property and option.amount is not None:
        return f"{option.amount:.0%} {properties()[option.property].title}"
    return (option.claim or "nothing known").replace("_", " ")
