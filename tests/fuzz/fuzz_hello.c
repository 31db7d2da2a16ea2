/* Any bytes as the first words of TLS: a verdict, once reached, does not change with what follows in further records. */
#include <stdlib.h>
#include <string.h>

#include "egress/hello.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char name[NAME_LONGEST + 1], earlier_name[NAME_LONGEST + 1];
    enum hello verdict = hello_read(bytes, size, name);
    if (verdict == HELLO_NAMED && (strlen(name) == 0 || strlen(name) > NAME_LONGEST))
        abort();
    enum hello earlier = hello_read(bytes, size / 2, earlier_name);
    if (earlier == HELLO_MORE)
        return 0;
    if (earlier != verdict || (verdict == HELLO_NAMED && strcmp(name, earlier_name) != 0))
        abort();
    return 0;
}
