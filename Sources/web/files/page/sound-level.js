/** How loud a track is now, by Web Audio. One context for its life: a browser has few of them. */
export class SoundLevel {
    #context;
    #source;
    #media;
    #analyser;
    #samples;

    /** Listens to this track from now on; undefined: to none. */
    listen(media) {
        if (media === this.#media) return;
        this.#media = media;
        this.#source?.disconnect();
        this.#source = undefined;
        if (!media) return;
        if (!this.#context) {
            this.#context = new AudioContext();
            this.#analyser = new AnalyserNode(this.#context, { fftSize: 512 });
            this.#samples = new Float32Array(this.#analyser.fftSize);
        }
        // Held back until the person has touched the page: then there is no level yet.
        this.#context.resume().catch(() => {});
        this.#source = this.#context.createMediaStreamSource(new MediaStream([media]));
        this.#source.connect(this.#analyser);
    }

    /** The root of the mean square, 0 to 1, as an RTP packet's level is meant; undefined while nothing can be heard. */
    get level() {
        if (!this.#source || this.#context.state !== 'running') return undefined;
        this.#analyser.getFloatTimeDomainData(this.#samples);
        return Math.sqrt(this.#samples.reduce((sum, value) => sum + value * value, 0) / this.#samples.length);
    }

    close() {
        this.listen(undefined);
        this.#context?.close();
        this.#context = this.#analyser = undefined;
    }
}
