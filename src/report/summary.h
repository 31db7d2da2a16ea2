/*
 * What a run did: in a few lines at its end (run_summary.c) and when a person reviews it (review_summary.c), and as a
 * page of HTML (page.c).
 */
#pragma once

#include "home/home.h"
#include "journal/leaked.h"
#include "journal/run_facts.h"
#include "report/patch.h"
#include "workspace/record.h"

struct changed_file {
    char letter; /* patch_letter() */
    const char *path;
    const char *reason; /* why a person must approve it; NULL: nobody must */
};

/* What a session changed in the workspace. */
struct changed {
    enum record_mode mode;
    uint64_t count;                 /* as changes_count() counts; and risky directories */
    size_t risky;                   /* of those that were looked at: they have a reason */
    size_t in_repository;           /* harmless files in .git, which are only counted */
    VEC(struct changed_file) files; /* some of them, risky ones first; the texts are in an arena */
};

struct run_summary {
    const struct plan *plan;
    const char *session; /* NULL: the run has no session */
    int status;
    uint64_t milliseconds;
    size_t held; /* files held aside */
    const struct changed *changed;
    const used_list *used;
    const refused_list *refused, *unreachable;
    size_t refused_in_all; /* the list has a bound */
    const fired_list *fired;
    const misused_list *misused;
    const leaked_list *leaked;
    const refused_key_list *refused_keys;
    const port_list *servers;      /* inside, that nobody could reach from this machine */
    const struct home_files *left; /* new files in the private home */
};

/* Lines for a terminal; nothing if there is nothing to report. */
void run_summary_add_text(const struct run_summary *summary, const struct style *style, struct buf *out);
void run_summary_add_json(const struct run_summary *summary, struct buf *out);
void run_summary_add_line(const struct run_summary *summary, struct buf *out);
void run_summary_add_markdown(const struct run_summary *summary, struct buf *out);

/* Finds the new files of a run in its private home. The caller frees them. */
void home_files_find_new(const struct plan *plan, const struct home *home, struct home_files *ret_left);

/* One line a file, indented: its path and its size. At most `most` lines, and one that counts the rest. */
void home_files_add(struct buf *out, const struct style *style, const struct home_files *left, size_t most,
                    size_t indent);

/* Reads the journal of the session, and adds: the command, how long it took, refusals, changes, risky files. */
void review_summary_add(const struct patch *patch, int session_fd, const struct record *record,
                        const change_list *changes, struct buf *out);

/* The beginning of a page that needs nothing else and loads nothing, with its heading. */
void page_begin_add(struct buf *out, const char *title);

/* Adds the page. Returns whether the hash chain of the session's journal is intact. `home` is shown as ~. */
bool session_page_add(struct buf *out, struct arena *arena, int session_fd, const char *session,
                      const char *home, const struct changed *changed);
