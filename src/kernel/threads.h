/* A thread for each processor, for work that is shared out in pieces. */
#pragma once

#include <stdbool.h>

/* One thread's part: takes pieces of the work until none is left. One of the threads is the caller's. */
typedef void thread_work(void *context, bool is_caller);

/*
 * Calls `work` in the calling thread and, if that is worth it, in one more for each further processor. Returns when all have
 * returned. If no thread can be made, the calling one does all the work. Signals go to the calling thread alone.
 */
void threads_share(thread_work *work, void *context, bool is_worth_it);
