"""What the model pays for: every tool of the coding agent, and the texts that are pinned nowhere else."""

from __future__ import annotations

import json

from inline_snapshot import snapshot

from onplan.coding import coding_tools
from onplan.planning import Planning


def test_every_tool_costs_what_it_did():
    tools = (*Planning().tools(), *coding_tools())
    schemas = [
        {"name": item.name, "description": item.description, "input_schema": item.input_schema}
        for item in tools
    ]
    sizes = {schema["name"]: len(json.dumps(schema)) for schema in schemas}
    assert sizes == snapshot(
        {
            "write_todos": 778,
            "read_todos": 215,
            "bash": 846,
            "read_file": 477,
            "write_file": 415,
            "edit_file": 872,
            "glob": 448,
            "grep": 682,
            "web_fetch": 456,
            "ask_user": 444,
        }
    )
    assert sum(sizes.values()) < 6_000


def test_the_texts_of_bash_and_ask_user_are_these():
    texts = {item.name: item.description for item in coding_tools() if item.name in ("bash", "ask_user")}
    assert texts == snapshot(
        {
            "bash": """\
Run a shell command. Answers stdout and stderr, in order, and the exit code.

The working directory is kept from call to call; variables and functions are not. There is no
terminal and no input: pass what a prompt would ask for as options (`--yes`, `-m "text"`). Long output
loses its middle: filter it, or send it to a file and read parts. Start servers and watchers with
`&` and their output in a file; they run until the session ends.\
""",
            "ask_user": "Ask the person one question and wait for the answer. "
            "Only for what you cannot find out yourself.",
        }
    )
