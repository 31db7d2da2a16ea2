# Completion of bawn for fish.

# Reads the words before the cursor and prints whose the next one is: `first` (a verb or a command), the verb's, or
# `command` where it belongs to the command. With --rest, prints the command's words so far instead.
function __bawn_state
    set -l takes --workspace --read --write --hide --seal --freeze --flag --copy --seed --sift --sync --socket --net --connect \
        --refuse --publish --host-port --env --unset --secret --secrets --forge --ssh-key --limit --artifacts --require --guard --use --policy --agent --degrade --walls --report --branch --for --from --engine --jobs --out
    set -l words (commandline -opc)
    set -l verb first
    set -l i 2
    while test $i -le (count $words)
        set -l word $words[$i]
        set -l from 0
        switch $word
            case --
                contains -- $verb init login shell-init trust home held review diff apply discard sessions log undo redo profiles allow publish requests answer ask web doctor help; or set from (math $i + 1)
            case '-?*'
                contains -- $word $takes; and set i (math $i + 1)
            case '*'
                if test $verb = first; and contains -- $word run show why check export import learn init login shell-init trust home held review diff apply discard sessions log undo redo profile profiles allow publish requests answer ask fleet web doctor prove help
                    set verb $word
                else if contains -- $verb first run show learn prove
                    set from $i
                end
        end
        if test $from -gt 0
            if test "$argv[1]" = --rest
                test $from -le (count $words); and string escape -- $words[$from..-1]
            else
                echo command
            end
            return
        end
        set i (math $i + 1)
    end
    test "$argv[1]" = --rest; or echo $verb
end

function __bawn_at
    contains -- (__bawn_state) $argv
end

# The command after bawn's own words, completed as it would be alone.
function __bawn_command
    complete -C (string join ' ' -- (__bawn_state --rest) (commandline -ct))
end

function __bawn_agents
    __bawn_profiles | string replace -rf '^agent/' ''
end

function __bawn_profiles
    command bawn profiles 2>/dev/null | string replace -r '^(\S+)\s+' '$1\t'
end

function __bawn_sessions
    command bawn sessions 2>/dev/null | string match -r '^\S+-\d+\s.*' | string replace -r '^(\S+)\s+' '$1\t'
end

function __bawn_net
    printf '%s\t%s\n' off none allow 'only what connect names' open "that of this machine"
end

function __bawn_limits
    printf '%s\t%s\n' memory= 'a size, such as 8G' pids= 'a count' files= 'a count' time= 'such as 8h' disk= 'a size, such as 10G' \
        rate= 'connections a second to a host' \
        snapshot= 'a size, such as 2G' \
        journals= 'a size, such as 256M'
end

complete -c bawn -f
complete -c bawn -n '__bawn_at command' -a '(__bawn_command)'

# Verbs. All programs there are would bury them, so those are offered once something was typed.
complete -c bawn -n '__bawn_at first' -a run -d 'Run CMD in the sandbox'
complete -c bawn -n '__bawn_at first' -a show -d 'What CMD may write, read and reach here'
complete -c bawn -n '__bawn_at first' -a why -d 'Which rule decides a path, host or variable'
complete -c bawn -n '__bawn_at first' -a check -d 'Find mistakes in policies'
complete -c bawn -n '__bawn_at first' -a export -d 'Print the policy for another tool'
complete -c bawn -n '__bawn_at first' -a import -d 'Print rules of another tool as a policy'
complete -c bawn -n '__bawn_at first' -a learn -d 'Show which lines CMD would have needed'
complete -c bawn -n '__bawn_at first' -a trust -d "Let a repository's .bawn grant access"
complete -c bawn -n '__bawn_at first' -a home -d 'Files in the private home'
complete -c bawn -n '__bawn_at first' -a held -d 'Files that bawn set aside'
complete -c bawn -n '__bawn_at first' -a diff -d 'What a session changed'
complete -c bawn -n '__bawn_at first' -a apply -d 'Accept changes that wait after --review'
complete -c bawn -n '__bawn_at first' -a review -d 'Decide about each change of a session'
complete -c bawn -n '__bawn_at first' -a discard -d 'Discard changes that wait after --review'
complete -c bawn -n '__bawn_at first' -a sessions -d 'List sessions'
complete -c bawn -n '__bawn_at first' -a log -d 'What a session did, tried and was refused'
complete -c bawn -n '__bawn_at first' -a undo -d "Take back a run's changes"
complete -c bawn -n '__bawn_at first' -a redo -d 'Bring back what an undo took back'
complete -c bawn -n '__bawn_at first' -a profile -d 'Make a profile from what CMD wanted'
complete -c bawn -n '__bawn_at first' -a profiles -d 'List or print profiles'
complete -c bawn -n '__bawn_at first' -a allow -d 'Let a running session reach a host'
complete -c bawn -n '__bawn_at first' -a publish -d "Open a running session's port on this machine"
complete -c bawn -n '__bawn_at first' -a requests -d 'Questions of programs inside'
complete -c bawn -n '__bawn_at requests' -l follow -d 'Show questions as they come'
complete -c bawn -n '__bawn_at first' -a web -d 'Sessions, reviews and questions on a page'
complete -c bawn -n '__bawn_at web' -l port -x -d 'Listen at this port'
complete -c bawn -n '__bawn_at web' -l unix -r -F -d 'Listen at a Unix socket'
complete -c bawn -n '__bawn_at web' -l no-open -d 'Open no browser'
complete -c bawn -n '__bawn_at first' -a answer -d 'Answer such a question'
complete -c bawn -n '__bawn_at first' -a ask -d 'Inside: ask for a host or a port'
complete -c bawn -n '__bawn_at answer' -a 'once session always no never'
complete -c bawn -n '__bawn_at ask' -a 'connect publish read write env'
complete -c bawn -n '__bawn_at ask' -l because -x -d 'Why'
complete -c bawn -n '__bawn_at ask' -l wait -x -a '1m 5m 1h' -d 'How long to wait'
complete -c bawn -n '__bawn_at first' -a init -d 'Write a first .bawn file'
complete -c bawn -n '__bawn_at first' -a login -d 'Log in to an agent, with your browser'
complete -c bawn -n '__bawn_at first' -a shell-init -d 'Shell functions that run agents in bawn'
complete -c bawn -n '__bawn_at first' -a fleet -d 'Run many tasks, each in its own sandbox'
complete -c bawn -n '__bawn_at fleet' -F -a 'run status logs diff apply retry cancel report'
complete -c bawn -n '__bawn_at fleet' -l engine -x -a 'local slurm' -d 'What runs the tasks'
complete -c bawn -n '__bawn_at fleet' -l jobs -x -d 'How many tasks at once'
complete -c bawn -n '__bawn_at fleet' -l out -r -F -d 'Folder of the results'
complete -c bawn -n '__bawn_at fleet' -l all -d 'List every task'
complete -c bawn -n '__bawn_at first' -a doctor -d 'Check what this machine supports'
complete -c bawn -n '__bawn_at first' -a prove -d 'Attack the sandbox and report the results'
complete -c bawn -n '__bawn_at prove' -l follow -d 'Print each result as it comes'
complete -c bawn -n '__bawn_at prove' -l report -r -F -d 'Write an HTML page'
complete -c bawn -n '__bawn_at first' -a help -d 'Explain bawn, a verb or the rules'
complete -c bawn -n '__bawn_at first; and test -n (commandline -ct | string collect)' -a '(__fish_complete_command)'

# Words of the verbs.
complete -c bawn -n '__bawn_at run show learn prove' -a '(__fish_complete_command)'
complete -c bawn -n '__bawn_at why check import review diff apply discard undo redo' -F
complete -c bawn -n '__bawn_at review diff apply discard log undo redo' -a '(__bawn_sessions)'
complete -c bawn -n '__bawn_at trust' -a '(__fish_complete_directories)'
complete -c bawn -n '__bawn_at home' -a 'list fetch reset'
complete -c bawn -n '__bawn_at held' -F -a '(command bawn held 2>/dev/null | string replace -r " .*" "" | sort -u)'
complete -c bawn -n '__bawn_at login' -a '(__bawn_agents)'
complete -c bawn -n '__bawn_at shell-init' -a 'bash zsh fish'
complete -c bawn -n '__bawn_at profiles' -a '(__bawn_profiles)'
complete -c bawn -n '__bawn_at help' -a 'run show why check export import learn init login shell-init trust home held review diff apply discard sessions log undo redo profile profiles allow publish requests answer ask fleet web doctor prove help rules'

# Flags.
complete -c bawn -n 'not __bawn_at command' -s h -l help -d 'Print help'
complete -c bawn -n '__bawn_at first run' -s V -l version -d 'Print the version'
complete -c bawn -n '__bawn_at show' -l plan -d 'List the operations of a run'
complete -c bawn -n '__bawn_at show' -l brief -d 'Print the text for the agent'
complete -c bawn -n '__bawn_at show' -l all -d 'List everything, with its rules'
complete -c bawn -n '__bawn_at home' -l all -d 'List hidden files, too'
complete -c bawn -n '__bawn_at allow' -l once -d 'For one connection'
complete -c bawn -n '__bawn_at allow' -l session -d 'For this session only'
complete -c bawn -n '__bawn_at allow' -l always -d 'For later sessions, too'
complete -c bawn -n '__bawn_at diff' -l stat -d 'One line per file'
complete -c bawn -n '__bawn_at diff' -l name-only -d 'Only names'
complete -c bawn -n '__bawn_at apply fleet' -l allow-risky -d 'Apply files that could run on your machine, too'
complete -c bawn -n '__bawn_at review apply' -s p -l patch -d 'Ask about each hunk'
complete -c bawn -n '__bawn_at apply undo redo fleet' -l merge -d 'Merge both, unless the same lines changed'
complete -c bawn -n '__bawn_at apply fleet' -l markers -d 'Merge both, with conflict markers'
complete -c bawn -n '__bawn_at apply fleet' -l ours -d 'Keep your changes'
complete -c bawn -n '__bawn_at apply fleet' -l theirs -d 'Overwrite your changes'
complete -c bawn -n '__bawn_at undo redo' -l force -d 'Overwrite your changes'
complete -c bawn -n '__bawn_at undo' -l prune -d 'Forget old sessions'
complete -c bawn -n '__bawn_at undo' -l to -x -a '10m 1h 2h' -d 'Go back to a checkpoint'
complete -c bawn -n '__bawn_at export' -l to -x -a 'bwrap claude codex docker nono seatbelt srt systemd' -d 'The format'
complete -c bawn -n '__bawn_at import' -l from -x -a 'bwrap claude codex firejail nono safehouse seatbelt srt' -d 'The format'
complete -c bawn -n '__bawn_at learn' -l from -x -a '(__bawn_sessions)' -d 'Learn from an earlier run'
complete -c bawn -n '__bawn_at learn' -l write -r -F -a 'user repo' -d 'Add the lines to a policy'
complete -c bawn -n '__bawn_at learn profile' -l for -x -a '1m 10m 1h' -d 'End CMD after this time'
complete -c bawn -n '__bawn_at profiles' -l guide -d 'How to write a profile'
complete -c bawn -n '__bawn_at profile' -a new
complete -c bawn -n '__bawn_at export' -l strict -d 'Print nothing if a refusal would be lost'
complete -c bawn -n '__bawn_at undo' -l list -d 'List what can be undone'
complete -c bawn -n '__bawn_at sessions' -l all -d 'Sessions of every workspace'
complete -c bawn -n '__bawn_at sessions' -l repair -d 'Try again to repair killed sessions'
complete -c bawn -n '__bawn_at log' -l denied -d 'Only what was refused'
complete -c bawn -n '__bawn_at log' -l net -d 'Only the network'
complete -c bawn -n '__bawn_at log' -l files -d 'Only files and decoys'
complete -c bawn -n '__bawn_at log' -l exec -d 'Only processes'
complete -c bawn -n '__bawn_at log' -l asked -d 'Only questions from inside'
complete -c bawn -n '__bawn_at log' -l since -x -a '10m 1h 2h 1d' -d 'Only the last 2h, 30m ...'
complete -c bawn -n '__bawn_at log' -l grep -x -d 'Only lines that contain a text'
complete -c bawn -n '__bawn_at log' -l report -r -F -d 'Write an HTML page'
complete -c bawn -n '__bawn_at log' -l follow -d 'Keep printing until the session ends'
complete -c bawn -n '__bawn_at log' -l verify -d 'Check the hash chain'
complete -c bawn -n '__bawn_at first run show why check held diff sessions log learn profiles fleet doctor prove' -l json -d 'Print JSON'
complete -c bawn -n '__bawn_at doctor' -l storage -d 'List what bawn stores'
complete -c bawn -n '__bawn_at trust home apply discard undo redo login learn fleet' -s y -l yes -d 'Do not ask'
complete -c bawn -n '__bawn_at trust' -l revoke -d 'Stop trusting it'

complete -c bawn -n '__bawn_at held' -l keep -d 'Put the files back'
complete -c bawn -n '__bawn_at first run prove' -l log-exec -d 'Record which programs run'
complete -c bawn -n '__bawn_at first run' -l checkpoint -x -a '5m 15m 30m 1h' -d 'Take snapshots while CMD runs'
complete -c bawn -n '__bawn_at first run' -l on-exit -x -d 'Run a command outside the sandbox afterwards'
complete -c bawn -n '__bawn_at first run' -l session-file -r -F -d 'Write the name of the session into a file'
complete -c bawn -n '__bawn_at first run' -l quiet -d 'No line at the start, no summary at the end'
complete -c bawn -n '__bawn_at first run' -l branch -x -a '(command git branch --format="%(refname:short)" 2>/dev/null)' -d 'Work on a git branch, in a worktree'
complete -c bawn -n '__bawn_at first run' -l ask -d 'Let connections to unlisted hosts wait for your answer'
complete -c bawn -n '__bawn_at first run' -l notify -d 'Report at once when a decoy is opened'
complete -c bawn -n '__bawn_at first run' -l keep-flagged -d 'Accept changes of flagged files without asking'

# Rules as flags.
set -l rules '__bawn_at first run show why check export learn profile prove fleet'
complete -c bawn -n $rules -l read-only -d 'Let CMD write nothing outside its private home'
complete -c bawn -n $rules -l review -d 'Let changes wait until you apply them'
complete -c bawn -n $rules -l discard -d 'Throw changes away at the end'
complete -c bawn -n $rules -l nested -d 'Let CMD make namespaces; its changes wait for review'
complete -c bawn -n $rules -x -l walls -d 'Which walls to raise' -a 'namespaces landlock'
complete -c bawn -n $rules -l full-access -d 'Let CMD write every file that you can write'
complete -c bawn -n $rules -l i-know -d 'Confirm --full-access'
complete -c bawn -n $rules -x -l degrade -d 'Go on without this wall if it is missing' -a 'landlock seccomp root memory'
complete -c bawn -n $rules -x -l agent -d 'Use the profile of this agent' -a '(__bawn_agents)'
complete -c bawn -n $rules -l fresh-home -d 'Use an empty private home, removed at the end'
complete -c bawn -n $rules -l workspace -x -a '(__fish_complete_directories)' -d 'A project tree, writable'
complete -c bawn -n $rules -l read -r -F -d 'Let CMD read and execute it'
complete -c bawn -n $rules -l write -r -F -d 'Let CMD write it'
complete -c bawn -n $rules -l hide -r -F -d 'Hide it, also in a readable directory'
complete -c bawn -n $rules -l seal -r -F -d 'Hide it, whatever profiles and repositories grant'
complete -c bawn -n $rules -l freeze -r -F -d 'Make it read-only in a writable directory'
complete -c bawn -n $rules -l flag -r -F -d 'Ask about changes of it at the end'
complete -c bawn -n $rules -l seed -x -a '(__fish_complete_directories)' -d 'Show a cache; changes stay in the sandbox'
complete -c bawn -n $rules -l sift -r -F -d 'Copy a file without its secrets'
complete -c bawn -n $rules -l copy -r -F -d 'Copy it into the private home'
complete -c bawn -n $rules -l sync -r -F -d 'Keep a small file the same inside and outside'
complete -c bawn -n $rules -l socket -r -F -d 'Let CMD connect to a Unix socket'
complete -c bawn -n $rules -l net -x -a '(__bawn_net)' -d 'No network, listed hosts, or that of this machine'
complete -c bawn -n $rules -l connect -x -a '(__fish_print_hostnames)' -d 'Let CMD reach a host'
complete -c bawn -n $rules -l refuse -x -a '(__fish_print_hostnames)' -d 'Forbid a host'
complete -c bawn -n $rules -l publish -x -d 'Open a port of the sandbox at 127.0.0.1'
complete -c bawn -n $rules -l host-port -x -d "Let CMD reach a port of this machine's localhost"
complete -c bawn -n $rules -l env -x -a '(set -nx)' -d 'Pass a variable, or set one'
complete -c bawn -n $rules -l unset -x -a '(set -nx)' -d 'Drop a variable'
complete -c bawn -n $rules -l secret -x -d 'Keep the value of a variable outside'
complete -c bawn -n $rules -l forge -x -d 'Let git reach a repository, with your keys outside'
complete -c bawn -n $rules -l ssh-key -x -d 'Log in at hosts with a key of your ssh agent'
complete -c bawn -n $rules -l secrets -x -a 'outside inside' -d 'Whether rules for secrets apply'
complete -c bawn -n $rules -l limit -x -a '(__bawn_limits)' -d 'Memory, pids, files, time, disk, rate, snapshot or journals'
complete -c bawn -n $rules -l require -x -d 'Refuse to run without this' -a namespaces
complete -c bawn -n $rules -l guard -x -d 'Ask before such a command, or refuse it'
complete -c bawn -n $rules -l artifacts -x -d 'Do not report new programs in these directories'
complete -c bawn -n $rules -l use -x -a '(__bawn_profiles)' -d 'Add a profile'
complete -c bawn -n $rules -l policy -r -F -d 'Add a file of rules'
