#define _GNU_SOURCE
#include "CForwardingFloor.h"

#include "CCrypto.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

enum {
    rtp_header = 12,
    /// A datagram and its tag; as in the relay.
    slot_size = 1600,
    /// The longest GRO run, and 25 cache lines more: slots a multiple of 4 KiB apart would share cache sets.
    receive_size = 65536,
    receive_stride = 65536 + 1600,
    /// Opened packets of one turn.
    packet_capacity = 4096,
    segment_limit = 64,
};

struct destination {
    parlor_srtp_sealer *sealer;
    uint64_t index;
    uint32_t ssrc; // network order
    struct sockaddr_in address;
};

struct packet {
    const uint8_t *bytes;
    uint32_t length;
};

struct parlor_floor {
    parlor_floor_setup setup;
    parlor_srtp_opener *opener;
    parlor_srtp_batch *batch;
    size_t tag;

    uint8_t *received;
    struct mmsghdr *in;
    struct iovec *in_vectors;
    uint8_t (*in_controls)[CMSG_SPACE(sizeof(int))];
    struct packet *packets;

    uint8_t *slots;
    uint32_t used;
    struct iovec *segments;
    struct mmsghdr *out;
    uint8_t (*out_controls)[CMSG_SPACE(sizeof(uint16_t))];
    uint32_t messages;

    struct destination *destinations;
    size_t count;
    size_t capacity;
};

static void *aligned(size_t size) {
    void *memory = NULL;
    return posix_memalign(&memory, 64, size) == 0 ? memset(memory, 0, size) : NULL;
}

parlor_floor *parlor_floor_create(const parlor_floor_setup *setup) {
    parlor_floor *floor = calloc(1, sizeof *floor);
    if (floor == NULL) return NULL;
    floor->setup = *setup;
    floor->setup.key = floor->setup.salt = NULL;
    floor->tag = setup->profile == PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80 ? 10 : 16;
    struct parlor_srtp_keys keys;
    bool derived = parlor_srtp_derive(setup->profile, setup->key, setup->salt, &keys);
    // AES-CM is opened by EVP: one packet at a time, several buffers gain nothing.
    floor->opener = derived ? parlor_srtp_opener_create(&keys, PARLOR_SRTP_AUTOMATIC, 16) : NULL;
    floor->batch = parlor_srtp_batch_create(setup->slots, setup->backend);
    floor->received = aligned((size_t)setup->batch * receive_stride);
    floor->in = calloc(setup->batch, sizeof *floor->in);
    floor->in_vectors = calloc(setup->batch, sizeof *floor->in_vectors);
    floor->in_controls = calloc(setup->batch, sizeof *floor->in_controls);
    floor->packets = calloc(packet_capacity, sizeof *floor->packets);
    floor->slots = aligned((size_t)setup->slots * slot_size);
    floor->segments = calloc(setup->slots, sizeof *floor->segments);
    floor->out = calloc(setup->slots, sizeof *floor->out);
    floor->out_controls = calloc(setup->slots, sizeof *floor->out_controls);
    if (!floor->opener || !floor->batch || !floor->received || !floor->in || !floor->in_vectors || !floor->in_controls
        || !floor->packets || !floor->slots || !floor->segments || !floor->out || !floor->out_controls) {
        parlor_floor_destroy(floor);
        return NULL;
    }
    for (uint32_t i = 0; i < setup->batch; i++) {
        floor->in_vectors[i] = (struct iovec){floor->received + (size_t)i * receive_stride, receive_size};
        floor->in[i].msg_hdr.msg_iov = &floor->in_vectors[i];
        floor->in[i].msg_hdr.msg_iovlen = 1;
    }
    return floor;
}

void parlor_floor_destroy(parlor_floor *floor) {
    if (floor == NULL) return;
    for (size_t i = 0; i < floor->count; i++) parlor_srtp_sealer_destroy(floor->destinations[i].sealer);
    free(floor->destinations);
    parlor_srtp_opener_destroy(floor->opener);
    parlor_srtp_batch_destroy(floor->batch);
    free(floor->received);
    free(floor->in);
    free(floor->in_vectors);
    free(floor->in_controls);
    free(floor->packets);
    free(floor->slots);
    free(floor->segments);
    free(floor->out);
    free(floor->out_controls);
    free(floor);
}

bool parlor_floor_add(
    parlor_floor *floor, const uint8_t *key, const uint8_t *salt, uint32_t ssrc, uint16_t first_sequence,
    uint32_t ipv4, uint16_t port) {
    if (floor->count == floor->capacity) {
        size_t capacity = floor->capacity ? floor->capacity * 2 : 16;
        struct destination *more = realloc(floor->destinations, capacity * sizeof *more);
        if (more == NULL) return false;
        floor->destinations = more;
        floor->capacity = capacity;
    }
    struct parlor_srtp_keys keys;
    if (!parlor_srtp_derive(floor->setup.profile, key, salt, &keys)) return false;
    struct destination *to = &floor->destinations[floor->count];
    memset(to, 0, sizeof *to);
    to->sealer = parlor_srtp_sealer_create(&keys);
    if (to->sealer == NULL) return false;
    to->index = first_sequence;
    to->ssrc = htonl(ssrc);
    to->address.sin_family = AF_INET;
    to->address.sin_port = htons(port);
    to->address.sin_addr.s_addr = htonl(ipv4);
    floor->count += 1;
    return true;
}

// MARK: In

/// Receives and opens; returns the number of packets or a negated errno.
static int receive(parlor_floor *floor) {
    for (uint32_t i = 0; i < floor->setup.batch; i++) {
        floor->in[i].msg_hdr.msg_control = floor->in_controls[i];
        floor->in[i].msg_hdr.msg_controllen = sizeof floor->in_controls[i];
    }
    int count = recvmmsg(floor->setup.descriptor, floor->in, floor->setup.batch, MSG_DONTWAIT, NULL);
    if (count < 0) return -errno;
    int opened = 0;
    for (int i = 0; i < count; i++) {
        struct msghdr *header = &floor->in[i].msg_hdr;
        uint8_t *bytes = floor->in_vectors[i].iov_base;
        size_t length = floor->in[i].msg_len;
        size_t step = length;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
            if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO) continue;
            int size;
            memcpy(&size, CMSG_DATA(c), sizeof size);
            if (size > 0) step = (size_t)size;
        }
        for (size_t offset = 0; offset < length && opened < packet_capacity; offset += step) {
            uint8_t *packet = bytes + offset;
            size_t size = length - offset < step ? length - offset : step;
            if (size < rtp_header) continue;
            uint32_t ssrc;
            uint16_t sequence;
            memcpy(&sequence, packet + 2, sizeof sequence);
            memcpy(&ssrc, packet + 8, sizeof ssrc);
            int32_t plain = parlor_srtp_opener_open_rtp(
                floor->opener, packet, size, rtp_header, ntohl(ssrc), ntohs(sequence));
            if (plain > 0) floor->packets[opened++] = (struct packet){packet, (uint32_t)plain};
        }
    }
    return opened;
}

// MARK: Out

static int64_t flush(parlor_floor *floor) {
    parlor_srtp_batch_seal(floor->batch);
    uint32_t sent = 0;
    while (sent < floor->messages) {
        uint32_t left = floor->messages - sent;
        int result = sendmmsg(
            floor->setup.descriptor, floor->out + sent, left < UIO_MAXIOV ? left : UIO_MAXIOV,
            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (result < 0) return -errno;
        sent += (uint32_t)result;
    }
    int64_t copies = floor->used;
    floor->used = 0;
    floor->messages = 0;
    return copies;
}

/// Copies packets first ..< first + count for one destination: they become one message.
static void copy(parlor_floor *floor, struct destination *to, int first, int count) {
    struct mmsghdr *message = &floor->out[floor->messages];
    message->msg_hdr = (struct msghdr){
        .msg_name = &to->address,
        .msg_namelen = sizeof to->address,
        .msg_iov = &floor->segments[floor->used],
        .msg_iovlen = (size_t)count,
    };
    for (int i = first; i < first + count; i++) {
        struct packet packet = floor->packets[i];
        uint8_t *slot = floor->slots + (size_t)floor->used * slot_size;
        memcpy(slot, packet.bytes, packet.length);
        uint16_t sequence = htons((uint16_t)to->index);
        memcpy(slot + 2, &sequence, sizeof sequence);
        memcpy(slot + 8, &to->ssrc, sizeof to->ssrc);
        parlor_srtp_batch_append(
            floor->batch, to->sealer, slot, packet.length, rtp_header, ntohl(to->ssrc), to->index);
        floor->segments[floor->used] = (struct iovec){slot, packet.length + floor->tag};
        floor->used += 1;
        to->index += 1;
    }
    if (count > 1) {
        struct cmsghdr *control = (struct cmsghdr *)floor->out_controls[floor->messages];
        control->cmsg_level = SOL_UDP;
        control->cmsg_type = UDP_SEGMENT;
        control->cmsg_len = CMSG_LEN(sizeof(uint16_t));
        uint16_t size = (uint16_t)floor->segments[floor->used - 1].iov_len;
        memcpy(CMSG_DATA(control), &size, sizeof size);
        message->msg_hdr.msg_control = control;
        message->msg_hdr.msg_controllen = sizeof floor->out_controls[0];
    }
    floor->messages += 1;
}

int64_t parlor_floor_turn(parlor_floor *floor) {
    int packets = receive(floor);
    if (packets < 0) return packets;
    if (packets == 0) return 0;
    // All packets of a run have one size, or the last messages' segments would differ.
    size_t size = floor->packets[0].length + floor->tag;
    int most = 1;
    if (floor->setup.segmentation) {
        most = (int)(floor->setup.message_bytes / size);
        if (most > segment_limit) most = segment_limit;
        if (most < 1) most = 1;
        if ((uint32_t)most > floor->setup.slots) most = (int)floor->setup.slots;
    }
    int64_t copies = 0;
    for (size_t to = 0; to < floor->count; to++) {
        for (int first = 0; first < packets; first += most) {
            int count = packets - first < most ? packets - first : most;
            if (floor->used + (uint32_t)count > floor->setup.slots) {
                int64_t result = flush(floor);
                if (result < 0) return result;
                copies += result;
            }
            copy(floor, &floor->destinations[to], first, count);
        }
    }
    int64_t result = flush(floor);
    return result < 0 ? result : copies + result;
}
