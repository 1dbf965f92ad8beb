import { LocalTrack } from '/parlor-client.js';

/** Of a screen: its text is to be read, so few frames and many bits. */
const FRAMES = 15;
const KBPS = 2500;

/** The person's screen in a room. It may be stopped at any time, by the browser's own bar too. */
export class ScreenShare {
    onChange = () => {};
    onProblem = () => {};
    #client;
    #tracks;
    #isAsking = false;
    #isClosed = false;
    /** Stopped, and still published: their end could not be told. */
    #stale = new Set();

    constructor(client) { this.#client = client; }

    get isOn() { return this.#tracks !== undefined; }

    /** Whether this browser can share a screen on this page. */
    static get isPossible() { return Boolean(navigator.mediaDevices?.getDisplayMedia); }

    async toggle() {
        if (this.isOn) return this.#stop(this.#tracks);
        // The browser's dialog is open already.
        if (this.#isAsking || !ScreenShare.isPossible) return undefined;
        const tracks = await this.#choose();
        return tracks && this.#start(tracks);
    }

    async #choose() {
        this.#isAsking = true;
        try {
            return await LocalTrack.screen({ video: { frameRate: { max: FRAMES } }, audio: true }, { video: { bitrate: KBPS } });
        } catch (error) {
            // Who changed their mind in the browser's dialog needs no sentence.
            if (error.name !== 'NotAllowedError') this.onProblem(error);
            return undefined;
        } finally { this.#isAsking = false; }
    }

    async #start(tracks) {
        // The room was left while the dialog was open.
        if (this.#isClosed) return tracks.forEach((track) => track.stop());
        this.#tracks = tracks;
        const { mediaStreamTrack } = tracks[0];
        mediaStreamTrack.addEventListener('ended', () => this.#stop(tracks));
        this.onChange();
        try { await this.#client.publish(tracks); } catch (error) {
            const wasWanted = this.#tracks === tracks;
            this.#forget(tracks);
            if (wasWanted && !this.#isClosed) this.onProblem(error);
            return undefined;
        }
        // Stopped before the publication was answered: there was nothing to take back then.
        if (this.#tracks !== tracks || mediaStreamTrack.readyState === 'ended') await this.#stop(tracks);
        return undefined;
    }

    async #stop(tracks) {
        this.#forget(tracks);
        const published = tracks.filter((track) => track.isPublished);
        if (published.length === 0 || this.#isClosed) return;
        for (const track of published) this.#stale.add(track);
        await this.clear();
    }

    #forget(tracks) {
        for (const track of tracks) track.stop();
        if (this.#tracks !== tracks) return;
        this.#tracks = undefined;
        this.onChange();
    }

    /** Takes back what was stopped; again after a loss of the signalling, during which that could not be told. */
    async clear() {
        const tracks = [...this.#stale].filter((track) => track.isPublished);
        this.#stale = new Set(tracks);
        if (tracks.length === 0) return;
        try { await this.#client.unpublish(tracks); } catch { return; }
        for (const track of tracks) this.#stale.delete(track);
    }

    /** Tracks that the server does not take again. */
    lost(tracks) { if (this.#tracks?.some((track) => tracks.includes(track))) this.#stop(this.#tracks); }

    /** The room is left. */
    close() {
        this.#isClosed = true;
        if (this.#tracks) this.#forget(this.#tracks);
    }
}
