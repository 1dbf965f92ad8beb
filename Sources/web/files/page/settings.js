// What the address says, and what the browser remembers.

const query = new URLSearchParams(location.search);

/** Pixels of a picture: a link that wants more of them would keep the whole page busy with drawing. */
const LARGEST = [1920, 1080];

/** From the address; a link may say all of it. */
export const wishes = Object.freeze({
    room: query.get('room') ?? '', name: query.get('name') ?? '', user: query.get('user') ?? '',
    token: query.get('token') ?? '', source: query.get('source') ?? '', language: query.get('lang') ?? '',
    joins: query.get('autojoin') === '1', isAdmin: query.get('admin') === '1', policy: query.get('policy') ?? '',
    size: /^\d{2,4}x\d{2,4}$/.test(query.get('size') ?? '')
        ? query.get('size').split('x').map((side, index) => Math.min(Number(side), LARGEST[index])) : undefined,
    framesPerSecond: Number(query.get('fps')) ? Math.min(Math.max(Number(query.get('fps')), 1), 60) : undefined,
});

const PREFIX = 'parlor.';

export function remembered(name) {
    try { return localStorage.getItem(PREFIX + name) ?? ''; } catch { return ''; }
}

/** Where the browser keeps nothing, nothing is kept. */
export function remember(name, value) {
    try { localStorage.setItem(PREFIX + name, value); } catch { /* A private window. */ }
}

/** An id for a name: what of it a user id may hold, and something that tells two of one name apart. */
export function userIDFor(name) {
    if (wishes.user) return wishes.user;
    const plain = name.normalize('NFKD').replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 40) || 'guest';
    const digits = Array.from(crypto.getRandomValues(new Uint8Array(3)), (byte) => byte.toString(16).padStart(2, '0')).join('');
    return `${plain}-${digits}`;
}

/** The link to a room, without anything that is this person's own. */
export function roomLink(room) { return `${location.origin}/?room=${encodeURIComponent(room)}`; }
