import { ErrorCode, Failure, RTCError, asRTCError } from './errors.js';
import { writeAnswer } from './sdp.js';
import { OPENING, Transport, isPassing } from './transport.js';
import { Turns, hexadecimal, pause, within } from './timing.js';

/** Retries of a connection that the server does not give now, or whose path does not open. */
const RETRIES = 5;
/** Kilobits per second of a video in several sizes, from the largest. */
const LAYERS = [
    { rid: 'hi', scaleResolutionDownBy: 1, share: 1 },
    { rid: 'me', scaleResolutionDownBy: 2, share: 0.3 },
    { rid: 'lo', scaleResolutionDownBy: 4, share: 0.1 },
];
const SIMULCAST_KBPS = 1700;

/**
 * The publishing connection: this client offers, the server answers with numbers. One request at a time.
 *
 * session: what the owner lends: `request(type, body)`, `send(type, body)`, `isUsable`, `capabilities`, `signal`,
 * `redundantAudio`, `policy`, `earlyMutes`, `onState(state)`, `onLost(tracks, error)`, `giveUpConnection()`.
 */
export class Publisher {
    tracks = [];
    transport = undefined;
    /** A request was unanswered at the loss: what the server has is not known. */
    isUncertain = false;

    #session;
    #turns = new Turns();
    #server;
    #version = 0;
    #renewal;

    constructor(session) { this.#session = session; }

    // What the app asks for

    publish(tracks) {
        return this.#turns.run(async () => {
            this.#checkUsable();
            const twice = tracks.find((track, index) => track.published || this.tracks.includes(track) || tracks.indexOf(track) !== index);
            if (twice) throw new RTCError(ErrorCode.publishAlreadyExists, `the ${twice.kind} track "${twice.tag}" is published already`);
            if (!this.transport || this.isUncertain) return this.#replace(tracks);
            try { await this.#addTo(this.transport, tracks); } catch (failure) {
                if (failure.code !== ErrorCode.publishConnectionGone) throw asRTCError(failure);
                await this.#replace(tracks);
            }
        });
    }

    unpublish(tracks) {
        return this.#turns.run(async () => {
            this.#checkUsable();
            const missing = tracks.find((track) => !this.tracks.includes(track));
            if (missing) throw new RTCError(ErrorCode.publishNotExist, `the ${missing.kind} track "${missing.tag}" is not published`);
            let failed;
            try {
                await this.#session.request('unpub-tracks', { tracks: tracks.map((track) => ({ trackid: track.trackID })) });
            } catch (failure) {
                // Gone there: then here, too. Unknown: the way back brings both in line.
                if (failure.leavesUncertain) this.#session.giveUpConnection();
                else if (failure.code !== ErrorCode.publishNotExist) throw asRTCError(failure);
                if (failure.kind !== 'timeout' && failure.kind !== 'ended') failed = asRTCError(failure);
            }
            await this.#remove(tracks);
            if (failed) throw failed;
        });
    }

    /** Tells which tracks are muted. Cut off, nothing is sent: it is told on coming back. */
    sendMutes(tracks = this.tracks) {
        const list = tracks.filter((track) => track.published)
            .map((track) => ({ trackid: track.trackID, muted: track.isMutedByClient }));
        if (list.length === 0 || !this.#session.isUsable) return;
        try { this.#session.send('mute-tracks', { tracks: list }); } catch { /* It is told on coming back. */ }
    }

    // The connection

    /** Adds tracks to an open connection. When it fails, all is as before. */
    async #addTo(transport, tracks) {
        const { connection } = transport;
        const transceivers = tracks.map((track) => addTransceiver(connection, track));
        try {
            const offer = await connection.createOffer();
            await connection.setLocalDescription(offer);
            // The request before the answer is set: so the server knows the tracks before their packets come.
            const answer = await this.#session.request('pub-tracks', {
                tracks: this.#describe(tracks, transceivers, this.tracks), sdp: connection.localDescription.sdp,
            });
            const ids = await this.#accepted(answer, tracks);
            await this.#answer(transport);
            this.#settle(tracks, ids, transceivers);
        } catch (failure) {
            if (failure.leavesUncertain) this.#giveUp();
            await this.#takeOut(transport, transceivers);
            throw failure;
        }
    }

    /** A new connection with what is published and these. If these fail, the others are published anew without them. */
    async #replace(tracks) {
        const present = this.tracks;
        try { await this.#open([...present, ...tracks]); } catch (failure) {
            this.tracks = present;
            await this.#takeBack(tracks);
            // Uncertain, the way back does it.
            if (present.length > 0 && !this.isUncertain) this.renew();
            throw asRTCError(failure);
        }
    }

    /** A new connection, which takes the place of any earlier one, with these tracks. */
    async #open(tracks) {
        this.#drop();
        const transport = new Transport();
        this.transport = transport;
        transport.onStateChange = (state) => { if (this.transport === transport) this.#session.onState(state); };
        this.#session.onState('connecting');
        const { connection } = transport;
        try {
            // They carry the bundle's transport, so that it outlives every track.
            connection.addTransceiver('audio', { direction: 'inactive' });
            connection.addTransceiver('video', { direction: 'inactive' });
            const transceivers = tracks.map((track) => addTransceiver(connection, track));
            await connection.setLocalDescription(await connection.createOffer());
            const answer = await this.#session.request('pubpc', {
                sdp: connection.localDescription.sdp, tracks: this.#describe(tracks, transceivers, []), policy: this.#session.policy,
            });
            if (!answer.pcid) throw new Failure('unreadable', 'the answer to pubpc names no connection');
            transport.id = answer.pcid;
            this.#server = answer;
            const ids = await this.#accepted(answer, tracks);
            if (this.#session.openedIDs.has(transport.id)) transport.wasOpened();
            await this.#answer(transport);
            this.tracks = [];
            this.#settle(tracks, ids, transceivers);
            this.isUncertain = false;
            await within(OPENING, transport.opened, 'path', `no media path to the server within ${OPENING / 1000} s`);
            if (transport.state !== 'connected') throw new Failure('path', 'the media path to the server did not open');
            transport.onBroken = (cure) => (cure === 'restart' ? this.restart() : this.renew());
        } catch (failure) {
            if (this.transport === transport) this.#drop();
            if (failure.leavesUncertain) this.#giveUp();
            throw failure;
        }
    }

    /** Sets the remote description that belongs to the present offer. */
    async #answer(transport) {
        this.#version += 1;
        await transport.connection.setRemoteDescription({
            type: 'answer',
            sdp: writeAnswer(transport.connection.localDescription.sdp, this.#session.capabilities, this.#server, {
                version: this.#version, redundantAudio: this.#session.redundantAudio,
            }),
        });
    }

    #describe(tracks, transceivers, present) {
        const kinds = new Set(present.map((track) => track.kind));
        return tracks.map((track, index) => {
            const master = !kinds.has(track.kind);
            kinds.add(track.kind);
            return {
                localid: track.localID, localmid: transceivers[index].mid, master, kind: track.kind,
                ...(track.bitrate ? { kbps: track.bitrate } : {}), ...(track.tag ? { tag: track.tag } : {}),
            };
        });
    }

    /** The track ids, in the order of the tracks. Throws when one was not taken; those that were are taken back then. */
    async #accepted(answer, tracks) {
        const results = new Map((answer.tracks ?? []).filter((result) => result.status !== false)
            .map((result) => [result.localid, result.trackid]));
        const ids = tracks.map((track) => results.get(track.localID));
        const refused = tracks.find((_, index) => !ids[index]);
        if (!refused) return ids;
        const taken = ids.filter(Boolean).map((trackid) => ({ trackid }));
        if (taken.length) await this.#session.request('unpub-tracks', { tracks: taken }).catch(() => this.#giveUp());
        throw new Failure('unreadable', `the server has not taken the ${refused.kind} track "${refused.tag}"`);
    }

    #settle(tracks, ids, transceivers) {
        tracks.forEach((track, index) => {
            track.published = {
                trackID: ids[index], transceiver: transceivers[index], sender: transceivers[index].sender,
                isMutedByServer: this.#session.earlyMutes.get(ids[index]) ?? false,
                sendMute: () => this.sendMutes([track]),
            };
            // Another device was chosen while it was under way.
            if (transceivers[index].sender.track !== track.mediaStreamTrack) {
                transceivers[index].sender.replaceTrack(track.mediaStreamTrack).catch(() => {});
            }
            this.tracks.push(track);
        });
        this.#session.earlyMutes.clear();
        this.sendMutes(tracks);
    }

    async #remove(tracks) {
        const transceivers = tracks.map((track) => track.published?.transceiver).filter(Boolean);
        this.tracks = this.tracks.filter((track) => !tracks.includes(track));
        for (const track of tracks) track.published = undefined;
        if (this.transport) await this.#takeOut(this.transport, transceivers);
    }

    /**
     * Stops sections, and settles that between browser and answer alone: the server has no part in it.
     *
     * An offer that was refused is answered here, too, before its sections are stopped: Chromium keeps a transceiver that was
     * stopped before it had a mid, and gives it the section of the one that is added next.
     */
    async #takeOut(transport, transceivers) {
        const { connection } = transport;
        if (connection.signalingState === 'closed') return;
        const settle = async () => {
            if (connection.signalingState === 'stable') await connection.setLocalDescription(await connection.createOffer());
            await this.#answer(transport);
        };
        try {
            for (const { sender } of transceivers) if (sender.track) await sender.replaceTrack(null);
            if (connection.signalingState === 'have-local-offer' || transceivers.some(({ mid }) => mid === null)) await settle();
            for (const transceiver of transceivers) transceiver.stop();
            await settle();
        } catch { /* A connection that cannot be brought in order is made anew by the next publication. */ this.renew(); }
    }

    /** Tracks that the server has announced already, and whose media will not come. */
    async #takeBack(tracks) {
        const ids = tracks.map((track) => track.trackID).filter(Boolean);
        for (const track of tracks) track.published = undefined;
        await this.#unpublishUnknown(ids);
    }

    #drop() {
        const transport = this.transport;
        this.transport = undefined;
        transport?.close();
    }

    #giveUp() {
        this.isUncertain = true;
        this.#session.giveUpConnection();
    }

    #checkUsable() {
        if (!this.#session.isUsable) throw new RTCError(ErrorCode.wrongState, 'the client is not connected to a room');
    }

    // Repairs

    /** New ICE credentials while everything else stays. */
    restart() {
        const transport = this.transport;
        return this.#turns.run(async () => {
            if (!transport || this.transport !== transport || !transport.id || !this.#session.isUsable) return;
            try {
                const answer = await this.#session.request('pubpc-restart', { pcid: transport.id });
                this.#server = { ...this.#server, iceParameters: answer.iceParameters, iceCandidates: answer.iceCandidates };
                await transport.connection.setLocalDescription(await transport.connection.createOffer({ iceRestart: true }));
                await this.#answer(transport);
            } catch (failure) {
                if (failure.kind !== 'ended' && failure.kind !== 'cancelled') this.renew();
            }
        });
    }

    /** A new connection with all tracks; those that the server does not take are lost, and the app is told. */
    renew() {
        this.#renewal ??= this.#turns.run(() => this.#renew()).catch(() => {}).finally(() => { this.#renewal = undefined; });
        return this.#renewal;
    }

    async #renew() {
        const tracks = this.tracks;
        if (tracks.length === 0) {
            this.#drop();
            this.isUncertain = false;
            return;
        }
        for (let attempt = 0; ; attempt += 1) {
            // Until it has succeeded: cut off, the next way back repeats it.
            this.isUncertain = true;
            if (!this.#session.isUsable) return;
            try { return await this.#open(tracks); } catch (failure) {
                this.tracks = tracks;
                if (!this.#session.isUsable || failure.kind === 'cancelled') return;
                if (isPassing(failure) && attempt < RETRIES) {
                    await pause(1000 * (attempt + 1), this.#session.signal);
                    continue;
                }
                this.tracks = [];
                this.isUncertain = false;
                await this.#takeBack(tracks);
                return this.#session.onLost(tracks, asRTCError(failure));
            }
        }
    }

    /** After a way back: what the server knows against what is so here. */
    async repair(answer, isFresh) {
        const known = isFresh ? [] : answer['my-pubs']?.map((track) => track.trackid);
        const own = this.tracks.map((track) => track.trackID);
        const ghosts = (known ?? []).filter((id) => !own.includes(id));
        const isComplete = known === undefined || known === null || own.every((id) => known.includes(id));
        if (isFresh || this.isUncertain || !isComplete || this.transport?.state === 'failed') {
            // With no track left there is no `pubpc` that would replace what the server still has.
            if (own.length === 0) await this.#unpublishUnknown(ghosts);
            return this.renew();
        }
        this.sendMutes();
        await this.#unpublishUnknown(ghosts);
        if (this.transport?.isInterrupted) await this.restart();
    }

    async #unpublishUnknown(ids) {
        if (ids.length === 0 || !this.#session.isUsable) return;
        await this.#session.request('unpub-tracks', { tracks: ids.map((trackid) => ({ trackid })) }).catch(() => {});
    }

    /** The room is left: everything goes. */
    close() {
        for (const track of this.tracks) track.published = undefined;
        this.tracks = [];
        this.#drop();
    }
}

function addTransceiver(connection, track) {
    const media = track.mediaStreamTrack;
    const stream = new MediaStream([media]);
    const limits = track.framesPerSecond ? { maxFramerate: track.framesPerSecond } : {};
    const kbps = track.bitrate ?? SIMULCAST_KBPS;
    const layers = track.simulcast ? LAYERS.slice(0, layerCount(media)) : [];
    const sendEncodings = layers.length > 1
        ? layers.map(({ rid, share, scaleResolutionDownBy }, index) => ({
            rid, ...limits, maxBitrate: Math.round(kbps * 1000 * share),
            // With two of them the lower one is the smallest of three.
            scaleResolutionDownBy: index === layers.length - 1 ? 2 ** (layers.length - 1) : scaleResolutionDownBy,
        }))
        : [{ ...limits, ...(track.bitrate ? { maxBitrate: track.bitrate * 1000 } : {}) }];
    const transceiver = connection.addTransceiver(media, { direction: 'sendonly', streams: [stream], sendEncodings });
    track.localID = `${media.id.slice(0, 64)}-${hexadecimal(8)}`;
    return transceiver;
}

/** Three sizes need a picture whose smallest one can still be looked at. */
function layerCount(media) {
    const { width = 1280, height = 720 } = media.getSettings();
    const side = Math.min(width, height);
    return side >= 480 ? 3 : side >= 240 ? 2 : 1;
}
