#define _GNU_SOURCE
#include "CNet.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

struct parlor_thread {
    pthread_t thread;
    char name[16]; // TASK_COMM_LEN
    int cpu;
    void (*body)(void *);
    void *context;
};

// The `index`-th processor of those this process may use.
static int allowed_processor(int index) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
    int count = CPU_COUNT(&allowed);
    if (count == 0) return -1;
    int left = index % count;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && left-- == 0) return cpu;
    return -1;
}

static void *run(void *argument) {
    struct parlor_thread *thread = argument;
    (void)prctl(PR_SET_NAME, thread->name);
    // Timers of this thread fire within 1 us instead of 50 us (prctl(2), PR_SET_TIMERSLACK): it waits for pacing deadlines.
    (void)prctl(PR_SET_TIMERSLACK, 1000UL);
    int cpu = thread->cpu < 0 ? -1 : allowed_processor(thread->cpu);
    if (cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    thread->body(thread->context);
    return NULL;
}

int parlor_thread_start(const char *name, int cpu, void (*body)(void *), void *context, parlor_thread **started) {
    *started = NULL;
    struct parlor_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) return -ENOMEM;
    snprintf(thread->name, sizeof thread->name, "%s", name);
    thread->cpu = cpu;
    thread->body = body;
    thread->context = context;
    // Signals are for the main thread; a blocked fault of its own would kill the process without a trace.
    sigset_t blocked, before;
    sigfillset(&blocked);
    const int own[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = pthread_create(&thread->thread, NULL, run, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        free(thread);
        return -error;
    }
    *started = thread;
    return 0;
}

int parlor_thread_join(parlor_thread *thread, int64_t timeout) {
    // pthread_timedjoin_np counts on the wall clock.
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    if (timeout < 0) timeout = 0;
    until.tv_sec += timeout / 1000000000;
    until.tv_nsec += timeout % 1000000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec += 1;
    }
    int error;
    do {
        error = pthread_timedjoin_np(thread->thread, NULL, &until);
    } while (error == EINTR);
    if (error == 0) free(thread);
    return -error;
}

int parlor_processor_count(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
    int count = CPU_COUNT(&allowed);
    return count > 0 ? count : 1;
}

// MARK: Mutex

struct parlor_mutex {
    pthread_mutex_t mutex;
};

parlor_mutex *parlor_mutex_create(void) {
    struct parlor_mutex *mutex = calloc(1, sizeof *mutex);
    // A lock of a few bytes that cannot be made leaves nothing to go on with.
    if (mutex == NULL || pthread_mutex_init(&mutex->mutex, NULL) != 0) abort();
    return mutex;
}

void parlor_mutex_destroy(parlor_mutex *mutex) {
    pthread_mutex_destroy(&mutex->mutex);
    free(mutex);
}

void parlor_mutex_lock(parlor_mutex *mutex) { pthread_mutex_lock(&mutex->mutex); }
void parlor_mutex_unlock(parlor_mutex *mutex) { pthread_mutex_unlock(&mutex->mutex); }
