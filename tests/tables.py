"""Lines with their verdicts, as the reports give them: the guard by itself and the whole agent must agree."""

DENIED_BY_A_RULE = [
    "git fetch && git clean -fd",
    "npm run build; git clean -fd",
    "true || rm -rf /x",
    "echo a | xargs rm -rf",
    "(cd /x && rm -rf y)",
    "echo $(rm -rf y)",
    "echo `rm -rf y`",
    "cat <(rm -rf y)",
    "echo ok\nrm -rf y",
    "sleep 1 & rm -rf y",
]
"""With a rule that denies `git clean*` and `rm*`: it speaks of every command of a line."""

DENIED_ALWAYS = [
    "rm  -rf  /",
    "rm -r -f /",
    "rm -fr /",
    "rm --recursive --force /",
    "rm -rf -- /",
    "rm -rf /*",
    "rm -rf //",
    "rm -rf /./",
    "rm -rf ~",
    'rm -rf "$HOME"',
    "rm -rf ${HOME}/",
    "/bin/rm -rf /",
    "sudo rm -rf /",
    "env FOO=1 rm -rf /",
    "FOO=1 BAR=2 rm -rf /",
    "nohup timeout 5 nice -n 5 rm -rf /",
    "command rm -rf /",
    "xargs -0 rm -rf / </dev/null",
    "cd / && rm -rf *",
]
"""Spellings of one loss that cannot be undone."""
