"""The second seed's loop on PlanMemory, in thirty lines, with a fake client instead of a model."""

from __future__ import annotations

from onplan import PlanMemory

LOOK = ("bash", {"command": "ls"})
REPLIES = [  # what the fake model answers, reply by reply: lists of (tool, arguments), or a text
    [("todo_write", {"todos": [{"content": "Look", "status": "in_progress"}]})],
    [LOOK],
    [LOOK],
    [LOOK],
    [("todo_write", {"todos": [{"content": "Look", "status": "completed"}]})],
    "All done.",
]

memory = PlanMemory("todo_write", preset="tutorial")
messages: list[dict[str, object]] = [{"role": "user", "content": "What is in here?"}]
memory.begin_turn()
for reply in REPLIES:
    messages.append({"role": "assistant", "content": reply})
    if isinstance(reply, str):
        break
    results: list[dict[str, str]] = []
    for name, arguments in reply:
        output = memory.call(name, arguments).text if name == "todo_write" else "README.md"
        results.append({"type": "tool_result", "content": output})
    if reminder := memory.end_round(messages=2):
        results.append({"type": "text", "text": reminder.text})
    messages.append({"role": "user", "content": results})

for message in messages:
    print(message["role"], message["content"])
