import { ErrorCode, Failure, RTCError, asRTCError } from './errors.js';
import { SubscribeOffer } from './sdp.js';
import { OPENING, Transport, isPassing } from './transport.js';
import { Turns, pause } from './timing.js';

/** Retries of a connection that the server does not give now. */
const RETRIES = 5;

/**
 * The subscribing connection: the client writes the server's offer from its numbers, and answers it itself. One request at
 * a time.
 *
 * session: what the owner lends: as for the Publisher, and `room`, `watch`, `onSubscribed(tracks)`, `onUnsubscribed(tracks)`.
 */
export class Subscriber {
    transport = undefined;
    isUncertain = false;

    #session;
    #turns = new Turns();
    #offer;
    #renewal;
    #opening;

    constructor(session) { this.#session = session; }

    // What the app asks for

    /** Subscribes to tracks; returns those that are subscribed now. */
    subscribe(tracks) {
        return this.#turns.run(async () => {
            this.#checkUsable();
            const pending = tracks.filter((track) => this.#isThere(track) && !track.isSubscribed);
            if (pending.length > 0) {
                try {
                    if (!this.transport || this.isUncertain) await this.#open(pending);
                    else await this.#add(pending);
                } catch (failure) { throw asRTCError(failure); }
            }
            return tracks.filter((track) => track.isSubscribed);
        });
    }

    unsubscribe(tracks) {
        return this.#turns.run(async () => {
            this.#checkUsable();
            const list = tracks.filter((track) => track.isSubscribed);
            if (list.length === 0) return;
            try {
                await this.#session.request('unsub-tracks', { tracks: list.map((track) => ({ trackid: track.trackID })) });
            } catch (failure) {
                if (failure.leavesUncertain) this.isUncertain = true;
                throw asRTCError(failure);
            } finally {
                this.#release(list);
                // Not awaited: its turn comes after this one.
                await this.#renegotiate().catch(() => { this.renew(); });
            }
        });
    }

    /** Asks for another layer. Before the subscription it is only kept. */
    setProfile(track, profile) {
        track.wantedProfile = profile;
        if (track.isSubscribed && this.#session.isUsable) {
            this.#session.send('set-sub-profile', { tracks: [{ trackid: track.trackID, profile }] });
        }
    }

    /** Tracks are gone from the room: the server has ended their subscriptions by itself. */
    removed(tracks) {
        const list = tracks.filter((track) => track.isSubscribed);
        if (list.length === 0) return;
        this.#release(list);
        this.#turns.run(() => this.#renegotiate()).catch(() => this.renew());
    }

    // The connection

    async #add(tracks) {
        let answer;
        try { answer = await this.#session.request('sub-tracks', { tracks: tracks.map(wish) }); } catch (failure) {
            if (failure.code === ErrorCode.subscribeConnectionGone) return this.#open(tracks);
            if (failure.leavesUncertain) this.isUncertain = true;
            throw failure;
        }
        await this.#take(answer.tracks ?? [], tracks);
    }

    /** A new connection with all that is subscribed, and these. */
    async #open(tracks) {
        const before = this.#session.room.subscribed;
        const wanted = [...before, ...tracks.filter((track) => !before.includes(track))];
        let answer;
        try {
            answer = await this.#session.request('subpc', { tracks: wanted.map(wish), policy: this.#session.policy });
        } catch (failure) {
            if (failure.leavesUncertain) this.isUncertain = true;
            throw failure;
        }
        if (!answer.pcid) throw new Failure('unreadable', 'the answer to subpc names no connection');
        this.#session.watch.mark('subscribed');
        this.#drop();
        const transport = new Transport((step) => this.#session.watch.mark(step));
        this.transport = transport;
        transport.id = answer.pcid;
        transport.onStateChange = (state) => { if (this.transport === transport) this.#session.onState(state); };
        transport.onBroken = (cure) => (cure === 'restart' ? this.restart() : this.renew());
        this.#session.onState('connecting');
        this.#offer = new SubscribeOffer(this.#session.capabilities, answer);
        this.isUncertain = false;
        const taken = new Set((answer.tracks ?? []).filter((result) => result.status).map((result) => result.trackid));
        this.#release(before.filter((track) => !taken.has(track.trackID)));
        await this.#take(answer.tracks ?? [], wanted);
        if (this.#session.openedIDs.has(transport.id)) {
            this.#session.watch.mark('connected');
            transport.wasOpened();
        }
        this.#watchOpening(transport);
    }

    /** Puts the results into the offer and hands out what is received. */
    async #take(results, wanted) {
        const byID = new Map(wanted.map((track) => [track.trackID, track]));
        const accepted = results.filter((result) => result.status && byID.has(result.trackid) && result.rtpparams)
            .map((result) => ({ track: byID.get(result.trackid), parameters: result.rtpparams }))
            // Those that have left the room meanwhile have no section.
            .filter(({ track }) => this.#isThere(track));
        for (const { track, parameters } of accepted) this.#offer.set(track, parameters);
        if (accepted.length > 0 || !this.#offer.isEmpty) await this.#renegotiate();
        const fresh = [];
        for (const { track } of accepted) {
            if (!this.#isThere(track)) continue;
            const transceiver = this.transport?.connection.getTransceivers().find(({ mid }) => mid === track.mid);
            if (!transceiver) throw new Failure('unreadable', `the browser has no section for the track ${track.trackID}`);
            const isNew = !track.isSubscribed;
            track.receiver = transceiver.receiver;
            track.mediaStreamTrack = transceiver.receiver.track;
            track.isSubscribed = track.isTried = true;
            this.#session.watch.watch(track.mediaStreamTrack, () => this.#session.room.subscribed.some(({ kind }) => kind === 'video'));
            if (isNew) fresh.push(track);
            else this.#session.onReplaced(track);
        }
        if (fresh.length > 0) this.#session.onSubscribed(fresh);
    }

    async #renegotiate() {
        const { connection } = this.transport ?? {};
        if (!connection || this.#offer.isEmpty || connection.signalingState === 'closed') return;
        await connection.setRemoteDescription({ type: 'offer', sdp: this.#offer.write() });
        await connection.setLocalDescription(await connection.createAnswer());
    }

    #release(tracks) {
        for (const track of tracks) {
            track.isSubscribed = false;
            track.receiver = track.mediaStreamTrack = track.profile = undefined;
            this.#offer?.remove(track.mid);
        }
        if (tracks.length > 0) this.#session.onUnsubscribed(tracks);
    }

    #isThere(track) { return this.#session.room.tracks.get(track.trackID) === track; }

    #drop() {
        clearTimeout(this.#opening);
        const transport = this.transport;
        this.transport = undefined;
        transport?.close();
    }

    #watchOpening(transport) {
        clearTimeout(this.#opening);
        this.#opening = setTimeout(() => {
            if (this.transport === transport && transport.state === 'connecting') this.renew();
        }, OPENING);
    }

    #checkUsable() {
        if (!this.#session.isUsable) throw new RTCError(ErrorCode.wrongState, 'the client is not connected to a room');
    }

    // Repairs

    restart() {
        const transport = this.transport;
        return this.#turns.run(async () => {
            if (!transport || this.transport !== transport || !this.#session.isUsable) return;
            try {
                const answer = await this.#session.request('subpc-restart', { pcid: transport.id });
                this.#offer.server = {
                    ...this.#offer.server, iceParameters: answer.iceParameters, iceCandidates: answer.iceCandidates,
                };
                await this.#renegotiate();
            } catch (failure) {
                if (failure.kind !== 'ended' && failure.kind !== 'cancelled') this.renew();
            }
        });
    }

    /** A new connection with all that is subscribed. What the server refuses for good is not subscribed any more. */
    renew() {
        this.#renewal ??= this.#turns.run(() => this.#renew()).catch(() => {}).finally(() => { this.#renewal = undefined; });
        return this.#renewal;
    }

    async #renew() {
        for (let attempt = 0; ; attempt += 1) {
            const own = this.#session.room.subscribed;
            if (own.length === 0) {
                this.#drop();
                this.isUncertain = false;
                return;
            }
            // Until it has succeeded: cut off, the next way back repeats it.
            this.isUncertain = true;
            if (!this.#session.isUsable) return;
            try { return await this.#open([]); } catch (failure) {
                if (!this.#session.isUsable || failure.kind === 'cancelled') return;
                if (isPassing(failure) && attempt < RETRIES) {
                    await pause(1000 * (attempt + 1), this.#session.signal);
                    continue;
                }
                this.isUncertain = false;
                this.#drop();
                return this.#release(own);
            }
        }
    }

    /** After a way back: what the server knows against what is so here. */
    async repair(answer, isFresh) {
        const known = answer['my-subs']?.map((track) => track.trackid);
        const isComplete = !known || this.#session.room.subscribed.every((track) => known.includes(track.trackID));
        if (isFresh || this.isUncertain || !isComplete || this.transport?.state === 'failed') return this.renew();
        if (this.transport?.isInterrupted) await this.restart();
    }

    close() { this.#drop(); }
}

function wish(track) {
    return track.profiles.length > 0 ? { trackid: track.trackID, profile: track.wantedProfile } : { trackid: track.trackID };
}
