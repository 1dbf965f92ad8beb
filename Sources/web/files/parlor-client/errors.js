/** The service's codes: 10001 to 10063 come from the server, 21001 and up are made by the client. */
export const ErrorCode = Object.freeze({
    tokenInvalid: 10001,
    tokenExpired: 10002,
    roomInstanceClosed: 10003,
    reconnectTokenInvalid: 10004,
    roomClosed: 10005,
    kickedOut: 10006,
    roomFull: 10011,
    roomNotExist: 10012,
    userNotExist: 10021,
    userAlreadyExists: 10022,
    publishNotExist: 10031,
    publishMismatch: 10032,
    publishAlreadyExists: 10033,
    subscribeNotExist: 10041,
    subscribeOwn: 10044,
    noPermission: 10051,
    serverUnavailable: 10052,
    invalidParameter: 10053,
    mediaNotSupported: 10054,
    tooManyOperations: 10055,
    publishConnectionGone: 10061,
    subscribeConnectionGone: 10062,
    authFailed: 21001,
    wrongState: 21002,
    reconnectFailed: 21003,
    networkTimeout: 21004,
    fatal: 21005,
    operationTimeout: 21008,
    wrongMode: 24006,
    wrongRole: 24007,
});

/** What the calls of a client throw: a code to decide by, and a sentence in English for logs and developers. */
export class RTCError extends Error {
    constructor(code, message, serverCode) {
        super(message);
        this.name = 'RTCError';
        this.code = code;
        /** The code that the server gave at the first step of a join, behind 21001; undefined if it gave none. */
        this.serverCode = serverCode || undefined;
    }

    toString() { return `${this.message} (${this.code})`; }
}

/**
 * How an exchange with the server failed, before it is known what that means to the app.
 *
 * kind: `refused` (by a code), `denied` (HTTP 4xx at the first step), `timeout`, `path` (the media's does not open),
 * `ended` (the connection, meanwhile), `unreachable`, `unreadable`, `cancelled` (the app has left).
 */
export class Failure extends Error {
    constructor(kind, message, code = 0) {
        super(message);
        this.kind = kind;
        this.code = code;
    }

    /** Whether the server may have done what was asked without this side knowing. */
    get leavesUncertain() { return this.kind === 'timeout' || this.kind === 'ended' || this.kind === 'unreadable'; }

    /** What a call of the app throws for it. */
    get error() {
        switch (this.kind) {
        case 'refused': return new RTCError(this.code, this.message);
        case 'denied': return new RTCError(ErrorCode.authFailed, this.message, this.code);
        case 'timeout': case 'path': return new RTCError(ErrorCode.operationTimeout, this.message);
        case 'ended': case 'unreachable': return new RTCError(ErrorCode.networkTimeout, this.message);
        case 'cancelled': return new RTCError(ErrorCode.wrongState, this.message);
        default: return new RTCError(ErrorCode.fatal, this.message);
        }
    }
}

/** Any thrown value as an RTCError. */
export function asRTCError(thrown) {
    if (thrown instanceof RTCError) return thrown;
    if (thrown instanceof Failure) return thrown.error;
    return new RTCError(ErrorCode.fatal, thrown?.message ?? String(thrown));
}
