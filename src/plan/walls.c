#include "plan/walls.h"

#include <string.h>

#include "base/text.h"
#include "base/vec.h"

static const struct {
    const char *name, *loss;
} walls[] = {
#define X(id, name, without) [WALL_##id] = {name, without},
    WALLS(X)
#undef X
};

const char *wall_name(enum wall wall)
{
    return walls[wall].name;
}

const char *wall_loss(enum wall wall)
{
    return walls[wall].loss;
}

enum wall wall_from_name(const char *name)
{
    for (enum wall wall = 0; wall < WALL_DEGRADABLE_COUNT; wall++) {
        if (strcmp(name, walls[wall].name) == 0)
            return wall;
    }
    return WALL_COUNT;
}

const char *wall_closest(const char *name)
{
    static const char *const names[] = {
#define X(id, name, without) name,
        DEGRADABLE_WALLS(X)
#undef X
            NULL};
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
