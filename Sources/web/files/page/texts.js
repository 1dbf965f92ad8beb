// Everything the page says, in two languages.

import { english } from './texts-en.js';
import { chinese } from './texts-zh.js';

export const LANGUAGES = Object.freeze({ en: 'English', zh: '中文' });
const DICTIONARIES = { en: english, zh: chinese };

const TOO_MUCH = 10055;

let language = 'en';
const listeners = new Set();

/** The language that the browser prefers among those that the page has. */
export function preferredLanguage() {
    for (const tag of navigator.languages ?? [navigator.language]) {
        const short = tag.toLowerCase().split('-')[0];
        if (short in DICTIONARIES) return short;
    }
    return 'en';
}

export function currentLanguage() { return language; }

export function setLanguage(tag) {
    language = tag in DICTIONARIES ? tag : 'en';
    document.documentElement.lang = language === 'zh' ? 'zh-Hans' : 'en';
    applyTexts(document);
    for (const listener of listeners) listener();
}

/** Calls the listener after each change of the language. */
export function onLanguageChange(listener) { listeners.add(listener); }

/** The sentence of that key, with `{name}` replaced. A key with `|` has a form for one and a form for more. */
export function text(key, values = {}) {
    const entry = DICTIONARIES[language][key] ?? english[key] ?? key;
    const [one, more = one] = entry.split('|');
    const form = values.count === 1 ? one : more;
    return form.replace(/\{(\w+)\}/g, (whole, key) => (key === 'name' && values.name ? apart(values.name) : values[key] ?? whole));
}

/** Words one after the other, as the language separates them. */
export function listed(words) { return words.join(text('words.list')); }

/** Scripts that are written from right to left. */
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** A name in the middle of a sentence, whose order it must not change: what `bdi` is in HTML. */
export function apart(name) { return LEFTWARD.test(name) ? `\u2068${name}\u2069` : name; }

/** Fills in every element with data-text, data-label (aria-label and title) or data-placeholder. */
export function applyTexts(root) {
    for (const element of root.querySelectorAll('[data-text]')) element.textContent = text(element.dataset.text);
    for (const element of root.querySelectorAll('[data-label]')) label(element, element.dataset.label);
    for (const element of root.querySelectorAll('[data-placeholder]')) element.placeholder = text(element.dataset.placeholder);
}

/** Names a control for eyes and screen readers, and keeps it named when the language changes. */
export function label(element, key) {
    element.dataset.label = key;
    const words = text(key);
    element.setAttribute('aria-label', words);
    const shortcut = element.dataset.shortcut;
    element.title = shortcut ? text('words.note', { words, note: shortcut }) : words;
}

/** Any failure in words a person understands. */
export function explain(error) {
    const devices = {
        NotAllowedError: 'device.denied', SecurityError: 'device.denied', NotFoundError: 'device.missing',
        NotReadableError: 'device.busy', AbortError: 'device.busy', OverconstrainedError: 'device.unfit',
    };
    if (error?.name in devices) return text(devices[error.name]);
    if (error?.key) {
        // In the middle of a sentence about one device.
        const short = devices[error.cause?.name]?.replace('device.', 'device.short.');
        return text(error.key, { ...error.values, ...(error.cause ? { reason: short ? text(short) : explain(error.cause) } : {}) });
    }
    const code = error?.serverCode ?? error?.code;
    const key = `error.${code}`;
    const sentence = key in english ? text(key) : text('error.other');
    if (!code) return error?.message ? text('words.next', { words: sentence, next: error.message }) : sentence;
    // A rate or a number, and which: only the server's own words tell.
    const note = code === TOO_MUCH && error?.message ? text('words.told', { code, told: error.message }) : code;
    return text('words.note', { words: sentence, note });
}
