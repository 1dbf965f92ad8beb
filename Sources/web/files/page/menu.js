import { icon, make } from './dom.js';
import { text } from './texts.js';

/** A menu below a button, as WAI-ARIA describes it: arrows move, Escape closes, the focus comes back. */
export class Menu {
    #button;
    #choices;

    /** choices: gives [{ key, act, isChecked, isRadio }] or { heading } each time it is opened. */
    constructor(button, choices) {
        this.#button = button;
        this.#choices = choices;
        this.element = make('div', { class: 'menu', role: 'menu', hidden: true });
        button.setAttribute('aria-expanded', 'false');
        button.addEventListener('click', (event) => { event.stopPropagation(); this.element.hidden ? this.open() : this.close(); });
        this.element.addEventListener('keydown', (event) => this.#key(event));
        this.element.addEventListener('focusout', (event) => {
            if (!this.element.contains(event.relatedTarget) && event.relatedTarget !== this.#button) this.close(false);
        });
    }

    open() {
        this.element.replaceChildren(...this.#choices().map((choice) => {
            if (choice.heading) return make('p', { class: 'menu-heading' }, text(choice.heading));
            const role = choice.isRadio ? 'menuitemradio' : choice.isChecked !== undefined ? 'menuitemcheckbox' : 'menuitem';
            return make('button', {
                role, tabindex: '-1', 'aria-checked': choice.isChecked === undefined ? undefined : String(choice.isChecked),
                onclick: (event) => { event.stopPropagation(); this.close(); choice.act(); },
            }, choice.isChecked ? icon('check') : make('span', { class: 'icon' }), text(choice.key));
        }));
        this.element.hidden = false;
        this.#button.setAttribute('aria-expanded', 'true');
        this.#items[0]?.focus();
    }

    close(returnsFocus = true) {
        if (this.element.hidden) return;
        this.element.hidden = true;
        this.#button.setAttribute('aria-expanded', 'false');
        if (returnsFocus) this.#button.focus();
    }

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
