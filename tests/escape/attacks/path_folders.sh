#!/bin/sh
# Are there folders in PATH that the sandbox does not show?
#
# Why: a folder that is missing inside but named first can be made inside, and then decides what every command means.
# Seen: PATH entries below the home, such as ~/.cargo/bin, where the private home is writable.
#
# case path-is-visible: => all there | control ~missing
IFS=:
for folder in $PATH; do
    [ -d "$folder" ] || { echo "missing: $folder"; exit 0; }
done
echo 'all there'
