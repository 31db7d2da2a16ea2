#!/bin/sh
# Leaves a link in the private home where the next run must mount: $HOME/src, the way to the workspace, leads to the
# host's /etc or to another repository from then on.
#
# Why: the private home outlives the run, and is hostile at the next launch: whoever follows a link in it, on the host
# or while the root is assembled, makes, mounts or writes where the link leads.
# Seen: a planted `.claude.json` link made a naive copy overwrite a file of the host.
#
# The run after it must find the workspace in its place; the runner's other cases do.
# case plant-link-in-home: {home} => done | control-by nobody: only the private home may be spoilt | spoils-home
set -eu
cd "$1"
mv src src-old
ln -s /etc src
test -L src && echo done
