/* A process of the host that does nothing: what the attacks aim at. Its command line bears the runner's mark. */
#include <unistd.h>

int main(void)
{
    for (;;)
        pause();
}
