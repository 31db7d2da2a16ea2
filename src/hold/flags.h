/*
 * Flagged paths: writable, and the user decides about new content at the end. Finds what is new in them after a command, and holds aside
 * what the user does not keep. A version that the repository already had is not new: checkout and rebase bring those.
 *
 *   flags.c   which names are flagged, and what they held at the start
 *   seek.c    at the end: looks through the trees for what is new
 *   nested.c  repositories: which there are, and whose own files git runs
 *   gitdir.c  questions about a git directory that both ask
 *   judged.c  whatever else is new in a git directory, and is not inert data
 *   commits.c commits that change flagged files, and refs that lead to something missing or damaged
 *   programs.c new programs
 *   removed.c flagged files that are gone
 *   dependencies.c folders of dependencies, in which flagged names are counted and stay
 *   past.c    what lay there at the start, as far as there is a snapshot
 */
#pragma once

#include <limits.h>

#include "base/path.h"
#include "hold/hold.h"
#include "hold/past.h"
#include "hold/versions.h"
#include "workspace/scan.h"

/* Something new that a program on the host may run or obey. */
struct new_content {
    const struct file_content *now;
    const struct file_content *before; /* NULL: it is new, or what it held at the start is not known */
    const char *runs;                  /* what git would run because of it, where that is known */
    const char *why;                   /* why else it is to be held: what a sentence says of its path */
    bool breaks;                       /* it would break a repository: it is held whatever the user says */
    bool may_be_old;                   /* it counts only if the repository never had it */
    bool is_removed;                   /* it is gone; `now` has its path alone, and `before` what it was */
};

typedef VEC(struct new_content) new_contents;

/* What else is worth a line, though it stays where it is. */
struct sighting {
    const char *what, *path;
    const char *hint; /* for what must be said always, also where nobody looks; otherwise NULL */
};

typedef VEC(struct sighting) sighting_list;

/* A file with a flagged name that stays, and the outermost folder of dependencies around it. */
struct dependency_file {
    const char *folder, *path;
};

struct flags {
    struct hold *hold;
    const char *only;      /* the one tree that is searched at the end, for a trial; NULL: all of them */
    struct timespec start; /* as the kernel stamps files: not finer */
    file_contents before;
    struct past past;
    struct versions versions;
    unsigned graphs_asked;           /* how often git was asked about a commit-graph */
    struct map names;                /* last names of flagged paths */
    struct map ways;                 /* names on the way to them, which a link may have */
    VEC(const char *) name_patterns; /* last names with wildcards */
    bool first[UCHAR_MAX + 1];       /* bytes with which one of these names begins … */
    bool last[UCHAR_MAX + 1];        /* … or, where it begins with a wildcard, ends */
    new_contents changes;
    struct map changed;     /* their paths */
    struct map directories; /* when those changed that flags_came_since() looked at */
    sighting_list sightings;
    VEC(struct dependency_file) left; /* those of one folder in a row; `folder` is the same pointer */
    VEC(const char *) cleared;        /* held because they stood where the folder of a deleted file was */
};

/* Was it changed, by the kernel's own time, since the command was started? */
bool flags_is_since(const struct flags *flags, struct timespec time);

/*
 * Could it have come to its path since the start? A directory that is renamed takes its files along, and their times stay as they were. So
 * the directories above it count too, up to the first that the command cannot rename, or to `top` (NULL: none). A directory in which
 * something else was made counts as well. To be asked where nothing is known of the past.
 */
bool flags_came_since(struct flags *flags, const struct file_content *now, const char *top);

/* Is this not what lay there at the start? Says also what did, as far as that is known; NULL otherwise. */
bool flags_is_new(struct flags *flags, const struct file_content *now,
                  const struct file_content **ret_before);

/* Could a file of this name be flagged? And is it, at this path? */
bool flags_may_be_flagged(const struct flags *flags, const char *name, size_t size);
bool flags_is_flagged(const struct flags *flags, const char *path);

/* What git on the host would run there, because something leads to the path, whichever rule decides; NULL where nothing is known to. */
const char *flags_cause(const struct flags *flags, const char *path);

/* Is it, by its path below `tree`? `last` is a path asked about before, in walk order: names that both share are not compared again. */
struct flagged_walk {
    const char *tree;
    char last[PATH_LONGEST];
    bool last_may_be;
};
bool flags_is_flagged_next(const struct flags *flags, struct flagged_walk *walk, const char *path);

/* Could something flagged lie in a directory of this name? */
bool flags_may_lead(const struct flags *flags, const char *name);

/* Before the launch: takes the time, and reads what is flagged and lies at known places or at the top of a tree. */
void flags_begin(struct flags *flags);

/* After the launch, while the sandbox is being assembled: reads what git tracks where that is a long list, and the tips. */
void flags_read(struct flags *flags);

/* Instead of both, for the repair of a killed run: sets the time of its start, and reads the flagged names and the tips. */
void flags_recall(struct flags *flags, struct timespec start);

/* What is new, for the user to decide about; what is worth a line. */
void flags_add_change(struct flags *flags, struct new_content change);
void flags_add_sighting(struct flags *flags, struct sighting sighting);

/* Said always: what is new there was not found, and is not held aside. */
void flags_add_unsearched(struct flags *flags, const char *path);

/* After the end: fills in changes and sightings. */
void flags_find(struct flags *flags);

/* nested.c: looks at a `.git`, or at a directory that may be a bare repository; adds files that are new and that git would run. */
void nested_look(struct flags *flags, const char *git_dir);

/* nested.c: in the workspaces' own repositories, new submodules and worktrees, and a rebase that would run something. */
void nested_look_at_own(struct flags *flags);

/* gitdir.c: is this a repository of the plan? Those are frozen, so that nothing new can run from them. */
bool gitdir_is_known(const struct flags *flags, const char *git_dir);

/* gitdir.c: the commit that is checked out in a workspace, which may be a linked worktree. */
bool gitdir_head(const struct flags *flags, const struct workspace *workspace,
                 struct git_position *ret_commit);

/* gitdir.c: may the command write it? */
bool gitdir_is_writable(const struct flags *flags, const char *path);

/* gitdir.c: the path that a file of git's holds. git takes off the ends of lines at its end, and no other. "" where it is none. */
const char *gitdir_written_path(struct arena *arena, struct bytes bytes);

/*
 * gitdir.c: is it the directory of a submodule or linked worktree, which is looked at by itself? `inner` is its path below the git
 * directory around it.
 */
bool gitdir_is_part(const struct flags *flags, const char *inner, const char *path);

/* gitdir.c: is it the `gitdir` of a linked worktree, and leads to a `.git` in what the command may write, or to one that leads back? */
bool gitdir_is_sound_link(const struct flags *flags, const char *git_dir, const char *inner);

/* How a git directory is judged. */
struct judged_as {
    const char *config_dir; /* the git directory whose configuration counts for it */
    bool all_are_new;       /* it was made during the run */
    bool is_bare;           /* it is its own work tree: files that are not git's may lie in it */
};

/* judged.c: adds whatever is new in a git directory, and is not inert data in its valid form. */
void judged_look(struct flags *flags, const char *git_dir, const struct judged_as *as);

/* judged.c: brings back a HEAD that is missing in a git directory of the plan. */
void judged_bring_head_back(struct flags *flags, const char *git_dir);

/*
 * commits.c: reports commits of this run that change flagged files. They stay: nothing runs them before a checkout, a merge
 * or a push. Refs that lead to an object that is missing or damaged are held aside, with the damaged objects that are new.
 */
void commits_look(struct flags *flags);

/* The same for commits that were looked at elsewhere: adds a sighting for each that changes flagged files. */
struct new_commits;
void commits_report(struct flags *flags, const char *work_tree, const struct new_commits *found);

/*
 * programs.c: reports programs that are new in a workspace, outside build directories (`artifacts` rules), and files that got
 * a set-id bit, one sighting for each kind. They stay, since nothing runs them by itself.
 */
void programs_look(struct flags *flags, const char *workspace, const struct tree *start,
                   const struct tree *end);

/* dependencies.c: the names of folders of dependencies; is one of them in this directory, with its manifest beside it? */
void dependencies_begin(struct arena *arena, struct skips *ret_folders);
bool dependencies_are_in(const struct skips *known, int directory_fd, const char *name);

/* dependencies.c: notes a new file below a folder of dependencies (NULL: it is in none), and returns whether it may stay. */
bool dependencies_leave(struct flags *flags, const char *folder, const struct new_content *change);

/* dependencies.c: one sighting for each folder of dependencies in which files stay. */
void dependencies_report(struct flags *flags);

/* removed.c: finds flagged files that were there at the start and are gone. */
void removed_look(struct flags *flags);

/* Moves the change into the session's folder, and brings back what was there before. */
int flags_hold(struct flags *flags, const struct new_content *change, struct err *err) must_check;

void flags_free(struct flags *flags);
