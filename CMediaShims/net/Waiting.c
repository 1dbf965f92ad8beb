#define _GNU_SOURCE
#include "CNet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

// MARK: Waiting

int parlor_epoll_create(void) {
    int descriptor = epoll_create1(EPOLL_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

static int control(int epoll, int operation, int descriptor, uint64_t token, uint32_t events) {
    struct epoll_event event = {.events = events, .data.u64 = token};
    return epoll_ctl(epoll, operation, descriptor, &event) == 0 ? 0 : -errno;
}

int parlor_epoll_add(int epoll, int descriptor, uint64_t token, uint32_t events) {
    return control(epoll, EPOLL_CTL_ADD, descriptor, token, events);
}

int parlor_epoll_modify(int epoll, int descriptor, uint64_t token, uint32_t events) {
    return control(epoll, EPOLL_CTL_MOD, descriptor, token, events);
}

int parlor_epoll_remove(int epoll, int descriptor) { return control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0); }

// Set once the kernel, or a container's filter, has refused epoll_pwait2 (Linux 5.11): from then on milliseconds do.
static atomic_int milliseconds_only;

int parlor_epoll_wait(int epoll, parlor_ready *ready, uint32_t capacity, int64_t timeout) {
    enum { most = 256 };
    struct epoll_event events[most];
    int wanted = capacity < most ? (int)capacity : most;
    int count = -1;
    int refused = atomic_load_explicit(&milliseconds_only, memory_order_relaxed);
    if (!refused) {
        struct timespec limit = {timeout / 1000000000, timeout % 1000000000};
        count = epoll_pwait2(epoll, events, wanted, timeout < 0 ? NULL : &limit, NULL);
        if (count < 0 && (errno == ENOSYS || errno == EPERM)) {
            atomic_store_explicit(&milliseconds_only, 1, memory_order_relaxed);
            refused = 1;
        }
    }
    if (refused) {
        // Rounded up: waking too early would spin until the deadline.
        int64_t milliseconds = timeout < 0 ? -1 : timeout / 1000000 + (timeout % 1000000 != 0);
        count = epoll_wait(epoll, events, wanted, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
    }
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        ready[i].token = events[i].data.u64;
        ready[i].events = events[i].events;
    }
    return count;
}

_Static_assert(POLLIN == EPOLLIN && POLLOUT == EPOLLOUT && POLLERR == EPOLLERR, "one set of event bits");

int parlor_wait(
    int epoll, const parlor_watched *watched, uint32_t count, parlor_ready *ready, uint32_t capacity, int64_t timeout) {
    if (count > PARLOR_WATCHED || capacity <= count) return -EINVAL;
    struct pollfd descriptors[32 + 1]; // PARLOR_WATCHED, and epoll
    for (uint32_t i = 0; i < count; i++)
        descriptors[i] = (struct pollfd){.fd = watched[i].descriptor, .events = (short)watched[i].events};
    descriptors[count] = (struct pollfd){.fd = epoll, .events = POLLIN};
    struct timespec limit = {timeout / 1000000000, timeout % 1000000000};
    int found = ppoll(descriptors, count + 1, timeout < 0 ? NULL : &limit, NULL);
    if (found < 0) return errno == EINTR ? 0 : -errno;
    int filled = 0;
    for (uint32_t i = 0; i < count && found > 0; i++) {
        if (descriptors[i].revents == 0) continue;
        if (descriptors[i].revents & POLLNVAL) return -EBADF;
        ready[filled].token = watched[i].token;
        ready[filled].events = (uint32_t)descriptors[i].revents;
        filled += 1;
    }
    if (descriptors[count].revents == 0) return filled;
    int more = parlor_epoll_wait(epoll, ready + filled, capacity - (uint32_t)filled, 0);
    return more < 0 ? more : filled + more;
}

int parlor_wakeup_create(void) {
    int descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

void parlor_wakeup_signal(int descriptor) {
    uint64_t one = 1;
    ssize_t written;
    do {
        written = write(descriptor, &one, sizeof one);
    } while (written < 0 && errno == EINTR); // EAGAIN: the counter is full, so it is readable already
}

void parlor_wakeup_clear(int descriptor) {
    uint64_t count;
    ssize_t got;
    do {
        got = read(descriptor, &count, sizeof count);
    } while (got < 0 && errno == EINTR);
}

// MARK: Time

static int64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t parlor_monotonic_time(void) { return read_clock(CLOCK_MONOTONIC); }
int64_t parlor_wall_time(void) { return read_clock(CLOCK_REALTIME); }
int64_t parlor_thread_cpu_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void parlor_sleep_until(int64_t deadline) {
    if (deadline <= 0) return;
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
}
