/**
 * How long each step of a join took: milliseconds since the call of `join`, undefined while it has not come. The steps from
 * `subscribed` on are those of the subscribing connection.
 */
export class JoinTimeline {
    /** The HTTP step was answered. */
    http = undefined;
    /** The WebSocket was open. */
    webSocket = undefined;
    /** The room let us in. */
    authenticated = undefined;
    /** The server answered the first subscription: its transport is known. */
    subscribed = undefined;
    /** ICE found a path. */
    ice = undefined;
    /** DTLS agreed on keys. */
    dtls = undefined;
    /** The server said that it is connected. */
    connected = undefined;
    /** The first packet of a subscribed track came. */
    firstPacket = undefined;
    /** The first picture was decoded; where no picture is subscribed to, the first packet of sound. */
    firstFrame = undefined;
}

/** Pictures that are watched for their first frame; more do not make it come sooner. */
const MOST = 8;

/** Fills a JoinTimeline: each step counts once, the first time. */
export class JoinWatch {
    #began = performance.now();
    #timeline = new JoinTimeline();
    #videos = new Set();

    /** What is known now. */
    get timeline() { return Object.freeze(Object.assign(new JoinTimeline(), this.#timeline)); }

    mark(step) { this.#timeline[step] ??= performance.now() - this.#began; }

    /** Watches a subscribed track for its first packet and first frame. hasVideo: whether a picture is to come. */
    watch(media, hasVideo) {
        if (this.#timeline.firstFrame !== undefined) return;
        const arrived = () => {
            // A busy browser may tell of a packet before it tells of the keys that opened it.
            for (const step of ['ice', 'dtls', 'firstPacket']) this.mark(step);
            if (media.kind === 'audio' && !hasVideo()) this.#finish();
        };
        // A remote track is muted until its first packet (WebRTC, section 9.3).
        if (media.muted) media.addEventListener('unmute', arrived, { once: true });
        else arrived();
        if (media.kind === 'video') this.#watchFrame(media);
    }

    /** The join is over, or nothing more is to be found out. */
    close() {
        for (const video of this.#videos) video.srcObject = null;
        this.#videos.clear();
    }

    // No event of a track tells of a decoded frame, but an element does; it need not be in the document.
    #watchFrame(media) {
        if (!globalThis.document || this.#videos.size >= MOST) return;
        const video = document.createElement('video');
        video.muted = video.playsInline = video.autoplay = true;
        this.#videos.add(video);
        video.addEventListener('loadeddata', () => this.#finish(), { once: true });
        video.srcObject = new MediaStream([media]);
    }

    #finish() {
        this.mark('firstFrame');
        this.close();
    }
}
