"""The planning memory by itself: what a model sends, what it gets back, what a person can do."""

from onplan import PlanMemory

memory = PlanMemory(dialect="todo_write")
memory.begin_turn()
todos = [{"content": "Rename files", "status": "in_progress"}, {"content": "Run tests", "status": "pending"}]
answer = memory.call("todo_write", {"todos": todos})
print(answer.text, "\n")  # the whole plan goes back to the model: that is the recitation

answer = memory.call("todo_write", {"todos": [{"content": "Run tests", "status": "almost"}]})
print(answer.text, "\n")  # refused in one piece: the old plan stands
assert answer.is_error
assert len(memory.plan) == 2
memory.end_round()

for _ in range(3):  # three rounds of other work
    reminder = memory.end_round(messages=2, tokens=900)
assert reminder is not None
print(reminder.text, "\n")  # goes behind the tool results of the third round

memory.edit(["Rename files", "Run tests", "Update the changelog"])  # the person steps in
memory.undo()
print(memory.render())
