/** Black pictures, one a second, of the size that the device had: what is sent while a camera is let go. */
export class BlackVideo {
    #timer;

    constructor({ width = 640, height = 480 } = {}) {
        const canvas = document.createElement('canvas');
        canvas.width = width;
        canvas.height = height;
        const context = canvas.getContext('2d', { alpha: false });
        const draw = () => context.fillRect(0, 0, width, height);
        draw();
        this.media = canvas.captureStream(1).getVideoTracks()[0];
        // A canvas gives a picture when something was drawn.
        this.#timer = setInterval(draw, 1000);
    }

    stop() {
        clearInterval(this.#timer);
        this.media.stop();
    }
}
