import { SoundLevel } from './sound-level.js';

/** The place of each kind's media in OwnMedia. */
const PLACES = { microphone: 'audio', camera: 'video' };

/** The person's microphone and camera in a room: published, switched on and off, changed for others. */
export class OwnTracks {
    onChange = () => {};
    /** With a key of the texts, or what a call threw. */
    onProblem = () => {};
    #client;
    #media;
    #tracks = [];
    #level = new SoundLevel();
    /** Devices that are being opened: a number for each attempt. */
    #opening = new Map();
    #attempt = 0;
    #isClosed = false;

    constructor(client, media) {
        this.#client = client;
        this.#media = media;
    }

    get tracks() { return [...this.#tracks]; }
    get microphone() { return this.#tracks.find((track) => track.tag === 'microphone'); }
    get camera() { return this.#tracks.find((track) => track.tag === 'camera'); }

    /** Whether the device is on its way: the browser may be asking the person. */
    isOpening(kind) { return this.#opening.has(kind); }

    /** How loud the person is, 0 to 1; undefined when muted, or unknown. */
    get loudness() { return this.microphone?.isMuted === false ? this.#level.level : undefined; }

    async publish() {
        this.#tracks = this.#media.localTracks();
        this.#media.synthetic?.resume().catch(() => {});
        for (const kind of Object.keys(PLACES)) this.#watch(kind);
        this.onChange();
        if (this.#tracks.length === 0) return;
        try { await this.#client.publish(this.#tracks); } catch (error) {
            if (!this.#isClosed) this.onProblem(error, { stays: true });
        }
        this.onChange();
    }

    /** Tracks that the server does not take again. */
    lost(tracks) { this.#tracks = this.#tracks.filter((track) => !tracks.includes(track)); }

    /**
     * On or off. A camera that is off is let go, so that its light goes out, and opened anew when it is on again; the
     * microphone is only muted, for it is switched often and is to be there at once.
     */
    async toggle(kind) {
        const track = this[kind];
        if (!track) return;
        if (this.isOpening(kind)) {
            // Pressed again while it opens: never mind.
            this.#opening.delete(kind);
            return this.onChange();
        }
        // There is nothing to switch on here; off it can be, but that is not what the button shows.
        if (track.isMutedByServer && !track.isMutedByClient) return this.onProblem({ key: 'state.mutedByServer' });
        if (!track.isMutedByClient) return this.#switchOff(kind, track);
        if (track.mediaStreamTrack.readyState === 'live' && !track.isReleased) track.updateMute(false);
        else await this.#open(kind, track);
        return this.onChange();
    }

    async #switchOff(kind, track) {
        track.updateMute(true);
        this.onChange();
        if (kind === 'camera' && this.#media.kind === 'devices') await this.#release(track);
    }

    async #release(track) {
        this.#media.forget(track.mediaStreamTrack);
        try { await track.release(); } catch (error) { this.onProblem(error); }
    }

    /** Another device, by its id; one that is off is only remembered. */
    async change(kind, id) {
        this.#media.choose(kind, id);
        const track = this[kind];
        const isOpening = this.isOpening(kind);
        if (!track || this.#media.kind !== 'devices' || (track.isReleased && !isOpening)) return;
        await this.#open(kind, track, !isOpening && track.isMutedByClient);
        this.onChange();
    }

    async #open(kind, track, isMuted = false) {
        const attempt = this.#attempt += 1;
        this.#opening.set(kind, attempt);
        this.onChange();
        const isCurrent = () => this.#opening.get(kind) === attempt && !this.#isClosed;
        try {
            const media = await this.#device(kind, track);
            if (!isCurrent()) return media.stop();
            this.#media.keep(media);
            await track.replace(media);
            track.updateMute(isMuted);
            this.#watch(kind);
        } catch (error) { if (isCurrent()) this.onProblem(error); } finally {
            if (this.#opening.get(kind) === attempt) this.#opening.delete(kind);
        }
        return undefined;
    }

    async #device(kind, track) {
        try { return await this.#media.reopen(kind); } catch (error) {
            // Phones open one camera at a time.
            if (error.name !== 'NotReadableError' || kind !== 'camera' || track.isReleased) throw error;
            await this.#release(track);
            return this.#media.reopen(kind);
        }
    }

    #watch(kind) {
        const track = this[kind];
        const media = track?.mediaStreamTrack;
        if (kind === 'microphone') this.#level.listen(media);
        // Unplugged, or taken away by the browser or the system; `stop` does not tell of itself.
        media?.addEventListener('ended', () => {
            if (this.#isClosed || track.mediaStreamTrack !== media) return;
            this.onProblem({ key: `device.ended.${kind}` });
            track.updateMute(true);
            if (kind === 'camera') this.#release(track);
            this.onChange();
        });
    }

    close() {
        this.#isClosed = true;
        this.#opening.clear();
        this.#level.close();
        // Black pictures have a timer.
        if (this.camera?.isReleased) this.camera.stop();
    }
}
