/* Lines for a policy file in a folder that others write meanwhile: what was shown is what is replaced, and no link is followed. */
#include "base/fd.h"
#include "machine.h"
#include "trust/trust.h"
#include "unit.h"

static const char *path_of(const char *name)
{
    return arena_printf(&machine.arena, "%s%s", machine.path, name);
}

static const char *text_of(const char *name)
{
    auto_buf struct buf text = {0};
    auto_fd int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);
    return fd < 0 || buf_read(&text, fd, 4096) < 0 ? "(none)"
                                                   : arena_copy(&machine.arena, buf_text(&text), text.size);
}

/* How many names there are in the folder: nothing may be left beside the file. */
static size_t count_names(void)
{
    size_t count = 0;
    auto_dir DIR *folder = opendir(path_of("/w"));
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        count += *entry->d_name != '.' || entry->d_name[1] == 'b';
    return count;
}

/* Reads the file, lets `meanwhile` happen, adds a line. Returns what went wrong, or "". */
static const char *add(const char *line, void (*meanwhile)(void))
{
    auto_policy_file struct policy_file file = POLICY_FILE_NONE;
    struct err err = {0};
    if (policy_file_read(&machine.arena, path_of("/w/.bawn"), 0644, &file, &err) == 0) {
        if (meanwhile)
            meanwhile();
        policy_file_add(&file, line);
        if (policy_file_write(&machine.arena, &file, &err) == 0)
            return "";
    }
    return arena_str(&machine.arena, err.message);
}

static const char *changed(void)
{
    return arena_printf(&machine.arena, "%s was changed in the meantime", path_of("/w/.bawn"));
}

static void write_other(void)
{
    machine_put("/w/.bawn", "other\n");
}

static void replace_by_link(void)
{
    unlink(path_of("/w/.bawn"));
    machine_link("/w/.bawn", "../outside");
}

static void remove_it(void)
{
    unlink(path_of("/w/.bawn"));
}

TEST(a_line_is_added_once_and_all_other_bytes_stay)
{
    machine_make();
    machine_put("/w/.bawn", "# mine\nread ~/a");
    chmod(path_of("/w/.bawn"), 0640);
    CHECK_STR(add("hide b/", NULL), "");
    CHECK_STR(text_of("/w/.bawn"), "# mine\nread ~/a\nhide b/\n");
    CHECK_STR(add("hide b/", NULL), "");
    CHECK_STR(text_of("/w/.bawn"), "# mine\nread ~/a\nhide b/\n");
    struct stat status;
    REQUIRE(stat(path_of("/w/.bawn"), &status) == 0);
    CHECK_INT(status.st_mode & 0777, 0640);
    CHECK_INT(count_names(), 1);
    machine_remove();
}

TEST(a_missing_file_is_made)
{
    machine_make();
    machine_put("/w", NULL);
    CHECK_STR(add("hide b/", NULL), "");
    CHECK_STR(text_of("/w/.bawn"), "hide b/\n");
    CHECK_INT(count_names(), 1);
    machine_remove();
}

TEST(a_file_that_was_changed_made_or_removed_meanwhile_stays_as_it_is)
{
    machine_make();
    machine_put("/w/.bawn", "one\n");
    CHECK_STR(add("two", write_other), changed());
    CHECK_STR(text_of("/w/.bawn"), "other\n");
    CHECK_STR(add("two", remove_it), changed());
    CHECK_STR(text_of("/w/.bawn"), "(none)");
    CHECK_STR(add("two", write_other), changed());
    CHECK_STR(text_of("/w/.bawn"), "other\n");
    CHECK_INT(count_names(), 1);
    machine_remove();
}

TEST(a_link_is_not_followed_neither_at_first_nor_when_it_comes_meanwhile)
{
    machine_make();
    machine_put("/outside", "one\n");
    machine_put("/w/.bawn", "one\n");
    CHECK_STR(add("two", replace_by_link), changed());
    CHECK_STR(text_of("/outside"), "one\n");
    CHECK_STR(add("two", NULL),
              arena_printf(&machine.arena, "%s is not a regular file, and a symlink is not followed here",
                           path_of("/w/.bawn")));
    machine_link("/linked", "w");
    auto_policy_file struct policy_file file = POLICY_FILE_NONE;
    struct err err = {0};
    remove_it();
    CHECK_INT(policy_file_read(&machine.arena, path_of("/linked/.bawn"), 0644, &file, &err), -1);
    CHECK_STR(text_of("/outside"), "one\n");
    machine_remove();
}

TEST(the_state_tells_contents_apart_and_an_empty_file_from_none)
{
    machine_make();
    machine_put("/w", NULL);
    char states[3][SHA256_HEX_SIZE];
    static const char *const texts[] = {NULL, "", "x\n"};
    for (size_t i = 0; i < array_len(texts); i++) {
        auto_policy_file struct policy_file file = POLICY_FILE_NONE;
        struct err err = {0};
        if (texts[i])
            machine_put("/w/.bawn", texts[i]);
        REQUIRE(policy_file_read(&machine.arena, path_of("/w/.bawn"), 0644, &file, &err) == 0);
        policy_file_state(&file, states[i]);
    }
    CHECK(strcmp(states[0], states[1]) != 0 && strcmp(states[1], states[2]) != 0 &&
          strcmp(states[0], states[2]) != 0);
    machine_remove();
}

UNIT_MAIN()
