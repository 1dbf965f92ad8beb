import { icon, make, setIcon } from './dom.js';
import { listed, text } from './texts.js';

/** Who is in the room. room: `people()`, `mayRemove`, `remove(user)`. */
export class People {
    #room;
    /** By user id; one's own by none. */
    #lines = new Map();
    #nobody = make('li', { class: 'quiet none' });

    constructor(room) {
        this.#room = room;
        this.element = make('ul', { class: 'people', tabindex: '-1' });
    }

    /** Each line stays the same while its user is there: it is changed often, and may have the focus. */
    refresh() {
        const people = this.#room.people();
        const ids = new Set(people.map(idOf));
        for (const [id, line] of this.#lines) if (!ids.has(id)) this.#remove(id, line);
        people.forEach((person, index) => {
            const id = idOf(person);
            if (!this.#lines.has(id)) this.#lines.set(id, new Line(this.#room, id));
            const line = this.#lines.get(id);
            line.show(person);
            const there = this.element.children[index];
            if (there !== line.element) this.element.insertBefore(line.element, there ?? null);
        });
        this.#nobody.textContent = text('people.empty');
        if (people.length === 1) this.element.append(this.#nobody);
        else this.#nobody.remove();
    }

    /** Whoever was at this line with the keyboard goes on at the next one. */
    #remove(id, { element }) {
        this.#lines.delete(id);
        const hadFocus = element.contains(document.activeElement);
        const next = element.nextElementSibling ?? element.previousElementSibling;
        element.remove();
        if (hadFocus) (next?.querySelector('button') ?? this.element).focus();
    }
}

const idOf = ({ user }) => user?.userID ?? '';

/** One person of the list. */
class Line {
    #room;
    #user;
    /** In its own direction, so that what is cut off is its end. */
    #name = make('b', { dir: 'auto' });
    #notes = make('small', { class: 'quiet' });
    #microphone = icon('microphoneOff');
    #camera = icon('cameraOff');
    #button;

    constructor(room, id) {
        this.#room = room;
        this.element = make('li', { 'data-user': id },
            make('span', { class: 'person' }, this.#name, this.#notes), this.#microphone, this.#camera);
    }

    show({ user, name, isOwn, isHost, microphone, camera }) {
        this.#user = user;
        const notes = [isOwn && text('people.you'), isHost && text('people.host'), user?.isReconnecting && text('people.reconnecting')];
        this.#name.textContent = name;
        this.#notes.textContent = listed(notes.filter(Boolean));
        this.element.classList.toggle('reconnecting', Boolean(user?.isReconnecting));
        setIcon(this.#microphone, microphone ? 'microphone' : 'microphoneOff');
        setIcon(this.#camera, camera ? 'camera' : 'cameraOff');
        if (!user || !this.#room.mayRemove) return;
        if (!this.#button) {
            this.#button = make('button', { class: 'plain danger', onclick: () => this.#room.remove(this.#user) }, icon('remove'));
            this.element.append(this.#button);
        }
        this.#button.title = text('people.remove', { name });
        this.#button.setAttribute('aria-label', this.#button.title);
    }
}
