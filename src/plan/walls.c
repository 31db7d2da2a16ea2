#include "plan/walls.h"

#include <string.h>

#include "base/text.h"

DEFINE_TEXTS(wall_name, enum wall, WALLS, NAME_OF)

DEFINE_TEXTS(wall_loss, enum wall, WALLS, TITLE_OF)

DEFINE_TEXTS(foundation_name, enum foundation, FOUNDATIONS, NAME_OF)

enum foundation foundation_from_name(const char *name)
{
    enum foundation foundation = 0;
    while (foundation < FOUNDATION_COUNT && strcmp(name, foundation_name(foundation)) != 0)
        foundation++;
    return foundation;
}

enum wall wall_from_name(const char *name)
{
    for (enum wall wall = 0; wall < WALL_DEGRADABLE_COUNT; wall++) {
        if (strcmp(name, wall_name(wall)) == 0)
            return wall;
    }
    return WALL_COUNT;
}

const char *wall_closest(const char *name)
{
    static const char *const names[] = {DEGRADABLE_WALLS(NAME_OF) NULL};
    return text_closest(name, names);
}

const char *wall_list(void)
{
    return &(
#define X(id, name, without) ", " name
        DEGRADABLE_WALLS(X)
#undef X
            )[2];
}
