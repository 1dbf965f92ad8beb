/**
 * Types of parlor-client.js. Names, events and codes are those of the Swift client, RTCClient, so the description of rooms
 * reads for both; docs/web.md is the manual.
 */

/** The client's version, as in "1.2.3"; the server gets it at a join. */
export const version: string;

// Errors

/** The service's codes: 10001 to 10063 come from the server, 21001 and up are made by the client. */
export const ErrorCode: Readonly<{
    /** The room token does not follow the signing rules. */
    tokenInvalid: 10001;
    /** The room token's time is over. */
    tokenExpired: 10002;
    /** This life of the room is over. */
    roomInstanceClosed: 10003;
    /** The session that a client wanted to come back to is over. */
    reconnectTokenInvalid: 10004;
    /** The room was closed by its owner. */
    roomClosed: 10005;
    /** Kicked out of the room. */
    kickedOut: 10006;
    /** The room is full. */
    roomFull: 10011;
    /** There is no such room, and it is not made by joining. */
    roomNotExist: 10012;
    /** There is no such user in the room. */
    userNotExist: 10021;
    /** The same user has joined elsewhere, or is in the room already. */
    userAlreadyExists: 10022;
    /** The track is not published. */
    publishNotExist: 10031;
    /** The tracks do not fit their description. */
    publishMismatch: 10032;
    /** The track is published already. */
    publishAlreadyExists: 10033;
    /** There is no such track in the room. */
    subscribeNotExist: 10041;
    /** Nobody subscribes to a track of one's own. */
    subscribeOwn: 10044;
    /** The token's permission, or the role, does not allow it. */
    noPermission: 10051;
    /** The server cannot serve this now. */
    serverUnavailable: 10052;
    /** A value that is not allowed. */
    invalidParameter: 10053;
    /** Client and room have no codec in common. */
    mediaNotSupported: 10054;
    /** Too many operations, or too many of something. */
    tooManyOperations: 10055;
    /** The publishing connection does not exist any more. */
    publishConnectionGone: 10061;
    /** The subscribing connection does not exist any more. */
    subscribeConnectionGone: 10062;
    /** The first step of a join failed: no server takes the token, or none can be reached. */
    authFailed: 21001;
    /** Not in this state of the connection. */
    wrongState: 21002;
    /** Not back in time after a loss, or the session or the room is gone meanwhile. */
    reconnectFailed: 21003;
    /** The network does not answer, or the connection was lost meanwhile. */
    networkTimeout: 21004;
    /** The server said something that cannot be. */
    fatal: 21005;
    /** No answer to an operation in time, or no media path. */
    operationTimeout: 21008;
    /** Not in this client mode. */
    wrongMode: 24006;
    /** Not in this role. */
    wrongRole: 24007;
}>;

/** What the calls of a client throw: a code to decide by, and a sentence in English for logs and developers. */
export class RTCError extends Error {
    constructor(code: number, message: string, serverCode?: number);
    /** One of `ErrorCode`, or a newer server's. */
    readonly code: number;
    /** The code that the server gave at the first step of a join, behind 21001; undefined if it gave none. */
    readonly serverCode: number | undefined;
    /** The sentence with the code behind it. */
    toString(): string;
}

// Tokens

/** What a room token says; read without checking its signature, which only the server can. */
export class TokenClaims {
    constructor(appID: string, roomName: string, userID: string, expiresAt: number, isAdmin: boolean);
    /** Throws 10001 for a text that is no room token. */
    static read(token: string): TokenClaims;
    readonly appID: string;
    readonly roomName: string;
    readonly userID: string;
    /** Unix time in seconds. */
    readonly expiresAt: number;
    /** Whether its user may remove others. */
    readonly isAdmin: boolean;
}

// Tracks

export type TrackKind = 'audio' | 'video';

/** A layer of a track in several sizes. */
export type Profile = 'high' | 'medium' | 'low';

/** The layers that can be asked for, the best first. */
export const PROFILES: readonly Profile[];

export interface LocalTrackOptions {
    /** A word of the app's own for the others, such as "camera". */
    tag?: string;
    /** The most, in kbit/s. */
    bitrate?: number;
    /** A video in several sizes; each receiver chooses one of them. */
    simulcast?: boolean;
    /** The most frames per second. */
    framesPerSecond?: number;
    /** As of MediaStreamTrack. */
    contentHint?: string;
}

/** A track of this client's own: a camera, a microphone, a screen, or any MediaStreamTrack. */
export class LocalTrack {
    constructor(media: MediaStreamTrack, options?: LocalTrackOptions);
    /** Microphone and camera, the audio first. Throws what getUserMedia throws. */
    static devices(
        constraints: MediaStreamConstraints, options?: { audio?: LocalTrackOptions; video?: LocalTrackOptions }): Promise<LocalTrack[]>;
    /** The screen, a window or a tab, with its sound where the browser gives it; the video first. */
    static screen(
        constraints?: DisplayMediaStreamOptions, options?: { audio?: LocalTrackOptions; video?: LocalTrackOptions }): Promise<LocalTrack[]>;
    readonly kind: TrackKind;
    readonly tag: string;
    readonly bitrate: number | undefined;
    readonly simulcast: boolean;
    readonly framesPerSecond: number | undefined;
    /** What is sent now. */
    readonly mediaStreamTrack: MediaStreamTrack;
    /** The server's id for it, the same for everybody in the room; undefined unless published. */
    readonly trackID: string | undefined;
    readonly isPublished: boolean;
    /** Whether the others see it as muted: by `updateMute`, or by the app's back end. */
    readonly isMuted: boolean;
    /** Whether `updateMute` has muted it. */
    readonly isMutedByClient: boolean;
    /** Whether the app's back end has muted it. Only the back end can take that back; it ends with the publication. */
    readonly isMutedByServer: boolean;
    /** Mutes the track or takes that back: silence or black pictures are sent, and the others are told. */
    updateMute(isMuted: boolean): void;
    /** Sends another MediaStreamTrack of the same kind from now on; the old one is not stopped. */
    replace(media: MediaStreamTrack): Promise<void>;
    /** Whether `release` has let go of the device, and `replace` has not given another one since. */
    readonly isReleased: boolean;
    /**
     * Mutes a video and stops its device, so that the camera's light goes out; black pictures are sent on, and nothing is
     * negotiated anew. Back again: `replace` with a new MediaStreamTrack, then `updateMute(false)`.
     */
    release(): Promise<void>;
    /** Stops the device. */
    stop(): void;
}

/** A track that another user publishes. The object stays the same while the track is there, and shows what is so now. */
export class RemoteTrack {
    private constructor();
    readonly trackID: string;
    readonly userID: string;
    readonly kind: TrackKind;
    /** The publisher's own word for it. */
    readonly tag: string;
    /** Whether the publisher has muted it: then silence or black pictures come. */
    readonly isMuted: boolean;
    /** Whether this client has subscribed to it. */
    readonly isSubscribed: boolean;
    /** Whether a subscription was tried, by the app or by `autoSubscribe`. */
    readonly isTried: boolean;
    /** Its layers, the best first; empty: it has one only. */
    readonly profiles: readonly Profile[];
    /** The layer that was asked for. */
    readonly wantedProfile: Profile;
    /** The layer that comes, as the server said last; undefined while it has not. */
    readonly profile: Profile | undefined;
    /** What is received; undefined unless subscribed. */
    readonly mediaStreamTrack: MediaStreamTrack | undefined;
    /** How loud it is now, 0 to 1, as its packets say; undefined if nothing was heard of late. */
    readonly audioLevel: number | undefined;
}

/** Another user in the room. The object stays the same while the user is there, and shows what is so now. */
export class RemoteUser {
    private constructor();
    readonly userID: string;
    /** What the user gave at its join; empty if nothing. */
    readonly userData: string;
    /** Whether it is cut off at the moment; it still counts as in the room. */
    readonly isReconnecting: boolean;
    /** Of what it sends: from 1, excellent, to 4, poor; undefined while it has not told. */
    readonly networkGrade: 1 | 2 | 3 | 4 | undefined;
    readonly audioTracks: RemoteTrack[];
    readonly videoTracks: RemoteTrack[];
}

// The client

/** `reconnected` means the same as `connected`, after a loss. */
export type ConnectionState = 'disconnected' | 'connecting' | 'connected' | 'reconnecting' | 'reconnected';

export type MediaState = 'none' | 'connecting' | 'connected' | 'disconnected' | 'failed' | 'closed';

export type DisconnectedReason = 'leave' | 'kickedOut' | 'roomClosed' | 'roomFull' | 'error';

/** Why a client is out of its room. */
export interface DisconnectedInfo {
    reason: DisconnectedReason;
    /** Undefined after `leave()`; else the code and a sentence, also for kicks and closed or full rooms. */
    error?: RTCError;
}

/** A message of another user, or of the app's back end. */
export interface MessageInfo {
    /** The id that the sender gave it. */
    identifier: string;
    /** The sender; empty when the app's back end sent it. */
    userID: string;
    content: string;
    /** When the server took it, in milliseconds since 1970. */
    timestamp: number;
}

export interface RTCClientConfiguration {
    /** Base URLs, `http` or `https`; at a join the first that serves it is taken. */
    servers: string[];
    /** How long a client that has lost its connection tries to come back, and a join to get through, in ms; 30,000. */
    reconnectTimeout?: number;
    /** For one exchange with the server, in ms; 5,000. */
    requestTimeout?: number;
    /** `live`: broadcasters publish, the audience only subscribes; `rtc` by default. */
    mode?: 'rtc' | 'live';
    /** Of meaning in the mode `live`; `audience` by default. */
    role?: ClientRole;
    /** Which addresses the server shall offer; `preferUdp` by default. */
    policy?: 'preferUdp' | 'forceUdp' | 'forceTcp';
    /** Each packet of sound carries the one before, too (RFC 2198), where the server takes it; false by default. */
    redundantAudio?: boolean;
}

export type ClientRole = 'broadcaster' | 'audience';

/** What happens, with what its listeners get. */
export interface RTCClientEvents {
    /** The info comes with `disconnected` only. */
    connectionStateChanged: [state: ConnectionState, info?: DisconnectedInfo];
    /** A media path has opened, is interrupted, or is made anew; the client mends it by itself. */
    mediaStateChanged: [direction: 'publishing' | 'subscribing', state: MediaState];
    /** A user has joined, or was in the room when this client joined. */
    userJoined: [user: RemoteUser];
    /** A user is not in the room any more. Its tracks were unpublished before. */
    userLeft: [user: RemoteUser];
    userReconnecting: [user: RemoteUser];
    userReconnected: [user: RemoteUser];
    networkGradeChanged: [user: RemoteUser];
    /** Tracks that are new to this client. */
    tracksPublished: [tracks: RemoteTrack[], user: RemoteUser];
    tracksUnpublished: [tracks: RemoteTrack[], user: RemoteUser];
    /** Tracks that this client is subscribed to from now on, by `subscribe` or `autoSubscribe`. */
    tracksSubscribed: [tracks: RemoteTrack[], user: RemoteUser];
    /** Tracks that are in the room, and not subscribed any more. */
    tracksUnsubscribed: [tracks: RemoteTrack[], user: RemoteUser];
    /** A subscribed track has another `mediaStreamTrack`: its connection was made anew. */
    mediaReplaced: [track: RemoteTrack, user: RemoteUser];
    muteStateChanged: [track: RemoteTrack, user: RemoteUser];
    /** The app's back end has muted one of this client's tracks, or taken that back. */
    localMuteStateChanged: [track: LocalTrack];
    /** Another layer of a track comes now: `track.profile`. */
    profileChanged: [track: RemoteTrack, user: RemoteUser];
    messageReceived: [message: MessageInfo];
    /** The server did not pass on the message with the id that `sendMessage` gave. */
    messageRefused: [identifier: string, error: RTCError];
    /** This client's tracks that are not published any more, and why. */
    localTracksLost: [tracks: LocalTrack[], error: RTCError];
}

/** Figures of one layer that is sent. */
export interface LayerStatistics {
    rid?: string;
    isActive: boolean;
    width?: number;
    height?: number;
    framesPerSecond: number;
    /** Of the media, in bit/s; an estimate, at most what the encoder aims at where the browser says that. */
    bitrate: number;
    /** What is sent beside it, in bit/s: retransmissions, and padding with which the browser measures the path. */
    padding: number;
    /** Why it is not better: `none`, `cpu`, `bandwidth` or `other`. */
    limitation?: string;
}

/** Figures of one track; rates are over the time since the call before. */
export interface TrackStatistics {
    trackID: string;
    kind: TrackKind;
    /** `up`: one's own. */
    direction: 'up' | 'down';
    codec?: string;
    /** In bit/s; of an own track without `padding`. */
    bitrate: number;
    /** What is sent beside it, in bit/s: retransmissions, and padding with which the browser measures the path. Of own tracks. */
    padding?: number;
    width?: number;
    height?: number;
    framesPerSecond?: number;
    /** 0 to 1. */
    packetLoss?: number;
    /** In seconds: between this client and the server. */
    roundTripTime?: number;
    /** `udp` or `tcp`. */
    protocol?: string;
    /** In seconds; of what comes. */
    jitter?: number;
    /** 0 to 1; of what comes. */
    audioLevel?: number;
    framesDecoded?: number;
    packetsReceived?: number;
    freezeCount?: number;
    profile?: Profile;
    limitation?: string;
    /** Of an own video; the largest first. */
    layers: LayerStatistics[];
}

/**
 * How long each step of a join took: milliseconds since the call of `join`, undefined while it has not come. The steps from
 * `subscribed` on are those of the subscribing connection.
 */
export class JoinTimeline {
    private constructor();
    /** The HTTP step was answered. */
    readonly http: number | undefined;
    /** The WebSocket was open. */
    readonly webSocket: number | undefined;
    /** The room let us in. */
    readonly authenticated: number | undefined;
    /** The server answered the first subscription: its transport is known. */
    readonly subscribed: number | undefined;
    /** ICE found a path. */
    readonly ice: number | undefined;
    /** DTLS agreed on keys. */
    readonly dtls: number | undefined;
    /** The server said that it is connected. */
    readonly connected: number | undefined;
    /** The first packet of a subscribed track came. */
    readonly firstPacket: number | undefined;
    /** The first picture was decoded; where no picture is subscribed to, the first packet of sound. */
    readonly firstFrame: number | undefined;
}

/** A user in a room: joins, hears of the others, sends messages, publishes and subscribes. */
export class RTCClient {
    /** Throws 10053 when the configuration cannot be used. */
    constructor(configuration: RTCClientConfiguration);

    /** Calls the listener at each event of that name, until the returned function is called. */
    on<Name extends keyof RTCClientEvents>(name: Name, listener: (...values: RTCClientEvents[Name]) => void): () => void;
    /** Calls the listener at the next event of that name. */
    once<Name extends keyof RTCClientEvents>(name: Name, listener: (...values: RTCClientEvents[Name]) => void): () => void;
    off<Name extends keyof RTCClientEvents>(name: Name, listener: (...values: RTCClientEvents[Name]) => void): void;

    readonly connectionState: ConnectionState;
    /** Of the token of the present join. */
    readonly claims: TokenClaims | undefined;
    /** The others in the room, in the order in which this client heard of them. */
    readonly remoteUserList: RemoteUser[];
    readonly publishedTracks: LocalTrack[];
    readonly mediaStates: { publishing: MediaState; subscribing: MediaState };
    readonly clientRole: ClientRole;
    /** How long each step of the last join took; stays after the room was left. */
    readonly joinTimeline: JoinTimeline;
    /** Whether every track of the others is subscribed to as it comes; true at first. */
    autoSubscribe: boolean;

    remoteUser(userID: string): RemoteUser | undefined;
    /** Resolves when the client is in; rejects when it is out again. userData: up to 1024 bytes that the others get. */
    join(token: string, userData?: string): Promise<void>;
    /** Leaves the room, at once. Without effect when it is left already. */
    leave(): void;
    /** Returns the message's id. users: ids; empty: everybody else in the room. Throws 21002 unless connected. */
    sendMessage(content: string, users?: string[], identifier?: string): string;
    /** Puts a user out of the room; needs a token with the permission admin (else 10051). */
    kick(userID: string): Promise<void>;
    /** In the mode `live`. Before a join it is the role to join with. */
    setClientRole(role: ClientRole): Promise<void>;
    /** All or none of them; resolves when their media can flow. Throws 21008 without a media path. */
    publish(tracks: LocalTrack[]): Promise<void>;
    unpublish(tracks: LocalTrack[]): Promise<void>;
    /** Resolves with those of them that are subscribed now; the server may refuse single ones. */
    subscribe(tracks: RemoteTrack[]): Promise<RemoteTrack[]>;
    unsubscribe(tracks: RemoteTrack[]): Promise<void>;
    /** Asks for a layer of a track; `profileChanged` tells what comes. */
    setProfile(track: RemoteTrack, profile: Profile): void;
    /** By track id: all tracks that flow. */
    statistics(): Promise<Map<string, TrackStatistics>>;
    /** Asks for new ICE credentials on both media connections, as after a change of network. */
    restartMedia(): Promise<void>;
    /** Behaves as if the network of the signalling were lost at this moment; for tests. */
    loseConnection(): void;
}
