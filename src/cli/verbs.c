/* The table of verbs. Any other word begins the command to run. Some long pages of help are in the file of their verb. */
#include "cli/commands.h"

/* The last entry has no name. The first is the default. */
const struct verb_entry verb_table[] = {
    {
        .name = "run",
        .run = cmd_run,
        .repairs = true,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(BRANCH) | FLAG(CHECKPOINT) | FLAG(KEEP_FLAGGED) |
                 FLAGS_ENDING | FLAG(SESSION_FILE) | FLAG(VERSION),
        .takes_command = true,
        .summary = "run CMD (the default)",
        .usage = "bawn [run] [MODE]... [--RULE OBJECT]... [--] CMD...\n"
                 "\n"
                 "Run CMD in the sandbox. Flags after CMD are its own. Rules: `bawn help rules`.\n"
                 "  bawn --read ~/datasets claude --dangerously-skip-permissions\n"
                 "\n"
                 "  --review[=all]      let changes (=all: of every file) wait for `bawn review`\n"
                 "  --branch NAME       work on this git branch, in a worktree that bawn makes\n"
                 "  --discard           throw away what CMD writes in the workspace\n"
                 "  --read-only         let CMD write nothing outside its private home\n"
                 "  --checkpoint TIME   take a snapshot every 90s, 15m, 1h, for `bawn undo`\n"
                 "  --fresh-home        start with an empty private home; remove it at the end\n"
                 "  --agent NAME        use this agent's profile, whatever CMD is called\n"
                 "  --keep-flagged      accept changes of flagged files without asking\n"
                 "  --ask               let connections to unlisted hosts wait for your answer\n"
                 "  --notify[=COMMAND]  report at once when CMD reads a decoy, or asks for more\n"
                 "  --log-exec          record which programs run, for `bawn log`\n"
                 "  --on-exit COMMAND   run COMMAND outside the sandbox afterwards\n"
                 "  --quiet, --json     no line at the start; at the end none, or one of JSON\n"
                 "  --session-file FILE  write the session's name into FILE, for a script\n"
                 "  --nested            let CMD make namespaces; no Landlock; implies --review=all\n"
                 "  --walls SET         namespaces or landlock (the default where there are none)\n"
                 "  --degrade=WALL      go on if landlock, seccomp, root or memory is missing\n"
                 "  --full-access --i-know   let CMD write every file that you can write\n"
                 "Exit status: CMD's; 128+N: signal N; 127: no CMD; 125: refused; 2: a mistake.\n",
    },
    {
        .name = "show",
        .run = cmd_show,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON) | FLAG(PLAN) | FLAG(BRIEF) | FLAG(ALL),
        .takes_command = true,
        .summary = "what CMD may do here",
        .usage = "bawn show [--plan | --brief] [--json] [--all]\n"
                 "                 [--RULE OBJECT]... [-- CMD...]\n"
                 "\n"
                 "Show on one screen what CMD could write, read and reach here.\n"
                 "\n"
                 "  --all     list everything, with the file and line of each rule\n"
                 "  --plan    list the operations that a run would carry out\n"
                 "  --json    print the plan as JSON (docs/PLAN.md)\n"
                 "  --brief   print the text that tells an agent where it is\n"
                 "\n"
                 "  bawn show -- claude\n"
                 "  bawn show --all -- claude\n"
                 "  bawn show --read /srv/data -- codex\n"
                 "  bawn show --json -- claude | jq '.operations[] | select(.op == \"write\")'\n",
    },
    {
        .name = "why",
        .run = cmd_why,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON),
        .words = "PATH|HOST[:PORT]|$NAME",
        .takes_command = true,
        .summary = "which rule decides",
        .usage = "bawn why [--json] [--RULE OBJECT]... PATH|HOST|$NAME... [-- CMD...]\n"
                 "       bawn why [--json] [--RULE OBJECT]... METHOD URL... [-- CMD...]\n"
                 "\n"
                 "Say whether CMD may use a path, host or variable, or make a request; which rule\n"
                 "decides it, which rules lost and why, and which flag would change it.\n"
                 "A word with '/' or '~', or the name of a file, is a path. A word with a dot is\n"
                 "a host. USER@HOST is a login by ssh, USER@HOST:PATH a repository.\n"
                 "\n"
                 "  --json    print the answers as JSON\n"
                 "\n"
                 "  bawn why ~/.ssh/id_ed25519\n"
                 "  bawn why registry.npmjs.org -- claude\n"
                 "  bawn why '$AWS_PROFILE'\n"
                 "  bawn why GET https://api.github.com/repos/acme/app\n",
    },
    {
        .name = "check",
        .run = cmd_check,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON),
        .words = "FILE",
        .takes_command = true,
        .summary = "find mistakes in policies",
        .usage = "bawn check [--json] [FILE... | [--RULE OBJECT]... -- CMD...]\n"
                 "\n"
                 "Report every mistake in the policy files. Without FILE: in all that apply here.\n"
                 "Exit status 2 if there is an error.\n"
                 "\n"
                 "  --json    print the mistakes as JSON\n"
                 "\n"
                 "  bawn check\n"
                 "  bawn check .bawn ~/.config/bawn/policy.bawn\n"
                 "  bawn check -- claude\n",
    },
    {
        .name = "export",
        .run = cmd_export,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(TO) | FLAG(STRICT),
        .takes_command = true,
        .summary = "the policy for other tools",
        .usage = export_usage,
    },
    {
        .name = "import",
        .run = cmd_import,
        .flags = FLAG(FROM),
        .words = "FILE",
        .summary = "rules of other tools",
        .usage = import_usage,
    },
    {
        .name = "learn",
        .run = cmd_learn,
        .repairs = true,
        .flags =
            FLAG(POLICY) | FLAGS_MODES | FLAG(FROM) | FLAG(FOR) | FLAG(WRITE_TO) | FLAG(JSON) | FLAG(YES),
        .takes_command = true,
        .summary = "lines that CMD would need",
        .usage = learn_usage,
    },
    {
        .name = "init",
        .run = cmd_init,
        .summary = "write a first .bawn file",
        .usage = "bawn init\n"
                 "\n"
                 "Write a .bawn file at the top of the workspace. All its rules are comments:\n"
                 "remove the # before those that you want. An existing .bawn stays as it is.\n"
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
        .summary = "log in to an agent",
        .usage = login_usage,
    },
    {
        .name = "shell-init",
        .run = cmd_shell_init,
        .words = "bash|zsh|fish",
        .summary = "make `claude` run in bawn",
        .usage = "bawn shell-init bash|zsh|fish\n"
                 "\n"
                 "Print a shell function for each agent on your PATH, so that `claude` means\n"
                 "`bawn claude`. `command claude` still runs it without bawn. Inside a sandbox\n"
                 "this prints nothing.\n"
                 "\n"
                 "  eval \"$(bawn shell-init bash)\"    in ~/.bashrc; zsh in ~/.zshrc likewise\n"
                 "  bawn shell-init fish | source     in ~/.config/fish/config.fish\n",
    },
    {
        .name = "trust",
        .run = cmd_trust,
        .flags = FLAG(REVOKE) | FLAG(YES),
        .words = "DIR",
        .summary = "let a .bawn grant access",
        .usage = "bawn trust [--yes] [--revoke] [DIR]\n"
                 "\n"
                 "Let the .bawn file of a repository grant access. Without trust it can only take\n"
                 "access away. bawn shows what the file grants, asks, and remembers its hash:\n"
                 "if a single byte changes, you are asked again.\n"
                 "\n"
                 "  --yes      do not ask (needed without a terminal)\n"
                 "  --revoke   stop trusting it\n"
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
        .summary = "files in the private home",
        .usage = "bawn home [list] [--all]\n"
                 "       bawn home fetch [AGENT:]PATH [DEST]\n"
                 "       bawn home reset [--yes] [AGENT]\n"
                 "\n"
                 "Inside, your home directory is a private one. Each agent has one per workspace.\n"
                 "  list    list the files in the homes of this workspace, newest first\n"
                 "  fetch   copy a file out; the copy is not executable\n"
                 "  reset   delete the home of AGENT, or all homes of this workspace\n"
                 "\n"
                 "  --all   list hidden files, too\n"
                 "  --yes   do not ask (needed without a terminal)\n"
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
        .summary = "files that bawn set aside",
        .usage = "bawn held [--json] [SESSION]\n"
                 "       bawn held --keep SESSION [PATH...]\n"
                 "\n"
                 "List the files that bawn set aside at the end of a run: changes that you did\n"
                 "not accept of flagged files, which your own programs run or obey, and files\n"
                 "where none may be. They are in the session's directory, under their old paths.\n"
                 "\n"
                 "  --keep    put all files of the session back, or those named. A file that is\n"
                 "            there now is set aside instead.\n"
                 "  --json    print the list as JSON\n"
                 "\n"
                 "  bawn held\n"
                 "  bawn held my-app-3\n"
                 "  bawn held --keep my-app-3 .github/workflows/ci.yml\n",
    },
    {
        .name = "review",
        .run = cmd_review,
        .repairs = true,
        .flags = FLAG(PATCH) | FLAG(JSON) | FLAG(FROM),
        .words = "SESSION|PATH",
        .summary = "decide about each change",
        .usage = review_usage,
    },
    {
        .name = "diff",
        .run = cmd_diff,
        .repairs = true,
        .flags = FLAG(STAT) | FLAG(NAME_ONLY) | FLAG(JSON),
        .words = "SESSION|PATH",
        .summary = "what a session changed",
        .usage = "bawn diff [--stat | --name-only | --json] [SESSION] [PATH...]\n"
                 "\n"
                 "Show what a session changed in the workspace, or what waits after --review.\n"
                 "Without SESSION: the latest session here. `! risky` marks files that could run\n"
                 "on your machine, or that a program there obeys, with the reason. On a terminal\n"
                 "the output goes through $BAWN_PAGER, $PAGER or less.\n"
                 "The output is a patch: run `git apply` on it at the top of the workspace.\n"
                 "\n"
                 "  --stat        print one line per file, with lines added and removed\n"
                 "  --name-only   print only the names\n"
                 "  --json        print the changes as JSON (docs/WORKSPACE.md)\n"
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
        .summary = "accept changes of --review",
        .usage = "bawn apply [--patch] [--yes] [--allow-risky]\n"
                 "                  [--merge | --markers | --ours | --theirs] [SESSION] [PATH...]\n"
                 "\n"
                 "Bring the changes that wait after --review into the workspace, or only PATHs.\n"
                 "Files that you changed meanwhile stay as they are and are listed. Files that\n"
                 "could run on your machine (risky) are applied only if you agree. You can undo\n"
                 "an apply. Exit status 1 if something was not applied.\n"
                 "\n"
                 "  --patch         ask about each hunk, as `git add --patch` does\n"
                 "  --yes           do not ask whether to begin\n"
                 "  --allow-risky   apply files that could run on your machine, too\n"
                 "If you changed the same file meanwhile:\n"
                 "  --merge         merge both, unless you changed the same lines\n"
                 "  --markers       merge both, with conflict markers where the lines are the same\n"
                 "  --ours          keep yours and discard the session's\n"
                 "  --theirs        overwrite yours\n"
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
        .summary = "discard those changes",
        .usage = "bawn discard [--yes] [SESSION] [PATH...]\n"
                 "\n"
                 "Throw away changes that wait after --review and that you did not apply: all of\n"
                 "them, or only PATHs. With the SESSION of a --branch run: list what is not\n"
                 "committed in its worktree, and remove the worktree. `bawn undo SESSION` brings\n"
                 "back what was discarded.\n"
                 "\n"
                 "  --yes   do not ask (needed without a terminal)\n"
                 "\n"
                 "  bawn discard my-app-3\n"
                 "  bawn discard my-app-3 .github/\n",
    },
    {
        .name = "sessions",
        .run = cmd_sessions,
        .repairs = true,
        .flags = FLAG(ALL) | FLAG(JSON) | FLAG(REPAIR),
        .summary = "list sessions",
        .usage = "bawn sessions [--all] [--json]\n"
                 "       bawn sessions --repair\n"
                 "\n"
                 "List the sessions of this workspace, latest first. A session is what bawn\n"
                 "recorded of one run, apply or undo: whether it runs, has changes waiting or\n"
                 "can be undone, and what was refused last. Runs that changed nothing or can no\n"
                 "longer be undone are left out. On a terminal, each state is explained.\n"
                 "\n"
                 "  --all     list every session of every workspace\n"
                 "  --json    print the list as JSON\n"
                 "  --repair  try again to repair sessions that were killed\n"
                 "\n"
                 "  bawn sessions\n",
    },
    {
        .name = "log",
        .run = cmd_log,
        .repairs = true,
        .flags = FLAG(DENIED) | FLAG(VERIFY) | FLAG(JSON) | FLAG(FOLLOW) | FLAG(LOG_NET) | FLAG(LOG_FILES) |
                 FLAG(LOG_EXEC) | FLAG(LOG_ASKED) | FLAG(SINCE) | FLAG(GREP) | FLAG(REPORT),
        .words = "SESSION",
        .summary = "what a session did",
        .usage = log_usage,
    },
    {
        .name = "undo",
        .run = cmd_undo,
        .repairs = true,
        .flags = FLAG(LIST) | FLAG(PRUNE) | FLAG(YES) | FLAG(THEIRS) | FLAG(MERGE) | FLAG(TO),
        .words = "SESSION|PATH",
        .summary = "take back a run's changes",
        .usage = undo_usage,
    },
    {
        .name = "redo",
        .run = cmd_redo,
        .repairs = true,
        .flags = FLAG(YES) | FLAG(THEIRS) | FLAG(MERGE),
        .words = "SESSION|PATH",
        .summary = "bring back undone changes",
        .usage = "bawn redo [--yes] [--merge | --force] [SESSION] [PATH...]\n"
                 "\n"
                 "Reverse the latest undo in this workspace. SESSION names another undo, or the\n"
                 "session that was undone. Files that you changed meanwhile stay and are listed.\n"
                 "Exit status 1 if a file stayed.\n"
                 "\n"
                 "  --yes      do not ask\n"
                 "  --merge    keep your changes in other lines of a file\n"
                 "  --force    overwrite your changes\n"
                 "\n"
                 "  bawn redo\n"
                 "  bawn redo my-app-3 src/main.c\n",
    },
    {
        .name = "profile",
        .run = cmd_profile,
        .repairs = true,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(FOR),
        .words = "new NAME",
        .takes_command = true,
        .summary = "make a profile for CMD",
        .usage = profile_usage,
    },
    {
        .name = "profiles",
        .run = cmd_profiles,
        .flags = FLAG(JSON) | FLAG(GUIDE),
        .words = "NAME",
        .summary = "list or print profiles",
        .usage = profiles_usage,
    },
    {
        .name = "allow",
        .run = cmd_allow,
        .flags = FLAG(ONCE) | FLAG(SESSION) | FLAG(ALWAYS),
        .words = "HOST[:PORT]",
        .summary = "let a session reach a host",
        .usage = allow_usage,
    },
    {
        .name = "publish",
        .run = cmd_publish,
        .words = "[HOSTPORT:]PORT",
        .summary = "open a session's port here",
        .usage = "bawn publish [@SESSION] [HOSTPORT:]PORT...\n"
                 "\n"
                 "Make a server inside reachable at 127.0.0.1 of this machine, and nowhere else.\n"
                 "\n"
                 "  bawn publish 3000\n"
                 "  bawn publish 8080:3000\n",
    },
    {
        .name = "ask",
        .run = cmd_ask,
        .flags = FLAG(BECAUSE) | FLAG(WAIT),
        .words = "connect HOST[:PORT] | publish PORT",
        .usage = ask_usage,
    },
    {
        .name = "mcp",
        .run = cmd_mcp,
        .flags = FLAG(WAIT),
        .usage = mcp_usage,
    },
    {
        .name = "git-ssh",
        .run = cmd_git_ssh,
        .takes_command = true,
        .usage = git_ssh_usage,
    },
    {
        .name = "requests",
        .run = cmd_requests,
        .flags = FLAG(FOLLOW) | FLAG(JSON),
        .words = "[SESSION/]ID",
        .summary = "questions of `bawn ask`",
        .usage = requests_usage,
    },
    {
        .name = "answer",
        .run = cmd_answer,
        .words = "[SESSION/]ID session|always|no|never",
        .summary = "answer such a question",
        .usage = answer_usage,
    },
    {
        .name = "fleet",
        .run = cmd_fleet,
        .repairs = true,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(ENGINE) | FLAG(JOBS) | FLAG(OUT) | FLAG(JSON) | FLAG(ALL) |
                 FLAG(YES) | FLAG(ALLOW_RISKY) | FLAG(MERGE) | FLAG(MARKERS) | FLAG(OURS) | FLAG(THEIRS),
        .words = "run TASKS.jsonl | VERB DIR [ID]",
        .takes_command = true,
        .summary = "run many tasks at once",
        .usage = fleet_usage,
    },
    {
        .name = "web",
        .run = cmd_web,
        .words = "[--port N | --unix PATH] [--no-open]",
        .passes_on = true,
        .summary = "a page in your browser",
        .usage = web_usage,
    },
    {
        .name = "doctor",
        .run = cmd_doctor,
        .flags = FLAG(JSON) | FLAG(STORAGE),
        .summary = "check this machine",
        .usage = "bawn doctor [--storage] [--json]\n"
                 "\n"
                 "Test which walls this machine supports. Each problem is followed by its fix, as\n"
                 "shell commands. Changes nothing. Exit status 1 if bawn would refuse to run.\n"
                 "\n"
                 "  --storage   list what bawn stores instead: where, how large, how to delete it\n"
                 "  --json      print the results as JSON\n"
                 "\n"
                 "  bawn doctor\n"
                 "  bawn doctor --storage\n"
                 "  bawn doctor --json | jq '.walls[] | select(.state != \"ok\")'\n",
    },
    {
        .name = "prove",
        .run = cmd_prove,
        .repairs = true,
        .flags = FLAG(POLICY) | FLAGS_MODES | FLAG(JSON) | FLAG(FOLLOW) | FLAG(REPORT) | FLAG(RECORD_EXEC),
        .takes_command = true,
        .summary = "attack the sandbox",
        .usage = prove_usage,
    },
    {
        .name = "help",
        .run = cmd_help,
        .words = "VERB",
        .summary = "this page, or a verb's",
        .usage = "bawn help [VERB | rules]\n"
                 "\n"
                 "Explain a verb, or list the rules and modes that can be given as flags.\n"
                 "\n"
                 "  bawn help undo\n"
                 "  bawn help rules\n",
    },
    {0},
};
