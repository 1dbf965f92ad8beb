// The HTTP step of a join: room token in, access token and WebSocket URLs out.

import { ErrorCode, Failure, RTCError } from './errors.js';
import { fetchWithin, pause } from './timing.js';

/** Between two rounds through the servers, in ms. */
const ROUND_PAUSE = 1000;

/** What a room token says: app, room, user, when it expires, and whether its user may remove others. */
export class TokenClaims {
    constructor(appID, roomName, userID, expiresAt, isAdmin) {
        this.appID = appID;
        this.roomName = roomName;
        this.userID = userID;
        /** Unix time in seconds. */
        this.expiresAt = expiresAt;
        this.isAdmin = isAdmin;
        Object.freeze(this);
    }

    /**
     * Reads a token without checking its signature, which only the server can.
     * Throws 10001 for a text that is no room token.
     */
    static read(token) {
        const refuse = (reason) => { throw new RTCError(ErrorCode.tokenInvalid, `the room token ${reason}`); };
        const parts = String(token).trim().split(':');
        if (parts.length !== 3) refuse('has not three parts with colons between them');
        let claims;
        try { claims = JSON.parse(decodeBase64(parts[2])); } catch { refuse('has a payload that is not base64 of JSON'); }
        const { appId, roomName, userId, expireAt, permission } = claims ?? {};
        for (const [name, value] of Object.entries({ appId, roomName, userId })) {
            if (typeof value !== 'string' || value === '') refuse(`has no ${name}`);
        }
        return new TokenClaims(appId, roomName, userId, Number(expireAt) || 0, permission === 'admin');
    }
}

/** Base64 of either alphabet, with padding or without, as UTF-8. */
export function decodeBase64(text) {
    const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/').replace(/=+$/, ''));
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(plain, (letter) => letter.charCodeAt(0)));
}

/**
 * Asks each server in turn, and all of them anew after a pause, until one gives access.
 *
 * limit: how long to go on, in ms. Throws a Failure: `denied` at once for an answer of 400 to 499; else what went wrong
 * last, when the time is over.
 */
export async function requestAccess(token, claims, { servers, requestTimeout, limit, signal }) {
    const end = performance.now() + limit;
    let last = new Failure('unreachable', 'there is no server to ask');
    for (;;) {
        for (const server of servers) {
            try { return await ask(server, token, claims, requestTimeout, signal); } catch (failure) {
                if (failure.kind === 'denied' || failure.kind === 'cancelled') throw failure;
                last = failure;
            }
        }
        if (servers.length === 0 || performance.now() + ROUND_PAUSE >= end) throw last;
        await pause(ROUND_PAUSE, signal);
    }
}

async function ask(server, token, claims, timeout, signal) {
    const path = `/v3/apps/${encodeURIComponent(claims.appID)}/rooms/${encodeURIComponent(claims.roomName)}/auth`;
    // The token's characters (base64url, colons) stand in a query as they are.
    const url = `${server}${path}?user=${encodeURIComponent(claims.userID)}&token=${token.trim()}`;
    const response = await fetchWithin(url, { cache: 'no-store' }, timeout, signal, server);
    let body = {};
    try { body = JSON.parse(response.text); } catch { /* An error page of a proxy; the status says enough. */ }
    if (response.status >= 400 && response.status < 500) {
        throw new Failure('denied', body.error ?? 'the server refuses the room token', body.code ?? 0);
    }
    if (response.status !== 200) {
        throw new Failure('unreachable', `${server} answered HTTP ${response.status}${body.error ? `: ${body.error}` : ''}`, body.code);
    }
    return readAccess(body.accessToken);
}

/** The access token, and its middle part's WebSocket URLs, the best first. */
function readAccess(accessToken) {
    let claims;
    try {
        const parts = accessToken.split('.');
        if (parts.length === 3) claims = JSON.parse(decodeBase64(parts[1]));
    } catch { /* Told below. */ }
    if (!claims) throw new Failure('unreadable', 'the access token is not three parts with base64 of JSON in the middle');
    const listed = [...(claims.roomServers ?? [])].sort((a, b) => (b.score ?? 0) - (a.score ?? 0)).map((entry) => entry.url);
    const urls = (listed.length ? listed : [claims.signalingurl2]).filter((url) => /^wss?:\/\//.test(url ?? ''));
    if (urls.length === 0) throw new Failure('unreadable', 'the access token names no WebSocket URL');
    return { accessToken, urls };
}
