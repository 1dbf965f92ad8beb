import { LocalTrack } from '/parlor-client.js';
import { remember, remembered, wishes } from './settings.js';
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
    #synthetic;
    #isOpening = 0;

    /** `devices`, `synthetic` or `none`. Throws what getUserMedia throws, after trying sound and picture alone. */
    async open(kind, name) {
        this.close();
        const turn = this.#isOpening += 1;
        if (kind === 'synthetic') {
            this.#synthetic = new SyntheticSource(name, wishes.size, wishes.framesPerSecond);
            this.audio = this.#synthetic.audio;
            this.video = this.#synthetic.video;
        } else if (kind === 'devices') {
            const tracks = await capture();
            // Another choice was made while the browser asked.
            if (turn !== this.#isOpening) return tracks.forEach((track) => track.stop());
            this.audio = tracks.find((track) => track.kind === 'audio');
            this.video = tracks.find((track) => track.kind === 'video');
        }
        this.kind = kind;
    }

    close() {
        this.#isOpening += 1;
        this.#synthetic?.stop();
        this.#synthetic = undefined;
        this.audio?.stop();
        this.video?.stop();
        this.audio = this.video = undefined;
    }

    get synthetic() { return this.#synthetic; }

    /** Tracks for the client. */
    localTracks() {
        return [
            ...(this.audio ? [new LocalTrack(this.audio, { tag: 'microphone', bitrate: MICROPHONE_KBPS })] : []),
            ...(this.video ? [new LocalTrack(this.video, {
                tag: 'camera', bitrate: CAMERA_KBPS, simulcast: true, framesPerSecond: wishes.framesPerSecond ?? 30,
            })] : []),
        ];
    }

    /** Another camera or microphone: the new MediaStreamTrack. */
    async change(kind, id) {
        remember(kind, id);
        const constraints = kind === 'camera' ? { video: videoConstraints() } : { audio: audioConstraints() };
        const [media] = (await openDevices(constraints)).getTracks();
        const place = kind === 'camera' ? 'video' : 'audio';
        this[place]?.stop();
        this[place] = media;
        return media;
    }
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

/** Both; where one is missing or refused, the other alone. */
async function capture() {
    if (!navigator.mediaDevices) throw Object.assign(new Error(), { key: 'device.insecure' });
    const wanted = { audio: audioConstraints(), video: videoConstraints() };
    try { return (await openDevices(wanted)).getTracks(); } catch (first) {
        for (const kind of ['audio', 'video']) {
            try { return (await openDevices({ [kind]: wanted[kind] })).getTracks(); } catch { /* The other, then. */ }
        }
        throw first;
    }
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
    #context;
    #timer;

    constructor(element) { this.bar = element.firstElementChild; }

    show(media) {
        this.stop();
        if (!media) return;
        this.#context = new AudioContext();
        const analyser = new AnalyserNode(this.#context, { fftSize: 512 });
        this.#context.createMediaStreamSource(new MediaStream([media])).connect(analyser);
        const samples = new Float32Array(analyser.fftSize);
        this.#timer = setInterval(() => {
            analyser.getFloatTimeDomainData(samples);
            const power = samples.reduce((sum, value) => sum + value * value, 0) / samples.length;
            // From -60 dB to 0.
            const level = Math.max(0, 1 + Math.log10(power + 1e-9) / 6);
            this.bar.style.transform = `scaleX(${Math.min(level, 1).toFixed(3)})`;
        }, 80);
    }

    stop() {
        clearInterval(this.#timer);
        this.#context?.close();
        this.#context = undefined;
        this.bar.style.transform = 'scaleX(0)';
    }
}
