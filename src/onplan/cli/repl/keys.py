"""What the keys do at the prompt, beyond editing, which is the library's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition, has_completions, is_searching
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from onplan.cli.repl.prompt import Prompt


def bindings(prompt: Prompt) -> KeyBindings:
    """The keys of a prompt."""
    keys = KeyBindings()
    _entering(keys, prompt)
    _interrupting(keys, prompt)
    _looking(keys, prompt)
    _answering(keys, prompt)
    return keys


def _entering(keys: KeyBindings, prompt: Prompt) -> None:
    """Enter, new lines, pasted text, completion, the editor."""

    @keys.add("enter", filter=~is_searching)
    def enter(event: KeyPressEvent) -> None:
        buffer = prompt.buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
            if not buffer.text.startswith("/"):
                return
        before = buffer.document.text_before_cursor
        if (len(before) - len(before.rstrip("\\"))) % 2 and not prompt.is_asking:
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
            return
        prompt.enter()

    @keys.add("escape", "enter")
    def newline(event: KeyPressEvent) -> None:
        prompt.buffer.newline(copy_margin=False)

    @keys.add(Keys.BracketedPaste, eager=True)
    def pasted(event: KeyPressEvent) -> None:
        prompt.paste(event.data)

    @keys.add("backspace", filter=Condition(lambda: _before_mark(prompt) > 0), eager=True)
    def unpaste(event: KeyPressEvent) -> None:
        prompt.buffer.delete_before_cursor(_before_mark(prompt))

    @keys.add("tab")
    def complete(event: KeyPressEvent) -> None:
        buffer = prompt.buffer
        if buffer.complete_state:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    @keys.add("s-tab")
    def complete_back(event: KeyPressEvent) -> None:
        prompt.buffer.complete_previous()

    @keys.add("c-g", filter=~is_searching & ~Condition(lambda: prompt.is_key))
    def in_editor(event: KeyPressEvent) -> None:
        event.app.create_background_task(_through_editor(prompt))


def _before_mark(prompt: Prompt) -> int:
    return prompt.pastes.mark_before(prompt.buffer.document.text_before_cursor)


async def _through_editor(prompt: Prompt) -> None:
    text = prompt.pastes.unfolded(prompt.buffer.text)
    made = await prompt.edit(text, ".md")
    if made is not None:
        prompt.buffer.text = made
        prompt.buffer.cursor_position = len(made)


def _interrupting(keys: KeyBindings, prompt: Prompt) -> None:
    """Ctrl-C, Esc, Ctrl-D, Ctrl-Z."""

    @keys.add("c-c", eager=True)
    def interrupt(event: KeyPressEvent) -> None:
        prompt.handlers.interrupt()

    @keys.add("escape", filter=~is_searching & ~has_completions)
    def escape(event: KeyPressEvent) -> None:
        prompt.handlers.escape()

    @keys.add("escape", filter=has_completions)
    def close_menu(event: KeyPressEvent) -> None:
        prompt.buffer.cancel_completion()

    @keys.add("c-d")
    def end(event: KeyPressEvent) -> None:
        prompt.end_of_input()

    @keys.add("c-z")
    def suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()


def _looking(keys: KeyBindings, prompt: Prompt) -> None:
    """Ctrl-O, Ctrl-T, Ctrl-L."""

    @keys.add("c-o", eager=True)
    def unfold(event: KeyPressEvent) -> None:
        prompt.handlers.unfold()

    @keys.add("c-t", eager=True)
    def plan(event: KeyPressEvent) -> None:
        prompt.handlers.plan()

    @keys.add("c-l")
    def clear(event: KeyPressEvent) -> None:
        event.app.renderer.clear()


def _answering(keys: KeyBindings, prompt: Prompt) -> None:
    """A single key as the answer to a question."""
    is_key = Condition(lambda: prompt.is_key)

    @keys.add(Keys.Any, filter=is_key)
    def pick(event: KeyPressEvent) -> None:
        prompt.pick(event.data)

    @keys.add("enter", filter=is_key, eager=True)
    @keys.add("tab", filter=is_key, eager=True)
    @keys.add(Keys.BracketedPaste, filter=is_key, eager=True)
    def ignored(event: KeyPressEvent) -> None:
        """No answer."""
