import { find, icon, make } from './dom.js';
import { text } from './texts.js';

/** How long a notice stays, in ms. */
const LIFE = 5000;
const MOST = 4;

/** Says something for a while. action: { label, act }. */
export function notify(sentence, { isProblem = false, action, life = LIFE } = {}) {
    const box = find('notices');
    const close = make('button', { class: 'plain', 'aria-label': text('control.close'), onclick: () => notice.remove() }, icon('close'));
    const act = action && make('button', { onclick: () => { notice.remove(); action.act(); } }, action.label);
    const notice = make('div', { class: isProblem ? 'notice problem' : 'notice' }, make('span', {}, sentence), act, close);
    box.append(notice);
    while (box.children.length > MOST) box.firstElementChild.remove();
    if (life) setTimeout(() => notice.remove(), life);
    return notice;
}

/** Asks; resolves with whether the person said yes. */
export function ask(sentence, yes) {
    const dialog = find('dialog');
    return new Promise((resolve) => {
        const answer = (value) => { dialog.close(); resolve(value); };
        dialog.replaceChildren(
            make('p', {}, sentence),
            make('div', { class: 'row' },
                make('button', { class: 'danger', onclick: () => answer(true) }, yes),
                make('button', { onclick: () => answer(false), autofocus: true }, text('control.cancel'))));
        dialog.oncancel = () => resolve(false);
        dialog.showModal();
    });
}

/** Shows elements in the dialog, below a heading. */
export function showDialog(heading, ...content) {
    const dialog = find('dialog');
    const close = make('button', { class: 'plain', 'aria-label': text('control.close'), onclick: () => dialog.close() }, icon('close'));
    dialog.replaceChildren(make('header', {}, make('h2', {}, heading), close), ...content);
    dialog.oncancel = null;
    dialog.showModal();
    return dialog;
}
