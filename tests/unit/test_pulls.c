/* Requests by GraphQL about pull requests: how a document is read, which ones pass, and what is learned from answers. */
#include "base/text.h"
#include "unit.h"
#include "vault/graphql.h"
#include "vault/pulls.h"

static const char *written(const char *document)
{
    static struct arena arena;
    static char result[1024];
    struct graphql_document read;
    const char *problem = graphql_read(&arena, document, &read);
    snprintf(result, sizeof(result), "%s", problem ? problem : buf_text(&read.text));
    graphql_free(&read);
    return result;
}

static const char malformed[] = "its GraphQL is malformed, or uses what bawn does not read";

TEST(a_document_is_written_from_its_words)
{
    CHECK_STR(
        written(
            "query  Q($a:[String!]!,$b:Int=-1.5e3){x:a(b:\"c,d\" e:$a){f}...G ...on H{i}}\nfragment G on J{k}"),
        "query Q ( $ a : [ String ! ] ! $ b : Int = -1.5e3 ) { x : a ( b : \"c,d\" e : $ a ) { f } ... G ... on H { i } } "
        "fragment G on J { k }");
    CHECK_STR(written("{a(b:[1 2],c:{d:true,e:null,f:\"\\u0041\"})}"),
              "{ a ( b : [ 1 2 ] c : { d : true e : null f : \"\\u0041\" } ) }");
    CHECK_STR(written("mutation{a}"), "mutation { a }");
}

TEST(what_bawn_does_not_read_is_refused)
{
    static const char *const documents[] = {
        "",
        "{",
        "{}",
        "{a",
        "a{b}",
        "{a @skip(if:true)}",
        "{a#b\n}",
        "{a(b:\"\"\"c\"\"\")}",
        "{a(b:\"c\nd\")}",
        "{a(b:\"\\x\")}",
        "{a(b:\"c)}",
        "{a(b:1 b:2)}",
        "{a(b:{c:1 c:2})}",
        "{a(b:1a)}",
        "{a(b:1.)}",
        "{a(b:.5)}",
        "{a(b:-)}",
        "{a:b:c}",
        "{...}",
        "{a ... on}",
        "{a(b)}",
        "{a(b:)}",
        "{a(:1)}",
        "{\xc3\xa9}",
        "{a(b:\"\xc3\xa9\")}",
        "{a&b}",
        "{a|b}",
        "{a}fragment b on C{d}fragment b on C{e}",
        "fragment b on C{d}",
        "subscription{a}",
        "query(a:B){c}",
        "query($a){c}",
        "{a(b:\"\\",
    };
    for (size_t i = 0; i < array_len(documents); i++)
        CHECK_STR(written(documents[i]), malformed);
    CHECK_STR(written("{a}{b}"), "it has more than one operation");
    CHECK_STR(written("{a}}"), "it has more than one operation");
    CHECK_STR(written("{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a"),
              "its GraphQL is too large");
    CHECK_STR(written("{a(b:[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["), "its GraphQL is too large");
}

static struct pulls known;

static void learn(const char *repository, const char *key, const char *answer)
{
    const char *keys[] = {key};
    const struct pulls_question question = {
        .server = "api.github.com:443", .repository = repository, .keys = {.at = keys, .count = 1}};
    pulls_learn(&known, &question, bytes_of(answer, strlen(answer)));
}

/* The request as it passes to the server, or why it does not. */
static const char *passed_to(const char *server, const char *request)
{
    static const char *repositories[] = {"acme/app", "acme/lib"};
    static char result[1024];
    const pulls_names names = {.at = repositories, .count = array_len(repositories)};
    auto_arena struct arena arena = {0};
    struct pulls_question question;
    const char *problem =
        pulls_read(&known, &arena, bytes_of(request, strlen(request)), server, &names, &question);
    if (problem)
        snprintf(result, sizeof(result), "%s", problem);
    else
        snprintf(result, sizeof(result), "%s %s %s", question.is_change ? "change" : "read",
                 question.repository, buf_text(&question.content));
    pulls_question_free(&question);
    return result;
}

static const char *passed(const char *request)
{
    return passed_to("api.github.com:443", request);
}

TEST(a_request_is_about_one_repository_that_is_named)
{
    CHECK_STR(
        passed("{\"query\":\"{repository(owner:\\\"acme\\\",name:\\\"lib\\\"){id}}\"}"),
        "read acme/lib {\"query\":\"{ repository ( owner : \\\"acme\\\" name : \\\"lib\\\" ) { id } }\"}");
    CHECK_STR(
        passed(
            "{\"variables\":{\"n\":\"app\", \"x\":[1,\"a\\u0041\",null,{\"b\":true}]},"
            "\"query\":\"query($n:S){repository(owner:\\\"acme\\\" name:$n){id}}\",\"operationName\":\"x\"}"),
        "read acme/app {\"query\":\"query ( $ n : S ) { repository ( owner : \\\"acme\\\" name : $ n ) { id } }\","
        "\"variables\":{\"n\":\"app\",\"x\":[1,\"aA\",null,{\"b\":true}]}}");
    CHECK_STR(passed("{\"query\":\"{viewer{login}}\"}"),
              "read acme/app {\"query\":\"{ viewer { login } }\"}");
    CHECK_STR(passed("{\"query\":\"{a:repository(owner:\\\"acme\\\",name:\\\"app\\\"){id} "
                     "b:repository(owner:\\\"acme\\\",name:\\\"lib\\\"){id}}\"}"),
              "it is about two repositories");
    CHECK_STR(passed("{\"query\":\"{a:viewer{login} a:viewer{login}}\"}"),
              "two of its fields have the same name in the answer");
    CHECK_STR(passed("{\"query\":\"{repository(owner:\\\"acme\\\",name:\\\"x\\\"){id}}\"}"),
              "no `forge` rule with a token is for the repository acme/x");
}

TEST(variables_have_a_largest_number)
{
    for (int most = 64; most <= 65; most++) {
        char request[1024] = "{\"query\":\"{viewer{login}}\",\"variables\":{\"a\":1";
        size_t size = strlen(request);
        for (int i = 1; i < most; i++)
            size += (size_t)snprintf(request + size, sizeof(request) - size, ",\"a%d\":1", i);
        snprintf(request + size, sizeof(request) - size, "}}");
        CHECK(text_starts_with(passed(request), "read acme/app") == (most == 64));
    }
}

TEST(variables_have_a_largest_depth)
{
    static const char open[] = "[[[[[[[", close[] = "]]]]]]]";
    for (int depth = 1; depth < 8; depth++) {
        char request[256];
        snprintf(request, sizeof(request), "{\"query\":\"{viewer{login}}\",\"variables\":{\"a\":%.*s1%.*s}}",
                 depth, open, depth, close);
        CHECK(text_starts_with(passed(request), "read acme/app") == (depth <= 2));
    }
}

TEST(an_id_counts_where_an_answer_has_it)
{
    static const char comment[] =
        "{\"query\":\"mutation{addComment(input:{subjectId:\\\"PR_9\\\",body:\\\"x\\\"}){clientMutationId}}\"}";
    static const char unknown[] = "no answer about a repository had its id of a pull request or an issue";
    CHECK_STR(passed(comment), unknown);
    learn("acme/lib", "repository", "{\"data\":{\"other\":{\"pullRequest\":{\"id\":\"PR_9\"}}}}");
    learn("acme/lib", "repository",
          "{\"data\":{\"repository\":{\"id\":\"PR_9x\",\"parent\":{\"id\":\"PR_9\"},\"title\":\"PR_9\"}}}");
    learn("acme/lib", "repository",
          "{\"data\":{\"repository\":{\"pullRequest\":{\"author\":{\"id\":\"PR_9\"}}}}}");
    learn("acme/lib", "repository", "{\"data\":{\"repository\":{\"pullRequest\":{\"id\":\"PR_9\"}}}} ]");
    learn("acme/lib", "repository", "{\"data\":{\"repository\":[{\"pullRequest\":{\"id\":\"PR_9\"}}]}}");
    CHECK_STR(passed(comment), unknown);
    learn("acme/lib", "repository",
          "{\"data\":{\"repository\":{\"pullRequests\":{\"nodes\":[null,{\"id\":\"PR_9\"}]}}}}");
    CHECK_STR(
        passed(comment),
        "change acme/lib {\"query\":\"mutation { addComment ( input : { subjectId : \\\"PR_9\\\" body : \\\"x\\\" } ) "
        "{ clientMutationId } }\"}");
    CHECK_STR(passed_to("git.corp:443", comment), unknown);
    CHECK_STR(passed_to("api.github.com:8443", comment), unknown);
    pulls_free(&known);
    known = (struct pulls){0};
    learn("acme/lib", "repository",
          "{\"data\":{\"repository\":{\"issueOrPullRequest\":{\"id\":\"PR_9\"},\"issues\":null}}}");
    CHECK_STR(passed(comment), unknown);
    learn("acme/lib", "repository", "{\"data\":{\"repository\":{\"issue\":{\"id\":\"PR_9\"}}}}");
    CHECK(text_starts_with(passed(comment), "change acme/lib "));
    pulls_free(&known);
}

UNIT_MAIN()
