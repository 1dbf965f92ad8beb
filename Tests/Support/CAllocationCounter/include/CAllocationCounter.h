#ifndef PARLOR_CALLOCATIONCOUNTER_H
#define PARLOR_CALLOCATIONCOUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// Whether this build counts: not under a sanitizer, which brings its own allocator, and only with glibc.
bool parlor_allocations_available(void);

/// Starts counting the heap allocations of the calling thread, from 0.
void parlor_allocations_start(void);

/// Stops; returns how many there were since the start: malloc, calloc, realloc, memalign and their like, in this thread.
uint64_t parlor_allocations_stop(void);

/// How many blocks the thread freed between the last start and stop.
uint64_t parlor_allocations_freed(void);

/// Bytes asked for between the last start and stop.
uint64_t parlor_allocations_bytes(void);

#endif
