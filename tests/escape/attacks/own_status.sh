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
#
# Full access gives up the files, and nothing else. Giving up a wall that holds gives up nothing.
# case cap-effective-full-access: CapEff => 0000000000000000 | control-by root | control ~ | flags --full-access --i-know
# case no-new-privileges-full-access: NoNewPrivs => 1 | control 0 | flags --full-access --i-know
# case seccomp-mode-full-access: Seccomp => 2 | control ~ | flags --full-access --i-know
# case seccomp-mode-degraded: Seccomp => 2 | control ~ | flags --degrade=seccomp
sed -n "s/^$1:[[:space:]]*//p" /proc/self/status
