import { TokenClaims } from '/parlor-client.js';
import { Meter, listDevices } from './devices.js';
import { find } from './dom.js';
import { remember, remembered, userIDFor, wishes } from './settings.js';
import { LANGUAGES, currentLanguage, explain, onLanguageChange, setLanguage, text } from './texts.js';

const DEFAULT_ROOM = 'demo-1';

/** Where a person says which room, who, and what to show; `onJoin({ token, name, userData })` goes on from there. */
export class Lobby {
    onJoin = async () => {};
    #media;
    #meter = new Meter(find('preview-meter'));
    #openApp;
    #problem;
    /** What stands in the preview: for `explain`. */
    #noted;
    #isTrouble = false;
    /** The preview that is being opened, or the last one. */
    #previewing;
    #previews = 0;

    constructor(media) {
        this.#media = media;
        this.#fill();
        find('join-form').addEventListener('submit', (event) => { event.preventDefault(); this.#join(); });
        find('source').addEventListener('change', () => { remember('source', this.source); this.#preview(); });
        find('name').addEventListener('change', () => { if (this.source === 'synthetic') this.#preview(); });
        for (const kind of ['camera', 'microphone']) {
            find(kind).addEventListener('change', (event) => { remember(kind, event.target.value); if (this.isShown) this.#preview(); });
        }
        find('speaker').addEventListener('change', (event) => remember('speaker', event.target.value));
        find('token').addEventListener('input', () => this.#readToken());
        find('language').addEventListener('change', (event) => { remember('language', event.target.value); setLanguage(event.target.value); });
        // Whoever mends what was marked need not be told any more.
        find('join-form').addEventListener('input', (event) => { if (event.target === this.#problem?.field) this.#tell(); });
        find('retry').addEventListener('click', () => this.#preview());
        // What was missing may have been plugged in.
        navigator.mediaDevices?.addEventListener?.('devicechange', () => (this.isShown && this.#isTrouble ? this.#preview() : this.#listDevices()));
        onLanguageChange(() => this.#translate());
    }

    get source() { return find('source').value; }
    get isShown() { return !find('lobby').hidden; }

    #fill() {
        for (const [tag, name] of Object.entries(LANGUAGES)) find('language').add(new Option(name, tag, false, tag === currentLanguage()));
        find('room-name').value = wishes.room || remembered('room') || DEFAULT_ROOM;
        find('name').value = wishes.name || remembered('name');
        find('token').value = wishes.token;
        find('admin').checked = wishes.isAdmin;
        const source = wishes.source || remembered('source');
        if (['devices', 'synthetic', 'none'].includes(source)) find('source').value = source;
    }

    /** openApp: the app for which the node makes tokens, if any. */
    async show(openApp, problem) {
        this.#openApp = openApp;
        find('lobby').hidden = false;
        find('device-slot').append(find('device-fields'));
        const usesToken = !openApp || wishes.token !== '';
        find('token-field').hidden = !usesToken;
        find('room-field').hidden = usesToken;
        find('admin-field').hidden = usesToken;
        this.#readToken();
        this.#tell(problem);
        this.#setBusy(false);
        const first = [usesToken ? find('token') : find('room-name'), find('name')].find((field) => !field.value);
        // Without scrolling: a phone would show the end of the form.
        (first ?? find('join')).focus({ preventScroll: true });
        await this.#preview();
        // Whoever made a link with a token of theirs must not see a stranger's camera without a word of consent.
        const isConsent = this.source !== 'devices' || !usesToken;
        if (wishes.joins && isConsent && !this.hasJoined) await this.#join();
    }

    hide() {
        find('lobby').hidden = true;
        this.#meter.stop();
        find('preview').srcObject = null;
        // Whatever is still asked for has no place any more.
        this.#media.cancel();
    }

    // Preview

    #preview() { return this.#previewing = this.#openPreview(); }

    /** Waits until nothing is being opened: the browser may be asking the person, who may also choose something else meanwhile. */
    async #previewed() {
        let last;
        while (last !== this.#previewing) await (last = this.#previewing);
    }

    async #openPreview() {
        const turn = this.#previews += 1;
        const kind = this.source;
        find('device-fields').hidden = kind !== 'devices';
        const empty = { key: kind === 'none' ? 'lobby.preview.none' : 'lobby.preview.off' };
        this.#note(kind === 'devices' ? { key: 'lobby.preview.wait' } : kind === 'none' ? empty : undefined);
        this.#meter.stop();
        find('preview').srcObject = null;
        find('preview').classList.toggle('mirrored', kind === 'devices');
        let trouble;
        try { await this.#media.open(kind, find('name').value.trim() || 'Parlor'); } catch (error) { trouble = error; }
        if (turn !== this.#previews || !this.isShown) return;
        const { audio, video, problem } = this.#media;
        trouble ??= problem;
        if (video) find('preview').srcObject = new MediaStream([video]);
        this.#note(trouble ?? (video ? undefined : empty), { isTrouble: trouble !== undefined, isOver: video !== undefined });
        this.#meter.show(audio);
        await this.#listDevices();
    }

    /** Says something in the preview, in its middle or over the picture. */
    #note(words, { isTrouble = false, isOver = false } = {}) {
        this.#noted = words;
        this.#isTrouble = isTrouble;
        const note = find('preview-note');
        note.hidden = words === undefined;
        note.classList.toggle('over', isOver);
        note.firstElementChild.textContent = words ? explain(words) : '';
        find('retry').hidden = !isTrouble;
    }

    async #listDevices() {
        await listDevices(find('camera'), 'videoinput', 'camera');
        await listDevices(find('microphone'), 'audioinput', 'microphone');
        const outputs = await listDevices(find('speaker'), 'audiooutput', 'speaker');
        find('speaker-field').hidden = outputs === 0 || !('setSinkId' in HTMLMediaElement.prototype);
    }

    // Joining

    #readToken() {
        const field = find('token').value.trim();
        const hint = find('token-hint');
        hint.classList.remove('problem');
        if (!field) { hint.textContent = text('lobby.token.hint'); return undefined; }
        try {
            const claims = TokenClaims.read(field);
            if (claims.expiresAt * 1000 < Date.now()) throw text('lobby.token.old');
            hint.textContent = text('lobby.token.read', { room: claims.roomName, user: claims.userID });
            return claims;
        } catch (problem) {
            hint.textContent = typeof problem === 'string' ? problem : text('lobby.token.bad');
            hint.classList.add('problem');
            return undefined;
        }
    }

    async #join() {
        const name = find('name').value.trim();
        const room = find('room-name').value.trim();
        const usesToken = !find('token-field').hidden;
        if (usesToken && !this.#readToken()) return this.#refuse('invalid.token', find('token'));
        if (!usesToken && !/^[A-Za-z0-9_-]{1,64}$/.test(room)) return this.#refuse('invalid.room', find('room-name'));
        if (!name && !usesToken) return this.#refuse('invalid.name', find('name'));
        if (!usesToken && wishes.user && !/^[A-Za-z0-9_-]{1,50}$/.test(wishes.user)) return this.#tell({ key: 'invalid.user' });
        this.hasJoined = true;
        remember('name', name);
        if (!usesToken) remember('room', room);
        this.#tell();
        this.#setBusy(true);
        try {
            const token = usesToken ? find('token').value.trim() : await this.#makeToken(room, userIDFor(name));
            const known = TokenClaims.read(token);
            // Who joins before the browser has its answer joins with what it gives.
            await this.#previewed();
            await this.onJoin({ token, name: name || known.userID, userData: JSON.stringify({ name: name || known.userID }) });
        } catch (error) { this.#tell(error); } finally { this.#setBusy(false); }
    }

    async #makeToken(room, user) {
        const query = new URLSearchParams({ room, user, ...(find('admin').checked ? { permission: 'admin' } : {}) });
        const response = await fetch(`/dev/token?${query}`).catch(() => { throw { code: 21004 }; });
        const body = await response.json().catch(() => ({}));
        if (!response.ok) throw { code: body.code ?? 21001, message: body.error };
        return body.token;
    }

    #refuse(key, field) {
        this.#tell({ key, field });
        field.focus();
    }

    /** problem: an error, or { key, field } of a field that is marked until it is changed. */
    #tell(problem) {
        this.#mark(this.#problem?.field, false);
        this.#mark(problem?.field, true);
        this.#problem = problem;
        find('lobby-problem').textContent = problem ? explain(problem) : '';
    }

    #mark(field, isInvalid) {
        if (!field) return;
        const told = (field.getAttribute('aria-describedby') ?? '').split(' ').filter((id) => id && id !== 'lobby-problem');
        if (isInvalid) told.push('lobby-problem');
        field.setAttribute('aria-describedby', told.join(' '));
        field.setAttribute('aria-invalid', String(isInvalid));
    }

    #setBusy(isBusy) {
        find('join').disabled = isBusy;
        find('join').dataset.text = isBusy ? 'lobby.joining' : 'lobby.join';
        find('join').textContent = text(find('join').dataset.text);
    }

    #translate() {
        find('language').value = currentLanguage();
        this.#readToken();
        this.#tell(this.#problem);
        if (this.#noted) find('preview-note').firstElementChild.textContent = explain(this.#noted);
        this.#listDevices();
    }
}
