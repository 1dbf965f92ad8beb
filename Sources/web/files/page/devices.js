import { LocalTrack } from '/parlor-client.js';
import { remember, remembered, wishes } from './settings.js';
import { SoundLevel } from './sound-level.js';
import { SyntheticSource } from './synthetic.js';
import { text } from './texts.js';

/** Of a camera: the most, in kbit/s. */
const CAMERA_KBPS = 1700;
const MICROPHONE_KBPS = 48;

/** What this person shows: devices, or the synthetic source, or nothing. */
export class OwnMedia {
    /** MediaStreamTracks, where there are some. */
    audio = undefined;
    video = undefined;
    /** Why one of both is missing, if the other is there: for `explain`. */
    problem = undefined;
    /** As of `open`; undefined until that has succeeded. */
    kind = undefined;
    #synthetic;
    #isOpening = 0;
    #giveUp = () => {};

    /** `devices`, `synthetic` or `none`. Throws what getUserMedia throws when it gives neither sound nor picture. */
    async open(kind, name) {
        this.close();
        const turn = this.#isOpening += 1;
        if (kind === 'synthetic') {
            this.#synthetic = new SyntheticSource(name, wishes.size, wishes.framesPerSecond);
            this.audio = this.#synthetic.audio;
            this.video = this.#synthetic.video;
        } else if (kind === 'devices') {
            const asked = capture();
            await Promise.race([asked, new Promise((resolve) => { this.#giveUp = resolve; })]);
            // Another choice was made while the browser asked: its answer, whenever it comes, is nobody's.
            if (turn !== this.#isOpening) return letGo(asked);
            const { tracks, problem } = await asked;
            this.problem = problem;
            this.audio = tracks.find((track) => track.kind === 'audio');
            this.video = tracks.find((track) => track.kind === 'video');
        }
        this.kind = kind;
    }

    /** Gives up what is being opened: what the browser still gives is stopped, and `open` ends. */
    cancel() {
        this.#isOpening += 1;
        this.#giveUp();
    }

    close() {
        this.cancel();
        this.#synthetic?.stop();
        this.#synthetic = undefined;
        this.audio?.stop();
        this.video?.stop();
        this.audio = this.video = this.problem = this.kind = undefined;
    }

    get synthetic() { return this.#synthetic; }

    /** Tracks for the client. */
    localTracks() { return [this.audio, this.video].filter(Boolean).map(localTrack); }

    /** Remembers which camera or microphone is wanted. */
    choose(kind, id) { remember(kind, id); }

    /** Opens the camera or microphone alone: its MediaStreamTrack, which `keep` takes. */
    async reopen(kind) {
        if (this.#synthetic) return kind === 'camera' ? this.#synthetic.video : this.#synthetic.audio;
        const constraints = kind === 'camera' ? { video: videoConstraints() } : { audio: audioConstraints() };
        const [media] = (await openDevices(constraints)).getTracks();
        return media;
    }

    /** In place of the one before, which is stopped. */
    keep(media) {
        const present = this[media.kind];
        this[media.kind] = media;
        if (present !== media) present?.stop();
    }

    /** What a track is made of that is not sent any more: a device is let go; the synthetic source stays for another track. */
    discard(track) {
        if (this.#synthetic) return;
        this.forget(track.mediaStreamTrack);
        track.stop();
    }

    /** Somebody else stops it. */
    forget(media) { if (this[media.kind] === media) this[media.kind] = undefined; }
}

/** A track for the client, of what is heard or seen here. */
export function localTrack(media) {
    if (media.kind === 'audio') return new LocalTrack(media, { tag: 'microphone', bitrate: MICROPHONE_KBPS });
    return new LocalTrack(media, { tag: 'camera', bitrate: CAMERA_KBPS, simulcast: true, framesPerSecond: wishes.framesPerSecond ?? 30 });
}

/** Stops what the browser gives, whenever it does. */
function letGo(asked) {
    asked.then(({ tracks }) => { for (const track of tracks) track.stop(); }, () => {});
}

function chosen(kind) { return remembered(kind) ? { deviceId: { exact: remembered(kind) } } : {}; }

/** With the devices that were chosen; where one is not there any more, the browser chooses. */
async function openDevices(constraints) {
    try { return await navigator.mediaDevices.getUserMedia(constraints); } catch (error) {
        if (error.name !== 'OverconstrainedError' && error.name !== 'NotFoundError') throw error;
        const others = Object.entries(constraints).map(([kind, { deviceId, ...rest }]) => [kind, rest]);
        return navigator.mediaDevices.getUserMedia(Object.fromEntries(others));
    }
}

function videoConstraints() {
    const [width, height] = wishes.size ?? [1280, 720];
    return { ...chosen('camera'), width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: wishes.framesPerSecond ?? 30 } };
}

function audioConstraints() { return { ...chosen('microphone'), echoCancellation: true, noiseSuppression: true, autoGainControl: true }; }

const KINDS = { audio: 'microphone', video: 'camera' };

/** { tracks, problem }: both; where one is missing or refused, the other alone, and why. */
async function capture() {
    if (!navigator.mediaDevices) throw { key: 'device.insecure' };
    const wanted = { audio: audioConstraints(), video: videoConstraints() };
    try { return { tracks: (await openDevices(wanted)).getTracks() }; } catch (first) {
        const tracks = [];
        const failed = {};
        for (const kind of await worthTrying(first)) {
            try { tracks.push(...(await openDevices({ [kind]: wanted[kind] })).getTracks()); } catch (error) { failed[kind] = error; }
        }
        if (tracks.length === 0) throw first;
        const missing = Object.keys(KINDS).find((kind) => !tracks.some((track) => track.kind === kind));
        return { tracks, problem: missing && { key: `device.without.${KINDS[missing]}`, cause: failed[missing] ?? first } };
    }
}

/** Of sound and picture, what can be asked for alone. Who has just said no is not asked twice more. */
async function worthTrying({ name }) {
    if (name !== 'NotAllowedError' && name !== 'SecurityError') return Object.keys(KINDS);
    const states = await Promise.all(Object.values(KINDS).map(permission));
    // One of them is denied for this page, or on this machine; the other may be given.
    return Object.keys(KINDS).filter((_, index) => states[index] !== 'denied' && states.includes('denied'));
}

/** `granted`, `denied` or `prompt`; undefined where the browser does not say. */
async function permission(name) {
    try { return (await navigator.permissions.query({ name })).state; } catch { return undefined; }
}

/** Fills a list with the devices of a kind; hides nothing that the browser does not hide. */
export async function listDevices(select, kind, memory) {
    const all = (await navigator.mediaDevices?.enumerateDevices?.() ?? []).filter((device) => device.kind === kind);
    const present = remembered(memory);
    select.replaceChildren(new Option(text('lobby.default'), ''));
    all.filter((device) => device.deviceId && device.deviceId !== 'default').forEach((device, index) => {
        const name = device.label || text('lobby.device', { number: index + 1 });
        select.add(new Option(name, device.deviceId, false, device.deviceId === present));
    });
    return all.length;
}

/** Shows how loud a track is in the element's inner bar. */
export class Meter {
    #level = new SoundLevel();
    #timer;

    constructor(element) { this.bar = element.firstElementChild; }

    show(media) {
        this.stop();
        if (!media) return;
        this.#level.listen(media);
        this.#timer = setInterval(() => {
            // From -60 dB to 0.
            const level = Math.max(0, 1 + Math.log10((this.#level.level ?? 0) + 1e-5) / 3);
            this.bar.style.transform = `scaleX(${Math.min(level, 1).toFixed(3)})`;
        }, 80);
    }

    stop() {
        clearInterval(this.#timer);
        this.#level.close();
        this.bar.style.transform = 'scaleX(0)';
    }
}
