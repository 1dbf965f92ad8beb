// Our openers against libsrtp2: the input says what is sealed, sent, damaged, repeated and made up; both must decide alike
// and leave the same bytes. In C, so that the shim itself runs under the sanitizers:
//
//   clang -g -O1 -fsanitize=fuzzer,address,undefined -ICMediaShims/crypto/include -ITests/Fuzz/SRTP/include
//       Tests/Fuzz/SRTP/fuzz.c CMediaShims/crypto/*.c -lsrtp2 -lcrypto -o srtp-fuzz
//
// The unit tests run the corpus through the same function.

#include "CSRTPFuzz.h"

#include "CCrypto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { senders = 3, kept = 16, largest = 400 };

struct input {
    const uint8_t *data;
    size_t size;
};

static uint8_t take(struct input *input) {
    if (input->size == 0) return 0;
    input->size -= 1;
    return *input->data++;
}

static uint32_t take16(struct input *input) {
    uint32_t high = take(input);
    return high << 8 | take(input);
}

struct packet {
    uint8_t bytes[largest];
    size_t length;
    bool rtcp;
};

static void fail(const char *what, int32_t ours, int32_t theirs) {
    fprintf(stderr, "%s: ours %d, libsrtp2 %d\n", what, ours, theirs);
    abort();
}

/// Fixed header, CSRCs and extension as RFC 3550 has them; 0: not RTP, or too short.
static size_t header_length(const struct packet *packet) {
    if (packet->length < 12 || packet->bytes[0] >> 6 != 2) return 0;
    size_t length = 12 + 4 * (size_t)(packet->bytes[0] & 15);
    if (packet->bytes[0] & 0x10) {
        if (length + 4 > packet->length) return 0;
        length += 4 + 4 * ((size_t)packet->bytes[length + 2] << 8 | packet->bytes[length + 3]);
    }
    return length <= packet->length ? length : 0;
}

/// Hands copies in exact memory to both openers.
static void deliver(parlor_srtp_opener *opener, parlor_srtp_opener *library, const struct packet *packet) {
    uint8_t *ours = malloc(packet->length + !packet->length);
    uint8_t *theirs = malloc(packet->length + !packet->length);
    memcpy(ours, packet->bytes, packet->length);
    memcpy(theirs, packet->bytes, packet->length);
    int32_t a, b;
    if (packet->rtcp) {
        a = parlor_srtp_opener_open_rtcp(opener, ours, packet->length);
        b = parlor_srtp_opener_open_rtcp(library, theirs, packet->length);
    } else {
        size_t header = header_length(packet);
        if (header == 0) {
            free(ours);
            free(theirs);
            return;
        }
        const uint8_t *at = packet->bytes;
        uint32_t ssrc = (uint32_t)at[8] << 24 | (uint32_t)at[9] << 16 | (uint32_t)at[10] << 8 | at[11];
        uint16_t sequence = (uint16_t)(at[2] << 8 | at[3]);
        a = parlor_srtp_opener_open_rtp(opener, ours, packet->length, header, ssrc, sequence);
        b = parlor_srtp_opener_open_rtp(library, theirs, packet->length, header, ssrc, sequence);
    }
    if (a != b) fail(packet->rtcp ? "SRTCP" : "SRTP", a, b);
    if (a >= 0 && memcmp(ours, theirs, (size_t)a) != 0) fail("plain bytes", a, b);
    free(ours);
    free(theirs);
}

int parlor_srtp_fuzz(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    uint8_t choice = take(&input);
    int32_t profile = choice % 3;
    int32_t backend = choice & 0x40 ? PARLOR_SRTP_EVP : PARLOR_SRTP_AUTOMATIC;
    int32_t sealing = choice & 0x80 ? PARLOR_SRTP_EVP : PARLOR_SRTP_AUTOMATIC;
    uint8_t key[32], salt[14];
    memset(key, choice, sizeof key);
    memset(salt, 0x5A, sizeof salt);
    struct parlor_srtp_keys keys;
    if (!parlor_srtp_derive(profile, key, salt, &keys)) abort();
    parlor_srtp_sealer *sealer = parlor_srtp_sealer_create(&keys);
    // Kept over all inputs: a batch remembers nothing, and making one is slow.
    static parlor_srtp_batch *batches[2];
    parlor_srtp_batch **place = &batches[sealing == PARLOR_SRTP_EVP];
    if (*place == NULL) *place = parlor_srtp_batch_create(1, sealing);
    parlor_srtp_batch *batch = *place;
    parlor_srtp_opener *opener = parlor_srtp_opener_create(&keys, backend, 4);
    parlor_srtp_opener *library = parlor_srtp_opener_create(&keys, PARLOR_SRTP_LIBRARY, 4);
    if (!sealer || !batch || !opener || !library) abort();

    uint64_t next[senders] = {0, 0xFFF0, 0x7FF8};
    uint32_t next_rtcp = 0;
    struct packet *packets = calloc(kept, sizeof *packets);
    size_t made = 0;
    for (int steps = 0; steps < 200 && input.size > 0; steps++) {
        uint8_t op = take(&input);
        struct packet *packet = &packets[made % kept];
        uint32_t sender = op >> 4 & 3;
        if (sender == 3) sender = 0;
        switch (op & 7) {
        case 0:
        case 1: {  // seal an RTP packet, and deliver it unless it is lost
            memset(packet->bytes, 0, sizeof packet->bytes);
            uint8_t shape = take(&input);
            uint64_t index = next[sender]++;
            uint8_t *at = packet->bytes;
            at[0] = 0x80 | (shape & 0x1F);
            at[2] = (uint8_t)(index >> 8);
            at[3] = (uint8_t)index;
            at[11] = (uint8_t)sender;
            size_t header = 12 + 4 * (size_t)(shape & 15);
            if (shape & 0x10) {
                at[header + 3] = shape >> 5;
                header += 4 + 4 * (size_t)(shape >> 5);
            }
            size_t length = header + take(&input);
            packet->rtcp = false;
            parlor_srtp_batch_append(batch, sealer, at, length, header, sender, index);
            if (parlor_srtp_batch_seal(batch) != 0) abort();
            packet->length = length + (profile == PARLOR_SRTP_AES_CM_128_HMAC_SHA1_80 ? 10 : 16);
            made += 1;
            if (op & 8) deliver(opener, library, packet);
            break;
        }
        case 2: {  // the same for RTCP
            memset(packet->bytes, 0, sizeof packet->bytes);
            packet->bytes[0] = 0x80;
            packet->bytes[1] = 200;
            packet->bytes[7] = (uint8_t)sender;
            int32_t sealed = parlor_srtp_sealer_seal_rtcp(
                sealer, packet->bytes, 8 + take(&input), sizeof packet->bytes, next_rtcp++);
            if (sealed < 0) abort();
            packet->length = (size_t)sealed;
            packet->rtcp = true;
            made += 1;
            if (op & 8) deliver(opener, library, packet);
            break;
        }
        case 3:  // one of the last again
            if (made > 0) deliver(opener, library, &packets[take(&input) % (made < kept ? made : kept)]);
            break;
        case 4: {  // one of the last, damaged
            if (made == 0) break;
            struct packet copy = packets[take(&input) % (made < kept ? made : kept)];
            uint32_t where = take16(&input);
            if (op & 8) {
                copy.length = where % (copy.length + 1);
            } else {
                copy.bytes[where / 8 % copy.length] ^= (uint8_t)(1 << where % 8);
            }
            deliver(opener, library, &copy);
            break;
        }
        case 5:  // skip ahead
            next[sender] += take16(&input);
            next_rtcp += op & 8 ? take16(&input) : 0;
            break;
        default: {  // made up
            struct packet forged = {.length = take(&input), .rtcp = op & 8};
            for (size_t n = 0; n < forged.length; n++) forged.bytes[n] = take(&input);
            deliver(opener, library, &forged);
        }
        }
    }
    free(packets);
    parlor_srtp_opener_destroy(opener);
    parlor_srtp_opener_destroy(library);
    parlor_srtp_sealer_destroy(sealer);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return parlor_srtp_fuzz(data, size); }
