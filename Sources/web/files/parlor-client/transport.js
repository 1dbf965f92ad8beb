import { Failure } from './errors.js';

/** How long a new connection's media path may take to open, in ms. */
export const OPENING = 15_000;

/**
 * One RTCPeerConnection and what both directions have in common: its name at the server, whether media flows, and when to
 * repair it. The subclass's owner does the repairing: `onBroken(kind)` is called with `restart` or `renew`.
 */
export class Transport {
    /** `pcid`, once the server has given it. */
    id = undefined;
    onBroken = () => {};
    onStateChange = () => {};
    #state = 'connecting';
    #resolveOpened;

    #mark;

    /** mark: called with `ice` and `dtls` when they are done. */
    constructor(mark = () => {}) {
        this.#mark = mark;
        this.connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle', rtcpMuxPolicy: 'require' });
        this.opened = new Promise((resolve) => { this.#resolveOpened = resolve; });
        this.connection.oniceconnectionstatechange = () => this.#iceChanged();
        this.connection.onconnectionstatechange = () => {
            if (this.connection.connectionState === 'connected') {
                this.#mark('dtls');
                this.wasOpened();
            }
            // DTLS failed, or was closed by the server.
            if (this.connection.connectionState === 'failed') this.#broken('failed', 'renew');
        };
    }

    /** `connecting`, `connected`, `disconnected`, `failed` or `closed`. */
    get state() { return this.#state; }

    get isInterrupted() { return this.#state === 'disconnected' || this.#state === 'failed'; }

    /** By the server's word (on-pubpc-connected, on-subpc-connected), or this side's own sight. */
    wasOpened() {
        this.#resolveOpened();
        this.#set('connected');
    }

    close() {
        this.connection.oniceconnectionstatechange = this.connection.onconnectionstatechange = null;
        this.connection.close();
        this.#set('closed');
        // Whoever waits for it finds the state.
        this.#resolveOpened();
    }

    #iceChanged() {
        switch (this.connection.iceConnectionState) {
        case 'connected': case 'completed':
            this.#mark('ice');
            if (this.#state === 'disconnected') this.#set('connected');
            break;
        case 'disconnected': this.#broken('disconnected', 'restart'); break;
        case 'failed': this.#broken('failed', 'renew'); break;
        }
    }

    #broken(state, cure) {
        if (this.#state === 'closed' || this.#state === 'failed') return;
        this.#set(state);
        if (state === 'failed') this.#resolveOpened();
        this.onBroken(cure);
    }

    #set(state) {
        if (this.#state === state || this.#state === 'closed') return;
        this.#state = state;
        this.onStateChange(state);
    }
}

/** After a request whose outcome is unknown, or that cannot be done now, it is worth trying again. */
export function isPassing(failure) {
    return failure instanceof Failure && (failure.kind === 'timeout' || failure.kind === 'path' || failure.code === 10052 || failure.code === 10055);
}
