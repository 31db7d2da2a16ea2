/* The table of verbs. Any other word begins the command to run. */
#include "cli/commands.h"

/* The last entry has no name. The first is the default. */
const struct verb_entry verb_table[] = {
    {
        .name = "run",
        .run = cmd_run,
        .repairs = true,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(BRANCH) | FLAG(CHECKPOINT) | FLAG(KEEP_FLAGGED) |
                 FLAGS_ENDING | FLAG(VERSION),
        .takes_command = true,
        .summary = "run a command (what `bawn CMD` means)",
        .usage =
            "bawn [run] [MODE]... [--RULE OBJECT]... [--] CMD...\n"
            "\n"
            "Runs CMD in the sandbox. Everything from the first word that is not bawn's on belongs to CMD.\n"
            "Ends with the status of CMD: 128+N if signal N ended it, 127 if it was not found, 126 if it could\n"
            "not be executed, 125 if bawn refused or failed.\n"
            "\n"
            "  --review      what CMD writes in the workspace is kept aside until you apply it (`bawn review`);\n"
            "                --review=all keeps aside what it writes anywhere\n"
            "  --branch NAME CMD works in a git worktree of its own on that branch, which is made where it is missing;\n"
            "                the checkout here is only read, and merging is yours\n"
            "  --discard     what CMD writes in the workspace is thrown away when it ends\n"
            "  --read-only   nothing of the host can be written, the workspace included\n"
            "  --checkpoint TIME\n"
            "                a snapshot of the workspace every 15m (90s, 1h) while CMD runs, for `bawn undo --to`\n"
            "  --nested      CMD may make namespaces of its own (an agent's own sandbox works inside). Gives up the\n"
            "                Landlock wall on files, and therefore implies --review=all (or say --read-only)\n"
            "  --fresh-home  a private home that is empty at the start and thrown away at the end\n"
            "  --full-access --i-know\n"
            "                the host's files as they are, for you to answer for: only processes, IPC, the\n"
            "                network and the environment stay apart\n"
            "  --degrade=WALL[,WALL]\n"
            "                go on where this machine cannot raise a wall: landlock, seccomp, root, memory\n"
            "  --agent NAME  the profile of this agent, whatever CMD is called (`bawn profiles` lists them)\n"
            "  --keep-flagged\n"
            "                keeps what is new in flagged files (CI, editor tasks, agents' instructions) without\n"
            "                asking; where nobody can be asked it is held aside, and `bawn held` shows it\n"
            "  --notify[=COMMAND]\n"
            "                says at once when CMD reads a decoy (see docs/JOURNAL.md), by notify-send or by COMMAND,\n"
            "                which the shell runs with $BAWN_TEXT, $BAWN_PATH, $BAWN_PROCESS and $BAWN_SESSION\n"
            "  --log-exec    records which programs are executed, and how they end, for `bawn log`\n"
            "  --on-exit COMMAND\n"
            "                afterwards, with $BAWN_TEXT, $BAWN_SESSION, $BAWN_STATUS and $BAWN_CHANGES\n"
            "  --quiet       no summary at the end\n"
            "  --json        the summary as one line of JSON on standard error\n"
            "\n"
            "  bawn claude --dangerously-skip-permissions\n"
            "  bawn --read ~/datasets --net off -- make test\n"
            "  bawn --read-only -- ./configure --help\n",
    },
    {
        .name = "show",
        .run = cmd_show,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON) | FLAG(PLAN) | FLAG(BRIEF) | FLAG(ALL),
        .takes_command = true,
        .summary = "the whole policy that holds here, with its origins",
        .usage = "bawn show [--plan | --brief] [--json] [--all] [--RULE OBJECT]... [-- CMD...]\n"
                 "\n"
                 "Shows what CMD could write, read and reach here, and which line of which file says so.\n"
                 "\n"
                 "  --plan    the list of operations that a run would carry out\n"
                 "  --json    the plan as JSON (see docs/PLAN.md)\n"
                 "  --brief   the text that tells an agent where it is\n"
                 "  --all     sealed places too that do not exist on this machine\n"
                 "\n"
                 "  bawn show -- claude\n"
                 "  bawn show --plan --json -- claude | jq '.operations[] | select(.op == \"write\")'\n"
                 "  bawn show --read /srv/data -- codex\n",
    },
    {
        .name = "why",
        .run = cmd_why,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON),
        .words = "PATH|HOST[:PORT]|$NAME",
        .takes_command = true,
        .summary = "which rule decides a path, host or variable",
        .usage =
            "bawn why [--json] [--RULE OBJECT]... PATH|HOST[:PORT]|$NAME... [-- CMD...]\n"
            "\n"
            "Says in a paragraph what may be done, which rule decides it, which rules it beat and why, and the\n"
            "line or flag that would change it. A path has a '/' or '~' in it or exists; a host has a dot.\n"
            "\n"
            "  bawn why ~/.ssh/id_ed25519\n"
            "  bawn why registry.npmjs.org -- claude\n"
            "  bawn why '$AWS_PROFILE'\n",
    },
    {
        .name = "check",
        .run = cmd_check,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON),
        .words = "FILE",
        .takes_command = true,
        .summary = "report every mistake in the policies",
        .usage =
            "bawn check [--json] [FILE... | [--RULE OBJECT]... -- CMD...]\n"
            "\n"
            "Checks the files; without one, everything that would apply here. Exit status 2 on an error.\n"
            "\n"
            "  bawn check\n"
            "  bawn check .bawn ~/.config/bawn/policy.bawn\n"
            "  bawn check -- claude\n",
    },
    {
        .name = "init",
        .run = cmd_init,
        .summary = "write a first .bawn for the repository here",
        .usage =
            "bawn init\n"
            "\n"
            "Writes .bawn at the top of the workspace: the rules that a repository may have, as comments, with what was\n"
            "found here. Take out the # before those that you want. A .bawn that is there is left as it is.\n"
            "\n"
            "  bawn init && $EDITOR .bawn && bawn check\n",
    },
    {
        .name = "login",
        .run = cmd_login,
        .repairs = true,
        .flags = FLAG(YES),
        .words = "AGENT",
        .takes_command = true,
        .summary = "an agent's first login, with your browser",
        .usage =
            "bawn login [--yes] AGENT [-- WORD...]\n"
            "\n"
            "Runs the agent's own login in a sandbox without a project. The page that it wants to open is shown, and\n"
            "opened in your browser if you agree: only https, and only a host that the agent's profile names for its\n"
            "login. The page's answer comes in at a port of 127.0.0.1, and the login is then yours on both sides.\n"
            "\n"
            "  --yes     do not ask (needed where there is no terminal)\n"
            "  WORD...   added to the agent's own words for it\n"
            "\n"
            "The browser is what $BAWN_BROWSER names by its full path, or xdg-open.\n"
            "\n"
            "  bawn login codex\n"
            "  bawn login claude -- --console\n",
    },
    {
        .name = "shell-init",
        .run = cmd_shell_init,
        .words = "bash|zsh|fish",
        .summary = "functions that make `claude` mean `bawn claude`",
        .usage =
            "bawn shell-init bash|zsh|fish\n"
            "\n"
            "Prints a function for each agent that is on your PATH, so that its name alone runs it in bawn. The agent\n"
            "itself is still there: `command claude`. Inside a sandbox it prints nothing.\n"
            "\n"
            "  eval \"$(bawn shell-init bash)\"      in ~/.bashrc; likewise zsh in ~/.zshrc\n"
            "  bawn shell-init fish | source       in ~/.config/fish/config.fish\n",
    },
    {
        .name = "trust",
        .run = cmd_trust,
        .flags = FLAG(REVOKE) | FLAG(YES),
        .words = "DIR",
        .summary = "let a repository's .bawn grant what it asks for",
        .usage =
            "bawn trust [--yes] [--revoke] [DIR]\n"
            "\n"
            "A repository's .bawn only tightens until you trust it. Shows what it would widen, asks, and pins\n"
            "its content: a change of a single byte needs your word again.\n"
            "\n"
            "  --yes      do not ask (needed where there is no terminal)\n"
            "  --revoke   take it back\n"
            "\n"
            "  bawn trust\n"
            "  bawn trust --revoke ~/projects/my-app\n",
    },
    {
        .name = "home",
        .run = cmd_home,
        .repairs = true,
        .flags = FLAG(ALL) | FLAG(YES),
        .words = "list|fetch|reset",
        .summary = "what runs left in the private home here",
        .usage =
            "bawn home [list] [--all]\n"
            "       bawn home fetch [AGENT:]PATH [DEST]\n"
            "       bawn home reset [--yes] [AGENT]\n"
            "\n"
            "Inside, your home directory is a private one, kept an agent and workspace. `list` names the files in\n"
            "those of this workspace, the newest first; `fetch` copies one out, as a file that is not executable;\n"
            "`reset` throws away the home of AGENT, or all of this workspace.\n"
            "\n"
            "  --all   hidden files too: what programs keep for themselves\n"
            "  --yes   do not ask (needed where there is no terminal)\n"
            "\n"
            "  bawn home\n"
            "  bawn home fetch '~/report.pdf'\n"
            "  bawn home fetch claude:notes/today.md ~/today.md\n"
            "  bawn home reset claude\n",
    },
    {
        .name = "held",
        .run = cmd_held,
        .repairs = true,
        .flags = FLAG(KEEP) | FLAG(JSON),
        .words = "SESSION|PATH",
        .summary = "what was moved aside at the end of a run",
        .usage =
            "bawn held [--json] [SESSION]\n"
            "bawn held --keep SESSION [PATH...]\n"
            "\n"
            "Lists what the sessions hold: new content of flagged files that nobody agreed to, and files that\n"
            "appeared where none may be. It lies in the session's folder under the path that it had.\n"
            "\n"
            "  --keep    puts the files back, all of the session's or those named; what is there by now is held\n"
            "            in their place\n"
            "\n"
            "  bawn held\n"
            "  bawn held my-app-3\n"
            "  bawn held --keep my-app-3 .github/workflows/ci.yml\n",
    },
    {
        .name = "review",
        .run = cmd_review,
        .repairs = true,
        .flags = FLAG(PATCH),
        .words = "SESSION|PATH",
        .summary = "walk through what a session did, and decide about it",
        .usage =
            "bawn review [--patch] [SESSION] [PATH...]\n"
            "\n"
            "The morning command: says what a session did and tried, what is flagged and why, and then shows file\n"
            "by file what it changed. One key applies a file, leaves it waiting or throws it away; of a live run it\n"
            "keeps a file or takes it back. Nothing happens before the end, when you are asked once more, and\n"
            "what then happens can be undone. Without SESSION: what waits here, or else the latest run.\n"
            "\n"
            "  --patch   begin each file with its hunks\n"
            "\n"
            "Keys: y apply, n leave, x throw away, h hunk by hunk, A all the rest, k and j back and on, ? help.\n"
            "\n"
            "  bawn review\n"
            "  bawn review my-app-3 src/\n",
    },
    {
        .name = "diff",
        .run = cmd_diff,
        .repairs = true,
        .flags = FLAG(STAT) | FLAG(NAME_ONLY) | FLAG(JSON),
        .words = "SESSION|PATH",
        .summary = "what a session changed, or would change",
        .usage =
            "bawn diff [--stat | --name-only | --json] [SESSION] [PATH...]\n"
            "\n"
            "Shows what a session changed in the workspace, or wrote aside with --review; without SESSION the\n"
            "latest one here. What would run on the host is marked with `! risky` and the reason. On a terminal it goes\n"
            "through $BAWN_PAGER, $PAGER or less.\n"
            "\n"
            "  --stat        one line a file, with the lines added and removed\n"
            "  --name-only   names alone\n"
            "  --json        the changes as JSON (see docs/WORKSPACE.md)\n"
            "\n"
            "  bawn diff\n"
            "  bawn diff my-app-3 src/ | git apply --check\n",
    },
    {
        .name = "apply",
        .run = cmd_apply,
        .repairs = true,
        .flags = FLAG(YES) | FLAG(ALLOW_RISKY) | FLAG(THEIRS) | FLAG(OURS) | FLAG(MERGE) | FLAG(MARKERS) |
                 FLAG(PATCH),
        .words = "SESSION|PATH",
        .summary = "bring what a session kept aside into the workspace",
        .usage =
            "bawn apply [--patch] [--yes] [--allow-risky] [--merge | --markers | --ours | --theirs] [SESSION] [PATH...]\n"
            "\n"
            "Applies what a session with --review wrote: all of it, or the paths named. Files that you have changed\n"
            "since it began are kept and shown, and what would run on the host waits for your word.\n"
            "An apply can be undone. Exit status 1 if something was kept.\n"
            "\n"
            "  --patch         asks about each file hunk by hunk, as `git add --patch` does\n"
            "  --yes           do not ask\n"
            "  --allow-risky   also what would run on the host\n"
            "\n"
            "Of a file that you have changed since:\n"
            "  --merge         joins both, where you have not changed the same lines\n"
            "  --markers       the same, and writes both with marks where you have\n"
            "  --ours          keeps yours, and gives up the session's\n"
            "  --theirs        overwrites yours\n"
            "\n"
            "  bawn apply\n"
            "  bawn apply my-app-3 src/\n"
            "  bawn apply --merge\n",
    },
    {
        .name = "discard",
        .run = cmd_discard,
        .repairs = true,
        .flags = FLAG(YES),
        .words = "SESSION|PATH",
        .summary = "throw away what a session kept aside",
        .usage =
            "bawn discard [--yes] [SESSION] [PATH...]\n"
            "\n"
            "Throws away what a session with --review wrote and nobody applied: all of it, or the paths named.\n"
            "\n"
            "  --yes   do not ask; needed where there is no terminal\n"
            "\n"
            "  bawn discard my-app-3\n"
            "  bawn discard my-app-3 .github/\n",
    },
    {
        .name = "sessions",
        .run = cmd_sessions,
        .repairs = true,
        .flags = FLAG(ALL) | FLAG(JSON) | FLAG(REPAIR),
        .summary = "sessions that run, wait, or can be undone",
        .usage =
            "bawn sessions [--all] [--json]\n"
            "bawn sessions --repair\n"
            "\n"
            "Lists the sessions of this workspace, latest first: those that run and when they were last heard of,\n"
            "what waits to be applied, what can be undone, and what was refused last.\n"
            "\n"
            "  --all     of every workspace\n"
            "  --json    as JSON\n"
            "  --repair  try again to repair sessions that were killed and could not be repaired\n"
            "\n"
            "  bawn sessions\n",
    },
    {
        .name = "log",
        .run = cmd_log,
        .repairs = true,
        .flags = FLAG(DENIED) | FLAG(VERIFY) | FLAG(JSON) | FLAG(FOLLOW) | FLAG(LOG_NET) | FLAG(LOG_FILES) |
                 FLAG(LOG_EXEC) | FLAG(SINCE) | FLAG(GREP) | FLAG(REPORT),
        .words = "SESSION",
        .summary = "what a session did, tried and was refused",
        .usage =
            "bawn log [SESSION] [--denied] [--net] [--files] [--exec] [--since TIME] [--grep TEXT]\n"
            "         [--follow] [--json]\n"
            "bawn log [SESSION] --report FILE | --verify\n"
            "\n"
            "Shows the journal of a session: the latest of this workspace, or the one that is named.\n"
            "\n"
            "  --denied       only what was refused, not reached, held aside or tripped over\n"
            "  --net          only the network; with --files or --exec, those too\n"
            "  --files        only flagged files, and decoys that were opened\n"
            "  --exec         only processes\n"
            "  --since TIME   only the last 90s, 30m, 2h, 1d\n"
            "  --grep TEXT    only lines with this text in them, in whichever case\n"
            "  --follow       go on with what a running session adds, until it ends\n"
            "  --report FILE  all of it as one page of HTML, with hosts, processes and changes; - is standard output\n"
            "  --verify       check that no record was changed, moved or dropped; exit status 1 if one was\n"
            "  --json         as JSON; with --follow one object a line\n"
            "\n"
            "  bawn log\n"
            "  bawn log my-app-3 --denied --since 2h\n"
            "  bawn log --report run.html\n",
    },
    {
        .name = "undo",
        .run = cmd_undo,
        .repairs = true,
        .flags = FLAG(LIST) | FLAG(PRUNE) | FLAG(YES) | FLAG(THEIRS) | FLAG(MERGE) | FLAG(TO),
        .words = "SESSION|PATH",
        .summary = "take back what a run changed in the workspace",
        .usage =
            "bawn undo [--yes] [--merge | --force] [--to TIME] [SESSION] [PATH...]\n"
            "bawn undo --list | --prune\n"
            "\n"
            "Brings the files that a run changed back to what they were before it; without SESSION those of the\n"
            "latest run in this workspace. What you have changed since is kept and named. `bawn redo` reverses an\n"
            "undo, and so does a second `bawn undo`. Exit status 1 if something was kept.\n"
            "\n"
            "  --to TIME  not to the beginning, but to the last checkpoint at or before TIME (see `bawn run --help`):\n"
            "             04:45, '2026-11-15 04:45', or 20m ago\n"
            "  --list     what can be undone: sessions and checkpoints, with ages, files and sizes\n"
            "  --prune    forget finished sessions older than 30 days, the oldest while contents take more than 10 GiB, and\n"
            "             contents that nothing needs (see docs/WORKSPACE.md for other amounts)\n"
            "  --yes      do not ask\n"
            "  --merge    keep what you have changed since in other lines of a file\n"
            "  --force    overwrite what you have changed since, too\n"
            "\n"
            "  bawn undo\n"
            "  bawn undo my-app-3 src/main.c\n"
            "  bawn undo --to 04:45\n"
            "  bawn undo --list\n",
    },
    {
        .name = "redo",
        .run = cmd_redo,
        .repairs = true,
        .flags = FLAG(YES) | FLAG(THEIRS) | FLAG(MERGE),
        .words = "SESSION|PATH",
        .summary = "bring back what an undo took back",
        .usage =
            "bawn redo [--yes] [--merge | --force] [SESSION] [PATH...]\n"
            "\n"
            "Reverses the latest undo in this workspace. SESSION names another undo, or the session that was\n"
            "undone. Files that you have changed since are kept and named. Exit status 1 if something was kept.\n"
            "\n"
            "  --yes      do not ask\n"
            "  --merge    keep what you have changed since in other lines of a file\n"
            "  --force    overwrite what you have changed since, too\n"
            "\n"
            "  bawn redo\n"
            "  bawn redo my-app-3 src/main.c\n",
    },
    {
        .name = "profiles",
        .run = cmd_profiles,
        .flags = FLAG(JSON),
        .words = "NAME",
        .summary = "list the profiles, or print one",
        .usage =
            "bawn profiles [--json] [NAME]\n"
            "\n"
            "Your own in ~/.config/bawn/profiles come first, then /etc/bawn/profiles, then the built-in ones.\n"
            "\n"
            "  bawn profiles\n"
            "  bawn profiles agent/claude\n",
    },
    {
        .name = "allow",
        .run = cmd_allow,
        .flags = FLAG(SESSION) | FLAG(ALWAYS),
        .words = "HOST[:PORT]",
        .summary = "let a running session reach a host",
        .usage =
            "bawn allow [--session | --always] [@SESSION] HOST[:PORT]...\n"
            "\n"
            "Opens a host to the session that is running, at once; @SESSION names one where there are several.\n"
            "\n"
            "  --session   for this session only (the default)\n"
            "  --always    for the sessions to come too: adds the rule to your policy file\n"
            "\n"
            "  bawn allow api.example.com\n"
            "  bawn allow --always db.corp:5432\n",
    },
    {
        .name = "publish",
        .run = cmd_publish,
        .words = "[HOSTPORT:]PORT",
        .summary = "show a running session's port on this machine",
        .usage = "bawn publish [@SESSION] [HOSTPORT:]PORT...\n"
                 "\n"
                 "A server inside becomes reachable at 127.0.0.1 of this machine, and nowhere else.\n"
                 "\n"
                 "  bawn publish 3000\n"
                 "  bawn publish 8080:3000\n",
    },
    {
        .name = "doctor",
        .run = cmd_doctor,
        .flags = FLAG(JSON),
        .summary = "what this machine can hold, and what would help",
        .usage =
            "bawn doctor [--json]\n"
            "\n"
            "Tries what a run needs and says, wall by wall, what this machine can hold. Below each lack stand\n"
            "the commands that end it. Changes nothing. Exit status 1 if a run would be refused here.\n"
            "\n"
            "  bawn doctor\n"
            "  bawn doctor --json | jq '.walls[] | select(.state != \"ok\")'\n",
    },
    {
        .name = "prove",
        .run = cmd_prove,
        .repairs = true,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON) | FLAG(REPORT) | FLAG(RECORD_EXEC),
        .takes_command = true,
        .summary = "attack the sandbox here, and show what came of it",
        .usage =
            "bawn prove [--json] [--report FILE] [MODE]... [--RULE OBJECT]... [-- CMD...]\n"
            "\n"
            "Tries some 250 attacks in the sandbox that these flags make here for CMD, and judges each from outside:\n"
            "did a canary come out, did a file change, did a server hear, does the victim live. Each is first tried\n"
            "without a sandbox, on decoys alone; what does not work there either is not applicable, never held.\n"
            "Exit status 1 if anything escaped. docs/PROVE.md says what is tried, and how.\n"
            "\n"
            "  --json         the findings as JSON\n"
            "  --report FILE  also as a page to hand on: one HTML file that needs nothing else\n"
            "  --log-exec     attacks a sandbox whose programs are recorded, which has a filter more\n"
            "\n"
            "  bawn prove\n"
            "  bawn prove --agent claude\n"
            "  bawn prove --net off --read ~/datasets -- make\n",
    },
    {
        .name = "help",
        .run = cmd_help,
        .words = "VERB",
        .summary = "this page, or that of a verb",
        .usage = "bawn help [VERB]\n",
    },
    {0},
};
