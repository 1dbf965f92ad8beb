import { BITS, blocks, sourceOf } from './pattern.js';

/** Of the tone, in Hz. */
const TONE = { lowest: 300, step: 20, steps: 24 };

/**
 * A picture and a tone that need no device: a drawn clock with a moving hand, and a row that machines read; a soft tone, on
 * for half of each second.
 */
export class SyntheticSource {
    #ticker;
    #audio;
    #context;
    #number = 0;

    constructor(name, [width, height] = [960, 540], framesPerSecond = 15) {
        this.name = name;
        this.source = sourceOf(name);
        /** Of the tone, in Hz. */
        this.frequency = TONE.lowest + (this.source % TONE.steps) * TONE.step;
        const canvas = document.createElement('canvas');
        canvas.width = width;
        canvas.height = height;
        this.#context = canvas.getContext('2d', { alpha: false });
        this.#draw();
        this.video = canvas.captureStream(framesPerSecond).getVideoTracks()[0];
        this.#ticker = new Worker('/page/ticker.js');
        this.#ticker.onmessage = () => this.#draw();
        this.#ticker.postMessage(framesPerSecond);
        this.audio = this.#makeTone();
    }

    /** Sounds only after the person has touched the page, where the browser wants that. */
    async resume() { await this.#audio.resume(); }

    stop() {
        this.#ticker.terminate();
        this.video.stop();
        this.audio.stop();
        this.#audio.close();
    }

    #makeTone() {
        this.#audio = new AudioContext();
        const tone = new OscillatorNode(this.#audio, { frequency: this.frequency });
        const volume = new GainNode(this.#audio, { gain: 0 });
        const rhythm = new OscillatorNode(this.#audio, { type: 'square', frequency: 1 });
        const depth = new GainNode(this.#audio, { gain: 0.04 });
        // Around 0.04 from 0 to 0.08: a square wave with soft edges.
        const base = new ConstantSourceNode(this.#audio, { offset: 0.04 });
        const soft = new BiquadFilterNode(this.#audio, { type: 'lowpass', frequency: 20 });
        const output = new MediaStreamAudioDestinationNode(this.#audio);
        rhythm.connect(depth).connect(soft).connect(volume.gain);
        base.connect(volume.gain);
        tone.connect(volume).connect(output);
        for (const node of [tone, rhythm, base]) node.start();
        return output.stream.getAudioTracks()[0];
    }

    #draw() {
        const context = this.#context;
        const { width, height } = context.canvas;
        const now = new Date();
        const hue = this.source * 360 / 256;
        const sky = context.createLinearGradient(0, 0, width, height);
        sky.addColorStop(0, `hsl(${hue} 35% 26%)`);
        sky.addColorStop(1, `hsl(${hue + 40} 40% 12%)`);
        context.fillStyle = sky;
        context.fillRect(0, 0, width, height);

        const unit = height / 100;
        // In the middle, so that a square cut of it is still a clock.
        this.#drawClock(width / 2, height * 0.34, unit * 23, now, hue);
        context.fillStyle = 'rgb(255 255 255 / 92%)';
        context.textBaseline = 'alphabetic';
        context.textAlign = 'center';
        context.font = `600 ${unit * 12}px system-ui, sans-serif`;
        context.fillText(now.toTimeString().slice(0, 8), width / 2, height * 0.745);
        context.font = `400 ${unit * 5}px system-ui, sans-serif`;
        context.fillStyle = 'rgb(255 255 255 / 70%)';
        context.fillText(`${this.name} · ${this.#number}`, width / 2, height * 0.84, width * 0.5);

        const row = height / 24;
        blocks(this.source, this.#number).forEach((isWhite, index) => {
            context.fillStyle = isWhite ? '#fff' : '#000';
            context.fillRect(index * width / BITS, height - row, width / BITS + 1, row);
        });
        this.#number = (this.#number + 1) & 0xffff;
    }

    #drawClock(x, y, radius, now, hue) {
        const context = this.#context;
        context.lineCap = 'round';
        context.strokeStyle = 'rgb(255 255 255 / 25%)';
        context.lineWidth = radius * 0.05;
        context.beginPath();
        context.arc(x, y, radius, 0, Math.PI * 2);
        context.stroke();
        const hand = (turn, length, thickness, color) => {
            const angle = (turn - 0.25) * Math.PI * 2;
            context.strokeStyle = color;
            context.lineWidth = radius * thickness;
            context.beginPath();
            context.moveTo(x, y);
            context.lineTo(x + Math.cos(angle) * radius * length, y + Math.sin(angle) * radius * length);
            context.stroke();
        };
        const seconds = now.getSeconds() + now.getMilliseconds() / 1000;
        hand((now.getHours() % 12 + now.getMinutes() / 60) / 12, 0.5, 0.08, 'rgb(255 255 255 / 90%)');
        hand((now.getMinutes() + seconds / 60) / 60, 0.75, 0.055, 'rgb(255 255 255 / 90%)');
        hand(seconds / 60, 0.86, 0.03, `hsl(${hue + 180} 80% 70%)`);
    }
}
