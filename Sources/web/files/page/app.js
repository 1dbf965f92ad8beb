import { RTCClient } from '/parlor-client.js';
import { OwnMedia } from './devices.js';
import { find } from './dom.js';
import { Lobby } from './lobby.js';
import { Room } from './room.js';
import { remembered, wishes } from './settings.js';
import { explain, onLanguageChange, preferredLanguage, setLanguage, text } from './texts.js';

/** Holds together: lobby, room, ending. One of them is shown. */
class App {
    media = new OwnMedia();
    lobby = new Lobby(this.media);
    room = undefined;
    client = undefined;
    #openApp;
    #ending;

    async start() {
        this.lobby.onJoin = (who) => this.join(who);
        find('again').addEventListener('click', () => this.showLobby());
        find('home').addEventListener('click', () => { location.href = '/'; });
        onLanguageChange(() => this.#writeEnding());
        let problem;
        try { this.#openApp = (await (await fetch('/page.json', { cache: 'no-store' })).json()).openApp ?? undefined; } catch {
            problem = { code: 21004 };
        }
        await this.showLobby(problem);
    }

    async showLobby(problem) {
        find('ending').hidden = true;
        await this.lobby.show(this.#openApp, problem);
    }

    async join({ token, name, userData }) {
        const policies = ['preferUdp', 'forceUdp', 'forceTcp'];
        const client = new RTCClient({
            servers: [location.origin], ...(policies.includes(wishes.policy) ? { policy: wishes.policy } : {}),
        });
        client.autoSubscribe = true;
        const room = new Room(client, this.media, name);
        this.client = client;
        this.room = room;
        room.onEnd = (info) => this.#ended(info);
        try { await client.join(token, userData); } catch (error) {
            room.close();
            this.room = this.client = undefined;
            throw error;
        }
        this.lobby.hide();
        await room.open();
    }

    #ended(info) {
        this.room = this.client = undefined;
        this.#ending = info;
        this.#writeEnding();
        this.media.close();
        if (info.reason === 'leave') return this.showLobby();
        find('ending').hidden = false;
        find('again').focus();
        return undefined;
    }

    #writeEnding() {
        const { reason, error } = this.#ending ?? {};
        // The room is closed with its node; only the sentence tells.
        const isStopping = reason === 'roomClosed' && /server is stopping/.test(error?.message);
        const key = isStopping ? 'end.nodeStopping' : `end.${reason}`;
        find('ending-reason').textContent = reason === 'error' ? explain(error) : reason ? text(key) : '';
        document.title = text('title');
    }
}

const known = wishes.language || remembered('language');
setLanguage(known || preferredLanguage());
const app = new App();
/** For the browser's console, and for tests. */
globalThis.parlor = app;
app.start();
