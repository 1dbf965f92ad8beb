import { Chat } from './chat.js';
import { listDevices } from './devices.js';
import { find, icon, make, setIcon } from './dom.js';
import { ask, notify, showDialog } from './notices.js';
import { People } from './people.js';
import { Keyboard } from './keyboard.js';
import { OwnTracks } from './own-tracks.js';
import { ScreenShare } from './screen.js';
import { remembered, roomLink } from './settings.js';
import { Stage } from './stage.js';
import { explain, label, onLanguageChange, text } from './texts.js';
import { Tile } from './tile.js';

/** One's own tile: with a space, so that it is nobody's user id. */
const OWN = ' own';
/** Between two looks at loudness, and at figures, in ms. */
const HEARING = 150;
const MEASURING = 1000;
/** A media path that has not opened for so long is told of, in ms. It takes a tenth of a second where nothing is in its way. */
const PATIENCE = 6000;

let present;
onLanguageChange(() => present?.translate());

/** A person in a room: what the client tells becomes tiles, lists and sentences; what the person presses becomes calls. */
export class Room {
    onEnd = () => {};
    #ended = false;
    #sounds = new Map();
    #timers = [];
    #panel;
    #isDetailed = false;
    #isMeasuring = false;
    #lastMeasured = -Infinity;
    #soundNotice;
    #ends = [];
    /** Media paths that have been opening since, by direction. */
    #opening = new Map();

    constructor(client, media, name) {
        this.client = client;
        this.media = media;
        this.name = visible(name) || name;
        this.ownTracks = new OwnTracks(client, media);
        this.screen = new ScreenShare(client);
        for (const own of [this.ownTracks, this.screen]) {
            own.onChange = () => this.refresh();
            own.onProblem = (error, { stays } = {}) => notify(explain(error), { isProblem: true, life: stays ? 0 : undefined });
        }
        this.stage = new Stage();
        this.chat = new Chat((words) => this.#say(words));
        this.list = new People(this);
        this.keyboard = new Keyboard(this);
        present = this;
        this.#listen();
    }

    get pinned() { return this.stage.pinned; }
    get mirrorsOwn() { return this.media.kind === 'devices'; }
    get mayRemove() { return Boolean(this.client.claims?.isAdmin); }

    // Opening and closing

    async open() {
        find('room').hidden = false;
        find('room-title').textContent = this.client.claims.roomName;
        document.title = `${this.client.claims.roomName} – ${text('title')}`;
        this.#press();
        this.stage.onArranged = () => { for (const tile of this.stage.tiles.values()) tile.arranged(); };
        this.own = new Tile(this, OWN, { name: this.name, isOwn: true });
        this.stage.add(this.own);
        for (const user of this.client.remoteUserList) this.#addUser(user);
        this.chat.onChange = () => this.refresh();
        this.#timers = [
            setInterval(() => this.#hear(), HEARING), setInterval(() => { this.measure(); this.#refreshBanner(); }, MEASURING),
        ];
        this.keyboard.open();
        this.translate();
        await this.ownTracks.publish();
    }

    close() {
        if (this.#ended) return;
        this.#ended = true;
        present = undefined;
        for (const end of this.#ends) end();
        for (const timer of this.#timers) clearInterval(timer);
        for (const sound of this.#sounds.values()) sound.remove();
        this.screen.close();
        this.ownTracks.close();
        this.#soundNotice?.remove();
        this.keyboard.close();
        this.stage.close();
        this.#show(undefined);
        find('dialog').close();
        find('room').hidden = true;
    }

    // What the client tells

    #listen() {
        const on = (name, listener) => this.#ends.push(this.client.on(name, listener));
        on('connectionStateChanged', (state, info) => this.#stateChanged(state, info));
        on('mediaStateChanged', (direction, state) => this.#mediaChanged(direction, state));
        on('userJoined', (user) => { if (this.own) { this.#addUser(user); notify(text('people.joined', { name: nameOf(user) })); } });
        on('userLeft', (user) => { this.stage.remove(user.userID); notify(text('people.left', { name: nameOf(user) })); this.refresh(); });
        on('userReconnecting', () => this.refresh());
        on('userReconnected', () => this.refresh());
        on('networkGradeChanged', () => this.refresh());
        on('tracksPublished', () => this.refresh());
        on('tracksUnpublished', (tracks) => { for (const track of tracks) this.#removeTrack(track); this.refresh(); });
        on('tracksSubscribed', (tracks) => { for (const track of tracks) this.#showTrack(track); this.refresh(); });
        on('tracksUnsubscribed', (tracks) => { for (const track of tracks) this.#removeTrack(track); this.refresh(); });
        on('mediaReplaced', (track) => this.#showTrack(track));
        on('muteStateChanged', () => this.refresh());
        on('localMuteStateChanged', (track) => {
            if (track.isMutedByServer) notify(text('state.mutedByServer'), { isProblem: true });
            this.refresh();
        });
        on('profileChanged', () => this.measure());
        on('messageReceived', ({ identifier, userID, content, timestamp }) => {
            const user = this.client.remoteUser(userID);
            // Who is no user: the app's back end, under a name of its choice.
            this.chat.add({ id: identifier, name: user ? nameOf(user) : userID, content, timestamp, isService: !user });
        });
        on('messageRefused', (id, error) => this.chat.refuse(id, explain(error)));
        on('localTracksLost', (tracks, error) => {
            this.ownTracks.lost(tracks);
            this.screen.lost(tracks);
            notify(text('lost.tracks', { reason: explain(error) }), { isProblem: true, life: 0 });
            this.refresh();
        });
    }

    #stateChanged(state, info) {
        if (state === 'reconnected') {
            notify(text('state.reconnected'));
            this.screen.clear();
        }
        if (state !== 'disconnected') return this.refresh();
        const wasIn = this.own !== undefined;
        this.close();
        if (wasIn) this.onEnd(info);
        return undefined;
    }

    /** A path that fails and is tried anew has still not opened. */
    #mediaChanged(direction, state) {
        if (state === 'connected') this.#opening.delete(direction);
        else if (state === 'connecting' && !this.#opening.has(direction)) this.#opening.set(direction, performance.now());
        this.refresh();
    }

    #addUser(user) {
        if (!this.stage.tiles.has(user.userID)) this.stage.add(new Tile(this, user.userID, { name: nameOf(user) }));
        for (const track of [...user.audioTracks, ...user.videoTracks]) if (track.isSubscribed) this.#showTrack(track);
        this.refresh();
    }

    #showTrack(track) {
        if (!this.own || !track.mediaStreamTrack) return;
        if (track.kind === 'audio') return this.#playSound(track);
        const user = this.client.remoteUser(track.userID);
        let tile = this.stage.tiles.get(track.userID);
        if (track.tag === 'screen') {
            const key = `${track.userID} ${track.trackID}`;
            tile = this.stage.tiles.get(key);
            if (!tile) {
                tile = new Tile(this, key, { name: nameOf(user), isScreen: true });
                this.stage.add(tile);
                if (!this.pinned) this.pin(tile);
            }
        } else if (tile?.track && tile.track !== track && tile.track.isSubscribed) {
            // A second camera has a tile of its own.
            const key = `${track.userID} ${track.trackID}`;
            tile = this.stage.tiles.get(key) ?? new Tile(this, key, { name: nameOf(user) });
            if (!this.stage.tiles.has(key)) this.stage.add(tile);
        }
        tile?.show(track);
        if (this.#isDetailed) tile?.setDetailed(true);
        tile?.adaptQuality();
        return undefined;
    }

    #removeTrack(track) {
        this.#sounds.get(track.trackID)?.remove();
        this.#sounds.delete(track.trackID);
        const own = `${track.userID} ${track.trackID}`;
        if (this.stage.tiles.has(own)) return this.stage.remove(own);
        const tile = this.stage.tiles.get(track.userID);
        if (tile?.track === track) tile.show(undefined);
        return undefined;
    }

    #playSound(track) {
        const sound = this.#sounds.get(track.trackID) ?? make('audio', { autoplay: true });
        this.#sounds.set(track.trackID, sound);
        sound.srcObject = new MediaStream([track.mediaStreamTrack]);
        document.body.append(sound);
        const speaker = remembered('speaker');
        if (speaker) sound.setSinkId?.(speaker).catch(() => {});
        sound.play().catch((error) => {
            if (error.name !== 'NotAllowedError' || this.#soundNotice?.isConnected) return;
            const act = () => { for (const each of this.#sounds.values()) each.play().catch(() => {}); };
            this.#soundNotice = notify(text('state.sound'), { action: { label: text('state.sound.play'), act }, life: 0 });
        });
    }

    // What tiles ask

    userOf(tile) { return tile.isOwn ? undefined : this.client.remoteUser(tile.key.split(' ')[0]); }

    audioOf(tile) {
        if (tile.isOwn) return this.microphone;
        return this.userOf(tile)?.audioTracks.find((track) => track.tag !== 'screen-audio');
    }

    pin(tile) {
        this.stage.pin(tile);
        this.refresh();
    }

    setProfile(track, profile) {
        // Tiles that are taken away make the others larger; nobody is left to ask.
        if (this.#ended) return;
        try { this.client.setProfile(track, profile); } catch (error) { notify(explain(error), { isProblem: true }); }
    }

    // What the person shows

    get tracks() { return this.ownTracks.tracks; }
    get microphone() { return this.ownTracks.microphone; }
    get camera() { return this.ownTracks.camera; }

    toggle(kind) { return this.ownTracks.toggle(kind); }
    toggleScreen() { return this.screen.toggle(); }

    // Messages and people

    #say(words) {
        try {
            const id = this.client.sendMessage(words);
            this.chat.add({ id, name: this.name, content: words, timestamp: Date.now(), isOwn: true });
            return true;
        } catch (error) {
            notify(explain(error), { isProblem: true });
            return false;
        }
    }

    people() {
        const others = this.client.remoteUserList.map((user) => ({
            user, name: nameOf(user), microphone: user.audioTracks.some((track) => !track.isMuted),
            camera: user.videoTracks.some((track) => !track.isMuted),
        }));
        const own = {
            name: this.name, isOwn: true, isHost: this.mayRemove, microphone: this.microphone && !this.microphone.isMuted,
            camera: this.camera && !this.camera.isMuted,
        };
        return [own, ...others];
    }

    async remove(user) {
        const name = nameOf(user);
        if (!await ask(text('people.remove.ask', { name }), text('people.remove', { name }))) return;
        try {
            await this.client.kick(user.userID);
            notify(text('people.removed', { name }));
        } catch (error) { notify(explain(error), { isProblem: true }); }
    }

    leave() { this.client.leave(); }

    // Controls

    #press() {
        const on = (id, act) => {
            const element = find(id);
            element.addEventListener('click', act);
            this.#ends.push(() => element.removeEventListener('click', act));
        };
        on('toggle-microphone', () => this.toggle('microphone'));
        on('toggle-camera', () => this.toggle('camera'));
        on('toggle-screen', () => this.toggleScreen());
        on('toggle-chat', () => this.togglePanel('chat'));
        on('toggle-people', () => this.togglePanel('people'));
        on('toggle-details', () => this.toggleDetails());
        on('leave', () => this.leave());
        on('open-help', () => this.keyboard.help());
        on('open-settings', () => this.#openSettings());
        on('invite', async () => {
            const link = roomLink(this.client.claims.roomName);
            // Only pages from https or localhost have a clipboard, and the browser may refuse it.
            const isCopied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
            notify(text(isCopied ? 'people.invited' : 'people.invite.by', { link }), isCopied ? {} : { life: 0 });
        });
        const draw = (id, name, words) => find(id).replaceChildren(icon(name), ...(words ? [make('span', { 'data-text': words })] : []));
        draw('toggle-microphone', 'microphone', 'short.microphone');
        draw('toggle-camera', 'camera', 'short.camera');
        draw('toggle-screen', 'screen', 'short.screen');
        draw('toggle-chat', 'chat', 'control.chat');
        draw('toggle-people', 'people', 'control.people');
        draw('toggle-details', 'details', 'control.details');
        draw('leave', 'leave', 'control.leave');
        draw('invite', 'link');
        draw('open-settings', 'settings');
        draw('open-help', 'help');
    }

    togglePanel(name) { this.#show(this.#panel === name ? undefined : name); }

    closePanel() {
        if (this.#panel === undefined) return false;
        this.#show(undefined);
        return true;
    }

    #show(name) {
        const before = this.#panel;
        this.#panel = name;
        const panel = find('panel');
        panel.hidden = name === undefined;
        const content = { chat: this.chat, people: this.list }[name];
        const close = make('button', { class: 'plain', 'aria-label': text('control.close'), onclick: () => this.#show(undefined) }, icon('close'));
        if (content) {
            panel.replaceChildren(make('header', {}, make('h2', {}, text(`${name}.title`)), close), content.element);
            panel.setAttribute('aria-label', text(`${name}.title`));
        }
        for (const each of ['chat', 'people']) find(`toggle-${each}`).setAttribute('aria-expanded', String(name === each));
        if (name === 'chat') this.chat.shown();
        if (name === 'people' && before !== name) this.list.element.focus();
        if (!name && before && !this.#ended) find(`toggle-${before}`).focus();
        if (!this.#ended) this.refresh();
    }

    toggleDetails() {
        this.#isDetailed = !this.#isDetailed;
        for (const tile of this.stage.tiles.values()) tile.setDetailed(this.#isDetailed);
        this.refresh();
    }

    async #openSettings() {
        const fields = find('device-fields');
        const isDevices = this.media.kind === 'devices';
        fields.hidden = false;
        for (const id of ['camera', 'microphone']) find(id).disabled = !isDevices;
        const dialog = showDialog(text('settings.title'), ...(isDevices ? [] : [make('p', { class: 'quiet' }, text('settings.none'))]), fields);
        await listDevices(find('camera'), 'videoinput', 'camera');
        await listDevices(find('microphone'), 'audioinput', 'microphone');
        await listDevices(find('speaker'), 'audiooutput', 'speaker');
        const change = (event) => {
            const { id, value } = event.target;
            if (id !== 'speaker') return this.ownTracks.change(id, value);
            return this.#sounds.forEach((sound) => sound.setSinkId?.(value).catch(() => {}));
        };
        fields.addEventListener('change', change);
        dialog.addEventListener('close', () => {
            fields.removeEventListener('change', change);
            for (const id of ['camera', 'microphone']) find(id).disabled = false;
            find('device-slot').append(fields);
        }, { once: true });
    }

    // What is shown of all that

    translate() {
        for (const id of ['invite', 'open-settings', 'open-help']) label(find(id), find(id).dataset.label);
        label(find('toggle-chat'), 'control.chat');
        label(find('toggle-people'), 'control.people');
        label(find('toggle-details'), 'control.details');
        label(find('leave'), 'control.leave');
        for (const element of find('room').querySelectorAll('[data-text]')) element.textContent = text(element.dataset.text);
        this.chat.translate();
        if (this.#panel) this.#show(this.#panel);
        this.refresh();
    }

    /** All that depends on states: cheap enough to do after each event. */
    refresh() {
        if (this.#ended || !this.own) return;
        const switched = (id, track, name) => {
            const button = find(id);
            const isOn = Boolean(track && !track.isMuted);
            const isOpening = this.ownTracks.isOpening(name);
            button.disabled = !this.ownTracks.has(name);
            button.classList.toggle('off', !isOn);
            button.setAttribute('aria-pressed', String(isOn));
            button.setAttribute('aria-busy', String(isOpening));
            setIcon(button.querySelector('svg'), isOn || isOpening ? name : `${name}Off`);
            label(button, button.disabled ? `control.${name}.none` : isOpening ? `control.${name}.opens` : `control.${name}.${isOn ? 'off' : 'on'}`);
        };
        switched('toggle-microphone', this.microphone, 'microphone');
        switched('toggle-camera', this.camera, 'camera');
        find('toggle-screen').disabled = !ScreenShare.isPossible;
        find('toggle-screen').setAttribute('aria-pressed', String(this.screen.isOn));
        label(find('toggle-screen'), `control.screen.${this.screen.isOn ? 'off' : ScreenShare.isPossible ? 'on' : 'none'}`);
        find('toggle-details').setAttribute('aria-pressed', String(this.#isDetailed));
        find('toggle-chat').dataset.count = this.chat.unread || '';
        find('room-count').textContent = text('people.count', { count: this.client.remoteUserList.length + 1 });
        this.#refreshBanner();
        if (this.own.track !== this.camera || this.own.media !== this.camera?.mediaStreamTrack) this.own.show(this.camera);
        for (const tile of this.stage.tiles.values()) tile.refresh();
        this.list.refresh();
    }

    #refreshBanner() {
        const { publishing, subscribing } = this.client.mediaStates;
        for (const [direction, state] of Object.entries({ publishing, subscribing })) {
            if (state === 'none' || state === 'closed') this.#opening.delete(direction);
        }
        const isBroken = [publishing, subscribing].some((state) => state === 'disconnected' || state === 'failed');
        const isBlocked = [...this.#opening.values()].some((since) => performance.now() - since > PATIENCE);
        const key = this.client.connectionState === 'reconnecting' ? 'state.reconnecting'
            : isBlocked ? 'state.blocked' : isBroken ? 'state.media' : '';
                find('banner').hidden = key === '';
        find('banner').dataset.state = key;
        find('banner').textContent = key ? text(key) : '';
        find('room').classList.toggle('cut', key === 'state.reconnecting');
    }

    #hear() {
        const now = performance.now();
        for (const tile of this.stage.tiles.values()) {
            if (tile.isScreen) continue;
            const audio = this.audioOf(tile);
            tile.hear(tile.isOwn ? this.ownTracks.loudness : audio?.isMuted ? undefined : audio?.audioLevel, now);
        }
    }

    /** Figures into the tiles that show them. */
    async measure() {
        if (this.#isMeasuring || this.#ended || ![...this.stage.tiles.values()].some((tile) => tile.isDetailed)) return;
        this.#isMeasuring = true;
        try {
            const now = performance.now();
            // Rates are over the time since the look before: after a long pause they are not those of now.
            const hasRates = now - this.#lastMeasured < 3 * MEASURING;
            this.#lastMeasured = now;
            const figures = await this.client.statistics();
            for (const tile of this.stage.tiles.values()) {
                tile.showFigures({
                    hasRates, video: figures.get(tile.track?.trackID), audio: tile.isScreen ? undefined : figures.get(this.audioOf(tile)?.trackID),
                });
            }
        } catch { /* Of a connection that has just gone. */ } finally { this.#isMeasuring = false; }
    }
}

/** What the user calls itself; else its id. */
export function nameOf(user) {
    if (!user) return '';
    try {
        const { name } = JSON.parse(user.userData);
        if (typeof name === 'string') return visible(name) || user.userID;
    } catch { /* Of an app that gives something else. */ }
    return user.userID;
}

/** Joiners that change what is seen, between pictographs and in scripts that need them, as a group; and all that cannot be seen. */
const UNSEEN = new RegExp([
    '((?<=\\p{Extended_Pictographic}(?:\\ufe0f|\\p{Emoji_Modifier})?)\\u200d(?=\\p{Extended_Pictographic})',
    '(?<=[\\p{Script=Arabic}\\p{M}])[\\u200c\\u200d](?=\\p{L}))',
    '\\p{C}',
].join('|'), 'gu');

/** Signs as people count them, and code points of each: marks can be heaped up. */
const SIGNS = 60;
const PARTS = 12;
const segmenter = new Intl.Segmenter();

/** At most 60 signs of a name, without those that break lines, turn the direction or cannot be seen. Empty: nothing is left. */
function visible(name) {
    const seen = name.replace(/\s+/gu, ' ').replace(UNSEEN, '$1').trim();
    const signs = [...segmenter.segment(seen.slice(0, 2 * SIGNS * PARTS))].slice(0, SIGNS);
    const plain = signs.map(({ segment }) => [...segment].slice(0, PARTS).join('')).join('').trim();
    return plain.replace(/[\p{Default_Ignorable_Code_Point}\p{M}\u2800\s]/gu, '') ? plain : '';
}
