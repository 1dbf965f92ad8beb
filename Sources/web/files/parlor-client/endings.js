// What a failure means for the client: how it goes on, or with which reason and code it is out.

import { ErrorCode, RTCError } from './errors.js';

/** { reason, error } of a code that the server gave. */
export function infoOf(code, sentence) {
    const reasons = new Map([
        [0, 'leave'], [ErrorCode.kickedOut, 'kickedOut'], [ErrorCode.roomClosed, 'roomClosed'], [ErrorCode.roomFull, 'roomFull'],
    ]);
    const reason = reasons.get(code) ?? 'error';
    return { reason, error: reason === 'leave' ? undefined : new RTCError(code, sentence) };
}

const out = (code, sentence) => ({ over: { reason: 'error', error: new RTCError(code, sentence) } });

/** A join that did not succeed: { over: info } or { again: true }, from the start, the HTTP step included. */
export function verdictOfJoin(failure) {
    switch (failure.kind) {
    case 'refused':
        return failure.code === ErrorCode.serverUnavailable ? { again: true } : { over: infoOf(failure.code, failure.message) };
    case 'timeout': case 'ended': case 'unreachable': return { again: true };
    default: return { over: lastly(failure) };
    }
}

/** When the time for joining is over. */
export function lastly(failure) {
    switch (failure.kind) {
    case 'timeout': case 'ended': return { reason: 'error', error: new RTCError(ErrorCode.networkTimeout, failure.message) };
    case 'unreachable': return { reason: 'error', error: new RTCError(ErrorCode.authFailed, failure.message, failure.code) };
    case 'refused': return infoOf(failure.code, failure.message);
    default: return { reason: 'error', error: failure.error ?? new RTCError(ErrorCode.fatal, failure.message) };
    }
}

/** A way back that did not succeed: { over }, { again }, or { anew }: as a new join. */
export function verdictOfResume(failure) {
    switch (failure.kind) {
    case 'refused':
        switch (failure.code) {
        case ErrorCode.serverUnavailable: return { anew: true };
        case ErrorCode.roomInstanceClosed: case ErrorCode.reconnectTokenInvalid: case ErrorCode.roomNotExist:
            return out(ErrorCode.reconnectFailed, failure.message);
        default: return { over: infoOf(failure.code, failure.message) };
        }
    case 'timeout': case 'ended': case 'unreachable': return { again: true };
    default: return { over: { reason: 'error', error: failure.error ?? new RTCError(ErrorCode.fatal, failure.message) } };
    }
}

export function reconnectFailed(sentence) {
    return { reason: 'error', error: new RTCError(ErrorCode.reconnectFailed, sentence) };
}
