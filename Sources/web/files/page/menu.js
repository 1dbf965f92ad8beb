import { icon, make } from './dom.js';
import { text } from './texts.js';

/** Between the menu and its button, and the window's edges, in pixels. */
const GAP = 4;
const MARGIN = 8;

/**
 * A menu at a button, as WAI-ARIA describes it: arrows move, Escape closes, the focus comes back. It is in the browser's top layer, so
 * that nothing around the button cuts it off.
 */
export class Menu {
    #button;
    #choices;
    #follow = () => this.place();
    #pressed = (event) => { if (!this.#holds(event.target)) this.close(false); };

    /** choices: gives [{ key, act, isChecked, isRadio }] or { heading } each time it is opened. */
    constructor(button, choices) {
        this.#button = button;
        this.#choices = choices;
        this.element = make('div', { class: 'menu', role: 'menu', popover: 'manual' });
        button.setAttribute('aria-expanded', 'false');
        button.addEventListener('click', (event) => { event.stopPropagation(); this.isOpen ? this.close() : this.open(); });
        // The focus is on the button while the menu is open after a press on it that was no click.
        for (const element of [button, this.element]) {
            element.addEventListener('keydown', (event) => { if (this.isOpen) this.#key(event); });
            element.addEventListener('focusout', (event) => { if (!this.#holds(event.relatedTarget)) this.close(false); });
        }
    }

    get isOpen() { return this.element.matches(':popover-open'); }

    open() {
        this.element.replaceChildren(...this.#choices().map((choice) => {
            if (choice.heading) return make('p', { class: 'menu-heading' }, text(choice.heading));
            const role = choice.isRadio ? 'menuitemradio' : choice.isChecked !== undefined ? 'menuitemcheckbox' : 'menuitem';
            return make('button', {
                role, tabindex: '-1', 'aria-checked': choice.isChecked === undefined ? undefined : String(choice.isChecked),
                onclick: (event) => { event.stopPropagation(); this.close(); choice.act(); },
            }, choice.isChecked ? icon('check') : make('span', { class: 'icon' }), text(choice.key));
        }));
        this.element.showPopover();
        this.place();
        addEventListener('resize', this.#follow);
        addEventListener('scroll', this.#follow, true);
        // On what takes no focus, too.
        addEventListener('pointerdown', this.#pressed, true);
        this.#button.setAttribute('aria-expanded', 'true');
        this.#items[0]?.focus();
    }

    close(returnsFocus = true) {
        if (!this.isOpen) return;
        this.element.hidePopover();
        removeEventListener('resize', this.#follow);
        removeEventListener('scroll', this.#follow, true);
        removeEventListener('pointerdown', this.#pressed, true);
        this.#button.setAttribute('aria-expanded', 'false');
        if (returnsFocus) this.#button.focus();
    }

    /** Below its button or, where there is no room, above, and always inside the window. */
    place() {
        if (!this.isOpen) return;
        const button = this.#button.getBoundingClientRect();
        const { offsetWidth, offsetHeight, style } = this.element;
        const { clientWidth, clientHeight } = document.documentElement;
        const within = (value, most) => Math.max(Math.min(value, most - MARGIN), MARGIN);
        const below = button.bottom + GAP;
        const above = button.top - GAP - offsetHeight;
        const top = below + offsetHeight > clientHeight - MARGIN && above >= MARGIN ? above : below;
        style.top = `${within(top, clientHeight - offsetHeight)}px`;
        style.left = `${within(button.right - offsetWidth, clientWidth - offsetWidth)}px`;
    }

    #holds(node) { return node instanceof Node && (this.element.contains(node) || this.#button.contains(node)); }

    get #items() { return [...this.element.querySelectorAll('button')]; }

    #key(event) {
        const items = this.#items;
        const at = items.indexOf(document.activeElement);
        const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
        if (event.key in moves) {
            items[(moves[event.key] + items.length) % items.length]?.focus();
        } else if (event.key === 'Escape') {
            this.close();
        } else if (event.key === 'Tab') {
            this.close(false);
            return;
        } else { if (event.key !== 'Enter' && event.key !== ' ') event.stopPropagation(); return; }
        event.preventDefault();
        event.stopPropagation();
    }
}
