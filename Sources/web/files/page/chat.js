import { icon, make } from './dom.js';
import { currentLanguage, text } from './texts.js';

/** Messages that are kept on the screen. */
const MOST = 500;

/** The list of messages, and the line to write in. `send(words)` returns the message's id, or throws. */
export class Chat {
    unread = 0;
    onChange = () => {};
    #list = make('ol', { class: 'messages', 'aria-live': 'polite' });
    #entries = [];

    constructor(send) {
        this.input = make('input', { maxlength: '4000', autocomplete: 'off', enterkeyhint: 'send' });
        this.form = make('form', { class: 'chat-form', novalidate: true, onsubmit: (event) => {
            event.preventDefault();
            const words = this.input.value.trim();
            if (words === '' || !send(words)) return;
            this.input.value = '';
        } }, this.input, this.button = make('button', { class: 'plain' }, icon('send')));
        this.element = make('div', { class: 'chat' }, this.#list, this.form);
        this.translate();
    }

    get isShown() { return this.element.isConnected && this.element.offsetParent !== null; }

    add({ id, name, content, timestamp, isOwn = false, isService = false }) {
        const time = new Date(timestamp).toLocaleTimeString(currentLanguage(), { hour: '2-digit', minute: '2-digit' });
        const fault = make('small', { class: 'problem' });
        const item = make('li', { class: isOwn ? 'own' : isService ? 'service' : '' },
            make('p', { class: 'message-head' }, make(isService ? 'em' : 'b', {}, make('bdi', {}, name || text('chat.server'))), make('time', {}, time)),
            make('p', { class: 'message-text' }, content), fault);
        this.#entries.push({ id, item, fault });
        if (this.#entries.length > MOST) this.#entries.shift().item.remove();
        if (this.#entries.length === 1) this.#list.replaceChildren();
        this.#list.append(item);
        this.#list.scrollTop = this.#list.scrollHeight;
        if (!isOwn && !this.isShown) { this.unread += 1; this.onChange(); }
    }

    refuse(id, reason) {
        const entry = this.#entries.find((each) => each.id === id);
        if (entry) entry.fault.textContent = text('chat.refused', { reason });
    }

    shown() {
        this.unread = 0;
        this.onChange();
        this.#list.scrollTop = this.#list.scrollHeight;
        this.input.focus();
    }

    translate() {
        this.input.placeholder = text('chat.placeholder');
        this.input.setAttribute('aria-label', text('chat.placeholder'));
        this.button.setAttribute('aria-label', text('chat.send'));
        if (this.#entries.length === 0) this.#list.replaceChildren(make('li', { class: 'quiet none' }, text('chat.empty')));
    }
}
