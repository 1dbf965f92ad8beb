import { find, make } from './dom.js';
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
    #large = make('div', { class: 'stage-large' });
    #list = make('div', { class: 'stage-list' });
    #observer = new ResizeObserver(() => this.arrange());

    constructor() {
        this.#observer.observe(this.#element);
        this.#element.replaceChildren(this.#large, this.#list);
    }

    add(tile) {
        this.tiles.set(tile.key, tile);
        this.#list.append(tile.element);
        this.arrange();
    }

    remove(key) {
        const tile = this.tiles.get(key);
        if (!tile) return;
        this.tiles.delete(key);
        if (this.pinned === tile) this.pinned = undefined;
        const hadFocus = tile.element.contains(document.activeElement);
        tile.close();
        if (hadFocus) this.#element.focus();
        this.arrange();
    }

    /** Enlarges a tile; the one that is enlarged goes back. */
    pin(tile) {
        const before = this.pinned;
        this.pinned = before === tile ? undefined : tile;
        if (before) this.#list.insertBefore(before.element, this.#after(before)?.element ?? null);
        if (this.pinned) this.#large.append(tile.element);
        // A video that moves in the document stops.
        for (const each of [before, this.pinned]) each?.video.play().catch(() => {});
        if (document.activeElement === document.body) tile.element.focus();
        this.arrange();
    }

    /** The next tile of the list. */
    #after(tile) {
        const tiles = [...this.tiles.values()];
        return tiles.slice(tiles.indexOf(tile) + 1).find((each) => each !== this.pinned);
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
            const strip = others.length === 0 ? 0 : Math.round((isTall ? clientHeight : clientWidth) * 0.2);
            const rest = strip ? strip + GAP : 0;
            set(this.pinned, isTall ? clientWidth : clientWidth - rest, isTall ? clientHeight - rest : clientHeight);
            const side = this.#strip(strip, others.length, isTall);
            for (const tile of others) set(tile, isTall ? Math.round(side * TALL) : side, isTall ? side : Math.round(side / WIDE));
        } else {
            this.#list.style.width = this.#list.style.height = '';
            const { width, height } = arrange(others.length, clientWidth, clientHeight, GAP, isTall ? SHAPES.tall : SHAPES.wide);
            for (const tile of others) set(tile, width, height);
        }
        for (const tile of this.tiles.values()) tile.element.classList.toggle('large', tile === this.pinned);
        this.onArranged();
    }

    /** Makes the strip that wide, or high; gives what its scroll bar leaves of that, if it has one. */
    #strip(thickness, count, isTall) {
        const length = Math.round(isTall ? thickness * TALL : thickness / WIDE);
        const room = isTall ? this.#element.clientWidth : this.#element.clientHeight;
        const { classList, style } = this.#list;
        style.width = isTall ? '' : `${thickness}px`;
        style.height = isTall ? `${thickness}px` : '';
        classList.toggle('scrolls', count * (length + GAP) - GAP > room);
        return isTall ? this.#list.clientHeight : this.#list.clientWidth;
    }

    close() {
        this.#observer.disconnect();
        for (const key of [...this.tiles.keys()]) this.remove(key);
    }
}
