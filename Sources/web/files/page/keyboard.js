import { find, make } from './dom.js';
import { showDialog } from './notices.js';
import { text } from './texts.js';

/** What single keys do in a room. They are for nobody who is writing. */
export class Keyboard {
    #room;
    #listener = (event) => this.#pressed(event);

    constructor(room) { this.#room = room; }

    open() { document.addEventListener('keydown', this.#listener); }
    close() { document.removeEventListener('keydown', this.#listener); }

    /** [keys, what they do] for the list. */
    static list = [
        ['M', 'help.microphone'], ['V', 'help.camera'], ['S', 'help.screen'], ['C', 'help.chat'], ['P', 'help.people'],
        ['D', 'help.details'], ['Enter', 'help.pin'], ['1 2 3 0', 'help.quality'], ['Shift L', 'help.leave'], ['Esc', 'help.escape'],
        ['?', 'help.help'],
    ];

    help() {
        showDialog(text('help.title'), make('dl', { class: 'shortcuts' }, ...Keyboard.list.flatMap(([keys, key]) => [
            make('dt', {}, ...keys.split(' ').map((each) => make('kbd', {}, each))), make('dd', {}, text(key)),
        ])));
    }

    #pressed(event) {
        // A key that is held does nothing again.
        if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || find('dialog').open) return;
        if (event.key === 'Escape') {
            if (this.#room.closePanel()) event.preventDefault();
            return;
        }
        if (event.target.closest?.('input, textarea, select, [contenteditable]')) return;
        const room = this.#room;
        const act = {
            m: () => room.toggle('microphone'), v: () => room.toggle('camera'), s: () => room.toggleScreen(),
            c: () => room.togglePanel('chat'), p: () => room.togglePanel('people'), d: () => room.toggleDetails(),
            '?': () => this.help(), ...(event.shiftKey ? { l: () => room.leave() } : {}),
        }[event.key.toLowerCase()] ?? this.#ofTile(event);
        if (!act) return;
        event.preventDefault();
        act();
    }

    #ofTile(event) {
        const element = event.target.closest?.('.tile');
        const tile = this.#room.stage.tiles.get(element?.dataset.key);
        if (!tile) return undefined;
        if (event.key === 'Enter' && event.target === element) return () => this.#room.pin(tile);
        const quality = { 1: 'high', 2: 'medium', 3: 'low', 0: 'auto' }[event.key];
        return quality && (() => tile.setQuality(quality));
    }
}
