import { BlackVideo } from './black.js';
import { ErrorCode, RTCError } from './errors.js';

/** The layers that a subscriber can ask for, the best first. */
export const PROFILES = Object.freeze(['high', 'medium', 'low']);

/**
 * A track of this client's own: a camera, a microphone, a screen, or any MediaStreamTrack.
 *
 *     const [microphone, camera] = await LocalTrack.devices({ audio: true, video: true });
 *     await client.publish([microphone, camera]);
 *     microphone.updateMute(true);
 */
export class LocalTrack {
    #media;
    #isMuted = false;
    #black;
    /** @internal What the client keeps of it while it is published. */
    published = undefined;

    /**
     * media: what is sent. Options: `tag`, a word of the app's own for the others; `bitrate`, the most, in kbit/s;
     * `simulcast`, true for a video in several sizes; `framesPerSecond`, the most; `contentHint`, as of MediaStreamTrack.
     */
    constructor(media, { tag = '', bitrate, simulcast = false, framesPerSecond, contentHint } = {}) {
        this.#media = media;
        this.kind = media.kind;
        this.tag = tag;
        this.bitrate = bitrate;
        this.simulcast = simulcast && media.kind === 'video';
        this.framesPerSecond = framesPerSecond;
        if (contentHint !== undefined) media.contentHint = contentHint;
        this.localID = media.id;
    }

    /** Microphone and camera, as getUserMedia takes the constraints; the audio first. Throws what getUserMedia throws. */
    static async devices(constraints, options = {}) {
        const stream = await navigator.mediaDevices.getUserMedia(constraints);
        return [
            ...stream.getAudioTracks().map((media) => new LocalTrack(media, { tag: 'microphone', ...options.audio })),
            ...stream.getVideoTracks().map((media) => new LocalTrack(media, { tag: 'camera', ...options.video })),
        ];
    }

    /** The screen, a window or a tab, with its sound where the browser gives it; the video first. */
    static async screen(constraints = { video: true, audio: true }, options = {}) {
        const stream = await navigator.mediaDevices.getDisplayMedia(constraints);
        return [
            ...stream.getVideoTracks().map((media) =>
                new LocalTrack(media, { tag: 'screen', contentHint: 'detail', ...options.video })),
            ...stream.getAudioTracks().map((media) => new LocalTrack(media, { tag: 'screen-audio', ...options.audio })),
        ];
    }

    /** What is sent now. */
    get mediaStreamTrack() { return this.#media; }

    /** The server's id for it, the same for everybody in the room; undefined unless published. */
    get trackID() { return this.published?.trackID; }

    get isPublished() { return this.trackID !== undefined; }

    /** Whether the others see it as muted: by `updateMute`, or by the app's back end. */
    get isMuted() { return this.#isMuted || this.isMutedByServer; }

    /** Whether the app's back end has muted it. Only the back end can take that back; it ends with the publication. */
    get isMutedByServer() { return this.published?.isMutedByServer ?? false; }

    /** @internal What `updateMute` said last. */
    get isMutedByClient() { return this.#isMuted; }

    /** Mutes the track or takes that back: silence or black pictures are sent, and the others are told. */
    updateMute(isMuted) {
        this.#isMuted = Boolean(isMuted);
        this.#media.enabled = !this.#isMuted;
        this.published?.sendMute();
    }

    /** Sends another MediaStreamTrack of the same kind from now on, such as another camera; the old one is not stopped. */
    async replace(media) {
        if (media.kind !== this.kind) throw new RTCError(ErrorCode.invalidParameter, `the track is ${this.kind}, not ${media.kind}`);
        media.enabled = !this.#isMuted;
        media.contentHint = this.#media.contentHint;
        try { await this.published?.sender.replaceTrack(media); } catch (thrown) {
            // Between two connections: the next one begins with the new device.
            if (thrown.name !== 'InvalidStateError') throw thrown;
        }
        this.#media = media;
        if (media === this.#black?.media) return;
        this.#black?.stop();
        this.#black = undefined;
    }

    /** Whether `release` has let go of the device, and `replace` has not given another one since. */
    get isReleased() { return this.#black !== undefined; }

    /**
     * Mutes a video and stops its device, so that the camera's light goes out; black pictures are sent on, as of any muted
     * video, and nothing is negotiated anew. Back again: `replace` with a new MediaStreamTrack, then `updateMute(false)`.
     */
    async release() {
        if (this.kind !== 'video') throw new RTCError(ErrorCode.invalidParameter, 'only a video is released; sound is muted');
        if (!this.#isMuted) this.updateMute(true);
        if (this.isReleased) return;
        const device = this.#media;
        const black = this.#black = new BlackVideo(device.getSettings());
        const done = this.replace(black.media);
        // At once: the light is not to wait for the sender.
        device.stop();
        await done;
    }

    /** Stops the device. */
    stop() {
        this.#media.stop();
        this.#black?.stop();
    }
}

/** Another user in the room. The object stays the same while the user is there, and shows what is so now. */
export class RemoteUser {
    /** @internal */
    tracks = new Map();

    constructor(userID, userData) {
        this.userID = userID;
        /** What the user gave at its join; empty if nothing. */
        this.userData = userData;
        /** Whether it is cut off at the moment; it still counts as in the room. */
        this.isReconnecting = false;
        /** From 1, excellent, to 4, poor; undefined while it has not told. */
        this.networkGrade = undefined;
    }

    get audioTracks() { return [...this.tracks.values()].filter((track) => track.kind === 'audio'); }
    get videoTracks() { return [...this.tracks.values()].filter((track) => track.kind === 'video'); }
}

/** A track that another user publishes. The object stays the same while the track is there. */
export class RemoteTrack {
    constructor(info) {
        this.trackID = info.trackid;
        this.userID = info.playerid;
        this.kind = info.kind;
        /** The publisher's own word for it, for example "camera". */
        this.tag = info.tag ?? '';
        /** Whether the publisher has muted it: then silence or black pictures come. */
        this.isMuted = info.muted ?? false;
        /** Whether this client has subscribed to it. */
        this.isSubscribed = false;
        /** Its layers, the best first; empty: it has one only. */
        this.profiles = Object.freeze([...(info.profiles ?? [])]);
        /** The layer that was asked for. */
        this.wantedProfile = 'high';
        /** The layer that comes, as the server said last; undefined while it has not. */
        this.profile = undefined;
        /** What is received; undefined unless subscribed. */
        this.mediaStreamTrack = undefined;
        /** @internal */
        this.mid = String(info.mid ?? '');
        /** @internal */
        this.versionID = info.versionid ?? 1;
        /** @internal A subscription was tried, or made by the app. */
        this.isTried = false;
        /** @internal */
        this.receiver = undefined;
    }

    /** How loud it is now, 0 to 1, as the publisher says in each packet; undefined if nothing was heard of late. */
    get audioLevel() {
        const source = this.receiver?.getSynchronizationSources?.()[0];
        // Two seconds without a packet: what stood in the last one says nothing any more.
        if (!source || performance.timeOrigin + performance.now() - source.timestamp > 2000) return undefined;
        return source.audioLevel;
    }
}
