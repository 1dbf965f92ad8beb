#define _GNU_SOURCE
#include "CNet.h"

#include "Addresses.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

// After the glibc headers.
#include <linux/sockios.h>

_Static_assert(UIO_MAXIOV == 1024, "PARLOR_STREAM_SEGMENTS");
_Static_assert(sizeof(parlor_segment) == sizeof(struct iovec), "parlor_segment is an iovec");

int parlor_tcp_listen(const parlor_address *local, int backlog) {
    int ipv4 = local->is_ipv4;
    int descriptor = socket(ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) return -errno;
    int one = 1;
    struct sockaddr_storage storage;
    socklen_t length = parlor_to_sockaddr(local, &storage);
    // SO_REUSEADDR: connections of an earlier run that the kernel still winds up do not keep the port.
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        (ipv4 || setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) == 0) &&
        bind(descriptor, (struct sockaddr *)&storage, length) == 0 && listen(descriptor, backlog) == 0)
        return descriptor;
    int result = -errno;
    (void)close(descriptor);
    return result;
}

// Each of these only makes a connection better: one that a kernel lacks is no reason to refuse a call.
static void set_options(int descriptor, const parlor_stream_options *options) {
    int one = 1;
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (options->unsent_limit > 0) {
        unsigned limit = options->unsent_limit;
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &limit, sizeof limit);
    }
    if (options->user_timeout > 0) {
        unsigned timeout = options->user_timeout;
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
    }
    if (options->keepalive_time > 0) {
        int idle = options->keepalive_time > 32767 ? 32767 : (int)options->keepalive_time;
        int interval = idle / 3 > 0 ? idle / 3 : 1, count = 3;
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
        (void)setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
        (void)setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    }
}

int parlor_tcp_accept(int listener, const parlor_stream_options *options, parlor_address *peer) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    int descriptor;
    do {
        descriptor = accept4(listener, (struct sockaddr *)&storage, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) return -errno;
    parlor_from_sockaddr(&storage, length, peer);
    set_options(descriptor, options);
    return descriptor;
}

int parlor_tcp_is_exhausted(int result) {
    return result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS;
}

int parlor_tcp_connect(const parlor_address *remote, const parlor_stream_options *options) {
    int family = remote->is_ipv4 ? AF_INET : AF_INET6;
    int descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (descriptor < 0) return -errno;
    set_options(descriptor, options);
    struct sockaddr_storage storage;
    socklen_t length = parlor_to_sockaddr(remote, &storage);
    // EINTR: the kernel goes on connecting (POSIX).
    if (connect(descriptor, (struct sockaddr *)&storage, length) == 0 || errno == EINPROGRESS || errno == EINTR)
        return descriptor;
    int result = -errno;
    (void)close(descriptor);
    return result;
}

int parlor_tcp_connected(int descriptor) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return -errno;
    return -error;
}

int64_t parlor_stream_receive(int descriptor, void *bytes, size_t capacity) {
    ssize_t count;
    do {
        count = recv(descriptor, bytes, capacity, MSG_DONTWAIT);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

int64_t parlor_stream_send(int descriptor, const parlor_segment *segments, uint32_t count) {
    if (count == 0 || count > PARLOR_STREAM_SEGMENTS) return -EINVAL;
    struct msghdr header = {.msg_iov = (struct iovec *)segments, .msg_iovlen = count};
    ssize_t sent;
    do {
        sent = sendmsg(descriptor, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

void parlor_stream_close(int descriptor, int abort) {
    if (descriptor < 0) return;
    int unsent = 0;
    if (abort || (ioctl(descriptor, SIOCOUTQNSD, &unsent) == 0 && unsent > 0)) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    (void)close(descriptor);
}
