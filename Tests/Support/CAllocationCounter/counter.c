#include "CAllocationCounter.h"

#include <errno.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PARLOR_COUNTS 0
#endif
#endif
#if !defined(PARLOR_COUNTS) && !defined(__GLIBC__)
#define PARLOR_COUNTS 0
#endif
#ifndef PARLOR_COUNTS
#define PARLOR_COUNTS 1
#endif

#if PARLOR_COUNTS

// The program's own definitions take the place of glibc's, whose real ones keep other names. Initial-exec thread-local storage is
// there before the first allocation and needs none itself.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))
THREAD_LOCAL bool counting;
THREAD_LOCAL uint64_t allocations;
THREAD_LOCAL uint64_t freed;
THREAD_LOCAL uint64_t bytes;

static inline void count(size_t size) {
    if (__builtin_expect(!counting, 1)) return;
    allocations += 1;
    bytes += size;
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count(size);
    return __libc_realloc(block, size);
}

void free(void *block) {
    if (counting && block != NULL) freed += 1;
    __libc_free(block);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    count(size);
    void *block = __libc_memalign(alignment, size);
    if (block == NULL) return ENOMEM;
    *out = block;
    return 0;
}

bool parlor_allocations_available(void) { return true; }

void parlor_allocations_start(void) {
    allocations = 0;
    freed = 0;
    bytes = 0;
    counting = true;
}

uint64_t parlor_allocations_stop(void) {
    counting = false;
    return allocations;
}

uint64_t parlor_allocations_freed(void) { return freed; }
uint64_t parlor_allocations_bytes(void) { return bytes; }

#else

bool parlor_allocations_available(void) { return false; }
void parlor_allocations_start(void) {}
uint64_t parlor_allocations_stop(void) { return 0; }
uint64_t parlor_allocations_freed(void) { return 0; }
uint64_t parlor_allocations_bytes(void) { return 0; }

#endif
