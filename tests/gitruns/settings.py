"""What each setting of git is to somebody who may write in the tree: git runs what it names, git obeys the file that it names, or neither.

    RUNS       git runs a program that the value names, as a path or in a shell command. One or more ways each, with a value and with what the
               user types so that git runs it. A way without `host` cannot be tried on this machine; its comment says why.
    OBEYS      git obeys the file that the value names, and that file can name programs.
    ELSEWHERE  the value chooses a program, but never a file of the tree by its path.
    INERT      neither. Files that git only reads as data are here.

The names are those of `git help --config`; some are missing there, and are added at the end. unclassified() is what a git has and this file
has not: whoever adds a name here decides what it is.
"""
import dataclasses
import subprocess

# How a value may name a file: {path} from the top of the tree, {file} in `scripts`,
# {link} a link to the file, {short} one at the top, {lane} the same through a linked folder, {top} the tree, {home} the tree from the user's home.
EXEC = {
    "relative": "{path}",
    "dotted": "./{path}",
    "absolute": "{top}/{path}",
    "turned": "scripts/../{path}",
    "linked": "{link}",
    "linked-folder": "{lane}",
}
SPLIT = EXEC | {"arguments": "{path} --flag 'a b'", "quoted": "'{path}'"}
SHELL = SPLIT | {
    "interpreter": "sh {path}",
    "interpreter-options": "sh -e -- {path} one",
    "assigned": "X=1 Y='2 3' {path}",
    "exec": "exec {path}",
    "second": "true && {path}",
    "expanded": '"$PWD"/{path}',
    "escaped": "\\{path}",
    "home": "{home}/{path}",
    "nested": "sh -c '{path} \"$@\"' -",
    "function": 'f() {{ {path} "$@"; }}; f',
    "in-its-folder": "cd scripts && ./{file}",
    "of-the-top": '"$(git rev-parse --show-toplevel)"/{path}',
    "braced": "${{PWD}}/{path}",
    "asked": "`pwd`/{path}",
    "piped": "cat <{path} | sh -s --",
    "read-in": ". ./{path}",
    "split-quotes": "scr'ip'ts/\"{file}\"",
    "if": "if {path}; then :; else exit 1; fi; :",
    "interpreter-short": "sh {short}",
    "of-timeout": "timeout 20 {path}",
    "of-env": "env X=1 {path}",
}
COMMAND = {name: "!" + value for name, value in SHELL.items()}  # alias: what begins with "!" is for the shell
# Of a credential helper only an absolute path and what begins with "!" is a program; all else is git-credential-NAME.
HELPER = COMMAND | {"absolute": "{top}/{path}"}
# git runs the command of a submodule in the submodule, which lies at the top, and the hook of upload-pack in the git directory.
UPDATE = {"relative": "!../{path}", "arguments": "!../{path} --flag 'a b'", "interpreter": "!sh ../{path}", "second": "!true && ../{path}",
          "absolute": "!{top}/{path}"}
SERVER = {"relative": "../{path}", "absolute": "{top}/{path}", "home": "{home}/{path}"}
FILE = {"absolute": "{top}/{path}", "home": "{home}/{path}"}
ABSOLUTE = {"absolute": "{top}/{path}"}


@dataclasses.dataclass(frozen=True)
class Way:
    key: str  # as in a configuration
    spellings: dict
    host: str = ""  # a script for sh in the tree; $OUT is a folder outside, with the bare repository bare.git
    only_user: bool = False  # git believes it only of the user
    evil: str = ""  # what a file that is not run has to say; {mark} is a command that notes it
    file: str = ""  # its path, where it is not scripts/KEY

    @property
    def name(self):
        return self.key.replace("/", "_").replace(":", "").replace("*", "")

    @property
    def short(self):
        return self.name.replace(".", "-")

    @property
    def path(self):
        return self.file or f"scripts/{self.name}"


CONFLICT = "git reset -q --hard; git checkout -q side 2>/dev/null; git checkout -q main; git merge -q --no-edit side"
FILL = "printf 'protocol=https\\nhost={host}\\n\\n' | "
COMMIT = "git commit -q --allow-empty"
# Without a terminal git starts no pager.
PTY = "script -qec '{}' /dev/null"

RUNS = {
    "alias.*": [Way("alias.mark", COMMAND, "git mark")],
    # Neither is read by git itself but by a script of its own, which opens a browser.
    "browser.<tool>.cmd": [Way("browser.b.cmd", SHELL, "git web--browse --tool=b x")],
    "browser.<tool>.path": [Way("browser.firefox.path", EXEC, "git web--browse --tool=firefox x")],
    "core.alternateRefsCommand": [Way("core.alternateRefsCommand", SHELL, 'echo "$OUT/bare.git/objects" >.git/objects/info/alternates; '
                                      "git rev-list --alternate-refs; rm .git/objects/info/alternates")],
    "core.askPass": [Way("core.askPass", EXEC, FILL.format(host="p.invalid") + "git -c credential.helper= credential fill")],
    "core.editor": [Way("core.editor", SHELL, COMMIT)],
    "core.fsmonitor": [Way("core.fsmonitor", SHELL, "git status")],
    "core.gitProxy": [Way("core.gitProxy", EXEC, "git ls-remote git://h.invalid/x")],
    "core.pager": [Way("core.pager", SHELL, PTY.format("git log -1"))],
    "core.sshCommand": [Way("core.sshCommand", SHELL, "git ls-remote ssh://h.invalid/x")],
    "credential.helper": [Way("credential.helper", HELPER, FILL.format(host="h.invalid") + "git -c core.askPass=true credential fill")],
    "credential.<url>.*": [Way("credential.https://u.invalid.helper", HELPER,
                               FILL.format(host="u.invalid") + "git -c core.askPass=true credential fill")],
    "diff.<driver>.command": [Way("diff.dc.command", SHELL, "echo x >>o.dc; git --no-pager diff o.dc")],
    "diff.<driver>.textconv": [Way("diff.dt.textconv", SHELL, "echo x >>o.dt; git --no-pager diff --no-ext-diff o.dt")],
    "diff.external": [Way("diff.external", SHELL, "echo x >>a; git --no-pager diff a")],
    "difftool.<tool>.cmd": [Way("difftool.d.cmd", SHELL, "git difftool --tool=d --no-prompt HEAD~1 HEAD")],
    "difftool.<tool>.path": [Way("difftool.kompare.path", EXEC, "git difftool --tool=kompare --no-prompt HEAD~1 HEAD")],
    "filter.<driver>.clean": [Way("filter.fc.clean", SHELL, "echo x >>n.fc; git add n.fc")],
    "filter.<driver>.smudge": [Way("filter.fs.smudge", SHELL, "rm -f o.fs; git checkout -- o.fs")],
    "filter.<driver>.process": [Way("filter.fp.process", SHELL, "echo x >>n.fp; git add n.fp; git update-index --force-remove n.fp; rm n.fp")],
    "gpg.program": [Way("gpg.program", EXEC, COMMIT + " -S -m x")],
    "gpg.<format>.program": [Way("gpg.x509.program", EXEC, "git -c gpg.format=x509 -c user.signingKey=k commit -q --allow-empty -S -m x"),
                             Way("gpg.ssh.program", EXEC, "git -c gpg.format=ssh -c user.signingKey='ssh-rsa AAAA' commit -q --allow-empty -S -m x")],
    "gpg.ssh.defaultKeyCommand": [Way("gpg.ssh.defaultKeyCommand", SPLIT, "git -c gpg.format=ssh commit -q --allow-empty -S -m x")],
    "guitool.<name>.cmd": [Way("guitool.g.cmd", SHELL)],  # git gui needs a display
    "imap.tunnel": [Way("imap.tunnel", SHELL, "printf 'From x Mon Jan 1 00:00:00 2026\\nFrom: x@e\\nDate: x\\nSubject: x\\n\\nx\\n' | "
                        "git -c imap.folder=x imap-send")],
    # Its file's name holds "httpd": git then takes it for Apache.
    "instaweb.httpd": [Way("instaweb.httpd", {name: EXEC[name] for name in ("relative", "dotted", "absolute", "turned")} |
                           {"arguments": "{path} -x"}, "timeout 5 git instaweb -b true")],
    "interactive.diffFilter": [Way("interactive.diffFilter", SHELL, "echo x >>a; " + PTY.format("git add -p a"))],
    "man.<tool>.cmd": [Way("man.viewer.cmd", SHELL, "git -c man.viewer=viewer help -m add")],
    "man.<tool>.path": [Way("man.man.path", EXEC, "git -c man.viewer=man help -m add")],
    "merge.<driver>.driver": [Way("merge.md.driver", SHELL, CONFLICT)],
    "mergetool.<tool>.cmd": [Way("mergetool.m.cmd", SHELL, CONFLICT + "; git mergetool --tool=m --no-prompt; git reset -q --hard")],
    "mergetool.<tool>.path": [Way("mergetool.kdiff3.path", EXEC, CONFLICT + "; git mergetool --tool=kdiff3 --no-prompt; git reset -q --hard")],
    "pager.<cmd>": [Way("pager.branch", SHELL, PTY.format("git branch"))],
    "remote.<name>.receivepack": [Way("remote.down.receivepack", SHELL, "git push down HEAD:refs/heads/z")],
    "remote.<name>.uploadpack": [Way("remote.up.uploadpack", SHELL, "git ls-remote up")],
    # The next five are read by git send-email, a package of its own, which speaks to a server before it runs most of them.
    "sendemail.sendmailCmd": [Way("sendemail.sendmailCmd", SHELL)],
    "sendemail.ccCmd": [Way("sendemail.ccCmd", SHELL)],
    "sendemail.tocmd": [Way("sendemail.tocmd", SHELL)],
    "sendemail.headerCmd": [Way("sendemail.headerCmd", SHELL)],
    "sendemail.smtpServer": [Way("sendemail.smtpServer", ABSOLUTE)],
    "sequence.editor": [Way("sequence.editor", SHELL, "git reset -q --hard; git rebase -i HEAD~1")],
    "submodule.<name>.update": [Way("submodule.sub.update", UPDATE, "git submodule update")],
    "tar.<format>.command": [Way("tar.run.command", SHELL, "git archive --format=run HEAD")],
    "trailer.<token>.command": [Way("trailer.tc.command", SHELL, "echo m | git interpret-trailers")],
    "trailer.<token>.cmd": [Way("trailer.tm.cmd", SHELL, "echo m | git interpret-trailers --trailer tm=1")],
    "uploadpack.packObjectsHook": [Way("uploadpack.packObjectsHook", SERVER, 'git clone -q --bare --no-local . "$OUT/clone"', only_user=True)],
}

# In the place of a program: what an included file says. It is git's own alias that notes it.
INCLUDED = '[alias]\n\t{name} = "!{mark}"\n'
OBEYS = {
    "include.path": [Way("include.path", FILE, "git included", evil=INCLUDED.format(name="included", mark="{mark}"))],
    "includeIf.<condition>.path": [Way("includeIf.gitdir:**.path", FILE, "git included-if",
                                       evil=INCLUDED.format(name="included-if", mark="{mark}")),
                                   Way("includeIf.onbranch:main.path", FILE, "git checkout -q main; git archive --format=included HEAD",
                                       evil='[tar "included"]\n\tcommand = "{mark}"\n')],
    # It chooses among the programs of the configuration; the user's own driver `chosen` notes that it was chosen.
    "core.attributesFile": [Way("core.attributesFile", FILE, "echo x >>o.at; git --no-pager diff o.at", evil="*.at diff=chosen\n")],
    # Its hooks come into each repository that is made.
    "init.templateDir": [Way("init.templateDir", {name: value.replace("{path}", "scripts/template") for name, value in FILE.items()},
                             'git init -q "$OUT/new"; cd "$OUT/new" && git commit -q --allow-empty -m x', only_user=True,
                             file="scripts/template/hooks/pre-commit")],
    # The folder of git's hooks has tests of its own: hooks.py.
    "core.hooksPath": [],
}

ELSEWHERE = {
    "core.worktree",  # a folder: which tree is obeyed
    "diff.guitool", "diff.tool", "merge.guitool", "merge.tool",  # names of tools; their commands are difftool.<tool>.cmd and so on
    "gitcvs.dbDriver", "instaweb.modulePath",  # modules of perl and of a web server, which is started by hand
    "gui.spellingDictionary",
    "help.browser", "instaweb.browser", "man.viewer", "web.browser",  # names of tools, or of programs of the PATH
    "pull.octopus", "pull.twohead",  # git-merge-NAME of the PATH
    "protocol.allow", "protocol.<name>.allow",  # whether a URL may be a command
    "remote.<name>.pushurl", "remote.<name>.url", "submodule.<name>.url",  # a command only as ext::, which git refuses by default
    "remote.<name>.vcs",  # git-remote-NAME of the PATH
    "safe.bareRepository", "safe.directory",  # which configuration is obeyed at all
    "sendemail.<identity>.*",  # the settings of sendemail again
    "url.<base>.insteadOf", "url.<base>.pushInsteadOf",
}

# All of these sections are inert, also what a later git adds there.
INERT_SECTIONS = """
    add advice am apply author bundle checkout clean clone color column commit commitGraph committer completion credentialCache credentialStore
    extensions fastimport feature fetch format fsck gc grep http i18n index log lsrefs mailinfo mailmap notes pack pretty push rebase
    remotes repack rerere revert showBranch sparse splitIndex ssh stash status tag transfer uploadarchive uploadpackfilter user versionsort worktree
""".split()

INERT = {
    "blame": "blankBoundary coloring date ignoreRevsFile markIgnoredLines markUnblamableLines showEmail showRoot",
    "branch": "<name>.description <name>.merge <name>.mergeOptions <name>.pushRemote <name>.rebase <name>.remote autoSetupMerge autoSetupRebase sort",
    "core": "abbrev alternateRefsPrefixes autocrlf bare bigFileThreshold checkRoundtripEncoding checkStat commentChar commitGraph compression "
            "createObject deltaBaseCacheLimit eol excludesFile fileMode filesRefLockTimeout fsmonitorHookVersion fsync fsyncMethod fsyncObjectFiles "
            "hideDotFiles ignoreCase ignoreStat logAllRefUpdates looseCompression multiPackIndex notesRef packedGitLimit packedGitWindowSize "
            "packedRefsTimeout precomposeUnicode preferSymlinkRefs preloadIndex protectHFS protectNTFS quotePath repositoryFormatVersion "
            "restrictinheritedhandles safecrlf sharedRepository sparseCheckout sparseCheckoutCone splitIndex symlinks trustctime unsetenvvars "
            "untrackedCache useReplaceRefs warnAmbiguousRefs whitespace",
    "credential": "protectProtocol sanitizePrompt useHttpPath username",
    "diff": "<driver>.binary <driver>.cachetextconv <driver>.wordRegex <driver>.xfuncname algorithm autoRefreshIndex colorMoved colorMovedWS context "
            "dirstat ignoreSubmodules indentHeuristic interHunkContext mnemonicPrefix noprefix orderFile relative renameLimit renames statGraphWidth "
            "submodule suppressBlankEmpty wordRegex wsErrorHighlight",
    "difftool": "prompt trustExitCode",
    "fsmonitor": "allowRemote socketDir",
    "gitcvs": "allBinary commitMsgAnnotation dbName dbPass dbTableNamePrefix dbUser enabled logFile usecrlfattr",
    "gitweb": "avatar blame category description grep highlight owner patches pickaxe remote_heads showSizes snapshot url",
    "gpg": "format minTrustLevel ssh.allowedSignersFile ssh.revocationFile",
    "gui": "blamehistoryctx commitMsgWidth copyBlameThreshold diffContext displayUntracked encoding fastCopyBlame matchTrackingBranch "
           "newBranchTemplate pruneDuringFetch trustmtime",
    "guitool": "<name>.argPrompt <name>.confirm <name>.needsFile <name>.noConsole <name>.noRescan <name>.prompt <name>.revPrompt <name>.revUnmerged "
               "<name>.title",
    "help": "autoCorrect format htmlPath",
    "imap": "authMethod folder host pass port preformattedHTML sslverify user",
    "init": "defaultBranch",
    "instaweb": "local port",
    "interactive": "singleKey",
    "maintenance": "<task>.enabled <task>.schedule auto commit-graph.auto incremental-repack.auto loose-objects.auto strategy",
    "merge": "<driver>.name <driver>.recursive autoStash branchdesc conflictStyle defaultToUpstream directoryRenames ff log renameLimit renames "
             "renormalize stat suppressDest verbosity verifySignatures",
    "mergetool": "<tool>.hideResolved <tool>.trustExitCode hideResolved keepBackup keepTemporaries meld.hasOutput meld.useAutoMerge prompt "
                 "vimdiff.layout writeToTemp",
    "protocol": "version",
    "pull": "ff rebase",
    "receive": "advertiseAtomic advertisePushOptions autogc certNonceSeed certNonceSlop denyCurrentBranch denyDeleteCurrent denyDeletes "
               "denyNonFastForwards fsckObjects hideRefs keepAlive maxInputSize procReceiveRefs shallowUpdate unpackLimit updateServerInfo",
    "remote": "<name>.fetch <name>.mirror <name>.partialclonefilter <name>.promisor <name>.proxy <name>.proxyAuthMethod <name>.prune "
              "<name>.pruneTags <name>.push <name>.skipDefaultUpdate <name>.skipFetchAll <name>.tagOpt pushDefault",
    "sendemail": "aliasFileType aliasesFile annotate bcc cc chainReplyTo confirm envelopeSender forbidSendmailVariables from identity multiEdit "
                 "signedoffbycc smtpBatchSize smtpDomain smtpEncryption smtpPass smtpReloginDelay smtpServerOption smtpServerPort smtpUser "
                 "smtpsslcertpath suppressFrom suppresscc thread to transferEncoding validate xmailer",
    "submodule": "<name>.active <name>.branch <name>.fetchRecurseSubmodules <name>.ignore active alternateErrorStrategy alternateLocation fetchJobs "
                 "propagateBranches recurse",
    "tar": "umask",
    "trace2": "configParams destinationDebug envVars eventBrief eventNesting eventTarget maxFiles normalBrief normalTarget perfBrief perfTarget",
    "uploadpack": "allowAnySHA1InWant allowFilter allowReachableSHA1InWant allowRefInWant allowTipSHA1InWant hideRefs keepAlive",
}


def of_git():
    """All names that the installed git lists."""
    said = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if "." in line and " " not in line]


def is_inert(name):
    section, _, rest = name.partition(".")
    return section in INERT_SECTIONS or rest in INERT.get(section, "").split() or (section == "receive" and rest.startswith("fsck."))


def kinds(name):
    """What this file says of a name; more than one is a mistake."""
    return [kind for kind, names in (("runs", RUNS), ("obeys", OBEYS), ("elsewhere", ELSEWHERE)) if name in names] + ["inert"] * is_inert(name)


def ways():
    return [way for table in (RUNS, OBEYS) for each in table.values() for way in each]
