// What the pages of WHIP and WHEP have in common: a form with a token, one connection with its offer and answer, and its end.
import { remembered } from './settings.js';
import { explain, preferredLanguage, setLanguage, text } from './texts.js';

export const find = (id) => document.getElementById(id);

/** What the address says. */
export const wishes = new URLSearchParams(location.search);

setLanguage(wishes.get('lang') || remembered('language') || preferredLanguage());

/** For the node's answers, in ms: to an offer, and to the end. */
const ANSWER = 15_000;
const GOODBYE = 3_000;
/** Between two questions whether the node still has a leg whose path is interrupted, in ms, and how often. */
const ASKING = 1_000;
const QUESTIONS = 60;

/**
 * One leg, by the page's form.
 *
 * prepare(connection): adds what is sent or received, and gives the path to post to. ended: called when it is over.
 */
export class Leg {
    #prepare;
    #ended;
    #connection;
    #resource;
    /** The token that the leg was made with, whatever the form says by now. */
    #token;
    #isAsking = false;

    constructor(prepare, ended = () => {}) {
        this.#prepare = prepare;
        this.#ended = ended;
        find('form').addEventListener('submit', (event) => { event.preventDefault(); this.#begin(); });
        find('stop').addEventListener('click', () => this.#stop());
        addEventListener('pagehide', () => this.#stop());
    }

    async #begin() {
        // Another attempt would take this one's connection away.
        find('start').disabled = true;
        try {
            await this.#stop();
            const connection = this.#connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
            connection.onconnectionstatechange = () => {
                find('state').textContent = text(`leg.state.${connection.connectionState}`);
                this.#ask();
            };
            const path = await this.#prepare(connection);
            await connection.setLocalDescription(await connection.createOffer());
            await gathered(connection);
            this.#token = find('token').value.trim();
            const { resource, sdp } = await exchange(path, this.#token, connection.localDescription.sdp);
            this.#resource = resource;
            await connection.setRemoteDescription({ type: 'answer', sdp });
            for (const { sender, receiver } of connection.getTransceivers()) {
                const transport = sender.transport ?? receiver.transport;
                if (transport) transport.onstatechange = () => this.#ask();
            }
            find('stop').disabled = false;
        } catch (error) {
            this.#stop();
            find('state').textContent = error.key || error instanceof DOMException ? explain(error) : error.message;
        } finally { find('start').disabled = false; }
    }

    /** The node's end of a leg closes its DTLS; a lost path may come back. The node knows which it is. */
    async #ask() {
        const [connection, resource] = [this.#connection, this.#resource];
        if (this.#isAsking || !resource || !isInterrupted(connection)) return;
        this.#isAsking = true;
        try {
            for (let left = QUESTIONS; left > 0 && connection === this.#connection && isInterrupted(connection); left -= 1) {
                const headers = { Authorization: `Bearer ${this.#token}` };
                const answer = await fetch(resource, { headers, signal: AbortSignal.timeout(GOODBYE) }).catch(() => undefined);
                if (connection !== this.#connection) return;
                if (answer?.status === 404) {
                    // Nothing is left to delete.
                    this.#resource = undefined;
                    await this.#stop();
                    find('state').textContent = text('leg.ended');
                    return;
                }
                await new Promise((resolve) => { setTimeout(resolve, ASKING); });
            }
        } finally { this.#isAsking = false; }
    }

    async #stop() {
        find('stop').disabled = true;
        const [connection, resource] = [this.#connection, this.#resource];
        this.#connection = this.#resource = undefined;
        if (connection) connection.onconnectionstatechange = null;
        find('state').textContent = '';
        // The camera at once, whatever the network does.
        this.#ended();
        // Then the node, also from a page that is being closed; one that is not reached notices the end by itself. The
        // connection last: its end removes the leg, too, and there would be nothing left to delete.
        if (resource) {
            const headers = { Authorization: `Bearer ${this.#token}` };
            await fetch(resource, { method: 'DELETE', headers, keepalive: true, signal: AbortSignal.timeout(GOODBYE) }).catch(() => {});
        }
        connection?.close();
    }
}

function isInterrupted(connection) {
    const transports = connection.getTransceivers().map(({ sender, receiver }) => (sender.transport ?? receiver.transport)?.state);
    return ['disconnected', 'failed', 'closed'].includes(connection.connectionState)
        || transports.some((state) => state === 'closed' || state === 'failed');
}

/** Posts an offer; gives the answer, and the address of what it made. */
async function exchange(path, token, offer) {
    // In a header there is nothing else, and no token has any.
    if (/[^\x21-\x7e]/.test(token)) throw { key: 'error.10001' };
    const response = await fetch(path, {
        method: 'POST', body: offer, headers: { 'Content-Type': 'application/sdp', Authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(ANSWER),
    }).catch(() => { throw { key: 'error.21004' }; });
    const body = await response.text();
    if (response.status !== 201) {
        let reason = body;
        try { const told = JSON.parse(body); reason = told.detail ?? told.error ?? body; } catch { /* Plain text. */ }
        throw new Error(`HTTP ${response.status}: ${reason}`);
    }
    return { sdp: body, resource: new URL(response.headers.get('Location'), new URL(path, location.href)).href };
}

/** Waits until the offer has its candidates, but not for ever: the node does not need them. */
function gathered(connection) {
    return new Promise((resolve) => {
        const done = () => { if (connection.iceGatheringState === 'complete') resolve(); };
        connection.addEventListener('icegatheringstatechange', done);
        setTimeout(resolve, 1000);
        done();
    });
}

/** Fills in the address's token, or one from a node that makes some (parlor serve --dev). */
export async function fillToken(user) {
    const given = wishes.get('token');
    if (given !== null) { find('token').value = given; return; }
    const { openApp } = await (await fetch('/page.json')).json();
    if (!openApp) return;
    const room = wishes.get('room') ?? 'demo-1';
    const name = `${user}-${Math.floor(Math.random() * 1e6)}`;
    find('token').value = (await (await fetch(`/dev/token?room=${encodeURIComponent(room)}&user=${name}`)).json()).token ?? '';
}
