// What MediaEngine and ClientEngine need from Linux and cannot reach through Swift's Glibc: batched UDP with segmentation
// offload, the socket error queue, TCP for media, epoll, eventfd, and threads with a name and a processor.
//
// Plain structs only; every system header stays in CNet.c, because a module that reaches <sys/types.h> with other feature
// macros than Glibc's clashes with it.
//
// Results: zero or more is success, below zero is a negated errno. EINTR is retried here; EAGAIN comes back as
// PARLOR_WOULD_BLOCK; EBADF (PARLOR_BAD_DESCRIPTOR) is a bug of the caller.
#ifndef PARLOR_CNET_H
#define PARLOR_CNET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Negated errno values that callers tell apart; CNet.c asserts them.
static const int PARLOR_WOULD_BLOCK = -11;         // EAGAIN
static const int PARLOR_BAD_DESCRIPTOR = -9;       // EBADF
static const int PARLOR_INVALID = -22;             // EINVAL
static const int PARLOR_IO_ERROR = -5;             // EIO
static const int PARLOR_MESSAGE_TOO_LONG = -90;    // EMSGSIZE
static const int PARLOR_CONNECTION_REFUSED = -111; // ECONNREFUSED
static const int PARLOR_ADDRESS_IN_USE = -98;      // EADDRINUSE
static const int PARLOR_TIMED_OUT = -110;          // ETIMEDOUT

// The text of a negated errno, always terminated.
void parlor_error_text(int result, char *text, size_t capacity);

// MARK: Addresses

// The same meaning as MediaWire's TransportAddress: host order, IPv4 in the low 32 bits of `low`.
typedef struct {
    uint64_t high;
    uint64_t low;
    uint16_t port;
    uint8_t is_ipv4;
} parlor_address;

// MARK: UDP sockets

typedef struct {
    int32_t receive_buffer; // bytes of payload and bookkeeping as SO_RCVBUF counts them; 0 leaves the system's default
    int32_t send_buffer;    // bytes, as above, SO_SNDBUF
    uint8_t gro;            // ask for UDP_GRO: the slots must then hold 64 KiB
    uint8_t error_queue;    // ask for ICMP errors with their destination (IP_RECVERR, IPV6_RECVERR)
} parlor_udp_options;

typedef struct {
    int32_t descriptor;
    int32_t receive_buffer; // granted, in the unit of the request
    int32_t send_buffer;    // granted
    uint8_t gro;            // whether the kernel took UDP_GRO
} parlor_udp_socket;

// Opens a non-blocking, close-on-exec socket bound to `local` (port 0: the kernel's choice). IPv6 sockets are IPv6 only.
int parlor_udp_open(const parlor_address *local, const parlor_udp_options *options, parlor_udp_socket *socket);
// The same at one address, on a port that `all` holds for all of them: what comes to that address goes to the new socket. Nobody
// else gets the port.
int parlor_udp_open_beside(
    int all, const parlor_address *local, const parlor_udp_options *options, parlor_udp_socket *socket);
// Where a socket is bound; TCP sockets, too.
int parlor_udp_local_address(int descriptor, parlor_address *address);
// Whether this kernel knows UDP_SEGMENT (Linux 4.18).
int parlor_udp_knows_segmentation(void);
// Closes any descriptor of this header. Not retried on EINTR: Linux has released the descriptor by then.
void parlor_close(int descriptor);

typedef struct {
    parlor_address destination; // of the datagram that caused the error
    int32_t error;              // negated errno, e.g. PARLOR_CONNECTION_REFUSED
    uint8_t from_network;       // an ICMP message, not the local kernel
} parlor_udp_error;

// Takes the next entry of the socket's error queue: 1, or PARLOR_WOULD_BLOCK when it is empty.
int parlor_udp_next_error(int descriptor, parlor_udp_error *error);

// MARK: Receiving

typedef struct {
    uint8_t *bytes;
    uint32_t length;
    uint32_t segment_size; // with GRO: the length of each datagram in it but perhaps the last; else 0
    parlor_address source;
    uint8_t truncated; // the datagram was longer than the slot
} parlor_received;

// Preallocated slots of one thread, for any number of its sockets.
typedef struct parlor_receiver parlor_receiver;

// NULL when memory is short. `slot_size`: PARLOR_GRO_SLOT for sockets with GRO, else a packet's size.
parlor_receiver *parlor_receiver_create(uint32_t slots, uint32_t slot_size);
void parlor_receiver_destroy(parlor_receiver *receiver);
static const uint32_t PARLOR_GRO_SLOT = 65536;
// One recvmmsg: the number of messages now in `parlor_receiver_messages`, or a negated errno.
int parlor_receiver_receive(parlor_receiver *receiver, int descriptor);
const parlor_received *parlor_receiver_messages(const parlor_receiver *receiver);

// MARK: Sending

// Same layout as struct iovec.
typedef struct {
    const void *bytes;
    size_t length;
} parlor_segment;

typedef struct {
    parlor_address destination;
    uint32_t first_segment;
    uint32_t segment_count;
    uint32_t segment_size; // 0: one datagram of all segments; else UDP_SEGMENT: one datagram per `segment_size` bytes
} parlor_outgoing;

// Message headers of one thread. The caller fills the two arrays and sends runs of messages.
typedef struct parlor_sender parlor_sender;

parlor_sender *parlor_sender_create(uint32_t messages, uint32_t segments);
void parlor_sender_destroy(parlor_sender *sender);
parlor_outgoing *parlor_sender_messages(parlor_sender *sender);
parlor_segment *parlor_sender_segments(parlor_sender *sender);
// One sendmmsg of messages first ..< first + count: how many left (at least 1), or the first one's negated errno.
int parlor_sender_send(parlor_sender *sender, int descriptor, uint32_t first, uint32_t count);

// MARK: TCP sockets that carry media (RFC 6544)

typedef struct {
    uint32_t unsent_limit;   // bytes the kernel takes ahead of what the path takes (TCP_NOTSENT_LOWAT); 0: its default
    uint32_t user_timeout;   // milliseconds for which sent bytes may stay unacknowledged (TCP_USER_TIMEOUT); 0: default
    uint32_t keepalive_time; // seconds of silence until the kernel asks whether the peer is there, and again at a third of it;
                             // three unanswered ones end the connection; 0: never
} parlor_stream_options;

// A non-blocking, close-on-exec listener at `local` (port 0: the kernel's choice), IPv6 only for an IPv6 address: its
// descriptor, or a negated errno.
int parlor_tcp_listen(const parlor_address *local, int backlog);
// The next connection, non-blocking, close-on-exec and without Nagle's delay: its descriptor, or a negated errno.
int parlor_tcp_accept(int listener, const parlor_stream_options *options, parlor_address *peer);
// Whether accepting failed for want of descriptors or memory, so that the connection still waits.
int parlor_tcp_is_exhausted(int result);
// A connection under way, such as accepted ones: its descriptor, or a negated errno. It is writable when it stands or failed;
// `parlor_tcp_connected` says which.
int parlor_tcp_connect(const parlor_address *remote, const parlor_stream_options *options);
// 0, or the negated errno with which connecting failed.
int parlor_tcp_connected(int descriptor);
// Bytes read, 0 at the peer's end of the stream, or a negated errno.
int64_t parlor_stream_receive(int descriptor, void *bytes, size_t capacity);
// One sendmsg of at most PARLOR_STREAM_SEGMENTS segments: bytes taken, which may end anywhere, or a negated errno.
int64_t parlor_stream_send(int descriptor, const parlor_segment *segments, uint32_t count);
static const uint32_t PARLOR_STREAM_SEGMENTS = 1024; // UIO_MAXIOV
// Closes the connection. What the kernel has not put on the wire yet never is: then, or with `abort`, by a reset, else in order.
void parlor_stream_close(int descriptor, int abort);

// MARK: Waiting

static const uint32_t PARLOR_READABLE = 0x001; // EPOLLIN
static const uint32_t PARLOR_WRITABLE = 0x004; // EPOLLOUT
static const uint32_t PARLOR_ERROR = 0x008;    // EPOLLERR, always reported

typedef struct {
    uint64_t token;
    uint32_t events;
} parlor_ready;

int parlor_epoll_create(void);
int parlor_epoll_add(int epoll, int descriptor, uint64_t token, uint32_t events);
int parlor_epoll_modify(int epoll, int descriptor, uint64_t token, uint32_t events);
int parlor_epoll_remove(int epoll, int descriptor);
// Waits at most `timeout` nanoseconds (below 0: for ever). EINTR returns 0.
int parlor_epoll_wait(int epoll, parlor_ready *ready, uint32_t capacity, int64_t timeout);

// A descriptor that is waited for without epoll.
typedef struct {
    uint64_t token;
    int32_t descriptor;
    uint32_t events;
} parlor_watched;

// How many of them one wait takes.
static const uint32_t PARLOR_WATCHED = 32;

// The same for what `epoll` watches and for the `count` descriptors of `watched`, which come first in `ready`. A socket in
// epoll stands in a wait queue all the time, and each datagram that has left it wakes that queue under two locks: about
// 110 ns. A socket waited for in this way stands there only during the wait.
int parlor_wait(
    int epoll, const parlor_watched *watched, uint32_t count, parlor_ready *ready, uint32_t capacity, int64_t timeout);

int parlor_wakeup_create(void);
// Makes the descriptor readable until it is cleared.
void parlor_wakeup_signal(int descriptor);
void parlor_wakeup_clear(int descriptor);

// MARK: Time

int64_t parlor_monotonic_time(void); // nanoseconds, CLOCK_MONOTONIC
int64_t parlor_wall_time(void);      // nanoseconds since 1970, CLOCK_REALTIME
int64_t parlor_thread_cpu_time(void); // nanoseconds of this thread, CLOCK_THREAD_CPUTIME_ID
// Sleeps until the monotonic clock shows `deadline` (nanoseconds).
void parlor_sleep_until(int64_t deadline);

// MARK: Threads

typedef struct parlor_thread parlor_thread;

// Starts a thread called `name` (at most 15 bytes are kept) that takes no signals but those of its own faults, pinned to the
// processor `cpu` of the allowed ones (counted from 0, modulo their number; below 0: not pinned).
int parlor_thread_start(const char *name, int cpu, void (*body)(void *), void *context, parlor_thread **thread);
// Waits at most `timeout` nanoseconds for the thread to end and frees the handle: 0, or PARLOR_TIMED_OUT, and then the handle
// is still good.
int parlor_thread_join(parlor_thread *thread, int64_t timeout);
// Processors that this process may run on, at least 1.
int parlor_processor_count(void);

typedef struct parlor_mutex parlor_mutex;

parlor_mutex *parlor_mutex_create(void);
void parlor_mutex_destroy(parlor_mutex *mutex);
void parlor_mutex_lock(parlor_mutex *mutex);
void parlor_mutex_unlock(parlor_mutex *mutex);

#ifdef __cplusplus
}
#endif
#endif
