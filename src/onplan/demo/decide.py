"""Decides the demo's next step from what is known: plan, look, read, write, check, report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from onplan.demo.agents_file import render_agents_file
from onplan.demo.conversation import Work
from onplan.demo.layout import MANIFESTS, RUNNERS, Layout, Target, choose
from onplan.demo.metadata import read_metadata
from onplan.demo.offers import Project, name_sources
from onplan.demo.plan_tools import PlanTools, Step, plan_arguments, plan_tools, todos_in
from onplan.demo.readme import render_readme
from onplan.demo.source import read_source
from onplan.plan.todo import Status
from onplan.protocols import Request

_LOOK = Step("Look at the layout and the metadata of the project", "Looking at the layout and the metadata")
_READ = Step("Read the modules", "Reading the modules")
_NEEDED = ("glob", "read_file", "write_file")
_EVERYTHING, _PYTHON = "*", "**/*.py"
_MAX_MODULES = 14
_LICENSE_LINES = 40


@dataclass(frozen=True, slots=True)
class Job:
    """A file that the demo model can write: its name, its name in a sentence, and its text."""

    target: str
    noun: str
    render: Callable[[Project], str]

    @property
    def steps(self) -> tuple[Step, ...]:
        return (_LOOK, _READ, self.writing, self.checking)

    @property
    def writing(self) -> Step:
        return Step(f"Write {self.target}", f"Writing {self.target}")

    @property
    def checking(self) -> Step:
        return Step(f"Read {self.target} back and check it", f"Checking {self.target}")

    @property
    def reading(self) -> Step:
        """Of one that is there already."""
        return Step(f"Read the {self.noun} that is there", f"Reading the {self.noun} that is there")


README = Job("README.md", "README", render_readme)
AGENTS_FILE = Job("AGENTS.md", "AGENTS.md", render_agents_file)


@dataclass(frozen=True, slots=True)
class Do:
    """The next reply: a sentence, and calls as (tool, arguments)."""

    text: str
    calls: tuple[tuple[str, Any], ...] = ()


def decide(work: Work, request: Request, job: Job = README) -> Do:
    """The next reply to a task that was given."""
    offered = {schema.get("name") for schema in request.tools}
    missing = [tool for tool in _NEEDED if tool not in offered]
    if missing:
        return Do(f"I need the tools {', '.join(_NEEDED)} and was not given {', '.join(missing)}.")
    tools = plan_tools(request)
    if work.denied:
        return _stopped(work, tools, job, f"`{work.denied.call.name}` was not allowed, so I stop here.")
    first_plan = _plan(work, tools, job, 0)
    if first_plan:
        return Do("I begin with a plan.", first_plan)
    unlisted = [pattern for pattern in (_EVERYTHING, _PYTHON) if work.listing(pattern) is None]
    if unlisted:
        return Do("First a look around.", tuple(("glob", {"pattern": pattern}) for pattern in unlisted))
    failed = next((answer for answer in work.of("glob") if not answer.ok), None)
    if failed:
        return _stopped(work, tools, job, f"The files cannot be listed: {_line(failed.result.content)}")
    layout = Layout(work.listing(_EVERYTHING) or (), work.listing(_PYTHON) or ())
    return _with_layout(work, tools, job, layout)


def _with_layout(work: Work, tools: PlanTools, job: Job, layout: Layout) -> Do:
    there = layout.first(job.target.partition(".")[0])
    if there:
        return _existing(work, tools, job, there)
    targets = layout.targets()
    if choose(targets, "") is None:
        what = "no Python here but a set-up file or tests" if layout.python else "no Python in this directory"
        done = _plan(work, tools, job, 1, (_LOOK,))
        text = f"There is {what}. I only know how to describe Python projects, so I wrote nothing."
        return Do("That is a short list.", done) if done else Do(text)
    first = list(_unread(work, _first_files(layout, targets)))
    if first:
        return Do("Now the metadata.", tuple(first))
    project = _project(work, layout, targets)
    reading = (*_plan(work, tools, job, 1), *_reading(work, project))
    if reading:
        return Do(f"Next the modules of {project.title}.", reading)
    if tools.read and not work.of(tools.read):
        return Do("Before I write, a look at the plan.", ((tools.read, {}),))
    if not _is_kept(work, tools, job.writing):
        return Do(f'"{job.writing.text}" was taken off the plan, so I wrote nothing.')
    return _written(work, tools, job, project)


def _written(work: Work, tools: PlanTools, job: Job, project: Project) -> Do:
    text = job.render(project)
    writes = work.of("write_file")
    if not writes:
        return Do(
            "I know enough to write it.",
            (*_plan(work, tools, job, 2), ("write_file", {"path": job.target, "content": text})),
        )
    if not writes[-1].ok:
        return _stopped(work, tools, job, f"{job.target} was not written: {_line(writes[-1].result.content)}")
    checking = (*_plan(work, tools, job, 3), *_unread(work, [job.target]))
    if checking:
        return Do("Written. I read it back.", checking)
    if work.file(job.target).strip() != str(writes[-1].argument("content")).strip():
        return _stopped(
            work, tools, job, f"{job.target} reads back differently from what I wrote. Please look at it."
        )
    done = _plan(work, tools, job, 4)
    if done:
        return Do("It says what I meant to say.", done)
    return Do(_report(work, tools, job, project, text))


def _report(work: Work, tools: PlanTools, job: Job, project: Project, text: str) -> str:
    lines, files = _count(len(text.splitlines()), "line"), _count(len(project.sources), "module")
    source = f"its metadata and {files}" if project.metadata.name else files
    said = f"{job.target} is written: {lines} about {project.title}, from {source}."
    left = [text for text, status in _others(work, tools, job) if status != "completed"]
    return f"{said} Still open, and not mine to do: {'; '.join(left)}." if left else said


def _existing(work: Work, tools: PlanTools, job: Job, path: str) -> Do:
    steps = (_LOOK, job.reading)
    reading = (*_plan(work, tools, job, 1, steps), *_unread(work, [path]))
    if reading:
        return Do(f"There is {_a(path)} already. I read it.", reading)
    done = _plan(work, tools, job, 2, steps)
    if done:
        return Do("That settles it.", done)
    size = _count(len(work.file(path).splitlines()), "line")
    return Do(
        f"This project has {_a(job.noun)} already: {path} ({size}). I left it as it is and wrote nothing."
    )


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "AEIOU" else f"a {noun}"


def _stopped(work: Work, tools: PlanTools, job: Job, reason: str) -> Do:
    if work.reported:
        return Do("Nothing has changed since: I cannot finish this without you.")
    written = [answer for answer in work.of(tools.write) if answer.ok]
    left = "; ".join(step.text for step in job.steps[max(len(written) - 1, 0) :])
    return Do(f"{reason} Open in the plan: {left}." if written else reason)


# --- the plan ---------------------------------------------------------------------------------------


def _plan(
    work: Work, tools: PlanTools, job: Job, done: int, steps: tuple[Step, ...] = ()
) -> tuple[tuple[str, Any], ...]:
    """The call that writes the plan with `done` steps completed; nothing if that write was made."""
    if not tools.write or len(work.of(tools.write)) > done:
        return ()
    steps = steps or job.steps
    kept = [step for step in steps if _is_kept(work, tools, step)]
    finished = sum(step in kept for step in steps[:done])
    return ((tools.write, plan_arguments(tools.write, kept, finished, _others(work, tools, job))),)


def _shown(work: Work, tools: PlanTools) -> list[tuple[str, Status]]:
    """The plan as it was read back: a person may have changed it meanwhile."""
    reads = [answer for answer in work.of(tools.read) if answer.ok] if tools.read else []
    return todos_in(reads[-1].result.content, tools.write) if reads else []


def _others(work: Work, tools: PlanTools, job: Job) -> list[tuple[str, Status]]:
    own = {step.text for step in job.steps}
    return [(text, status) for text, status in _shown(work, tools) if text not in own]


def _is_kept(work: Work, tools: PlanTools, step: Step) -> bool:
    shown = [text for text, _ in _shown(work, tools)]
    return not shown or step.text in shown


# --- what to read -----------------------------------------------------------------------------------


def _unread(work: Work, paths: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for path in dict.fromkeys(paths):
        if not work.asked_for(path):
            is_license = re.match(r"(licen[cs]e|copying)(?!.*\.py$)", path, re.I)
            yield "read_file", {"path": path} | ({"limit": _LICENSE_LINES} if is_license else {})


def _reading(work: Work, project: Project) -> Iterator[tuple[str, Any]]:
    """What is unread, and the rest of the cut files that the package's own names come from."""
    yield from _unread(work, _module_files(project))
    for path in (project.target.files[name] for name in name_sources(project)):
        for offset, limit in work.rest_of(path):
            yield "read_file", {"path": path, "offset": offset, "limit": limit}


def _first_files(layout: Layout, targets: tuple[Target, ...]) -> list[str]:
    license_file = layout.first("license", "licence", "copying")
    packages = [target.own for target in targets if target.is_package and target.own]
    alone = [target.own for target in targets if not target.is_package]
    return [
        *layout.present((*MANIFESTS, *RUNNERS)),
        *([license_file] if license_file else []),
        *(packages[:3] or alone[:3]),
    ]


def _project(work: Work, layout: Layout, targets: tuple[Target, ...]) -> Project:
    metadata = read_metadata({name: work.file(name) for name in layout.present(MANIFESTS)})
    target = choose(targets, metadata.name) or targets[0]
    sources = {
        name: read_source(work.file(path), whole=work.is_whole(path))
        for name, path in target.files.items()
        if work.asked_for(path)
    }
    license_file = layout.first("license", "licence", "copying")
    others = (*layout.present((*MANIFESTS, *RUNNERS)), license_file, *layout.tests[:1])
    return Project(metadata, layout, target, sources, {path: work.file(path) for path in others if path})


def _module_files(project: Project) -> list[str]:
    """The modules that say most, no more than a few, and one file of tests."""
    target = project.target
    scripts = [at.partition(":")[0].strip() for _, at in project.metadata.scripts]
    known = [name for name in target.files if name in project.sources]
    names = dict.fromkeys((*known, *name_sources(project), *scripts, *target.public))
    paths = [target.files[name] for name in names if name in target.files]
    return [*paths[:_MAX_MODULES], *project.layout.tests[:1]]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _line(text: str) -> str:
    return text.strip().partition("\n")[0].removeprefix("Error: ")[:200]
