import { icon, make } from './dom.js';
import { text } from './texts.js';

/** Who is in the room. room: `people()`, `mayRemove`, `remove(user)`. */
export class People {
    #room;

    constructor(room) {
        this.#room = room;
        this.element = make('ul', { class: 'people' });
    }

    refresh() {
        const people = this.#room.people();
        this.element.replaceChildren(...people.map((person) => this.#line(person)),
            ...(people.length === 1 ? [make('li', { class: 'quiet none' }, text('people.empty'))] : []));
    }

    #line({ user, name, isOwn, isHost, microphone, camera }) {
        const notes = [isOwn && text('people.you'), isHost && text('people.host'), user?.isReconnecting && text('people.reconnecting')];
        const line = make('li', { 'data-user': user?.userID ?? '', class: user?.isReconnecting ? 'reconnecting' : '' },
            make('span', { class: 'person' }, make('b', {}, name), make('small', { class: 'quiet' }, notes.filter(Boolean).join(', '))),
            icon(microphone ? 'microphone' : 'microphoneOff'), icon(camera ? 'camera' : 'cameraOff'));
        if (user && this.#room.mayRemove) {
            const words = text('people.remove', { name });
            line.append(make('button', { class: 'plain danger', 'aria-label': words, title: words, onclick: () => this.#room.remove(user) }, icon('remove')));
        }
        return line;
    }
}
