"""Stands for a dependency that was reviewed and copied here."""


def greeting(name):
    return f"Hello, {name}!"
