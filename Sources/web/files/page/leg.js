// What the pages of WHIP and WHEP have in common: a form with a token, one connection with its offer and answer, and its end.
import { explain } from './texts.js';

export const find = (id) => document.getElementById(id);

/** What the address says. */
export const wishes = new URLSearchParams(location.search);

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

    constructor(prepare, ended = () => {}) {
        this.#prepare = prepare;
        this.#ended = ended;
        find('form').addEventListener('submit', (event) => { event.preventDefault(); this.#begin(); });
        find('stop').addEventListener('click', () => this.#stop());
    }

    async #begin() {
        await this.#stop();
        try {
            const connection = this.#connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
            connection.onconnectionstatechange = () => { find('state').textContent = connection.connectionState; };
            const path = await this.#prepare(connection);
            await connection.setLocalDescription(await connection.createOffer());
            await gathered(connection);
            const { resource, sdp } = await exchange(path, token(), connection.localDescription.sdp);
            this.#resource = resource;
            await connection.setRemoteDescription({ type: 'answer', sdp });
            find('stop').disabled = false;
        } catch (error) {
            await this.#stop();
            find('state').textContent = error.key || error instanceof DOMException ? explain(error) : error.message;
        }
    }

    async #stop() {
        find('stop').disabled = true;
        const resource = this.#resource;
        this.#resource = undefined;
        // A node that is not reached notices the end by itself.
        if (resource) await fetch(resource, { method: 'DELETE', headers: { Authorization: `Bearer ${token()}` } }).catch(() => {});
        this.#connection?.close();
        this.#connection = undefined;
        find('state').textContent = '';
        this.#ended();
    }
}

const token = () => find('token').value.trim();

/** Posts an offer; gives the answer, and the address of what it made. */
async function exchange(path, token, offer) {
    const response = await fetch(path, {
        method: 'POST', body: offer, headers: { 'Content-Type': 'application/sdp', Authorization: `Bearer ${token}` },
    });
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
