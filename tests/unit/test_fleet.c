#include "fleet/result.h"
#include "fleet/task.h"
#include "unit.h"

static struct arena arena;
static struct err err;
static task_list tasks;

static bool parses(const char *text)
{
    tasks_free(&tasks);
    err = (struct err){0};
    return tasks_parse(bytes_of(text, strlen(text)), &arena, &tasks, &err) == 0;
}

/* The words of a command for the first task, with '|' between them. */
static const char *words(const char *first, const char *second)
{
    const char *const command[] = {first, second, NULL};
    err = (struct err){0};
    const char *const *made = task_command(&tasks.at[0], command, &arena, &err);
    return made ? arena_printf(&arena, "%s|%s", made[0], made[1]) : "";
}

TEST(a_task_has_an_id_and_variables)
{
    CHECK(parses("{\"id\":\"a-1\",\"prompt\":\"fix\",\"n\":-1.5}\n\n{\"id\":\"b\"}"));
    CHECK(tasks.count == 2);
    CHECK_STR(tasks.at[0].id, "a-1");
    CHECK_STR(words("{prompt}", "{n}{id}"), "fix|-1.5a-1");
    CHECK(tasks.at[0].workspace == NULL);
}

TEST(limits_env_and_net_are_rules)
{
    CHECK(parses(
        "{\"id\":\"a\",\"limits\":{\"memory\":\"2G\",\"files\":64},\"env\":{\"A\":\"b c\"},\"net\":\"off\"}"));
    CHECK(tasks.at[0].rules.count == 4);
    CHECK(tasks.at[0].rules.at[0].verb == VERB_LIMIT);
    CHECK_STR(tasks.at[0].rules.at[0].text, "memory=2G");
    CHECK_STR(tasks.at[0].rules.at[1].text, "files=64");
    CHECK(tasks.at[0].rules.at[2].verb == VERB_ENV);
    CHECK_STR(tasks.at[0].rules.at[2].text, "A=b c");
    CHECK(tasks.at[0].rules.at[3].verb == VERB_NET);
}

TEST(a_rule_that_the_policy_refuses_is_a_mistake_of_its_line)
{
    CHECK(!parses("{\"id\":\"a\"}\n{\"id\":\"b\",\"limits\":{\"memory\":\"lots\"}}"));
    CHECK_STR(err.message,
              "line 2 of the task file cannot be used: this amount cannot be read: 'memory=lots'; write a "
              "number and K, M, G or T, such as 8G, or a share such as 80%");
    CHECK(!parses("{\"id\":\"a\",\"limits\":{\"memry\":\"4G\"}}"));
    CHECK(!parses("{\"id\":\"a\",\"net\":\"of\"}"));
    CHECK_STR(err.message, "line 1 of the task file cannot be used: this is not a network mode: 'of'; write "
                           "off, allow or open");
    CHECK(!parses("{\"id\":\"a\",\"env\":{\"1A\":\"b\"}}"));
}

TEST(a_value_stays_one_word_whatever_is_in_it)
{
    CHECK(parses("{\"id\":\"a\",\"prompt\":\"$(rm) ' \\\" ; {id} \\n {{id}}\"}"));
    CHECK_STR(words("{prompt}", "x"), "$(rm) ' \" ; {id} \n {{id}}|x");
}

TEST(other_braces_stay)
{
    CHECK(parses("{\"id\":\"a\"}"));
    CHECK_STR(words("{print $1}", "${HOME"), "{print $1}|${HOME");
    CHECK_STR(words("{{id}}", "{{.Name}}"), "{id}|{{.Name}}");
    CHECK_STR(words("{}", "{{{id}}}"), "{}|{{id}}");
    CHECK_STR(words("}{", "{"), "}{|{");
}

TEST(a_name_that_the_task_lacks_is_an_error)
{
    CHECK(parses("{\"id\":\"a\"}"));
    CHECK_STR(words("{promt}", "x"), "");
    CHECK_STR(err.message, "task a has no \"promt\", which the command uses");
}

TEST(a_word_that_the_kernel_refuses_is_an_error)
{
    char *text = arena_printf(&arena, "{\"id\":\"a\",\"p\":\"%0*d\"}", TASK_WORD_LONGEST + 1, 0);
    CHECK(parses(text));
    CHECK_STR(words("{p}", "x"), "");
    CHECK(parses(arena_printf(&arena, "{\"id\":\"a\",\"p\":\"%0*d\"}", TASK_WORD_LONGEST, 0)));
    CHECK(*words("{p}", "x"));
}

TEST(a_line_that_is_no_task_is_refused_with_its_number)
{
    static const char *const wrong[] = {
        "[]",
        "{}",
        "{\"id\":3.5}x",
        "{\"id\":\"\"}",
        "{\"id\":\"a/b\"}",
        "{\"id\":\"..\"}",
        "{\"id\":\".a\"}",
        "{\"id\":\"-a\"}",
        "{\"id\":\"a\\u0000\"}",
        "{\"id\":\"a\",\"id\":\"b\"}",
        "{\"id\":\"a\",\"x\":null}",
        "{\"id\":\"a\",\"x\":{}}",
        "{\"id\":\"a\",\"limits\":3}",
        "{\"id\":\"a\",\"limits\":{\"memory=1\":\"x\"}}",
        "{\"id\":\"a\",\"limits\":{\"journals\":\"1G\"}}",
        "{\"id\":\"a\",\"limits\":{\"snapshot\":\"1G\"}}",
        "{\"id\":\"a\",\"env\":{\"A\":[]}}",
        "{\"id\":\"a\",\"env\":{\"LD_PRELOAD\":\"x\"}}",
        "{\"id\":\"a\",\"env\":{\"BAWN_POLICY\":\"x\"}}",
        "{\"id\":\"a\",\"a-b\":\"x\"}",
        "{\"id\":\"01234567890123456789012345678901234567890123456789012345678901234\"}",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        CHECK(!parses(arena_printf(&arena, "{\"id\":\"first\"}\n%s\n", wrong[i])));
        CHECK(strncmp(err.message, "line 2 of the task file cannot be used: ", 40) == 0);
    }
    CHECK(!parses("{\"id\":\"a\"}\n{\"id\":\"a\"}"));
    CHECK_STR(err.message, "line 2 of the task file cannot be used: another task has the id a");
    CHECK(!parses("\n\n"));
}

TEST(a_result_is_read_as_it_was_written)
{
    struct result result = {
        .id = "a", .status = 7, .began = "x", .ended = "y", .changes = 3, .peak_memory = 1u << 30};
    struct result read;
    auto_buf struct buf out = {0};
    vec_push(&result.hosts, "api.example.com:443");
    result_add_json(&result, &out);
    result_free(&result);
    CHECK(result_parse(bytes_of(out.bytes, out.size), "a", &arena, &read));
    CHECK(read.status == 7 && read.changes == 3 && read.peak_memory == 1u << 30 && !read.session);
    CHECK_STR(read.hosts.at[0], "api.example.com:443");
    result_free(&read);
    CHECK(!result_parse(bytes_of(out.bytes, out.size), "b", &arena, &read));
    for (size_t size = 0; size + 1 < out.size; size++)
        CHECK(!result_parse(bytes_of(out.bytes, size), "a", &arena, &read));
}

UNIT_MAIN()
