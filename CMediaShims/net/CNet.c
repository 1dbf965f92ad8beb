#define _GNU_SOURCE
#include "CNet.h"

#include "Addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

// After the glibc headers: the kernel's header defines only what they left out.
#include <linux/errqueue.h>

// Kernel numbers that old glibc headers lack (include/uapi/linux/udp.h).
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

_Static_assert(EAGAIN == 11 && EWOULDBLOCK == EAGAIN, "PARLOR_WOULD_BLOCK");
_Static_assert(EBADF == 9 && EINVAL == 22 && EIO == 5, "negated errno values of the header");
_Static_assert(EMSGSIZE == 90 && ECONNREFUSED == 111 && EADDRINUSE == 98 && ETIMEDOUT == 110, "likewise");
_Static_assert(EPOLLIN == 0x001 && EPOLLOUT == 0x004 && EPOLLERR == 0x008, "epoll events of the header");
_Static_assert(sizeof(parlor_segment) == sizeof(struct iovec), "parlor_segment is an iovec");
_Static_assert(offsetof(parlor_segment, bytes) == offsetof(struct iovec, iov_base), "parlor_segment is an iovec");
_Static_assert(offsetof(parlor_segment, length) == offsetof(struct iovec, iov_len), "parlor_segment is an iovec");

void parlor_error_text(int result, char *text, size_t capacity) {
    if (capacity == 0) return;
    const char *name = strerror_r(result < 0 ? -result : result, text, capacity);
    if (name != text) snprintf(text, capacity, "%s", name);
}

// MARK: Addresses

static uint64_t load_big_endian(const uint8_t *bytes) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | bytes[i];
    return value;
}

static void store_big_endian(uint64_t value, uint8_t *bytes) {
    for (int i = 7; i >= 0; i--, value >>= 8) bytes[i] = (uint8_t)value;
}

socklen_t parlor_to_sockaddr(const parlor_address *address, struct sockaddr_storage *storage) {
    if (address->is_ipv4) {
        struct sockaddr_in *in = (struct sockaddr_in *)storage;
        memset(in, 0, sizeof *in);
        in->sin_family = AF_INET;
        in->sin_port = htons(address->port);
        in->sin_addr.s_addr = htonl((uint32_t)address->low);
        return sizeof *in;
    }
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)storage;
    memset(in6, 0, sizeof *in6);
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(address->port);
    store_big_endian(address->high, in6->sin6_addr.s6_addr);
    store_big_endian(address->low, in6->sin6_addr.s6_addr + 8);
    return sizeof *in6;
}

void parlor_from_sockaddr(const struct sockaddr_storage *storage, socklen_t length, parlor_address *address) {
    memset(address, 0, sizeof *address);
    if (length >= sizeof(struct sockaddr_in) && storage->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)storage;
        address->low = ntohl(in->sin_addr.s_addr);
        address->port = ntohs(in->sin_port);
        address->is_ipv4 = 1;
    } else if (length >= sizeof(struct sockaddr_in6) && storage->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)storage;
        address->high = load_big_endian(in6->sin6_addr.s6_addr);
        address->low = load_big_endian(in6->sin6_addr.s6_addr + 8);
        address->port = ntohs(in6->sin6_port);
    }
}

// MARK: UDP sockets

// The kernel doubles what is asked for and reports the double (socket(7)); halve it to compare like with like.
static int32_t granted_buffer(int descriptor, int option) {
    int value = 0;
    socklen_t length = sizeof value;
    if (getsockopt(descriptor, SOL_SOCKET, option, &value, &length) != 0) return 0;
    return value / 2;
}

// The plain option is clamped to net.core.{r,w}mem_max; the forced one is not, and needs CAP_NET_ADMIN.
static int32_t set_buffer(int descriptor, int option, int forced, int32_t wanted) {
    if (wanted > 0) {
        (void)setsockopt(descriptor, SOL_SOCKET, option, &wanted, sizeof wanted);
        if (granted_buffer(descriptor, option) < wanted)
            (void)setsockopt(descriptor, SOL_SOCKET, forced, &wanted, sizeof wanted);
    }
    return granted_buffer(descriptor, option);
}

static int open_socket(
    const parlor_address *local, const parlor_udp_options *options, int shares, parlor_udp_socket *opened) {
    memset(opened, 0, sizeof *opened);
    opened->descriptor = -1;
    int ipv4 = local->is_ipv4;
    int descriptor = socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP);
    if (descriptor < 0) return -errno;

    int one = 1, result = 0;
    if (!ipv4 && setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one) != 0) goto failed;
    if (ipv4) {
        // Media packets are small, so path MTU discovery gains nothing; with it, one forged "fragmentation needed" would
        // make the kernel refuse segmented sends to that host. Routers may fragment instead.
        int omit = IP_PMTUDISC_OMIT;
        (void)setsockopt(descriptor, IPPROTO_IP, IP_MTU_DISCOVER, &omit, sizeof omit);
    }
    if (options->error_queue) {
        int failed = ipv4 ? setsockopt(descriptor, IPPROTO_IP, IP_RECVERR, &one, sizeof one)
                          : setsockopt(descriptor, IPPROTO_IPV6, IPV6_RECVERR, &one, sizeof one);
        if (failed != 0) goto failed;
    }
    if (shares && setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0) goto failed;
    opened->gro = options->gro && setsockopt(descriptor, SOL_UDP, UDP_GRO, &one, sizeof one) == 0;
    opened->receive_buffer = set_buffer(descriptor, SO_RCVBUF, SO_RCVBUFFORCE, options->receive_buffer);
    opened->send_buffer = set_buffer(descriptor, SO_SNDBUF, SO_SNDBUFFORCE, options->send_buffer);

    struct sockaddr_storage storage;
    socklen_t length = parlor_to_sockaddr(local, &storage);
    if (bind(descriptor, (struct sockaddr *)&storage, length) != 0) goto failed;
    opened->descriptor = descriptor;
    return 0;

failed:
    result = -errno;
    close(descriptor);
    return result;
}

int parlor_udp_open(const parlor_address *local, const parlor_udp_options *options, parlor_udp_socket *opened) {
    return open_socket(local, options, 0, opened);
}

static int share_port(int descriptor, int shares) {
    return setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &shares, sizeof shares);
}

int parlor_udp_open_beside(
    int all, const parlor_address *local, const parlor_udp_options *options, parlor_udp_socket *opened) {
    // Both must share it at the moment of the bind, and neither afterwards.
    if (share_port(all, 1) != 0) return -errno;
    int result = open_socket(local, options, 1, opened);
    if (result == 0) (void)share_port(opened->descriptor, 0);
    (void)share_port(all, 0);
    return result;
}

int parlor_udp_local_address(int descriptor, parlor_address *address) {
    struct sockaddr_storage storage;
    socklen_t length = sizeof storage;
    if (getsockname(descriptor, (struct sockaddr *)&storage, &length) != 0) return -errno;
    parlor_from_sockaddr(&storage, length, address);
    return 0;
}

int parlor_udp_knows_segmentation(void) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
    if (descriptor < 0) return 0;
    int size = 1200;
    int known = setsockopt(descriptor, SOL_UDP, UDP_SEGMENT, &size, sizeof size) == 0;
    close(descriptor);
    return known;
}

void parlor_close(int descriptor) {
    if (descriptor >= 0) (void)close(descriptor);
}

int parlor_udp_next_error(int descriptor, parlor_udp_error *error) {
    memset(error, 0, sizeof *error);
    struct sockaddr_storage destination;
    uint8_t quoted[64]; // the payload of the datagram that failed, of no interest
    struct iovec vector = {quoted, sizeof quoted};
    _Alignas(struct cmsghdr) uint8_t control[512];
    struct msghdr header = {
        .msg_name = &destination,
        .msg_namelen = sizeof destination,
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof control,
    };
    ssize_t length;
    do {
        length = recvmsg(descriptor, &header, MSG_ERRQUEUE | MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length < 0) return -errno;
    parlor_from_sockaddr(&destination, header.msg_namelen, &error->destination);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c != NULL; c = CMSG_NXTHDR(&header, c)) {
        int ipv4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
        int ipv6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;
        if ((!ipv4 && !ipv6) || c->cmsg_len < CMSG_LEN(sizeof(struct sock_extended_err))) continue;
        struct sock_extended_err extended;
        memcpy(&extended, CMSG_DATA(c), sizeof extended);
        error->error = -(int32_t)extended.ee_errno;
        error->from_network = extended.ee_origin == SO_EE_ORIGIN_ICMP || extended.ee_origin == SO_EE_ORIGIN_ICMP6;
    }
    return 1;
}

// MARK: Receiving

// Room for the GRO size and, where a socket has the error queue on, nothing else.
#define RECEIVE_CONTROL CMSG_SPACE(sizeof(int))

struct parlor_receiver {
    uint32_t slots;
    uint32_t used; // headers that the last call changed
    struct mmsghdr *headers;
    struct iovec *vectors;
    struct sockaddr_storage *names;
    uint8_t *controls;
    uint8_t *bytes;
    parlor_received *messages;
};

parlor_receiver *parlor_receiver_create(uint32_t slots, uint32_t slot_size) {
    if (slots == 0 || slots > UIO_MAXIOV || slot_size == 0) return NULL;
    parlor_receiver *receiver = calloc(1, sizeof *receiver);
    if (receiver == NULL) return NULL;
    // Slots a multiple of 4 KiB apart would put the first bytes of all packets into the same few sets of the first-level
    // cache; 25 lines (1600 bytes) more spread them.
    size_t stride = ((size_t)slot_size + 63) / 64 * 64;
    if (stride % 4096 == 0) stride += 1600;
    receiver->slots = slots;
    receiver->headers = calloc(slots, sizeof *receiver->headers);
    receiver->vectors = calloc(slots, sizeof *receiver->vectors);
    receiver->names = calloc(slots, sizeof *receiver->names);
    receiver->controls = calloc(slots, RECEIVE_CONTROL);
    receiver->messages = calloc(slots, sizeof *receiver->messages);
    void *bytes = NULL;
    if (posix_memalign(&bytes, 64, stride * slots) != 0) bytes = NULL;
    receiver->bytes = bytes;
    if (!receiver->headers || !receiver->vectors || !receiver->names || !receiver->controls || !receiver->messages ||
        !bytes) {
        parlor_receiver_destroy(receiver);
        return NULL;
    }
    for (uint32_t i = 0; i < slots; i++) {
        receiver->vectors[i] = (struct iovec){receiver->bytes + i * stride, slot_size};
        receiver->messages[i].bytes = receiver->bytes + i * stride;
        struct msghdr *header = &receiver->headers[i].msg_hdr;
        header->msg_name = &receiver->names[i];
        header->msg_iov = &receiver->vectors[i];
        header->msg_iovlen = 1;
        header->msg_control = receiver->controls + i * RECEIVE_CONTROL;
    }
    receiver->used = slots;
    return receiver;
}

void parlor_receiver_destroy(parlor_receiver *receiver) {
    if (receiver == NULL) return;
    free(receiver->headers);
    free(receiver->vectors);
    free(receiver->names);
    free(receiver->controls);
    free(receiver->messages);
    free(receiver->bytes);
    free(receiver);
}

const parlor_received *parlor_receiver_messages(const parlor_receiver *receiver) { return receiver->messages; }

int parlor_receiver_receive(parlor_receiver *receiver, int descriptor) {
    for (uint32_t i = 0; i < receiver->used; i++) {
        struct msghdr *header = &receiver->headers[i].msg_hdr;
        header->msg_namelen = sizeof(struct sockaddr_storage);
        header->msg_controllen = RECEIVE_CONTROL;
        header->msg_flags = 0;
    }
    receiver->used = 0;
    int count;
    do {
        count = recvmmsg(descriptor, receiver->headers, receiver->slots, MSG_DONTWAIT, NULL);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        int result = -errno;
        receiver->used = 1; // the kernel may have touched the first header
        return result;
    }
    // One more than came: the header on which the kernel stopped.
    receiver->used = (uint32_t)count < receiver->slots ? (uint32_t)count + 1 : (uint32_t)count;
    for (int i = 0; i < count; i++) {
        struct msghdr *header = &receiver->headers[i].msg_hdr;
        parlor_received *message = &receiver->messages[i];
        message->length = receiver->headers[i].msg_len;
        message->segment_size = 0;
        message->truncated = (header->msg_flags & MSG_TRUNC) != 0;
        parlor_from_sockaddr(&receiver->names[i], header->msg_namelen, &message->source);
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
            if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO || c->cmsg_len < CMSG_LEN(sizeof(int))) continue;
            int size;
            memcpy(&size, CMSG_DATA(c), sizeof size);
            if (size > 0) message->segment_size = (uint32_t)size;
        }
    }
    return count;
}

// MARK: Sending

#define SEND_CONTROL CMSG_SPACE(sizeof(uint16_t))

struct parlor_sender {
    uint32_t capacity;
    uint32_t segment_capacity;
    parlor_outgoing *messages;
    parlor_segment *segments;
    struct mmsghdr *headers;
    struct sockaddr_storage *names;
    uint8_t *controls;
};

parlor_sender *parlor_sender_create(uint32_t messages, uint32_t segments) {
    if (messages == 0 || messages > UIO_MAXIOV || segments == 0) return NULL;
    parlor_sender *sender = calloc(1, sizeof *sender);
    if (sender == NULL) return NULL;
    sender->capacity = messages;
    sender->segment_capacity = segments;
    sender->messages = calloc(messages, sizeof *sender->messages);
    sender->segments = calloc(segments, sizeof *sender->segments);
    sender->headers = calloc(messages, sizeof *sender->headers);
    sender->names = calloc(messages, sizeof *sender->names);
    sender->controls = calloc(messages, SEND_CONTROL);
    if (!sender->messages || !sender->segments || !sender->headers || !sender->names || !sender->controls) {
        parlor_sender_destroy(sender);
        return NULL;
    }
    return sender;
}

void parlor_sender_destroy(parlor_sender *sender) {
    if (sender == NULL) return;
    free(sender->messages);
    free(sender->segments);
    free(sender->headers);
    free(sender->names);
    free(sender->controls);
    free(sender);
}

parlor_outgoing *parlor_sender_messages(parlor_sender *sender) { return sender->messages; }
parlor_segment *parlor_sender_segments(parlor_sender *sender) { return sender->segments; }

int parlor_sender_send(parlor_sender *sender, int descriptor, uint32_t first, uint32_t count) {
    if (count == 0 || first > sender->capacity || count > sender->capacity - first) return -EINVAL;
    for (uint32_t i = first; i < first + count; i++) {
        const parlor_outgoing *message = &sender->messages[i];
        if (message->first_segment > sender->segment_capacity ||
            message->segment_count > sender->segment_capacity - message->first_segment)
            return -EINVAL;
        struct msghdr *header = &sender->headers[i].msg_hdr;
        header->msg_name = &sender->names[i];
        header->msg_namelen = parlor_to_sockaddr(&message->destination, &sender->names[i]);
        header->msg_iov = (struct iovec *)&sender->segments[message->first_segment];
        header->msg_iovlen = message->segment_count;
        header->msg_flags = 0;
        if (message->segment_size == 0) {
            header->msg_control = NULL;
            header->msg_controllen = 0;
        } else {
            if (message->segment_size > UINT16_MAX) return -EINVAL;
            struct cmsghdr *control = (struct cmsghdr *)(sender->controls + i * SEND_CONTROL);
            control->cmsg_level = SOL_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
            uint16_t size = (uint16_t)message->segment_size;
            memcpy(CMSG_DATA(control), &size, sizeof size);
            header->msg_control = control;
            header->msg_controllen = SEND_CONTROL;
        }
    }
    int sent;
    do {
        sent = sendmmsg(descriptor, sender->headers + first, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}
