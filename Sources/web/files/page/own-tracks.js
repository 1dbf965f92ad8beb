import { localTrack } from './devices.js';
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
    /** What the server did not take, or not again: let go, and published anew when its button is pressed. */
    #lost = new Set();
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
        await this.#send(this.#tracks, { stays: true });
        this.onChange();
    }

    async #send(tracks, how) {
        try { await this.#client.publish(tracks); } catch (error) {
            if (this.#isClosed) return;
            this.lost(tracks);
            this.onProblem(error, how);
        }
    }

    /** Tracks that the server did not take, or not again: nobody gets them, so their devices are let go. */
    lost(tracks) {
        for (const kind of Object.keys(PLACES)) {
            const track = this[kind];
            if (!tracks.includes(track)) continue;
            this.#tracks = this.#tracks.filter((each) => each !== track);
            this.#lost.add(kind);
            this.#opening.delete(kind);
            if (kind === 'microphone') this.#level.listen(undefined);
            this.#media.discard(track);
        }
        this.onChange();
    }

    /** Whether there is something to switch on or off. */
    has(kind) { return this[kind] !== undefined || this.#lost.has(kind); }

    /**
     * On or off. A camera that is off is let go, so that its light goes out, and opened anew when it is on again; the
     * microphone is only muted, for it is switched often and is to be there at once.
     */
    async toggle(kind) {
        const track = this[kind];
        if (this.isOpening(kind)) {
            // Pressed again while it opens: never mind.
            this.#opening.delete(kind);
            return this.onChange();
        }
        if (!track) return this.#lost.has(kind) ? this.#publishAgain(kind) : undefined;
        // There is nothing to switch on here; off it can be, but that is not what the button shows.
        if (track.isMutedByServer && !track.isMutedByClient) return this.onProblem({ key: 'state.mutedByServer' });
        if (!track.isMutedByClient) return this.#switchOff(kind, track);
        if (track.mediaStreamTrack.readyState === 'live' && !track.isReleased) track.updateMute(false);
        else await this.#open(kind, track);
        return this.onChange();
    }

    async #publishAgain(kind) {
        const attempt = this.#attempt += 1;
        this.#opening.set(kind, attempt);
        this.onChange();
        let track;
        try {
            const media = await this.#media.reopen(kind);
            // The room was left, or the button pressed again, while the browser asked.
            if (this.#opening.get(kind) !== attempt || this.#isClosed) return this.#media.discard(localTrack(media));
            this.#media.keep(media);
            track = localTrack(media);
            track.updateMute(false);
            this.#lost.delete(kind);
            this.#tracks.push(track);
            this.#watch(kind);
        } catch (error) { if (this.#opening.get(kind) === attempt) this.onProblem(error); } finally {
            if (this.#opening.get(kind) === attempt) this.#opening.delete(kind);
        }
        this.onChange();
        if (track) await this.#send([track]);
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
        let media;
        try {
            media = await this.#device(kind, track);
            if (!isCurrent()) return media.stop();
            await track.replace(media);
            // The room was left, or the track lost, meanwhile.
            if (this.#isClosed || this[kind] !== track) return media.stop();
            this.#media.keep(media);
            this.#watch(kind);
            if (isCurrent()) track.updateMute(isMuted);
            // Pressed again meanwhile: then it stays off. Another choice that is under way goes on by itself.
            else if (!this.isOpening(kind)) await this.#switchOff(kind, track);
        } catch (error) {
            media?.stop();
            if (isCurrent()) this.onProblem(error);
        } finally {
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
            if (this.#isClosed || this[kind] !== track || track.mediaStreamTrack !== media) return;
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
