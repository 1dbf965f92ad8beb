#ifndef PARLOR_CCODECS_H
#define PARLOR_CCODECS_H

#include <stddef.h>
#include <stdint.h>

// A thin face over libopus and libvpx for synthetic publishers and subscribers. The node never links it.
//
// Every call answers 0 or a count on success and a negative number on failure: the library's own error code (libopus)
// or its negated one (libvpx). No call keeps a pointer that it was given. One object belongs to one thread at a time.

// MARK: Opus, always at 48 kHz (RFC 7587, section 4.1)

typedef struct parlor_opus_encoder parlor_opus_encoder;
typedef struct parlor_opus_decoder parlor_opus_decoder;

typedef struct parlor_opus_settings {
    int32_t channels;         // 1 or 2
    int32_t bits_per_second;  // 6000...510000
    int32_t complexity;       // 0 (cheap)...10
    int32_t voice;            // 1: tuned for speech, 0: for any signal
    int32_t in_band_fec;      // 1: each packet carries a coarse copy of the one before
    int32_t expected_loss;    // percent, steers the in-band FEC
    int32_t dtx;              // 1: almost nothing is sent for silence
} parlor_opus_settings;

// NULL on failure, with the reason in *error.
parlor_opus_encoder *parlor_opus_encoder_create(const parlor_opus_settings *settings, int32_t *error);
void parlor_opus_encoder_destroy(parlor_opus_encoder *encoder);
// `samples` counts per channel: 120, 240, 480, 960, 1920 or 2880. Answers the packet's size in bytes.
int32_t parlor_opus_encode(parlor_opus_encoder *encoder, const int16_t *pcm, int32_t samples, uint8_t *packet,
                           int32_t capacity);
int32_t parlor_opus_encoder_set_bitrate(parlor_opus_encoder *encoder, int32_t bits_per_second);

parlor_opus_decoder *parlor_opus_decoder_create(int32_t channels, int32_t *error);
void parlor_opus_decoder_destroy(parlor_opus_decoder *decoder);
// Answers the samples per channel. `packet` NULL: conceal a lost packet of `capacity` samples per channel.
// `fec` 1: decode the copy of the previous packet that this one carries.
int32_t parlor_opus_decode(parlor_opus_decoder *decoder, const uint8_t *packet, int32_t size, int16_t *pcm,
                           int32_t capacity, int32_t fec);
const char *parlor_opus_error_text(int32_t error);

// MARK: VP8 and VP9

typedef struct parlor_vpx_encoder parlor_vpx_encoder;
typedef struct parlor_vpx_decoder parlor_vpx_decoder;

typedef struct parlor_vpx_settings {
    int32_t codec;  // 8 or 9
    int32_t width, height;
    int32_t frames_per_second;    // what the rate control expects; the time of each frame is exact
    int32_t kilobits_per_second;
    int32_t threads;
    int32_t speed;  // 0 (slow)...16 for VP8, 0...9 for VP9
} parlor_vpx_settings;

typedef struct parlor_vpx_packet {
    const uint8_t *bytes;  // valid until the next call with this encoder
    size_t size;
    int32_t is_key_frame;
} parlor_vpx_packet;

parlor_vpx_encoder *parlor_vpx_encoder_create(const parlor_vpx_settings *settings, int32_t *error);
void parlor_vpx_encoder_destroy(parlor_vpx_encoder *encoder);
// Encodes one I420 picture: three planes without padding behind each other, chroma rounded up. `time` and `duration` in
// 1/90000 s; `time` must grow. Answers 1 with the packet, 0 when the encoder kept the picture to itself.
int32_t parlor_vpx_encode(parlor_vpx_encoder *encoder, const uint8_t *i420, size_t size, int64_t time,
                          int64_t duration, int32_t force_key_frame, parlor_vpx_packet *packet);
int32_t parlor_vpx_encoder_set_bitrate(parlor_vpx_encoder *encoder, int32_t kilobits_per_second);

// Pictures wider or higher than `max_side` are refused.
parlor_vpx_decoder *parlor_vpx_decoder_create(int32_t codec, int32_t max_side, int32_t *error);
void parlor_vpx_decoder_destroy(parlor_vpx_decoder *decoder);
// Answers 1 with the size of the picture to fetch by parlor_vpx_decoder_copy, 0 when the frame is not to be shown.
// After a failure the next frame to decode is a key frame.
int32_t parlor_vpx_decode(parlor_vpx_decoder *decoder, const uint8_t *frame, size_t size, int32_t *width,
                          int32_t *height);
// Copies the last decoded picture as I420 without padding. Answers the bytes written.
int32_t parlor_vpx_decoder_copy(const parlor_vpx_decoder *decoder, uint8_t *i420, size_t capacity);
const char *parlor_vpx_error_text(int32_t error);

// MARK: Tone

// sin(2 pi turns): the standard library of Swift has no sine.
double parlor_sine(double turns);

#endif
