#include "CPages.h"

// C23, which clang has in every mode, as an extension. A new file is a line in each of the two lists.

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char favicon_svg[] = {
#embed "files/favicon.svg"
};
static const unsigned char index_html[] = {
#embed "files/index.html"
};
static const unsigned char page_app_js[] = {
#embed "files/page/app.js"
};
static const unsigned char page_base_css[] = {
#embed "files/page/base.css"
};
static const unsigned char page_chat_js[] = {
#embed "files/page/chat.js"
};
static const unsigned char page_devices_js[] = {
#embed "files/page/devices.js"
};
static const unsigned char page_dom_js[] = {
#embed "files/page/dom.js"
};
static const unsigned char page_examples_css[] = {
#embed "files/page/examples.css"
};
static const unsigned char page_keyboard_js[] = {
#embed "files/page/keyboard.js"
};
static const unsigned char page_layout_js[] = {
#embed "files/page/layout.js"
};
static const unsigned char page_leg_js[] = {
#embed "files/page/leg.js"
};
static const unsigned char page_lobby_css[] = {
#embed "files/page/lobby.css"
};
static const unsigned char page_lobby_js[] = {
#embed "files/page/lobby.js"
};
static const unsigned char page_menu_js[] = {
#embed "files/page/menu.js"
};
static const unsigned char page_notices_js[] = {
#embed "files/page/notices.js"
};
static const unsigned char page_overlay_js[] = {
#embed "files/page/overlay.js"
};
static const unsigned char page_own_tracks_js[] = {
#embed "files/page/own-tracks.js"
};
static const unsigned char page_pattern_js[] = {
#embed "files/page/pattern.js"
};
static const unsigned char page_people_js[] = {
#embed "files/page/people.js"
};
static const unsigned char page_room_css[] = {
#embed "files/page/room.css"
};
static const unsigned char page_room_js[] = {
#embed "files/page/room.js"
};
static const unsigned char page_screen_js[] = {
#embed "files/page/screen.js"
};
static const unsigned char page_settings_js[] = {
#embed "files/page/settings.js"
};
static const unsigned char page_sound_level_js[] = {
#embed "files/page/sound-level.js"
};
static const unsigned char page_stage_js[] = {
#embed "files/page/stage.js"
};
static const unsigned char page_synthetic_js[] = {
#embed "files/page/synthetic.js"
};
static const unsigned char page_texts_en_js[] = {
#embed "files/page/texts-en.js"
};
static const unsigned char page_texts_zh_js[] = {
#embed "files/page/texts-zh.js"
};
static const unsigned char page_texts_js[] = {
#embed "files/page/texts.js"
};
static const unsigned char page_ticker_js[] = {
#embed "files/page/ticker.js"
};
static const unsigned char page_tile_js[] = {
#embed "files/page/tile.js"
};
static const unsigned char page_whep_js[] = {
#embed "files/page/whep.js"
};
static const unsigned char page_whip_js[] = {
#embed "files/page/whip.js"
};
static const unsigned char parlor_client_d_ts[] = {
#embed "files/parlor-client.d.ts"
};
static const unsigned char parlor_client_js[] = {
#embed "files/parlor-client.js"
};
static const unsigned char parlor_client_access_js[] = {
#embed "files/parlor-client/access.js"
};
static const unsigned char parlor_client_black_js[] = {
#embed "files/parlor-client/black.js"
};
static const unsigned char parlor_client_client_js[] = {
#embed "files/parlor-client/client.js"
};
static const unsigned char parlor_client_endings_js[] = {
#embed "files/parlor-client/endings.js"
};
static const unsigned char parlor_client_errors_js[] = {
#embed "files/parlor-client/errors.js"
};
static const unsigned char parlor_client_events_js[] = {
#embed "files/parlor-client/events.js"
};
static const unsigned char parlor_client_publisher_js[] = {
#embed "files/parlor-client/publisher.js"
};
static const unsigned char parlor_client_room_js[] = {
#embed "files/parlor-client/room.js"
};
static const unsigned char parlor_client_sdp_js[] = {
#embed "files/parlor-client/sdp.js"
};
static const unsigned char parlor_client_signalling_js[] = {
#embed "files/parlor-client/signalling.js"
};
static const unsigned char parlor_client_statistics_js[] = {
#embed "files/parlor-client/statistics.js"
};
static const unsigned char parlor_client_subscriber_js[] = {
#embed "files/parlor-client/subscriber.js"
};
static const unsigned char parlor_client_timeline_js[] = {
#embed "files/parlor-client/timeline.js"
};
static const unsigned char parlor_client_timing_js[] = {
#embed "files/parlor-client/timing.js"
};
static const unsigned char parlor_client_tracks_js[] = {
#embed "files/parlor-client/tracks.js"
};
static const unsigned char parlor_client_transport_js[] = {
#embed "files/parlor-client/transport.js"
};
static const unsigned char parlor_client_version_js[] = {
#embed "files/parlor-client/version.js"
};
static const unsigned char whep_html[] = {
#embed "files/whep.html"
};
static const unsigned char whip_html[] = {
#embed "files/whip.html"
};

#define FILE_OF(path, bytes) {path, bytes, sizeof bytes}

static const cpages_file files[] = {
    FILE_OF("favicon.svg", favicon_svg),
    FILE_OF("index.html", index_html),
    FILE_OF("page/app.js", page_app_js),
    FILE_OF("page/base.css", page_base_css),
    FILE_OF("page/chat.js", page_chat_js),
    FILE_OF("page/devices.js", page_devices_js),
    FILE_OF("page/dom.js", page_dom_js),
    FILE_OF("page/examples.css", page_examples_css),
    FILE_OF("page/keyboard.js", page_keyboard_js),
    FILE_OF("page/layout.js", page_layout_js),
    FILE_OF("page/leg.js", page_leg_js),
    FILE_OF("page/lobby.css", page_lobby_css),
    FILE_OF("page/lobby.js", page_lobby_js),
    FILE_OF("page/menu.js", page_menu_js),
    FILE_OF("page/notices.js", page_notices_js),
    FILE_OF("page/overlay.js", page_overlay_js),
    FILE_OF("page/own-tracks.js", page_own_tracks_js),
    FILE_OF("page/pattern.js", page_pattern_js),
    FILE_OF("page/people.js", page_people_js),
    FILE_OF("page/room.css", page_room_css),
    FILE_OF("page/room.js", page_room_js),
    FILE_OF("page/screen.js", page_screen_js),
    FILE_OF("page/settings.js", page_settings_js),
    FILE_OF("page/sound-level.js", page_sound_level_js),
    FILE_OF("page/stage.js", page_stage_js),
    FILE_OF("page/synthetic.js", page_synthetic_js),
    FILE_OF("page/texts-en.js", page_texts_en_js),
    FILE_OF("page/texts-zh.js", page_texts_zh_js),
    FILE_OF("page/texts.js", page_texts_js),
    FILE_OF("page/ticker.js", page_ticker_js),
    FILE_OF("page/tile.js", page_tile_js),
    FILE_OF("page/whep.js", page_whep_js),
    FILE_OF("page/whip.js", page_whip_js),
    FILE_OF("parlor-client.d.ts", parlor_client_d_ts),
    FILE_OF("parlor-client.js", parlor_client_js),
    FILE_OF("parlor-client/access.js", parlor_client_access_js),
    FILE_OF("parlor-client/black.js", parlor_client_black_js),
    FILE_OF("parlor-client/client.js", parlor_client_client_js),
    FILE_OF("parlor-client/endings.js", parlor_client_endings_js),
    FILE_OF("parlor-client/errors.js", parlor_client_errors_js),
    FILE_OF("parlor-client/events.js", parlor_client_events_js),
    FILE_OF("parlor-client/publisher.js", parlor_client_publisher_js),
    FILE_OF("parlor-client/room.js", parlor_client_room_js),
    FILE_OF("parlor-client/sdp.js", parlor_client_sdp_js),
    FILE_OF("parlor-client/signalling.js", parlor_client_signalling_js),
    FILE_OF("parlor-client/statistics.js", parlor_client_statistics_js),
    FILE_OF("parlor-client/subscriber.js", parlor_client_subscriber_js),
    FILE_OF("parlor-client/timeline.js", parlor_client_timeline_js),
    FILE_OF("parlor-client/timing.js", parlor_client_timing_js),
    FILE_OF("parlor-client/tracks.js", parlor_client_tracks_js),
    FILE_OF("parlor-client/transport.js", parlor_client_transport_js),
    FILE_OF("parlor-client/version.js", parlor_client_version_js),
    FILE_OF("whep.html", whep_html),
    FILE_OF("whip.html", whip_html),
};

const cpages_file *cpages_files(size_t *count) {
    *count = sizeof files / sizeof files[0];
    return files;
}
