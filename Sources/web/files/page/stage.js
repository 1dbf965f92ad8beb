import { find } from './dom.js';
import { arrange } from './layout.js';

const GAP = 8;
/** Of a tile: width over height. A tall screen has squarer ones. */
const WIDE = 16 / 9;
const TALL = 4 / 3;
const SHAPES = { wide: [WIDE, 3 / 2], tall: [TALL, 1] };

/** The tiles, which arrange themselves; one may be enlarged, with the others in a strip. */
export class Stage {
    tiles = new Map();
    pinned = undefined;
    /** After each arrangement: tiles have other sizes. */
    onArranged = () => {};
    #element = find('stage');
    #observer = new ResizeObserver(() => this.arrange());

    constructor() {
        this.#observer.observe(this.#element);
        this.#element.replaceChildren();
    }

    add(tile) {
        this.tiles.set(tile.key, tile);
        this.#element.append(tile.element);
        this.arrange();
    }

    remove(key) {
        const tile = this.tiles.get(key);
        if (!tile) return;
        this.tiles.delete(key);
        if (this.pinned === tile) this.pinned = undefined;
        tile.close();
        this.arrange();
    }

    pin(tile) {
        this.pinned = this.pinned === tile ? undefined : tile;
        this.arrange();
    }

    arrange() {
        const { clientWidth, clientHeight } = this.#element;
        if (clientWidth === 0 || this.tiles.size === 0) return;
        const isTall = clientHeight > clientWidth;
        const others = [...this.tiles.values()].filter((tile) => tile !== this.pinned);
        const set = (tile, width, height) => { tile.element.style.width = `${width}px`; tile.element.style.height = `${height}px`; };
        this.#element.classList.toggle('pinned', this.pinned !== undefined);
        this.#element.classList.toggle('tall', isTall);
        if (this.pinned) {
            // The strip has a fifth of the room.
            const strip = others.length === 0 ? 0 : isTall ? Math.round(clientHeight * 0.2) : Math.round(clientWidth * 0.2);
            const small = isTall ? [Math.round(strip * TALL), strip] : [strip, Math.round(strip / WIDE)];
            this.#element.style.setProperty('--strip', `${strip}px`);
            const rest = strip ? strip + GAP : 0;
            set(this.pinned, isTall ? clientWidth : clientWidth - rest, isTall ? clientHeight - rest : clientHeight);
            for (const tile of others) set(tile, ...small);
        } else {
            const { width, height } = arrange(others.length, clientWidth, clientHeight, GAP, isTall ? SHAPES.tall : SHAPES.wide);
            for (const tile of others) set(tile, width, height);
        }
        for (const tile of this.tiles.values()) tile.element.classList.toggle('large', tile === this.pinned);
        this.onArranged();
    }

    close() {
        this.#observer.disconnect();
        for (const key of [...this.tiles.keys()]) this.remove(key);
    }
}
