#include "CCodecs.h"

#include <math.h>
#include <opus/opus.h>
#include <stdlib.h>

enum { sample_rate = 48000 };

struct parlor_opus_encoder {
    OpusEncoder *codec;
    int32_t channels;
};

struct parlor_opus_decoder {
    OpusDecoder *codec;
};

parlor_opus_encoder *parlor_opus_encoder_create(const parlor_opus_settings *settings, int32_t *error) {
    parlor_opus_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) {
        *error = OPUS_ALLOC_FAIL;
        return NULL;
    }
    int status = OPUS_OK;
    int application = settings->voice ? OPUS_APPLICATION_VOIP : OPUS_APPLICATION_AUDIO;
    encoder->channels = settings->channels;
    encoder->codec = opus_encoder_create(sample_rate, settings->channels, application, &status);
    if (!encoder->codec) {
        *error = status == OPUS_OK ? OPUS_ALLOC_FAIL : status;
        free(encoder);
        return NULL;
    }
    status = opus_encoder_ctl(encoder->codec, OPUS_SET_BITRATE(settings->bits_per_second));
    if (status == OPUS_OK) status = opus_encoder_ctl(encoder->codec, OPUS_SET_COMPLEXITY(settings->complexity));
    if (status == OPUS_OK) status = opus_encoder_ctl(encoder->codec, OPUS_SET_INBAND_FEC(settings->in_band_fec));
    if (status == OPUS_OK) status = opus_encoder_ctl(encoder->codec, OPUS_SET_PACKET_LOSS_PERC(settings->expected_loss));
    if (status == OPUS_OK) status = opus_encoder_ctl(encoder->codec, OPUS_SET_DTX(settings->dtx));
    if (status != OPUS_OK) {
        *error = status;
        parlor_opus_encoder_destroy(encoder);
        return NULL;
    }
    *error = OPUS_OK;
    return encoder;
}

void parlor_opus_encoder_destroy(parlor_opus_encoder *encoder) {
    if (!encoder) return;
    if (encoder->codec) opus_encoder_destroy(encoder->codec);
    free(encoder);
}

int32_t parlor_opus_encode(parlor_opus_encoder *encoder, const int16_t *pcm, int32_t samples, uint8_t *packet,
                           int32_t capacity) {
    return opus_encode(encoder->codec, pcm, samples, packet, capacity);
}

int32_t parlor_opus_encoder_set_bitrate(parlor_opus_encoder *encoder, int32_t bits_per_second) {
    return opus_encoder_ctl(encoder->codec, OPUS_SET_BITRATE(bits_per_second));
}

parlor_opus_decoder *parlor_opus_decoder_create(int32_t channels, int32_t *error) {
    parlor_opus_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        *error = OPUS_ALLOC_FAIL;
        return NULL;
    }
    int status = OPUS_OK;
    decoder->codec = opus_decoder_create(sample_rate, channels, &status);
    if (!decoder->codec) {
        *error = status == OPUS_OK ? OPUS_ALLOC_FAIL : status;
        free(decoder);
        return NULL;
    }
    *error = OPUS_OK;
    return decoder;
}

void parlor_opus_decoder_destroy(parlor_opus_decoder *decoder) {
    if (!decoder) return;
    if (decoder->codec) opus_decoder_destroy(decoder->codec);
    free(decoder);
}

int32_t parlor_opus_decode(parlor_opus_decoder *decoder, const uint8_t *packet, int32_t size, int16_t *pcm,
                           int32_t capacity, int32_t fec) {
    return opus_decode(decoder->codec, packet, packet ? size : 0, pcm, capacity, fec);
}

const char *parlor_opus_error_text(int32_t error) { return opus_strerror(error); }

double parlor_sine(double turns) { return sin(turns * 6.283185307179586); }
