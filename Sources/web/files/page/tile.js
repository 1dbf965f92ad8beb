import { icon, make, setIcon } from './dom.js';
import { Menu } from './menu.js';
import { fittingProfile } from './layout.js';
import { describe } from './overlay.js';
import { label, listed, text } from './texts.js';

/** Above this level of loudness, 0 to 1, somebody speaks: about -40 dB. */
const SPEAKS = 0.01;

/** One picture of the stage, or the place of a person without one. */
export class Tile {
    track = undefined;
    quality = 'auto';
    isDetailed = false;
    #lastHeard = 0;
    #figures;

    /** room: what the tile asks for: `pin(tile)`, `setProfile(track, profile)`. key: unique on the stage. */
    constructor(room, key, { name, isOwn = false, isScreen = false }) {
        this.room = room;
        this.key = key;
        this.name = name;
        this.isOwn = isOwn;
        this.isScreen = isScreen;
        this.video = make('video', { playsinline: true, autoplay: true, '.muted': true });
        this.initials = make('span', { class: 'initials', 'aria-hidden': 'true' });
        this.note = make('p', { class: 'tile-note' });
        this.microphone = icon('microphoneOff');
        this.caption = make('bdi', { class: 'tile-name' });
        this.network = make('span', { class: 'network', role: 'img' });
        this.overlay = make('div', { class: 'overlay', role: 'group', hidden: true });
        this.menuButton = make('button', { class: 'plain tile-menu', 'aria-haspopup': 'menu' }, icon('menu'));
        label(this.menuButton, 'tile.menu');
        this.menu = new Menu(this.menuButton, () => this.#choices());
        this.element = make('figure', { class: 'tile', tabindex: '0', 'data-key': key },
            this.initials, this.video, this.note, this.overlay, this.menuButton, this.menu.element,
            make('figcaption', {}, this.microphone, this.caption, this.network));
        this.element.addEventListener('dblclick', (event) => { if (!event.target.closest('.tile-menu, .menu')) room.pin(this); });
        this.element.classList.toggle('own', isOwn);
        this.element.classList.toggle('screen', isScreen);
        this.video.addEventListener('loadeddata', () => this.refresh());
        this.video.addEventListener('resize', () => this.refresh());
        this.refresh();
    }

    /** Shows a track: a RemoteTrack or a LocalTrack; undefined: nobody's picture, only the name. */
    show(track) {
        this.track = track;
        const media = track?.mediaStreamTrack;
        if (media !== this.media) this.video.srcObject = media ? new MediaStream([media]) : null;
        if (media) this.video.play().catch(() => {});
        this.video.classList.toggle('mirrored', this.isOwn && !this.isScreen && this.room.mirrorsOwn);
        this.refresh();
    }

    /** What the element plays. */
    get media() { return this.video.srcObject?.getVideoTracks()[0]; }

    get hasPicture() { return this.track !== undefined && !this.track.isMuted && this.track.mediaStreamTrack !== undefined; }

    refresh() {
        const { name } = this;
        this.caption.textContent = this.isScreen ? text('tile.screen', { name }) : this.isOwn ? text('people.own', { name }) : name;
        this.initials.textContent = initials(name);
        const isShown = this.hasPicture && (this.isOwn || this.video.readyState >= 2);
        this.element.classList.toggle('pictured', isShown);
        const waits = this.hasPicture && !isShown;
        const isUnavailable = this.track && !this.isOwn && !this.track.isMuted && this.track.isTried && !this.track.isSubscribed;
        this.note.textContent = waits ? text('tile.waiting') : isUnavailable ? text('tile.unavailable') : '';
        const audio = this.room.audioOf(this);
        setIcon(this.microphone, audio && !audio.isMuted ? 'microphone' : 'microphoneOff');
        this.microphone.classList.toggle('off', !audio || audio.isMuted);
        this.microphone.style.display = this.isScreen ? 'none' : '';
        const user = this.room.userOf(this);
        this.element.classList.toggle('reconnecting', Boolean(user?.isReconnecting));
        this.network.dataset.grade = user?.networkGrade ?? '';
        const words = [this.caption.textContent];
        if (!this.isScreen && (!audio || audio.isMuted)) words.push(text('tile.muted'));
        if (user?.isReconnecting) words.push(text('people.reconnecting'));
        this.element.setAttribute('aria-label', listed(words));
        if (this.#figures) this.showFigures(this.#figures);
    }

    // Sound

    /** Marks who speaks; a second after the last word it ends. */
    hear(level, now) {
        if (level !== undefined && level > SPEAKS) this.#lastHeard = now;
        this.element.classList.toggle('speaking', now - this.#lastHeard < 700);
    }

    get lastHeard() { return this.#lastHeard; }

    // Quality

    /** Asks for the layer that was chosen, or that fits the size on the screen. */
    adaptQuality() {
        const { track } = this;
        if (this.isOwn || !track?.isSubscribed || track.profiles.length < 2) return;
        const pixels = this.element.clientWidth * Math.min(devicePixelRatio, 2);
        const fitting = this.quality === 'auto' ? fittingProfile(pixels, track.wantedProfile) : this.quality;
        // Of two layers there is no middle one.
        const wanted = track.profiles.includes(fitting) ? fitting : 'high';
        if (wanted !== track.wantedProfile) this.room.setProfile(track, wanted);
    }

    /** The stage has given it another place or size. */
    arranged() {
        this.adaptQuality();
        this.menu.place();
    }

    setQuality(quality) {
        this.quality = quality;
        this.adaptQuality();
    }

    #choices() {
        const pinned = this.room.pinned === this;
        const choices = [
            { key: pinned ? 'tile.unpin' : 'tile.pin', act: () => this.room.pin(this) },
            { key: 'tile.details', isChecked: this.isDetailed, act: () => this.setDetailed(!this.isDetailed) },
        ];
        if (!this.isOwn && (this.track?.profiles?.length ?? 0) > 1) {
            choices.push({ heading: 'tile.quality' });
            for (const quality of ['auto', 'high', 'medium', 'low']) {
                if (quality !== 'auto' && !this.track.profiles.includes(quality)) continue;
                choices.push({
                    key: `tile.quality.${quality}`, isRadio: true, isChecked: this.quality === quality,
                    act: () => this.setQuality(quality),
                });
            }
        }
        return choices;
    }

    // Details

    setDetailed(isDetailed) {
        this.isDetailed = isDetailed;
        this.overlay.hidden = !isDetailed;
        if (isDetailed) this.room.measure();
    }

    showFigures(figures) {
        this.#figures = figures;
        if (!this.isDetailed) return;
        const lines = describe(figures, this).flatMap(([key, value]) => [make('dt', {}, key && text(key)), make('dd', {}, value)]);
        this.overlay.replaceChildren(...(lines.length > 0 ? [make('dl', {}, ...lines)] : []));
        this.overlay.setAttribute('aria-label', text('tile.details'));
        // What does not fit is scrolled, also by keyboard.
        const scrolls = this.overlay.scrollHeight > this.overlay.clientHeight;
        if (scrolls) this.overlay.tabIndex = 0;
        else if (document.activeElement !== this.overlay) this.overlay.removeAttribute('tabindex');
    }

    close() {
        this.video.srcObject = null;
        this.menu.close();
        this.element.remove();
    }
}

/** The first letters of the first and the last word; of other scripts than Latin the first sign. */
export function initials(name) {
    const words = name.trim().split(/[\s_-]+/).filter(Boolean);
    const chosen = /^[\p{Script=Latin}\d]/u.test(words[0] ?? '') && words.length > 1 ? [words[0], words.at(-1)] : words.slice(0, 1);
    return chosen.map((word) => [...new Intl.Segmenter().segment(word)][0].segment).join('').toUpperCase();
}
