#include "CCodecs.h"

#include <stdlib.h>
#include <string.h>
#include <vpx/vp8cx.h>
#include <vpx/vp8dx.h>
#include <vpx/vpx_decoder.h>
#include <vpx/vpx_encoder.h>

struct parlor_vpx_encoder {
    vpx_codec_ctx_t context;
    vpx_codec_enc_cfg_t configuration;
    int is_vp9;
};

struct parlor_vpx_decoder {
    vpx_codec_ctx_t context;
    vpx_codec_iface_t *interface;
    const vpx_image_t *picture;
    unsigned max_side;
    int is_open;
};

static size_t i420_size(size_t width, size_t height) {
    return width * height + 2 * ((width + 1) / 2) * ((height + 1) / 2);
}

// MARK: Encoder

static vpx_codec_err_t tune(parlor_vpx_encoder *encoder, const parlor_vpx_settings *settings) {
    vpx_codec_ctx_t *context = &encoder->context;
    vpx_codec_err_t status;
    if (encoder->is_vp9) {
        status = vpx_codec_control(context, VP8E_SET_CPUUSED, settings->speed);
        // Cyclic refresh: what conferencing uses; it keeps a constant bitrate without pulsing key frames.
        if (!status) status = vpx_codec_control(context, VP9E_SET_AQ_MODE, 3);
        if (!status) status = vpx_codec_control(context, VP9E_SET_TILE_COLUMNS, 0);
        if (!status) status = vpx_codec_control(context, VP9E_SET_FRAME_PARALLEL_DECODING, 0);
        if (!status) status = vpx_codec_control(context, VP9E_SET_NOISE_SENSITIVITY, 0);
    } else {
        // Negative: a fixed speed. Positive values let VP8 measure its own time and choose: not repeatable.
        status = vpx_codec_control(context, VP8E_SET_CPUUSED, -settings->speed);
        if (!status) status = vpx_codec_control(context, VP8E_SET_TOKEN_PARTITIONS, VP8_ONE_TOKENPARTITION);
        if (!status) status = vpx_codec_control(context, VP8E_SET_NOISE_SENSITIVITY, 0);
    }
    if (!status) status = vpx_codec_control(context, VP8E_SET_STATIC_THRESHOLD, 1);
    // A key frame may cost nine average frames: at 100 kbit/s and 15 frames/s about 7.5 kB.
    if (!status) status = vpx_codec_control(context, VP8E_SET_MAX_INTRA_BITRATE_PCT, 900);
    return status;
}

parlor_vpx_encoder *parlor_vpx_encoder_create(const parlor_vpx_settings *settings, int32_t *error) {
    *error = -VPX_CODEC_INVALID_PARAM;
    if (settings->codec != 8 && settings->codec != 9) return NULL;
    if (settings->width < 16 || settings->height < 16 || settings->width > 4096 || settings->height > 4096) return NULL;
    if (settings->frames_per_second < 1 || settings->frames_per_second > 240) return NULL;
    if (settings->kilobits_per_second < 1 || settings->kilobits_per_second > 1000000) return NULL;
    if (settings->threads < 1 || settings->threads > 16) return NULL;
    if (settings->speed < 0 || settings->speed > (settings->codec == 9 ? 9 : 16)) return NULL;

    parlor_vpx_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder) {
        *error = -VPX_CODEC_MEM_ERROR;
        return NULL;
    }
    encoder->is_vp9 = settings->codec == 9;
    vpx_codec_iface_t *interface = encoder->is_vp9 ? vpx_codec_vp9_cx() : vpx_codec_vp8_cx();
    vpx_codec_enc_cfg_t *configuration = &encoder->configuration;
    vpx_codec_err_t status = vpx_codec_enc_config_default(interface, configuration, 0);
    if (status) {
        *error = -(int32_t)status;
        free(encoder);
        return NULL;
    }
    configuration->g_w = (unsigned)settings->width;
    configuration->g_h = (unsigned)settings->height;
    configuration->g_timebase.num = 1;
    configuration->g_timebase.den = 90000;
    configuration->g_threads = (unsigned)settings->threads;
    configuration->g_pass = VPX_RC_ONE_PASS;
    configuration->g_lag_in_frames = 0;
    configuration->g_error_resilient = 0;
    // Key frames only where they are asked for: the caller counts, the encoder does not guess scene cuts.
    configuration->kf_mode = VPX_KF_DISABLED;
    configuration->rc_end_usage = VPX_CBR;
    configuration->rc_target_bitrate = (unsigned)settings->kilobits_per_second;
    configuration->rc_dropframe_thresh = 0;
    configuration->rc_resize_allowed = 0;
    configuration->rc_min_quantizer = 2;
    configuration->rc_max_quantizer = 56;
    configuration->rc_undershoot_pct = 100;
    configuration->rc_overshoot_pct = 15;
    configuration->rc_buf_initial_sz = 500;  // milliseconds, as the two below
    configuration->rc_buf_optimal_sz = 600;
    configuration->rc_buf_sz = 1000;

    status = vpx_codec_enc_init(&encoder->context, interface, configuration, 0);
    if (status) {
        *error = -(int32_t)status;
        free(encoder);
        return NULL;
    }
    status = tune(encoder, settings);
    if (status) {
        *error = -(int32_t)status;
        parlor_vpx_encoder_destroy(encoder);
        return NULL;
    }
    *error = 0;
    return encoder;
}

void parlor_vpx_encoder_destroy(parlor_vpx_encoder *encoder) {
    if (!encoder) return;
    vpx_codec_destroy(&encoder->context);
    free(encoder);
}

int32_t parlor_vpx_encode(parlor_vpx_encoder *encoder, const uint8_t *i420, size_t size, int64_t time,
                          int64_t duration, int32_t force_key_frame, parlor_vpx_packet *packet) {
    size_t width = encoder->configuration.g_w, height = encoder->configuration.g_h;
    size_t chroma_width = (width + 1) / 2, chroma_height = (height + 1) / 2;
    if (size != i420_size(width, height) || duration <= 0) return -VPX_CODEC_INVALID_PARAM;

    vpx_image_t image;
    // libvpx reads the picture only; its image type has no const.
    unsigned char *bytes = (unsigned char *)(uintptr_t)i420;
    if (!vpx_img_wrap(&image, VPX_IMG_FMT_I420, (unsigned)width, (unsigned)height, 1, bytes)) {
        return -VPX_CODEC_MEM_ERROR;
    }
    // vpx_img_wrap rounds an odd width up; our planes have no padding.
    image.planes[VPX_PLANE_Y] = bytes;
    image.planes[VPX_PLANE_U] = bytes + width * height;
    image.planes[VPX_PLANE_V] = bytes + width * height + chroma_width * chroma_height;
    image.stride[VPX_PLANE_Y] = (int)width;
    image.stride[VPX_PLANE_U] = image.stride[VPX_PLANE_V] = (int)chroma_width;

    vpx_enc_frame_flags_t flags = 0;
    if (force_key_frame) {
        flags = VPX_EFLAG_FORCE_KF;
    } else if (encoder->is_vp9) {
        // Each frame refers to the one before and to no other, as our RTP descriptor says (RFC 9628, section 4.2).
        flags = VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ARF;
    }
    vpx_codec_err_t status = vpx_codec_encode(&encoder->context, &image, time, (unsigned long)duration, flags,
                                              VPX_DL_REALTIME);
    if (status) return -(int32_t)status;

    vpx_codec_iter_t iterator = NULL;
    const vpx_codec_cx_pkt_t *next;
    while ((next = vpx_codec_get_cx_data(&encoder->context, &iterator))) {
        if (next->kind != VPX_CODEC_CX_FRAME_PKT) continue;
        packet->bytes = next->data.frame.buf;
        packet->size = next->data.frame.sz;
        packet->is_key_frame = (next->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
        return 1;
    }
    return 0;
}

int32_t parlor_vpx_encoder_set_bitrate(parlor_vpx_encoder *encoder, int32_t kilobits_per_second) {
    if (kilobits_per_second < 1 || kilobits_per_second > 1000000) return -VPX_CODEC_INVALID_PARAM;
    encoder->configuration.rc_target_bitrate = (unsigned)kilobits_per_second;
    return -(int32_t)vpx_codec_enc_config_set(&encoder->context, &encoder->configuration);
}

// MARK: Decoder

static vpx_codec_err_t open_decoder(parlor_vpx_decoder *decoder) {
    vpx_codec_dec_cfg_t configuration = {.threads = 1};
    vpx_codec_err_t status = vpx_codec_dec_init(&decoder->context, decoder->interface, &configuration, 0);
    decoder->is_open = status == VPX_CODEC_OK;
    return status;
}

static void close_decoder(parlor_vpx_decoder *decoder) {
    if (decoder->is_open) vpx_codec_destroy(&decoder->context);
    decoder->is_open = 0;
    decoder->picture = NULL;
}

parlor_vpx_decoder *parlor_vpx_decoder_create(int32_t codec, int32_t max_side, int32_t *error) {
    *error = -VPX_CODEC_INVALID_PARAM;
    if ((codec != 8 && codec != 9) || max_side < 1 || max_side > 16384) return NULL;
    parlor_vpx_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        *error = -VPX_CODEC_MEM_ERROR;
        return NULL;
    }
    decoder->interface = codec == 9 ? vpx_codec_vp9_dx() : vpx_codec_vp8_dx();
    decoder->max_side = (unsigned)max_side;
    vpx_codec_err_t status = open_decoder(decoder);
    if (status) {
        *error = -(int32_t)status;
        free(decoder);
        return NULL;
    }
    *error = 0;
    return decoder;
}

void parlor_vpx_decoder_destroy(parlor_vpx_decoder *decoder) {
    if (!decoder) return;
    close_decoder(decoder);
    free(decoder);
}

static int32_t decode(parlor_vpx_decoder *decoder, const uint8_t *frame, size_t size) {
    // A key frame's size is looked at before the decoder allocates for it.
    vpx_codec_stream_info_t info = {.sz = sizeof info};
    if (vpx_codec_peek_stream_info(decoder->interface, frame, (unsigned)size, &info) == VPX_CODEC_OK &&
        (info.w > decoder->max_side || info.h > decoder->max_side)) {
        return -VPX_CODEC_UNSUP_BITSTREAM;
    }
    vpx_codec_err_t status = vpx_codec_decode(&decoder->context, frame, (unsigned)size, NULL, 0);
    if (status) return -(int32_t)status;

    vpx_codec_iter_t iterator = NULL;
    const vpx_image_t *picture, *last = NULL;
    while ((picture = vpx_codec_get_frame(&decoder->context, &iterator))) last = picture;
    int corrupted = 0;
    if (vpx_codec_control(&decoder->context, VP8D_GET_FRAME_CORRUPTED, &corrupted) == VPX_CODEC_OK && corrupted) {
        return -VPX_CODEC_CORRUPT_FRAME;
    }
    if (!last) return 0;
    if (last->fmt != VPX_IMG_FMT_I420 || last->d_w == 0 || last->d_h == 0 || last->d_w > decoder->max_side ||
        last->d_h > decoder->max_side) {
        return -VPX_CODEC_UNSUP_BITSTREAM;
    }
    decoder->picture = last;
    return 1;
}

int32_t parlor_vpx_decode(parlor_vpx_decoder *decoder, const uint8_t *frame, size_t size, int32_t *width,
                          int32_t *height) {
    decoder->picture = NULL;
    // An empty buffer would mean "flush" or "lost frame" to libvpx: never what a received frame says.
    if (size == 0 || size > (1u << 26)) return -VPX_CODEC_INVALID_PARAM;
    if (!decoder->is_open) {
        vpx_codec_err_t status = open_decoder(decoder);
        if (status) return -(int32_t)status;
    }
    int32_t result = decode(decoder, frame, size);
    if (result == 1) {
        *width = (int32_t)decoder->picture->d_w;
        *height = (int32_t)decoder->picture->d_h;
    } else if (result < 0) {
        // The VP9 decoder of libvpx 1.12 loses picture buffers on corrupt frames, and after some of them it refuses good
        // ones as well. It begins anew; after an error only a key frame helps anyway.
        close_decoder(decoder);
    }
    return result;
}

int32_t parlor_vpx_decoder_copy(const parlor_vpx_decoder *decoder, uint8_t *i420, size_t capacity) {
    const vpx_image_t *picture = decoder->picture;
    if (!picture || capacity < i420_size(picture->d_w, picture->d_h)) return -VPX_CODEC_INVALID_PARAM;
    uint8_t *to = i420;
    static const int planes[3] = {VPX_PLANE_Y, VPX_PLANE_U, VPX_PLANE_V};
    for (int i = 0; i < 3; i++) {
        size_t width = i == 0 ? picture->d_w : (picture->d_w + 1) / 2;
        size_t height = i == 0 ? picture->d_h : (picture->d_h + 1) / 2;
        const uint8_t *from = picture->planes[planes[i]];
        for (size_t row = 0; row < height; row++) {
            memcpy(to, from, width);
            to += width;
            from += picture->stride[planes[i]];
        }
    }
    return (int32_t)(to - i420);
}

const char *parlor_vpx_error_text(int32_t error) { return vpx_codec_err_to_string((vpx_codec_err_t)-error); }
