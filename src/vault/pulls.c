#include "vault/pulls.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "vault/graphql.h"
#include "vault/pulls_fields.h"

enum { MOST_FIELDS = 4096, LONGEST_ID = 128, VARIABLES_DEEPEST = 4, MOST_MEMBERS = 64 };

/* Names in an answer by which ids are found there: no other field may take one. */
static const char key_names[] = "id nodes pullRequest pullRequests issue issues";

/* One request, while it is judged. */
struct judge {
    const struct pulls *pulls;
    struct arena *arena;
    const pulls_names *repositories;
    struct graphql_document document;
    struct json_value variables; /* size 0: none */
    struct pulls_question *question;
    size_t fields; /* how many were visited: fragments may stand in many places */
    unsigned depth;
};

void pulls_free(struct pulls *pulls)
{
    vec_free(&pulls->ids);
    arena_free(&pulls->arena);
}

void pulls_question_free(struct pulls_question *question)
{
    vec_free(&question->keys);
    buf_free(&question->content);
    *question = (struct pulls_question){0};
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

/* The first member of this name; size 0: there is none. */
static struct json_value member(struct json_value object, const char *name)
{
    struct json_value key, value;
    for (size_t at = 0; object.size && json_next_member(object, &at, &key, &value);) {
        if (json_is(key, name))
            return value;
    }
    return (struct json_value){0};
}

/* The text of a string, or of a variable that is one; NULL: it is something else, or a variable's default. */
static const char *text_of(const struct judge *judge, const struct graphql_value *value)
{
    if (value && value->kind == GRAPHQL_STRING)
        return value->text;
    if (!value || value->kind != GRAPHQL_VARIABLE)
        return NULL;
    struct json_value variable = member(judge->variables, value->text);
    return variable.size ? json_text(judge->arena, variable) : NULL;
}

/*
 * Writes a value anew. Objects have plain names, each once: a server must not find another one. Returns false
 * if it has others, or so many that to compare them would take long.
 */
static bool copy_value(struct arena *arena, struct json *out, const char *key, struct json_value value,
                       unsigned depth)
{
    struct json_value name, item;
    size_t at = 0, members = 0;
    bool is_fine = depth < VARIABLES_DEEPEST;
    if (!is_fine)
        return false;
    if (*value.at == '"') {
        const char *text = json_text(arena, value);
        json_str(out, key, text);
        return text && text_is_utf8(text, strlen(text)); /* a server may read other bytes in another way */
    }
    if (*value.at != '{' && *value.at != '[') {
        json_raw(out, key, arena_copy(arena, value.at, value.size));
        return true;
    }
    json_open(out, key, *value.at);
    while (is_fine && *value.at == '[' && json_next_item(value, &at, &item))
        is_fine = copy_value(arena, out, NULL, item, depth + 1);
    while (is_fine && *value.at == '{' && json_next_member(value, &at, &name, &item)) {
        const char *text = json_text(arena, name);
        is_fine = ++members <= MOST_MEMBERS && text && graphql_is_name(text) && json_is(name, text) &&
                  member(value, text).at == item.at && copy_value(arena, out, text, item, depth + 1);
    }
    json_close(out, *value.at == '{' ? '}' : ']');
    return is_fine;
}

/* --- fields ----------------------------------------------------------------------------------------------------------- */

static const char *refused_field(struct judge *judge, const char *name)
{
    return arena_printf(judge->arena, "bawn lets no request with the field `%s` pass there", name);
}

static const struct graphql_field *fragment_of(const struct judge *judge, const char *name)
{
    for (const struct graphql_fragment *at = judge->document.fragments; at; at = at->next) {
        if (strcmp(at->name, name) == 0)
            return at->fields;
    }
    return NULL;
}

static enum pulls_type link_of(enum pulls_type type, const char *field)
{
    for (size_t i = 0; i < MOST_LINKS && types[type].links[i].field; i++) {
        if (strcmp(types[type].links[i].field, field) == 0)
            return types[type].links[i].type;
    }
    return TYPE_NONE;
}

static bool is_plain(enum pulls_type type, const char *field)
{
    return strcmp(field, "__typename") == 0 || text_has_word(types[type].plain, field);
}

static const char *judge_id(struct judge *judge, const char *id, bool is_repository);

/* An argument may lead elsewhere, as the `login` of an organization does. */
static const char *judge_arguments(struct judge *judge, const struct graphql_pair *pair)
{
    const char *problem = NULL;
    for (; pair && !problem; pair = pair->next) {
        if (!text_has_word(argument_names, pair->name))
            problem = arena_printf(judge->arena, "bawn lets no request with the argument `%s` pass there",
                                   pair->name);
        else if (strcmp(pair->name, "pullRequestId") == 0)
            problem = judge_id(judge, text_of(judge, &pair->value), false);
    }
    return problem;
}

/* Counts a field, and checks its arguments and the name that it gets in the answer. Returns what is wrong. */
static const char *count_field(struct judge *judge, const struct graphql_field *field)
{
    if (++judge->fields > MOST_FIELDS)
        return "it asks for too much at once";
    /* gh calls either of the two an issue in the answer. */
    bool is_issue =
        field->name && strcmp(field->name, "issueOrPullRequest") == 0 && strcmp(field->key, "issue") == 0;
    if (field->name && strcmp(field->key, field->name) != 0 && text_has_word(key_names, field->key) &&
        !is_issue)
        return arena_printf(judge->arena, "it calls another field `%s` in the answer", field->key);
    return judge_arguments(judge, field->arguments);
}

static const char *judge_fields(struct judge *judge, enum pulls_type type, const struct graphql_field *field)
{
    const char *problem = judge->depth++ == GRAPHQL_DEEPEST ? "its fragments are too deep" : NULL;
    for (; field && !problem; field = field->next) {
        problem = count_field(judge, field);
        if (problem)
            break;
        const struct graphql_field *below =
            field->fragment ? fragment_of(judge, field->fragment) : field->fields;
        enum pulls_type next = field->name ? link_of(type, field->name) : type;
        bool may_pass = field->name && !below ? is_plain(type, field->name) : next != TYPE_NONE && below;
        problem = !may_pass ? refused_field(judge, field->name ? field->name : "...")
                  : below   ? judge_fields(judge, next, below)
                            : NULL;
    }
    judge->depth--;
    return problem;
}

/* --- operations ------------------------------------------------------------------------------------------------------- */

/* A request is about one repository. */
static const char *set_repository(struct judge *judge, const char *repository)
{
    const char **about = &judge->question->repository;
    if (*about && strcmp(*about, repository) != 0)
        return "it is about two repositories";
    for (size_t i = 0; i < judge->repositories->count; i++) {
        if (strcmp(judge->repositories->at[i], repository) == 0) {
            *about = judge->repositories->at[i];
            return NULL;
        }
    }
    return arena_printf(judge->arena, "no `forge` rule with a token is for the repository %s", repository);
}

static const char *judge_repository(struct judge *judge, const struct graphql_field *field)
{
    const struct graphql_pair *arguments = field->arguments;
    const char *owner = text_of(judge, graphql_find(arguments, "owner")),
               *name = text_of(judge, graphql_find(arguments, "name"));
    if (!owner || !name || arguments->next->next)
        return "it does not name the repository by `owner` and `name`";
    const char *problem = set_repository(judge, arena_printf(judge->arena, "%s/%s", owner, name));
    if (!problem)
        vec_push(&judge->question->keys, field->key);
    return problem ? problem : judge_fields(judge, TYPE_REPOSITORY, field->fields);
}

/* An id that is the client's word alone could be that of any repository. */
static const char *judge_id(struct judge *judge, const char *id, bool is_repository)
{
    vec_each (const struct pulls_id, known, &judge->pulls->ids) {
        if (id && known->is_repository == is_repository && strcmp(known->id, id) == 0 &&
            strcmp(known->server, judge->question->server) == 0)
            return set_repository(judge, known->repository);
    }
    return is_repository ? "no answer about a repository had its repository id"
                         : "no answer about a repository had its id of a pull request or an issue";
}

static const char *judge_node(struct judge *judge, const struct graphql_field *field)
{
    const char *problem = judge_id(judge, text_of(judge, graphql_find(field->arguments, "id")), false);
    return problem ? problem : judge_fields(judge, TYPE_PULL, field->fields);
}

/* The input of a mutation: members that it may have, and those of them that are ids. */
struct change {
    const char *field;
    const char *members, *ids;
    bool is_repository; /* what the ids are of */
    enum pulls_type answer;
};

static const char *judge_member(struct judge *judge, const struct change *change, const char *name,
                                const char *text, bool *has_id)
{
    if (!text_has_word(change->members, name))
        return refused_field(judge, name);
    if (!text_has_word(change->ids, name))
        return NULL;
    *has_id = true;
    return judge_id(judge, text, change->is_repository);
}

static const char *judge_input(struct judge *judge, const struct change *change,
                               const struct graphql_value *input)
{
    const char *problem = NULL;
    bool has_id = false;
    struct json_value key, value, object = {0};
    if (input && input->kind == GRAPHQL_VARIABLE)
        object = member(judge->variables, input->text);
    for (size_t at = 0; !problem && object.size && json_next_member(object, &at, &key, &value);) {
        const char *name = json_text(judge->arena, key);
        problem = judge_member(judge, change, name ? name : "", json_text(judge->arena, value), &has_id);
    }
    const struct graphql_pair *pair = input && input->kind == GRAPHQL_OBJECT ? input->members : NULL;
    for (; !problem && pair; pair = pair->next)
        problem = judge_member(judge, change, pair->name, text_of(judge, &pair->value), &has_id);
    return problem || has_id ? problem : "it does not say what it changes";
}

static const char *judge_change(struct judge *judge, const struct graphql_field *field)
{
    static const struct change changes[] = {
        {"createPullRequest",
         "repositoryId headRepositoryId baseRefName headRefName title body draft maintainerCanModify clientMutationId",
         "repositoryId headRepositoryId", true, TYPE_MADE_PULL},
        {"addComment", "subjectId body clientMutationId", "subjectId", false, TYPE_MADE_COMMENT},
    };
    for (size_t i = 0; i < array_len(changes); i++) {
        if (strcmp(field->name, changes[i].field) != 0)
            continue;
        const char *problem = judge_input(judge, &changes[i], graphql_find(field->arguments, "input"));
        return problem ? problem : judge_fields(judge, changes[i].answer, field->fields);
    }
    return refused_field(judge, field->name);
}

static const char *judge_query(struct judge *judge, const struct graphql_field *field)
{
    if (strcmp(field->name, "repository") == 0)
        return judge_repository(judge, field);
    if (strcmp(field->name, "node") == 0)
        return judge_node(judge, field);
    if (strcmp(field->name, "viewer") == 0)
        return judge_fields(judge, TYPE_USER, field->fields);
    if (strcmp(field->name, "__type") == 0)
        return judge_fields(judge, TYPE_SCHEMA, field->fields);
    return refused_field(judge, field->name);
}

static const char *judge_operation(struct judge *judge)
{
    const char *problem = NULL;
    const struct graphql_document *document = &judge->document;
    judge->question->is_change = document->is_mutation;
    for (const struct graphql_field *field = document->fields; field && !problem; field = field->next) {
        for (const struct graphql_field *other = field->next; other && field->name; other = other->next) {
            if (other->name && strcmp(other->key, field->key) == 0)
                return "two of its fields have the same name in the answer";
        }
        problem = !field->name || !field->fields ? "its first fields are not those of an operation"
                  : document->is_mutation        ? judge_change(judge, field)
                                                 : judge_query(judge, field);
    }
    /* Questions about the user and the server are about no repository, and need a token all the same. */
    if (!problem && !judge->question->repository && !document->is_mutation && judge->repositories->count)
        judge->question->repository = judge->repositories->at[0];
    return problem || judge->question->repository ? problem : "it is about no repository";
}

/* --- the request ------------------------------------------------------------------------------------------------------ */

/* Members of the request, each once: a server must not find another one. */
static bool take_members(struct judge *judge, struct json_value object, struct json_value *ret_query)
{
    struct json_value key, value;
    bool has_variables = false, has_operation = false;
    for (size_t at = 0; json_next_member(object, &at, &key, &value);) {
        bool is_query = json_is(key, "query"), is_variables = json_is(key, "variables");
        bool *has = is_variables ? &has_variables : &has_operation;
        if (!is_query && !is_variables && !json_is(key, "operationName"))
            return false;
        if (is_query ? ret_query->size > 0 : *has)
            return false;
        if (is_query)
            *ret_query = value;
        else
            *has = true;
        if (is_variables && *value.at == '{')
            judge->variables = value;
        else if (is_variables && *value.at != 'n') /* null */
            return false;
    }
    return ret_query->size > 0;
}

const char *pulls_read(const struct pulls *pulls, struct arena *arena, struct bytes content,
                       const char *server, const pulls_names *repositories,
                       struct pulls_question *ret_question)
{
    static const char malformed[] = "it is not one request of GraphQL, as JSON";
    struct judge judge = {
        .pulls = pulls, .arena = arena, .repositories = repositories, .question = ret_question};
    struct json_value object, query = {0};
    *ret_question = (struct pulls_question){.server = server};
    if (!content.size || !json_read(content.at, content.size, &object) || *object.at != '{' ||
        !take_members(&judge, object, &query))
        return malformed;
    const char *text = json_text(arena, query);
    const char *problem = text ? graphql_read(arena, text, &judge.document) : malformed;
    struct json out = {.out = &ret_question->content, .on_one_line = true};
    json_open(&out, NULL, '{');
    if (!problem)
        json_str(&out, "query", buf_text(&judge.document.text));
    if (!problem && judge.variables.size && !copy_value(arena, &out, "variables", judge.variables, 0))
        problem = malformed;
    json_close(&out, '}');
    if (!problem)
        problem = judge_operation(&judge);
    if (text)
        graphql_free(&judge.document);
    return problem;
}

/* --- answers ---------------------------------------------------------------------------------------------------------- */

static void learn_id(struct pulls *pulls, const struct pulls_question *question, bool is_repository,
                     struct json_value object)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-=+/";
    auto_arena struct arena scratch = {0};
    struct json_value value = member(object, "id");
    const char *id = value.size ? json_text(&scratch, value) : NULL;
    if (!id || !*id || strlen(id) > LONGEST_ID || strspn(id, plain) != strlen(id) ||
        pulls->ids.count == PULLS_MOST_IDS)
        return;
    vec_each (const struct pulls_id, known, &pulls->ids) {
        if (strcmp(known->id, id) == 0 && strcmp(known->server, question->server) == 0)
            return;
    }
    struct arena *arena = &pulls->arena;
    vec_push(&pulls->ids, ((struct pulls_id){arena_str(arena, id), arena_str(arena, question->repository),
                                             arena_str(arena, question->server), is_repository}));
}

void pulls_learn(struct pulls *pulls, const struct pulls_question *question, struct bytes answer)
{
    static const char *const ones[] = {"pullRequest", "issue"}, *const lists[] = {"pullRequests", "issues"};
    struct json_value object, pull;
    if (!answer.size || !json_read(answer.at, answer.size, &object))
        return;
    struct json_value data = member(object, "data");
    for (size_t i = 0; data.size && i < question->keys.count; i++) {
        struct json_value repository = member(data, question->keys.at[i]);
        if (!repository.size || *repository.at != '{')
            continue;
        learn_id(pulls, question, true, repository);
        for (size_t kind = 0; kind < array_len(ones); kind++) {
            learn_id(pulls, question, false, member(repository, ones[kind]));
            struct json_value nodes = member(member(repository, lists[kind]), "nodes");
            for (size_t at = 0; nodes.size && json_next_item(nodes, &at, &pull);)
                learn_id(pulls, question, false, pull);
        }
    }
}
