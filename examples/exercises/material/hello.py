def greet(name, excited):
    mark = "!" if excited else "."
    return "Hello, " + name + mark


def shout(words):
    result = []
    for word in words:
        result.append(word.upper())
    return " ".join(result)


print(greet("world", True))
print(shout(["plan", "then", "do"]))
