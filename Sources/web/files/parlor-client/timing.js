import { Failure } from './errors.js';

const left = () => new Failure('cancelled', 'the client has left the room');

/** Waits, in ms; throws `cancelled` as soon as the signal says so. */
export function pause(milliseconds, signal) {
    return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(left());
        const abort = () => { clearTimeout(timer); reject(left()); };
        const timer = setTimeout(() => { signal?.removeEventListener('abort', abort); resolve(); }, milliseconds);
        signal?.addEventListener('abort', abort, { once: true });
    });
}

/** A fetch with its whole body as text, in bounded time. */
export async function fetchWithin(url, options, timeout, signal, name) {
    if (signal?.aborted) throw left();
    const controller = new AbortController();
    const abort = () => controller.abort();
    const timer = setTimeout(abort, timeout);
    signal?.addEventListener('abort', abort);
    try {
        const response = await fetch(url, { ...options, signal: controller.signal });
        return { status: response.status, text: await response.text() };
    } catch (thrown) {
        if (signal?.aborted) throw left();
        if (controller.signal.aborted) throw new Failure('timeout', `${name} did not answer within ${timeout / 1000} s`);
        throw new Failure('unreachable', `${name} cannot be reached: ${thrown.message}`);
    } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
    }
}

/** Rejects with a Failure of that kind unless the promise settles in time. */
export function within(milliseconds, promise, kind, sentence) {
    let timer;
    const limit = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Failure(kind, sentence)), milliseconds);
    });
    return Promise.race([promise, limit]).finally(() => clearTimeout(timer));
}

/** Runs one body at a time, in the order of the calls. */
export class Turns {
    #last = Promise.resolve();

    run(body) {
        const turn = this.#last.then(body);
        this.#last = turn.catch(() => {});
        return turn;
    }
}

/** When to try to come back: soon, then less often, until the time is over. All in ms. */
export class ReconnectPlan {
    static #pauses = [500, 1000, 2000, 4000];
    /** What an attempt needs at least. */
    static #attempt = 250;
    #attempts = 0;

    constructor(end) { this.end = end; }

    /** The pause before the next attempt; undefined when the time is over. Jitter, 0 to 1, spreads it by half. */
    next(now, jitter) {
        const remaining = this.end - now;
        if (remaining <= ReconnectPlan.#attempt) return undefined;
        const base = ReconnectPlan.#pauses[Math.min(this.#attempts, ReconnectPlan.#pauses.length - 1)];
        this.#attempts += 1;
        return Math.min(base * (0.5 + jitter), remaining - ReconnectPlan.#attempt);
    }
}

/** Random lower-case hexadecimal digits. */
export function hexadecimal(digits) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.ceil(digits / 2)));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('').slice(0, digits);
}
