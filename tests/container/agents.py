#!/usr/bin/env python3
"""Runs in a container: real agents do the scripted task of tests/agents behind the walls that bawn chooses there. Prints TAP without a plan.

    agents.py BAWN AGENT...
"""
import pathlib
import sys

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "agents"), str(TESTS / "work")]
import catalogue
import lab
import scratch
import task


def chose_landlock(trial):
    """bawn has chosen these walls by itself: nothing else could be had."""
    shown = trial.on_host(trial.bawn, "show", "--json", "--", "true").stdout
    scratch.same('"walls": "landlock"' in shown or '"walls":"landlock"' in shown, True)


def main(bawn, *names):
    tap = scratch.Tap()
    closed = lab.Closed()
    with lab.person() as (who, base):
        task.control(tap, who, base, bawn, closed)
        for agent in [agent for agent in catalogue.AGENTS if agent.name in names]:
            with tap.test(f"{agent.name} finishes the scripted task, and gets no further than with namespaces"):
                trial, done = task.without_namespaces(agent, who, base, bawn, closed, flags=())
                task.test_without_namespaces(trial, done)
                chose_landlock(trial)
    return 1 if tap.failed else 0


sys.exit(main(*sys.argv[1:]))
