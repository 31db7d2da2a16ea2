#!/bin/sh
# How many user namespaces may be made below the sandbox's, and can the number be raised?
#
# Why: seccomp answers first, but a filter is one line of code away from a mistake: the kernel's own limit is the second
# wall. It belongs to the sandbox's user namespace, in which nobody has the capability to raise it.
# Seen: a process with all capabilities in its namespace may still set its own limit.
#
# case userns-limit: => 0 | control ~
cat /proc/sys/user/max_user_namespaces
