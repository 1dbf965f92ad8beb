// The floor under every forwarding figure: the same system calls and the same crypto calls as the relay, and no relay at
// all. One thread, one socket: recvmmsg, open each packet, then for each destination copy, new SSRC and sequence number,
// seal all copies of a chunk together, and sendmmsg, plain or with UDP_SEGMENT.
#ifndef PARLOR_CFORWARDINGFLOOR_H
#define PARLOR_CFORWARDINGFLOOR_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int32_t descriptor; // an open UDP socket, not owned
    int32_t profile;    // PARLOR_SRTP_...
    int32_t backend;    // what seals and opens, PARLOR_SRTP_...
    const uint8_t *key; // the publisher's master key and salt
    const uint8_t *salt;
    uint32_t batch;        // messages per recvmmsg
    uint32_t slots;        // copies between two flushes
    bool segmentation;     // UDP_SEGMENT
    uint32_t message_bytes; // at most this many bytes in one segmented message, and at most 64 segments
} parlor_floor_setup;

typedef struct parlor_floor parlor_floor;

// NULL: no memory, or crypto that is not there.
parlor_floor *parlor_floor_create(const parlor_floor_setup *setup);
void parlor_floor_destroy(parlor_floor *floor);
// Adds a destination with a key of its own. False: no memory.
bool parlor_floor_add(
    parlor_floor *floor, const uint8_t *key, const uint8_t *salt, uint32_t ssrc, uint16_t first_sequence,
    uint32_t ipv4, uint16_t port);
// One recvmmsg and all that follows from it. Returns the copies that left, or a negated errno.
int64_t parlor_floor_turn(parlor_floor *floor);

#ifdef __cplusplus
}
#endif
#endif
