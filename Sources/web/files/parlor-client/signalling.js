import { Failure } from './errors.js';
import { hexadecimal } from './timing.js';

/** After a ping the next one comes within this time, or the connection is lost; in ms. The server sends one every 3 s. */
const PING_WATCH = 9000;

/** One signalling WebSocket: frames out, answers matched to their requests, notifications in order. */
export class SignallingConnection {
    /** Called with each notification's type and body. */
    onNotification = () => {};
    /** Called once, when the connection has ended by itself: with a sentence. */
    onEnd = () => {};

    #socket;
    #timeout;
    #waiting = new Map();
    #watch;
    #ended;

    /**
     * Opens the first of the URLs that answers; one that is come back to gets `?rpcid=` and 16 hexadecimal digits.
     *
     * timeout: for opening, and for each request, in ms.
     */
    static async open(urls, { timeout, isReconnect = false, signal }) {
        let last;
        for (const url of urls) {
            try { return await SignallingConnection.#open(url, timeout, isReconnect, signal); } catch (failure) {
                if (failure.kind === 'cancelled') throw failure;
                last = failure;
            }
        }
        throw last ?? new Failure('unreachable', 'there is no WebSocket URL to open');
    }

    static #open(url, timeout, isReconnect, signal) {
        return new Promise((resolve, reject) => {
            if (signal?.aborted) return reject(new Failure('cancelled', 'the client has left the room'));
            const socket = new WebSocket(isReconnect ? `${url}?rpcid=${hexadecimal(16)}` : url);
            const settle = (act) => {
                clearTimeout(timer);
                socket.onopen = socket.onclose = socket.onerror = null;
                signal?.removeEventListener('abort', abort);
                act();
            };
            const fail = (kind, sentence) => settle(() => { socket.close(); reject(new Failure(kind, sentence)); });
            const abort = () => fail('cancelled', 'the client has left the room');
            const timer = setTimeout(() => fail('timeout', `${url} did not open within ${timeout / 1000} s`), timeout);
            signal?.addEventListener('abort', abort);
            socket.onclose = () => fail('unreachable', `the WebSocket ${url} cannot be opened`);
            socket.onopen = () => settle(() => resolve(new SignallingConnection(socket, url, timeout)));
        });
    }

    constructor(socket, url, timeout) {
        /** Without the reconnect's query: where to come back to. */
        this.url = url;
        this.#socket = socket;
        this.#timeout = timeout;
        socket.onmessage = (event) => this.#received(event.data);
        socket.onclose = (event) => this.#finish(`the signalling connection was closed (${event.code})`);
    }

    get isOpen() { return this.#ended === undefined; }

    // Sending

    /** Sends a message without an answer. Throws a Failure of the kind `ended`. */
    send(type, body = {}) {
        if (!this.isOpen || this.#socket.readyState !== WebSocket.OPEN) {
            throw new Failure('ended', this.#ended ?? 'the signalling connection is closing');
        }
        this.#socket.send(`${type}=${JSON.stringify(body)}`);
    }

    /**
     * Sends a request and awaits the answer whose type and rpcid match.
     *
     * Throws a Failure: `refused` for any other code than 0, `timeout`, `ended`.
     */
    request(type, body = {}, timeout = this.#timeout) {
        return new Promise((resolve, reject) => {
            const rpcid = hexadecimal(8);
            const timer = setTimeout(() => {
                this.#waiting.delete(rpcid);
                reject(new Failure('timeout', `no answer to ${type} within ${timeout / 1000} s`));
            }, timeout);
            this.#waiting.set(rpcid, { type, resolve, reject, timer });
            try { this.send(type, { ...body, rpcid }); } catch (failure) {
                clearTimeout(timer);
                this.#waiting.delete(rpcid);
                reject(failure);
            }
        });
    }

    // Receiving

    #received(data) {
        if (!this.isOpen || typeof data !== 'string') return;
        const mark = data.indexOf('=');
        if (mark < 1) return;
        const type = data.slice(0, mark);
        let body;
        try { body = JSON.parse(data.slice(mark + 1)); } catch { return; }
        if (type === 'ping') {
            this.#watchPings();
            try { this.send('pong'); } catch { /* It ends anyway. */ }
        } else if (type.endsWith('-res')) {
            this.#answered(type.slice(0, -'-res'.length), body);
        } else {
            this.onNotification(type, body);
        }
    }

    #answered(type, body) {
        const waiting = this.#waiting.get(body.rpcid);
        if (waiting?.type !== type) return;
        this.#waiting.delete(body.rpcid);
        clearTimeout(waiting.timer);
        if (Number.isInteger(body.code) && body.code === 0) return waiting.resolve(body);
        waiting.reject(
            Number.isInteger(body.code)
                ? new Failure('refused', body.error || `the server refused ${type} with code ${body.code}`, body.code)
                : new Failure('unreadable', `the answer to ${type} has no code`));
    }

    #watchPings() {
        clearTimeout(this.#watch);
        this.#watch = setTimeout(() => this.#finish(`no sign of the server for ${PING_WATCH / 1000} s`), PING_WATCH);
    }

    // Ending

    /** Leaves the room: `disconnect`, then the socket closes. */
    leave() {
        try { this.send('disconnect'); } catch { /* The server finds out by itself. */ }
        this.close();
    }

    /** Closes the socket without leaving the room and without `onEnd`; the server takes it for a loss. */
    close() {
        this.onEnd = () => {};
        this.#finish('the connection was given up');
    }

    /** As a loss of the network looks to this side: the socket goes, and `onEnd` is called. */
    abort() { this.#finish('the connection was cut'); }

    #finish(sentence) {
        if (!this.isOpen) return;
        this.#ended = sentence;
        clearTimeout(this.#watch);
        this.#socket.onmessage = this.#socket.onclose = null;
        this.#socket.close();
        const waiting = [...this.#waiting.values()];
        this.#waiting.clear();
        for (const { reject, timer } of waiting) {
            clearTimeout(timer);
            reject(new Failure('ended', sentence));
        }
        this.onEnd(sentence);
    }
}
