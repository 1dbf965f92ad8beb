import { TokenClaims, requestAccess } from './access.js';
import { infoOf, lastly, reconnectFailed, verdictOfJoin, verdictOfResume } from './endings.js';
import { ErrorCode, Failure, RTCError, asRTCError } from './errors.js';
import { Emitter } from './events.js';
import { Publisher } from './publisher.js';
import { RoomMirror } from './room.js';
import { capabilitiesSDP } from './sdp.js';
import { SignallingConnection } from './signalling.js';
import { StatisticsReader } from './statistics.js';
import { Subscriber } from './subscriber.js';
import { JoinTimeline, JoinWatch } from './timeline.js';
import { ReconnectPlan, hexadecimal, pause } from './timing.js';
import { PROFILES } from './tracks.js';
import { version } from './version.js';

/** Between two attempts to join, in ms. */
const ROUND_PAUSE = 1000;
/** What of mutes and opened connections is kept before the client knows whose they are. */
const EARLY_LIMIT = 64;
/** Tracks that are subscribed to by one request. */
const BATCH = 100;

/**
 * A user in a room: joins, hears of the others, sends messages, publishes and subscribes.
 *
 *     const client = new RTCClient({ servers: [location.origin] });
 *     client.on('tracksSubscribed', (tracks, user) => { … });
 *     await client.join(token);
 *     await client.publish(await LocalTrack.devices({ audio: true, video: true }));
 *
 * After a loss of the network the client comes back by itself: the state is `reconnecting` meanwhile and `reconnected`
 * afterwards; what was missed is told then. Tracks stay published and subscribed.
 */
export class RTCClient extends Emitter {
    #configuration;
    #state = 'disconnected';
    #session;
    #role;
    #autoSubscribe = true;
    #watch;
    #pageHidden = () => this.leave();

    constructor({
        servers, reconnectTimeout = 30_000, requestTimeout = 5000, mode = 'rtc', role = 'audience', policy = 'preferUdp',
        redundantAudio = false,
    } = {}) {
        super();
        if (!Array.isArray(servers) || servers.length === 0) {
            throw new RTCError(ErrorCode.invalidParameter, 'servers: at least one base URL is needed');
        }
        for (const server of servers) {
            if (!/^https?:\/\/[^/]/.test(server)) {
                throw new RTCError(ErrorCode.invalidParameter, `servers: ${server} is not an http or https URL`);
            }
        }
        this.#configuration = {
            servers: servers.map((server) => server.replace(/\/+$/, '')), reconnectTimeout, requestTimeout, mode, policy, redundantAudio,
        };
        this.#role = role;
    }

    // What the app can ask

    /** `disconnected`, `connecting`, `connected`, `reconnecting` or `reconnected`. */
    get connectionState() { return this.#state; }

    /** The user id, room and rights of the token; undefined outside a room. */
    get claims() { return this.#session?.claims; }

    /** The others in the room, in the order in which this client heard of them. */
    get remoteUserList() { return [...(this.#session?.room?.users.values() ?? [])]; }

    remoteUser(userID) { return this.#session?.room?.users.get(userID); }

    get publishedTracks() { return [...(this.#session?.publisher?.tracks ?? [])]; }

    /** The media paths: `none`, `connecting`, `connected`, `disconnected`, `failed` or `closed`. */
    get mediaStates() {
        return {
            publishing: this.#session?.publisher?.transport?.state ?? 'none',
            subscribing: this.#session?.subscriber?.transport?.state ?? 'none',
        };
    }

    get clientRole() { return this.#role; }

    /** How long each step of the last join took, in ms since its call. */
    get joinTimeline() { return this.#watch?.timeline ?? Object.freeze(new JoinTimeline()); }

    /** Whether every track of the others is subscribed to as it comes; true at first. */
    get autoSubscribe() { return this.#autoSubscribe; }
    set autoSubscribe(isOn) {
        this.#autoSubscribe = Boolean(isOn);
        this.#subscribeAutomatically();
    }

    // Joining and leaving

    /**
     * Joins the room that the token names. Resolves when the client is in; rejects with an RTCError when it is out again.
     *
     * userData: up to 1024 bytes that the others get.
     */
    async join(token, userData) {
        if (this.#state !== 'disconnected') throw new RTCError(ErrorCode.wrongState, 'the client has joined already');
        const claims = TokenClaims.read(token);
        const abort = new AbortController();
        const session = {
            token, userData, claims, abort, signal: abort.signal, openedIDs: new Set(), earlyMutes: new Map(),
            isAutomatRunning: false, statistics: new StatisticsReader(), watch: new JoinWatch(),
        };
        this.#session = session;
        this.#watch = session.watch;
        this.#change('connecting');
        globalThis.addEventListener?.('pagehide', this.#pageHidden);
        const end = performance.now() + this.#configuration.reconnectTimeout;
        for (;;) {
            try { return await this.#attemptJoin(session, end); } catch (thrown) {
                const failure = thrown instanceof Failure ? thrown : new Failure('unreadable', thrown.message);
                if (this.#session !== session) throw new RTCError(ErrorCode.wrongState, 'the client has left while joining');
                session.connection?.close();
                const verdict = verdictOfJoin(failure);
                const info = verdict.over ?? (performance.now() + ROUND_PAUSE < end ? undefined : lastly(failure));
                if (info) {
                    this.#end(session, info);
                    throw info.error ?? new RTCError(ErrorCode.fatal, failure.message);
                }
                await pause(ROUND_PAUSE, session.signal).catch(() => {});
            }
        }
    }

    /** Leaves the room, at once. Without effect when it is left already. */
    leave() { if (this.#session) this.#end(this.#session, { reason: 'leave' }); }

    async #attemptJoin(session, end) {
        const { servers, requestTimeout } = this.#configuration;
        const access = await requestAccess(session.token, session.claims, {
            servers, requestTimeout, limit: end - performance.now(), signal: session.signal,
        });
        session.watch.mark('http');
        const connection = await SignallingConnection.open(access.urls, { timeout: requestTimeout, signal: session.signal });
        session.watch.mark('webSocket');
        const answer = await this.#authenticate(session, connection, access.accessToken, undefined);
        session.watch.mark('authenticated');
        session.access = access;
        session.url = connection.url;
        session.reconnectToken = answer.reconntoken;
        session.capabilities = answer.rtpcaps;
        session.room = new RoomMirror(session.claims.userID);
        this.#makeMedia(session);
        this.#serve(session, connection);
        this.#change('connected');
        this.#tell(session, session.room.synchronize(answer));
        this.#subscribeAutomatically();
    }

    async #authenticate(session, connection, accessToken, reconnectToken) {
        if (this.#session !== session) {
            connection.close();
            throw new Failure('cancelled', 'the client has left the room');
        }
        session.connection = connection;
        // What comes right behind auth-res waits until the room is there.
        const early = [];
        connection.onNotification = (type, body) => early.push([type, body]);
        session.early = early;
        session.capabilitiesSDP ??= await capabilitiesSDP();
        const answer = await connection.request('auth', {
            token: accessToken, agent: navigator.userAgent.slice(0, 200), sdkversion: `parlor-client/${version}`,
            capsdp: session.capabilitiesSDP, supportdomain: true, multicodec: true, privileges: this.#privileges,
            ...(reconnectToken ? { reconntoken: reconnectToken } : {}),
            ...(reconnectToken && session.messageMark !== undefined ? { msgsn: session.messageMark } : {}),
            ...(session.userData ? { playerdata: session.userData } : {}),
        });
        if (this.#configuration.mode === 'live' && !reconnectToken) {
            await connection.request('set-privileges', { privileges: this.#privileges });
        }
        if (this.#session !== session) throw new Failure('cancelled', 'the client has left the room');
        return answer;
    }

    get #privileges() {
        return this.#configuration.mode === 'rtc' || this.#role === 'broadcaster' ? ['subscribe', 'publish'] : ['subscribe'];
    }

    #change(state, info) {
        this.#state = state;
        this.emit('connectionStateChanged', state, info);
    }

    #end(session, info) {
        if (this.#session !== session) return;
        this.#session = undefined;
        globalThis.removeEventListener?.('pagehide', this.#pageHidden);
        if (info.reason === 'leave') session.connection?.leave();
        else session.connection?.close();
        clearInterval(session.qosTimer);
        session.abort.abort();
        session.watch.close();
        session.publisher?.close();
        session.subscriber?.close();
        this.#change('disconnected', info);
    }

    // The session's media

    #makeMedia(session) {
        const client = this;
        const lent = {
            signal: session.signal, openedIDs: session.openedIDs, earlyMutes: session.earlyMutes,
            policy: this.#configuration.policy, redundantAudio: this.#configuration.redundantAudio,
            get room() { return session.room; },
            get capabilities() {
                if (!session.capabilities) throw new Failure('refused', 'the server gave no rtpcaps', ErrorCode.mediaNotSupported);
                return session.capabilities;
            },
            get isUsable() { return client.#isUsable(session); },
            request: (type, body) => session.connection.request(type, body),
            send: (type, body) => session.connection.send(type, body),
            giveUpConnection: () => session.connection.abort(),
        };
        const also = (more) => Object.create(lent, Object.getOwnPropertyDescriptors(more));
        session.publisher = new Publisher(also({
            onState: (state) => this.emit('mediaStateChanged', 'publishing', state),
            onLost: (tracks, error) => this.emit('localTracksLost', tracks, error),
        }));
        session.subscriber = new Subscriber(also({
            watch: session.watch,
            onState: (state) => this.emit('mediaStateChanged', 'subscribing', state),
            onSubscribed: (tracks) => {
                for (const [user, list] of this.#byUser(session, tracks)) this.emit('tracksSubscribed', list, user);
            },
            onReplaced: (track) => this.emit('mediaReplaced', track, session.room.users.get(track.userID)),
            onUnsubscribed: (tracks) => {
                const present = tracks.filter((track) => session.room.tracks.get(track.trackID) === track);
                for (const [user, list] of this.#byUser(session, present)) this.emit('tracksUnsubscribed', list, user);
            },
        }));
        session.qosTimer = setInterval(() => this.#sendQoS(session), 3000);
    }

    #byUser(session, tracks) {
        const lists = new Map();
        for (const track of tracks) {
            const user = session.room.users.get(track.userID);
            if (user) lists.set(user, [...(lists.get(user) ?? []), track]);
        }
        return lists;
    }

    #isUsable(session = this.#session) {
        return session !== undefined && this.#session === session && session.connection?.isOpen === true
            && (this.#state === 'connected' || this.#state === 'reconnected');
    }

    #usable() {
        if (!this.#isUsable()) throw new RTCError(ErrorCode.wrongState, 'the client is not connected to a room');
        return this.#session;
    }

    // What the server says

    #serve(session, connection) {
        connection.onEnd = (sentence) => { this.#comeBack(session, sentence); };
        connection.onNotification = (type, body) => {
            if (this.#session === session) this.#notified(session, type, body);
        };
        // In order, before anything newer: nothing is read from the socket in between.
        queueMicrotask(() => { for (const [type, body] of session.early.splice(0)) connection.onNotification(type, body); });
    }

    #notified(session, type, body) {
        switch (type) {
        case 'disconnect':
            if (body.code === ErrorCode.serverUnavailable) session.connection.abort();
            else this.#end(session, infoOf(body.code ?? 0, body.error || 'the server ended the session'));
            return;
        case 'on-messages': return this.#receive(session, body.messages ?? []);
        case 'on-qos-messages': return this.#receiveQoS(session, body.messages ?? []);
        // A one-way message was refused. What was wrong with others shows by what does not happen.
        case 'error':
            if (body.type !== 'send-message') return;
            return this.emit('messageRefused', body.msgid ?? '', new RTCError(body.code, body.error || 'the message was refused'));
        case 'on-pubpc-connected': case 'on-subpc-connected': {
            for (const media of [session.publisher, session.subscriber]) {
                if (media.transport?.id !== body.pcid) continue;
                if (media === session.subscriber) session.watch.mark('connected');
                return media.transport.wasOpened();
            }
            if (session.openedIDs.size >= EARLY_LIMIT) session.openedIDs.clear();
            session.openedIDs.add(body.pcid);
            return;
        }
        case 'on-pubpc-disconnected': case 'on-subpc-disconnected': return this.#repairMedia(session, body.pcid, 'renew');
        case 'on-pubpc-restart-notify': case 'on-subpc-restart-notify': return this.#repairMedia(session, body.pcid, 'restart');
        case 'on-sub-profile-changed': {
            const track = session.room.tracks.get(body.trackid);
            if (!track) return;
            track.profile = body.profile;
            return this.emit('profileChanged', track, session.room.users.get(track.userID));
        }
        case 'mute-tracks':
            this.#takeOwnMutes(session, body.tracks ?? []);
            return this.#tell(session, session.room.apply(type, body));
        default:
            this.#tell(session, session.room.apply(type, body));
            if (type === 'on-add-tracks') this.#subscribeAutomatically();
        }
    }

    #repairMedia(session, id, cure) {
        for (const media of [session.publisher, session.subscriber]) if (media.transport?.id === id) media[cure]();
    }

    #tell(session, events) {
        for (const [name, ...values] of events) {
            if (name === 'tracksUnpublished') session.subscriber.removed(values[0]);
            this.emit(name, ...values);
        }
    }

    /** The server tells a publisher of the app's back end's mutes only; it may do so before the publication is settled. */
    #takeOwnMutes(session, mutes) {
        for (const { trackid, muted } of mutes) {
            if (session.room.tracks.has(trackid)) continue;
            const track = session.publisher.tracks.find((own) => own.trackID === trackid);
            if (track) {
                track.published.isMutedByServer = Boolean(muted);
                this.emit('localMuteStateChanged', track);
            } else {
                if (session.earlyMutes.size >= EARLY_LIMIT) session.earlyMutes.clear();
                session.earlyMutes.set(trackid, Boolean(muted));
            }
        }
    }

    /** Each message once: a replay after a loss may overlap with what came before. */
    #receive(session, messages) {
        for (const message of [...messages].sort((a, b) => a.msgsn - b.msgsn)) {
            if (message.msgsn <= (session.lastMessage ?? -Infinity)) continue;
            session.lastMessage = message.msgsn;
            session.messageMark = Math.max(session.messageMark ?? 0, message.msgsn);
            this.emit('messageReceived', {
                identifier: message.msgid, userID: message.playerid, content: message.text, timestamp: message.msgts,
            });
        }
    }

    // Quality, as the vendor's clients tell it to each other

    async #sendQoS(session) {
        if (!this.#isUsable(session) || session.publisher.tracks.length === 0) return;
        try {
            const { connection } = session;
            const all = await session.statistics.uplink(session.publisher);
            const worst = Math.max(...all.map((each) => grade(each)), 1);
            const tracks = all.map(({ trackID, kind, packetLoss = 0, roundTripTime = 0 }) =>
                ({ kind, track: trackID, lostRate: Math.round(packetLoss * 100), rtt: Math.round(roundTripTime * 1000) }));
            connection.send('send-qos-message', {
                qos: JSON.stringify({ networkGrade: worst, tracks_qos: tracks }), rpcid: hexadecimal(8),
            });
        } catch { /* The next one comes in three seconds. */ }
    }

    #receiveQoS(session, messages) {
        for (const { playerid, qos, msgsn } of messages) {
            session.messageMark = Math.max(session.messageMark ?? 0, msgsn ?? 0);
            const user = session.room.users.get(playerid);
            let value;
            try { value = JSON.parse(qos).networkGrade; } catch { continue; }
            if (!user || !(value >= 1 && value <= 4) || user.networkGrade === value) continue;
            user.networkGrade = value;
            this.emit('networkGradeChanged', user);
        }
    }

    // Coming back

    async #comeBack(session, sentence) {
        if (this.#session !== session) return;
        this.#change('reconnecting');
        const end = performance.now() + this.#configuration.reconnectTimeout;
        const plan = new ReconnectPlan(end);
        let token = session.reconnectToken;
        let last = sentence;
        for (;;) {
            const wait = plan.next(performance.now(), Math.random());
            if (wait === undefined) break;
            try {
                await pause(wait, session.signal);
                return await this.#attemptReturn(session, token, end);
            } catch (thrown) {
                if (this.#session !== session) return;
                const failure = thrown instanceof Failure ? thrown : new Failure('unreadable', thrown.message);
                session.connection.close();
                last = failure.message;
                const verdict = verdictOfResume(failure);
                if (verdict.over) return this.#end(session, verdict.over);
                if (verdict.anew) token = undefined;
            }
        }
        this.#end(session, reconnectFailed(`not back within ${this.#configuration.reconnectTimeout / 1000} s: ${last}`));
    }

    async #attemptReturn(session, token, end) {
        const timeout = Math.min(this.#configuration.requestTimeout, Math.max(end - performance.now(), 250));
        const connection = await SignallingConnection.open([session.url], { timeout, isReconnect: true, signal: session.signal });
        const answer = await this.#authenticate(session, connection, session.access.accessToken, token);
        session.reconnectToken = answer.reconntoken ?? session.reconnectToken;
        session.capabilities = answer.rtpcaps ?? session.capabilities;
        // Perhaps another life of the room, whose serials begin anew.
        if (!token) session.lastMessage = session.messageMark = undefined;
        // The server tells anew which of the tracks its back end has muted.
        session.earlyMutes.clear();
        for (const track of session.publisher.tracks) if (track.published) track.published.isMutedByServer = false;
        this.#serve(session, connection);
        this.#change('reconnected');
        this.#tell(session, session.room.synchronize(answer));
        await Promise.allSettled([session.publisher.repair(answer, !token), session.subscriber.repair(answer, !token)]);
        this.#subscribeAutomatically();
    }

    // Messages and control

    /**
     * Sends a message through the server; the sender does not get it. Returns its id.
     *
     * users: ids; empty: everybody in the room.
     */
    sendMessage(content, users = [], identifier = '') {
        if (typeof content !== 'string' || content === '') throw new RTCError(ErrorCode.invalidParameter, 'a message needs a text');
        const session = this.#usable();
        const id = identifier || hexadecimal(8);
        try {
            session.connection.send('send-message', {
                msgid: id, ...(users.length ? { target: users } : {}), type: 'normal', text: content,
            });
        } catch (failure) { throw asRTCError(failure); }
        return id;
    }

    /** Puts a user out of the room; needs a token with the permission admin. */
    async kick(userID) {
        const session = this.#usable();
        try { await session.connection.request('control', { command: 'kickplayer', playerid: userID }); } catch (failure) {
            throw asRTCError(failure);
        }
    }

    /** Changes the role, in the mode `live`. Before a join it is the role to join with. */
    async setClientRole(role) {
        if (this.#configuration.mode !== 'live') throw new RTCError(ErrorCode.wrongMode, 'roles are of the mode live');
        if (role === 'audience' && this.publishedTracks.length > 0) {
            throw new RTCError(ErrorCode.wrongState, 'unpublish all tracks before becoming audience');
        }
        if (this.#state !== 'disconnected') {
            const session = this.#usable();
            const privileges = role === 'broadcaster' ? ['subscribe', 'publish'] : ['subscribe'];
            try { await session.connection.request('set-privileges', { privileges }); } catch (failure) { throw asRTCError(failure); }
        }
        this.#role = role;
    }

    // Tracks

    /** Publishes tracks, all or none of them; resolves when their media can flow. */
    async publish(tracks) {
        const session = this.#usable();
        if (this.#configuration.mode === 'live' && this.#role === 'audience') {
            throw new RTCError(ErrorCode.wrongRole, "the audience does not publish; setClientRole('broadcaster') first");
        }
        if (tracks.length > 0) await session.publisher.publish([...tracks]);
    }

    async unpublish(tracks) {
        const session = this.#usable();
        if (tracks.length > 0) await session.publisher.unpublish([...tracks]);
    }

    /** Subscribes to tracks of the others; resolves with those of them that are subscribed now. */
    async subscribe(tracks) {
        const session = this.#usable();
        const missing = tracks.find((track) => session.room.tracks.get(track.trackID) !== track);
        if (missing) throw new RTCError(ErrorCode.subscribeNotExist, `there is no track ${missing.trackID} in the room`);
        for (const track of tracks) track.isTried = true;
        return session.subscriber.subscribe([...tracks]);
    }

    async unsubscribe(tracks) { return this.#usable().subscriber.unsubscribe([...tracks]); }

    /** Asks for a layer of a track: `high`, `medium` or `low`. `profileChanged` tells what comes. */
    setProfile(track, profile) {
        if (!PROFILES.includes(profile)) throw new RTCError(ErrorCode.invalidParameter, `a profile is high, medium or low, not ${profile}`);
        const session = this.#usable();
        try { session.subscriber.setProfile(track, profile); } catch (failure) { throw asRTCError(failure); }
    }

    async #subscribeAutomatically() {
        const session = this.#session;
        if (!session?.subscriber || !this.#autoSubscribe || session.isAutomatRunning) return;
        session.isAutomatRunning = true;
        try {
            while (this.#autoSubscribe && this.#isUsable(session)) {
                const batch = session.room.takeUntried(BATCH);
                if (batch.length === 0) break;
                try { await session.subscriber.subscribe(batch); } catch (error) {
                    // Cut off, the way back starts it again; refused for good, the track stays as it is.
                    const { networkTimeout, operationTimeout, wrongState, serverUnavailable, tooManyOperations } = ErrorCode;
                    if ([networkTimeout, operationTimeout, wrongState, serverUnavailable, tooManyOperations].includes(error.code)) {
                        for (const track of batch) track.isTried = track.isSubscribed;
                        await pause(1000, session.signal);
                    }
                }
            }
        } catch { /* The room was left. */ } finally { session.isAutomatRunning = false; }
    }

    // Statistics

    /** Figures of all tracks that flow, by track id; rates are over the time since the call before. */
    async statistics() {
        const session = this.#session;
        if (!session?.publisher) return new Map();
        return session.statistics.all(session.publisher, session.room, session.subscriber);
    }

    /** Behaves as if the network of the signalling were lost at this moment; for tests. */
    loseConnection() { this.#session?.connection?.abort(); }

    /** Asks for new ICE credentials on both media connections, as after a change of network. */
    async restartMedia() {
        const session = this.#usable();
        await Promise.all([session.publisher.restart(), session.subscriber.restart()]);
    }
}

/** From 1, excellent, to 4, poor: the vendor's thresholds. */
function grade({ packetLoss = 0, roundTripTime = 0 }) {
    if (packetLoss > 0.15 || roundTripTime > 0.4) return 4;
    if (packetLoss > 0.08 || roundTripTime > 0.2) return 3;
    return packetLoss > 0.01 || roundTripTime > 0.1 ? 2 : 1;
}
