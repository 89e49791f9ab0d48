"""The files that a repository is joined by: they can be read, and agree with the Makefile and the package."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

import pytest
import yaml
from typer.main import get_command

from agenticiqa._version import __version__
from agenticiqa.cli.main import build_app
from support.snippets import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def recipe(target: str) -> list[str]:
    """The commands of a make target."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in found[1].splitlines()]


def workflow_commands(job: str) -> list[str]:
    return [step["run"] for step in read(".github/workflows/test.yml")["jobs"][job]["steps"] if "run" in step]


def test_the_hooks_before_a_commit_are_make_lint() -> None:
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local", "nothing is fetched, so versions cannot differ"
    assert [hook["entry"] for hook in repository["hooks"]] == recipe("lint")
    assert not any(hook["pass_filenames"] for hook in repository["hooks"]), "as make calls them: on everything"


def test_the_workflow_tries_every_python_that_is_promised() -> None:
    jobs = read(".github/workflows/test.yml")["jobs"]
    promised = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.fullmatch(r".*Python :: 3\.\d+", each)}
    assert set(jobs["test"]["strategy"]["matrix"]["python"]) == promised
    assert PROJECT["requires-python"] == f">={min(promised, key=lambda each: int(each.partition('.')[2]))}"
    assert set(jobs["smoke"]["strategy"]["matrix"]["system"]) == {"macos-latest", "windows-latest"}


def test_the_workflow_calls_targets_and_commands_that_exist() -> None:
    makes = [shlex.split(command)[1] for job in ("test", "docs") for command in workflow_commands(job)]
    assert makes == ["test", "demo", "docs"]
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in makes)
    known = get_command(build_app()).commands  # type: ignore[attr-defined]
    asked = [shlex.split(command) for command in workflow_commands("smoke") if command.startswith("agenticiqa")]
    assert len(asked) >= 5
    for _, name, *arguments in asked:
        options = {option for parameter in known[name].params for option in parameter.opts}
        assert {each for each in arguments if each.startswith("--")} <= options, name
        assert all((ROOT / each).exists() for each in arguments if each.startswith("examples/"))


def test_a_broken_link_stops_the_documentation() -> None:
    """``--quiet`` would drop the warnings that ``--strict`` counts."""
    (command,) = [line for line in recipe("docs") if "mkdocs" in line]
    assert "--strict" in command.split()
    assert not {"--quiet", "-q"} & set(command.split())


def test_the_citation_names_this_version() -> None:
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "version"} <= set(citation)
    assert citation["version"] == __version__
    assert citation["authors"][0]["name"] == PROJECT["authors"][0]["name"]
    assert citation["license"] == PROJECT["license"].split()[0]


@pytest.mark.parametrize(
    "file", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda file: file.name
)
def test_issue_forms_can_be_read(file: Any) -> None:
    form = yaml.safe_load(file.read_text(encoding="utf-8"))
    if file.name == "config.yml":
        assert isinstance(form["blank_issues_enabled"], bool)
        return
    assert form["name"]
    assert form["description"]
    ids = [part["id"] for part in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(part["attributes"]["label"] for part in form["body"])
    assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_contributing_tells_every_make_target_and_the_real_coverage() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert all(f"`make {target}" in text or f"make {target} " in text for target in phony.split() if target != "help")
    coverage = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]["report"]
    assert f"at least {coverage['fail_under']} %" in text


def test_make_help_names_every_target() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    told = set(re.findall(r'@echo "make ([a-z-]+)', MAKEFILE))
    assert told == set(phony.split()) - {"help"}


def test_a_weakness_is_reported_in_private() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "Report a vulnerability" in text
    assert "docs/running/security.md" in text
