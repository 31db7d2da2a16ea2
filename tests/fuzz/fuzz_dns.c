/* Any bytes as a question for a name: what is understood is answered, and the answer fits and repeats the question. */
#include <stdlib.h>
#include <string.h>

#include "egress/dns.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct dns_question question;
    static const uint8_t address[16] = {198, 18, 0, 2};
    uint8_t answer[DNS_LARGEST_ANSWER];
    enum dns_code code = dns_read(bytes, size, &question);
    if (code == DNS_IGNORED)
        return 0;
    if (code == DNS_FINE) {
        size_t length = strlen(question.name);
        if (length > NAME_LONGEST || question.spelled_size > 255 ||
            (length && question.name[length - 1] == '.'))
            abort();
        for (size_t i = 0; i < length; i++) {
            if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.", question.name[i]))
                abort();
        }
    }
    struct dns_answer full = {
        code, code == DNS_FINE ? address : NULL, sizeof(address),
        "a reason that is rather long, so that it does not fit into what is left of an answer: "
        "a reason that is rather long, so that it does not fit into what is left of an answer: "
        "a reason that is rather long, so that it does not fit into what is left of an answer"};
    size_t made = dns_write(&question, &full, answer);
    if (made < 12 || made > sizeof(answer) || memcmp(answer, bytes, 2) != 0)
        abort();
    if (code == DNS_FINE && memcmp(answer + 12, bytes + 12, question.spelled_size + 4) != 0)
        abort();
    return 0;
}
