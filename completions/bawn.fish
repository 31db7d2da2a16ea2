# Completion of bawn for fish.

# Reads the words before the cursor and prints whose the next one is: `first` (a verb or a command), the verb's, or
# `command` where it belongs to the command. With --rest, prints the command's words so far instead.
function __bawn_state
    set -l takes --workspace --read --write --hide --seal --freeze --flag --copy --seed --sift --sync --socket --net --connect \
        --refuse --publish --host-port --env --unset --limit --artifacts --use --policy --agent --degrade --report --branch
    set -l words (commandline -opc)
    set -l verb first
    set -l i 2
    while test $i -le (count $words)
        set -l word $words[$i]
        set -l from 0
        switch $word
            case --
                contains -- $verb init login shell-init trust home held review diff apply discard sessions log undo redo profiles allow publish doctor help; or set from (math $i + 1)
            case '-?*'
                contains -- $word $takes; and set i (math $i + 1)
            case '*'
                if test $verb = first; and contains -- $word run show why check init login shell-init trust home held review diff apply discard sessions log undo redo profiles allow publish doctor prove help
                    set verb $word
                else if contains -- $verb first run show prove
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
    printf '%s\t%s\n' off none allow 'only what connect names' open "the host's"
end

function __bawn_limits
    printf '%s\t%s\n' memory= 'a size, such as 8G' pids= 'a count' files= 'a count' time= 'such as 8h' \
        snapshot= 'a size, such as 2G' \
        journals= 'a size, such as 256M'
end

complete -c bawn -f
complete -c bawn -n '__bawn_at command' -a '(__bawn_command)'

# Verbs. All programs there are would bury them, so those are offered once something was typed.
complete -c bawn -n '__bawn_at first' -a run -d 'Run a command in the sandbox'
complete -c bawn -n '__bawn_at first' -a show -d 'The whole policy that would hold here'
complete -c bawn -n '__bawn_at first' -a why -d 'Which rule decides a path, a host or a variable'
complete -c bawn -n '__bawn_at first' -a check -d 'Read policies as a compiler would'
complete -c bawn -n '__bawn_at first' -a trust -d "Let the repository's own .bawn grant what it asks for"
complete -c bawn -n '__bawn_at first' -a home -d 'What runs left in the private home here'
complete -c bawn -n '__bawn_at first' -a held -d 'What was moved aside at the end of a run'
complete -c bawn -n '__bawn_at first' -a diff -d 'What a session changed, or would change'
complete -c bawn -n '__bawn_at first' -a apply -d 'Bring what a session kept aside into the workspace'
complete -c bawn -n '__bawn_at first' -a review -d 'Walk through what a session did, and decide about it'
complete -c bawn -n '__bawn_at first' -a discard -d 'Throw away what a session kept aside'
complete -c bawn -n '__bawn_at first' -a sessions -d 'Sessions that wait, or that can be undone'
complete -c bawn -n '__bawn_at first' -a log -d 'What a session did, tried and was refused'
complete -c bawn -n '__bawn_at first' -a undo -d 'Take back what a run changed'
complete -c bawn -n '__bawn_at first' -a redo -d 'Bring back what an undo took back'
complete -c bawn -n '__bawn_at first' -a profiles -d 'List the profiles, or print one'
complete -c bawn -n '__bawn_at first' -a allow -d 'Let a running session reach a host'
complete -c bawn -n '__bawn_at first' -a publish -d "Show a running session's port on this machine"
complete -c bawn -n '__bawn_at first' -a init -d 'Write a first .bawn for the repository here'
complete -c bawn -n '__bawn_at first' -a login -d "An agent's first login, with your browser"
complete -c bawn -n '__bawn_at first' -a shell-init -d 'Functions that make an agent mean that agent in bawn'
complete -c bawn -n '__bawn_at first' -a doctor -d 'What this machine can hold, and what would help'
complete -c bawn -n '__bawn_at first' -a prove -d 'Attack the sandbox here, and show what came of it'
complete -c bawn -n '__bawn_at prove' -l report -r -F -d 'The findings as a page'
complete -c bawn -n '__bawn_at first' -a help -d 'The overview, or the usage of a verb'
complete -c bawn -n '__bawn_at first; and test -n (commandline -ct | string collect)' -a '(__fish_complete_command)'

# Words of the verbs.
complete -c bawn -n '__bawn_at run show prove' -a '(__fish_complete_command)'
complete -c bawn -n '__bawn_at why check review diff apply discard undo redo' -F
complete -c bawn -n '__bawn_at review diff apply discard log undo redo' -a '(__bawn_sessions)'
complete -c bawn -n '__bawn_at trust' -a '(__fish_complete_directories)'
complete -c bawn -n '__bawn_at home' -a 'list fetch reset'
complete -c bawn -n '__bawn_at held' -F -a '(command bawn held 2>/dev/null | string replace -r " .*" "" | sort -u)'
complete -c bawn -n '__bawn_at login' -a '(__bawn_agents)'
complete -c bawn -n '__bawn_at shell-init' -a 'bash zsh fish'
complete -c bawn -n '__bawn_at profiles' -a '(__bawn_profiles)'
complete -c bawn -n '__bawn_at help' -a 'run show why check init login shell-init trust home held review diff apply discard sessions log undo redo profiles allow publish doctor prove help'

# Flags.
complete -c bawn -n 'not __bawn_at command' -s h -l help -d 'Print help'
complete -c bawn -n '__bawn_at first run' -s V -l version -d 'Print the version'
complete -c bawn -n '__bawn_at show' -l plan -d 'The list of operations that a run would carry out'
complete -c bawn -n '__bawn_at show' -l brief -d 'The text that tells an agent where it is'
complete -c bawn -n '__bawn_at show' -l all -d 'Sealed places too that do not exist here'
complete -c bawn -n '__bawn_at home' -l all -d 'Hidden files too'
complete -c bawn -n '__bawn_at allow' -l session -d 'For this session only'
complete -c bawn -n '__bawn_at allow' -l always -d 'For the sessions to come too'
complete -c bawn -n '__bawn_at diff' -l stat -d 'One line a file'
complete -c bawn -n '__bawn_at diff' -l name-only -d 'Names alone'
complete -c bawn -n '__bawn_at apply' -l allow-risky -d 'Also what would run on the host'
complete -c bawn -n '__bawn_at review apply' -s p -l patch -d 'Ask about each hunk'
complete -c bawn -n '__bawn_at apply undo redo' -l merge -d 'Join both where you have not changed the same lines'
complete -c bawn -n '__bawn_at apply' -l markers -d 'Join both, with marks where you have'
complete -c bawn -n '__bawn_at apply' -l ours -d 'Keep what you have changed since'
complete -c bawn -n '__bawn_at apply' -l theirs -d 'Overwrite what you have changed since'
complete -c bawn -n '__bawn_at undo redo' -l force -d 'Overwrite what you have changed since'
complete -c bawn -n '__bawn_at undo' -l prune -d 'Forget what is finished and old'
complete -c bawn -n '__bawn_at undo' -l to -x -a '10m 1h 2h' -d 'Back to a checkpoint'
complete -c bawn -n '__bawn_at undo' -l list -d 'What can be undone'
complete -c bawn -n '__bawn_at sessions' -l all -d 'Of every workspace'
complete -c bawn -n '__bawn_at sessions' -l repair -d 'Try again to repair killed sessions'
complete -c bawn -n '__bawn_at log' -l denied -d 'Only what was refused'
complete -c bawn -n '__bawn_at log' -l net -d 'Only the network'
complete -c bawn -n '__bawn_at log' -l files -d 'Only files and decoys'
complete -c bawn -n '__bawn_at log' -l exec -d 'Only processes'
complete -c bawn -n '__bawn_at log' -l since -x -a '10m 1h 2h 1d' -d 'Only the latest'
complete -c bawn -n '__bawn_at log' -l grep -x -d 'Only lines with a text'
complete -c bawn -n '__bawn_at log' -l report -r -F -d 'A page of HTML'
complete -c bawn -n '__bawn_at log' -l follow -d 'Go on until the session ends'
complete -c bawn -n '__bawn_at log' -l verify -d 'Check that nothing was changed'
complete -c bawn -n '__bawn_at first run show why check held diff sessions log profiles doctor prove' -l json -d 'Print JSON'
complete -c bawn -n '__bawn_at trust home apply discard undo redo login' -s y -l yes -d 'Do not ask'
complete -c bawn -n '__bawn_at trust' -l revoke -d 'Take it back'

complete -c bawn -n '__bawn_at held' -l keep -d 'Put the files back'
complete -c bawn -n '__bawn_at first run prove' -l log-exec -d 'Record which programs are executed'
complete -c bawn -n '__bawn_at first run' -l checkpoint -x -a '5m 15m 30m 1h' -d 'Snapshots while it runs'
complete -c bawn -n '__bawn_at first run' -l on-exit -x -d 'Run a command afterwards'
complete -c bawn -n '__bawn_at first run' -l quiet -d 'No summary at the end'
complete -c bawn -n '__bawn_at first run' -l branch -x -a '(command git branch --format="%(refname:short)" 2>/dev/null)' -d 'Work in a git worktree of its own on a branch'
complete -c bawn -n '__bawn_at first run' -l notify -d 'Say at once when a decoy is opened'
complete -c bawn -n '__bawn_at first run' -l keep-flagged -d 'Keep what is new in flagged files without asking'

# Rules as flags.
set -l rules '__bawn_at first run show why check prove'
complete -c bawn -n $rules -l read-only -d 'Nothing of the host can be written'
complete -c bawn -n $rules -l review -d 'Keep what the command writes aside'
complete -c bawn -n $rules -l discard -d 'Throw away what the command writes'
complete -c bawn -n $rules -l nested -d 'Let the command make namespaces of its own; what it writes is kept aside'
complete -c bawn -n $rules -l full-access -d 'The host\'s files as they are'
complete -c bawn -n $rules -l i-know -d 'What full access means'
complete -c bawn -n $rules -x -l degrade -d 'Go on where this wall cannot be raised' -a 'landlock seccomp root memory'
complete -c bawn -n $rules -x -l agent -d 'The profile of this agent, whatever the command is' -a '(__bawn_agents)'
complete -c bawn -n $rules -l fresh-home -d 'A private home that is thrown away at the end'
complete -c bawn -n $rules -l workspace -x -a '(__fish_complete_directories)' -d 'A project tree, writable'
complete -c bawn -n $rules -l read -r -F -d 'Visible, executable, not writable'
complete -c bawn -n $rules -l write -r -F -d 'Visible and writable'
complete -c bawn -n $rules -l hide -r -F -d 'Not there, even under a visible parent'
complete -c bawn -n $rules -l seal -r -F -d 'Hidden, opened by no profile and no repository'
complete -c bawn -n $rules -l freeze -r -F -d 'Read-only inside a writable tree'
complete -c bawn -n $rules -l flag -r -F -d 'Writable; you decide at the end'
complete -c bawn -n $rules -l seed -x -a '(__fish_complete_directories)' -d 'A folder to read, what is written stays inside'
complete -c bawn -n $rules -l sift -r -F -d 'Settings of a file, without its secrets'
complete -c bawn -n $rules -l copy -r -F -d 'Copied from your home into the private home'
complete -c bawn -n $rules -l sync -r -F -d 'One small file, kept the same on both sides'
complete -c bawn -n $rules -l socket -r -F -d 'One Unix socket of the host'
complete -c bawn -n $rules -l net -x -a '(__bawn_net)' -d 'Which network there is'
complete -c bawn -n $rules -l connect -x -a '(__fish_print_hostnames)' -d 'May be reached'
complete -c bawn -n $rules -l refuse -x -a '(__fish_print_hostnames)' -d 'May not be reached'
complete -c bawn -n $rules -l publish -x -d "A port of the sandbox that the host's 127.0.0.1 shows"
complete -c bawn -n $rules -l host-port -x -d "A service on the host's loopback"
complete -c bawn -n $rules -l env -x -a '(set -nx)' -d 'Pass a variable, or set one'
complete -c bawn -n $rules -l unset -x -a '(set -nx)' -d 'Do not pass a variable'
complete -c bawn -n $rules -l limit -x -a '(__bawn_limits)' -d 'Memory, pids, files, time, snapshot or journals'
complete -c bawn -n $rules -l artifacts -x -d 'A folder of builds: new programs in it are not told of'
complete -c bawn -n $rules -l use -x -a '(__bawn_profiles)' -d 'Add a profile'
complete -c bawn -n $rules -l policy -r -F -d 'Read a whole file of rules'
