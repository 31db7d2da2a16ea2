/*
 * Any bytes as a request by GraphQL: one that passes is about the repository that is named, and is written so that it passes again and is written in the same way. The
 * same bytes as an answer: what is learned from it is about that repository.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "vault/pulls.h"

static void check_ids(const struct pulls *pulls)
{
    vec_each (const struct pulls_id, id, &pulls->ids) {
        if (strcmp(id->repository, "acme/app") != 0 || !*id->id || strpbrk(id->id, "\" \\"))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *repositories[] = {"acme/app"}, *keys[] = {"repository"};
    static const char learned[] =
        "{\"data\":{\"repository\":{\"id\":\"R_1\",\"pullRequest\":{\"id\":\"PR_1\"}}}}";
    const pulls_names names = {.at = repositories, .count = 1};
    const struct pulls_question asked = {
        .server = "server:443", .repository = "acme/app", .keys = {.at = keys, .count = 1}};
    struct bytes text = bytes_of((const char *)bytes, size);
    struct pulls pulls = {0};
    auto_arena struct arena arena = {0};
    struct pulls_question question = {0}, again = {0};
    pulls_learn(&pulls, &asked, bytes_of(learned, strlen(learned)));
    if (pulls.ids.count != 2)
        abort();
    if (!pulls_read(&pulls, &arena, text, "server:443", &names, &question)) {
        struct bytes content = bytes_of(question.content.bytes, question.content.size);
        if (strcmp(question.repository, "acme/app") != 0 ||
            pulls_read(&pulls, &arena, content, "server:443", &names, &again) ||
            question.is_change != again.is_change ||
            !bytes_equal(content, bytes_of(again.content.bytes, again.content.size)))
            abort();
    }
    pulls_learn(&pulls, &asked, text);
    check_ids(&pulls);
    pulls_question_free(&question);
    pulls_question_free(&again);
    pulls_free(&pulls);
    return 0;
}
