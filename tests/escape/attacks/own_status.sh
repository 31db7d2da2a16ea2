#!/bin/sh
# Reads a line of /proc/self/status: what the kernel says of this process.
#
# Why: the launcher says that it dropped everything; the kernel is asked whether that is so.
# Seen: launchers that cleared one of the five capability sets too few.
#
# case cap-effective: CapEff => 0000000000000000 | control-by root | control ~
# case cap-permitted: CapPrm => 0000000000000000 | control-by root | control ~
# case cap-inheritable: CapInh => 0000000000000000 | control ~
# case cap-bounding: CapBnd => 0000000000000000 | control ~
# case cap-ambient: CapAmb => 0000000000000000 | control ~
# case no-new-privileges: NoNewPrivs => 1 | control 0
# case seccomp-mode: Seccomp => 2 | control ~
sed -n "s/^$1:[[:space:]]*//p" /proc/self/status
